package policy

import (
	"context"

	"ash/agent"
)

// ruling is a verdict and everything it rests on.
type ruling struct {
	agent.Verdict
	flow     bool     // the flow rule asks
	sources  []string // untrusted ones in the prompt
	composed bool     // a fetch whose URL nobody gave
	leak     leak
	rule     Rule // the rule or grant that decided, if any
	ruled    bool
}

// gated reports whether an effect of kind k needs an approval that names the sources while anything untrusted
// is in the prompt. A fetch is gated when the model composed its URL.
func gated(k agent.EffectKind) bool {
	switch k {
	case agent.EffectAsk, agent.EffectRead, agent.EffectDelegate, agent.EffectFetch:
		return false
	}
	return true // a kind this does not know is treated as the gravest
}

// free reports whether calls of kind k run unless a rule says otherwise.
func free(k agent.EffectKind) bool {
	return k == agent.EffectAsk || k == agent.EffectRead || k == agent.EffectDelegate
}

// verdict applies the rules, and the flow rule over them.
func (p *Policy) verdict(ctx context.Context, s agent.Situation, a asked, rules []Rule) (ruling, error) {
	v := ruling{sources: untrusted(s), Verdict: agent.Ask}
	if free(a.effect.Kind) && !a.effect.Opaque || a.effect.Told {
		v.Verdict = agent.Allow
	}
	if a.effect.Kind == agent.EffectFetch {
		v.composed = !given(s, a.effect.Text)
		if !v.composed {
			v.Verdict = agent.Allow
		}
	}
	if v.rule, v.ruled = decide(rules, a); v.ruled {
		v.Verdict = v.rule.Verdict
	}
	if v.Verdict == agent.Deny {
		return v, nil
	}
	sends := a.effect.Kind == agent.EffectSend || v.composed || networked(a.effect)
	if sends {
		var err error
		if v.leak, err = p.leaks(ctx, s, a); err != nil {
			return v, err
		}
		v.leak.Opaque = v.leak.Opaque || a.effect.Opaque // the tool may know more
	}
	if len(v.sources) > 0 && (gated(a.effect.Kind) || v.composed) {
		v.flow = true
		if v.Verdict == agent.Allow {
			v.rule, v.ruled = grant(rules, a, v.sources)
		}
		if v.Verdict != agent.Allow || !v.ruled {
			v.Verdict, v.ruled = agent.Ask, false
		}
	}
	if networked(a.effect) || v.leak.found() || a.solemn {
		v.Verdict, v.ruled = agent.Ask, false // no rule and no grant covers these
	}
	return v, nil
}
