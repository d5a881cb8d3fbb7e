package policy

import (
	"context"
	"slices"
	"time"

	"ash/agent"
)

// Rule is a standing word of the person about calls of a tool.
type Rule struct {
	ID      agent.ID
	Tool    string        // name of a tool; AnyTool for rules about a folder or the web, which several tools share
	Match   string        // "" for the whole tool, else narrow: see the package's notation
	Verdict agent.Verdict // Allow, Ask or Deny
	Thread  agent.ID      // holds in this conversation and its helpers only; "" in the whole house
	Sources []string      // the untrusted sources in view of which it was given; sorted
	Uses    int           // calls it let pass or stopped
	Used    time.Time     // the last of them; zero for none
	Created time.Time
}

// AnyTool stands for every tool in Rule.Tool.
const AnyTool = "*"

// RuleStore keeps rules. There is at most one for a tool, match and thread.
type RuleStore interface {
	// Rules returns those of the house and of the given threads, oldest first.
	Rules(ctx context.Context, threads ...agent.ID) ([]Rule, error)
	// AllRules returns every rule, oldest first.
	AllRules(ctx context.Context) ([]Rule, error)
	// SaveRule stores a rule. Where there is one for the same tool, match and thread, that one keeps its id, takes over the verdict
	// and names the sources of both. CodeNotFound when the thread does not exist.
	SaveRule(ctx context.Context, r Rule) (Rule, error)
	// DeleteRule removes a rule. CodeNotFound when there is none of that id.
	DeleteRule(ctx context.Context, id agent.ID) error
	// UseRule counts a use.
	UseRule(ctx context.Context, id agent.ID, at time.Time) error
}

// asked is a call as rules see it.
type asked struct {
	call    agent.ToolCall
	effect  agent.Effect
	root    string // absolute folder of the thread
	words   []string
	simple  bool // words are those of one simple command
	host    string
	path    string // absolute path a write changes, "" when it cannot be told
	threads []agent.ID
	large   bool // a read of more than is read unasked
	solemn  bool // it writes more to memory than statements: forgetting, a note
}

// threads returns those whose rules hold, the nearest first: the thread itself and, for a helper, the threads above it.
func threads(s agent.Situation) []agent.ID {
	out := []agent.ID{s.Thread.ID}
	for _, m := range slices.Backward(s.Path) {
		if m.Thread != "" && !slices.Contains(out, m.Thread) {
			out = append(out, m.Thread)
		}
	}
	return out
}

// top returns the conversation as the person sees it: the thread above all helpers.
func top(s agent.Situation) agent.ID {
	all := threads(s)
	return all[len(all)-1]
}

// decide returns the rule that decides about a; ok is false when none applies. A rule that denies beats
// all others; then the nearer thread, then the narrower match.
func decide(rules []Rule, a asked) (best Rule, ok bool) {
	var best0 weight
	for _, r := range rules {
		m, err := parseMatch(r.Match)
		if err != nil || (r.Tool != a.call.Name && r.Tool != AnyTool) || !m.applies(a, r.Verdict) {
			continue
		}
		w := weight{deny: r.Verdict == agent.Deny, near: nearness(a.threads, r.Thread), narrow: m.narrowness()}
		if !ok || w.beats(best0) {
			best, best0, ok = r, w, true
		}
	}
	return best, ok
}

// grant returns the grant that lets a pass while sources are in the prompt.
func grant(rules []Rule, a asked, sources []string) (Rule, bool) {
	for _, r := range rules {
		m, err := parseMatch(r.Match)
		if err != nil || r.Verdict != agent.Allow || !slices.Contains(a.threads, r.Thread) || (r.Tool != a.call.Name && r.Tool != AnyTool) {
			continue
		}
		if m.flow() && m.applies(a, r.Verdict) && covers(r.Sources, sources) {
			return r, true
		}
	}
	return Rule{}, false
}

// weight orders rules that apply to the same call.
type weight struct {
	deny         bool
	near, narrow int
}

func (w weight) beats(o weight) bool {
	if w.deny != o.deny {
		return w.deny
	}
	if w.near != o.near {
		return w.near > o.near
	}
	return w.narrow > o.narrow
}

// nearness is 0 for the house, and grows from the top of the conversation down to the thread itself.
func nearness(threads []agent.ID, thread agent.ID) int {
	if i := slices.Index(threads, thread); thread != "" && i >= 0 {
		return len(threads) - i
	}
	return 0
}
