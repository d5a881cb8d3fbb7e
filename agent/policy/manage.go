package policy

import (
	"context"
	"slices"
	"strings"

	"ash/agent"
)

// Rules returns every rule, oldest first.
func (p *Policy) Rules(ctx context.Context) ([]Rule, error) { return p.options.Rules.AllRules(ctx) }

// toolName reports whether a tool may be named so; longer names are nobody's.
func toolName(s string) bool {
	return s != "" && len(s) <= 64 && 'a' <= s[0] && s[0] <= 'z' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// Set stores a rule that the person makes on a page. Sources are not taken: only an approval in view of sources gives a grant
// (Permit). CodeInvalid for a rule that cannot be read.
func (p *Policy) Set(ctx context.Context, r Rule) (Rule, error) {
	m, err := parseMatch(r.Match)
	if err != nil {
		return Rule{}, err
	}
	if !toolName(r.Tool) && (r.Tool != AnyTool || m.kind == matchTool || m.kind == matchRun) {
		return Rule{}, agent.Errorf(agent.CodeInvalid, "%q is not the name of a tool.", agent.Clip(r.Tool, 64))
	}
	if r.Verdict == agent.Allow && m.more && len(m.words) < 2 {
		return Rule{}, agent.Errorf(agent.CodeInvalid, "A rule that allows any arguments names two words at least: run git log …")
	}
	switch r.Verdict {
	case agent.Allow, agent.Ask, agent.Deny:
	default:
		return Rule{}, agent.Errorf(agent.CodeInvalid, "A rule says allow, ask or deny.")
	}
	r.ID, r.Sources, r.Uses, r.Created = agent.NewID(), nil, 0, p.options.Now().UTC()
	saved, err := p.options.Rules.SaveRule(ctx, r)
	if err == nil && r.Verdict == agent.Allow {
		p.logRule(ctx, EventGrant, saved, "")
	}
	return saved, err
}

// Revoke removes a rule. CodeNotFound when there is none of that id.
func (p *Policy) Revoke(ctx context.Context, id agent.ID) error {
	all, err := p.options.Rules.AllRules(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(r Rule) bool { return r.ID == id })
	if err := p.options.Rules.DeleteRule(ctx, id); err != nil {
		return err
	}
	if i >= 0 {
		p.logRule(ctx, EventRevoked, all[i], "")
	}
	return nil
}

func (p *Policy) logRule(ctx context.Context, kind EventKind, r Rule, call agent.ID) {
	p.log(ctx, SecurityEvent{
		Time: p.options.Now().UTC(), Kind: kind, Thread: r.Thread, Call: call, Tool: r.Tool, Rule: r.Match,
		Source: agent.Clip(strings.Join(r.Sources, ", "), 256), Detail: string(r.Verdict),
	})
}

// Describe says in words what a rule is about: "commands beginning with `git log`".
func Describe(r Rule) string {
	m, err := parseMatch(r.Match)
	if err != nil {
		return r.Match
	}
	switch m.kind {
	case matchRun:
		if m.more {
			return "commands beginning with `" + strings.Join(m.words, " ") + "`"
		}
		return "the command `" + strings.TrimPrefix(r.Match, "run ") + "`"
	case matchFolder:
		return "edits in " + m.folder
	case matchHost:
		return "requests to " + m.host
	case matchWeb:
		return "reading the web"
	}
	return "every call"
}
