package policy

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"ash/agent"
)

// maxOffers is how many standing permissions a card offers.
const maxOffers = 3

// offers returns the standing permissions that would have let a pass. Where nothing would, there are none; and while untrusted
// content is in the prompt, none for the whole house is offered: it could be what a stranger is after.
func offers(a asked, v ruling) []agent.Offer {
	if v.leak.found() || networked(a.effect) || v.denied(a) {
		return nil
	}
	var out []agent.Offer
	add := func(tool string, m match, thread bool, label string) {
		if text := m.String(); text != "" && len(out) < maxOffers && m.applies(a, agent.Allow) {
			out = append(out, agent.Offer{Rule: offerRule(thread, tool, text), Label: label, Thread: thread})
		}
	}
	house := !v.flow
	switch a.effect.Kind {
	case agent.EffectExecute:
		if house && a.simple && offered(a.words) {
			exact := match{kind: matchRun, words: a.words}
			add(a.call.Name, exact, false, "Always allow `"+clipped(strings.TrimPrefix(exact.String(), "run "))+"`")
			if words, ok := wildcard(a.words); ok && len(a.words) > len(words) {
				add(a.call.Name, match{kind: matchRun, words: words, more: true}, false, "Always allow `"+strings.Join(words, " ")+" …`")
			}
		}
	case agent.EffectWrite:
		if a.path == "" {
			break
		}
		m := match{kind: matchFolder, folder: filepath.Dir(a.path)}
		add(AnyTool, m, true, "Allow edits in "+folderName(a, m.folder)+" in this conversation")
		if house {
			add(AnyTool, m, false, "Always allow edits in "+folderName(a, m.folder))
		}
	case agent.EffectFetch, agent.EffectSend:
		if readsWeb(a) {
			add(AnyTool, match{kind: matchWeb}, true, "Read the web in this conversation")
		}
		if a.effect.Kind == agent.EffectFetch {
			m := match{kind: matchHost, host: a.host}
			add(a.call.Name, m, true, "Allow "+a.host+" in this conversation")
			if house {
				add(a.call.Name, m, false, "Always allow "+a.host)
			}
		}
	}
	return out
}

// denied reports whether the person asked to be asked about exactly this: then a wider permission would not help.
func (v ruling) denied(asked) bool {
	return v.ruled && v.rule.Verdict == agent.Ask && v.rule.Match != ""
}

// folderName names a folder relative to the thread's own.
func folderName(a asked, folder string) string {
	rel, err := filepath.Rel(a.root, folder)
	switch {
	case err != nil || !filepath.IsLocal(rel):
		return clipped(shown(folder)) + "/"
	case rel == ".":
		return "this conversation's folder"
	}
	return clipped(shown(filepath.ToSlash(rel))) + "/"
}

func clipped(text string) string {
	if short := agent.Clip(text, 80); short != text {
		return short + "…"
	}
	return text
}

// offerRule writes an offer down: where it holds, the tool, the match.
func offerRule(thread bool, tool, match string) string {
	scope := "house"
	if thread {
		scope = "thread"
	}
	return scope + " " + tool + " " + match
}

func parseOffer(rule string) (thread bool, tool, match string, ok bool) {
	scope, rest, _ := strings.Cut(rule, " ")
	tool, match, ok = strings.Cut(rest, " ")
	return scope == "thread", tool, match, ok && tool != "" && match != "" && (scope == "thread" || scope == "house")
}

// Permit makes the standing permission o, which the card of call c offered. It names the sources that the card named. A
// permission for the conversation holds for all helpers in it. CodeInvalid for what was not offered.
func (p *Policy) Permit(ctx context.Context, s agent.Situation, c agent.ToolCall, o agent.Offer) error {
	known, ok := c.Effect.Offer(o.Rule)
	if !ok || known != o {
		return agent.Errorf(agent.CodeInvalid, "That standing permission was not offered here.")
	}
	thread, tool, text, ok := parseOffer(o.Rule)
	m, err := parseMatch(text)
	if !ok || err != nil || thread != o.Thread {
		return agent.Errorf(agent.CodeInvalid, "That standing permission cannot be read.")
	}
	if a := p.asked(s, c, *c.Effect); !m.applies(a, agent.Allow) {
		return agent.Errorf(agent.CodeConflict, "What this applies to has changed. Look at it again.")
	}
	r := Rule{ID: agent.NewID(), Tool: tool, Match: text, Verdict: agent.Allow, Sources: c.Effect.Sources, Created: p.options.Now().UTC()}
	if thread {
		r.Thread = top(s)
	} else {
		r.Sources = nil
	}
	if m.kind == matchWeb { // it stands for the web as a source, however many hosts that will be
		r.Sources = append([]string{anyPage, anySearch}, r.Sources...)
	}
	if _, err := p.options.Rules.SaveRule(ctx, r); err != nil {
		return fmt.Errorf("save rule: %w", err)
	}
	p.logRule(ctx, EventGrant, r, c.ID)
	return nil
}
