package policy

import (
	"fmt"
	"strings"

	"ash/agent"
)

// maxNamed is how many sources the sentence names; the effect bears all of them.
const maxNamed = 3

// why says in one sentence why a call asks or is refused; "" for one that runs.
func (v ruling) why(s agent.Situation, a asked) string {
	switch {
	case v.Verdict == agent.Deny && v.rule.Match == "":
		return "You have switched this tool off" + where(v.rule) + "."
	case v.Verdict == agent.Deny:
		return "A rule of yours refuses this" + where(v.rule) + ": " + v.rule.Match
	case v.Verdict != agent.Ask:
		return ""
	case v.flow:
		return v.read(s, a) + "; it now wants to " + wants(a, v) + v.leak.also() + "."
	case v.leak.found():
		return "It wants to " + wants(a, v) + v.leak.also() + "."
	case v.ruled:
		return "You asked to be asked about this" + where(v.rule) + "."
	case a.large:
		return "It wants to read " + shown(a.effect.Target) + ", which is large."
	}
	return "It wants to " + wants(a, v) + "."
}

func where(r Rule) string {
	if r.Thread != "" {
		return " in this conversation"
	}
	return ""
}

// read says what untrusted content stands before the model, and whether it came with this very reply.
func (v ruling) read(s agent.Situation, a asked) string {
	named := make([]string, 0, maxNamed)
	for _, source := range v.sources[:min(len(v.sources), maxNamed)] {
		named = append(named, shown(source))
	}
	list := strings.Join(named, ", ")
	if n := len(v.sources) - maxNamed; n > 0 {
		list += fmt.Sprintf(" and %d more", n)
	} else if n := len(named); n > 1 {
		list = strings.Join(named[:n-1], ", ") + " and " + named[n-1]
	}
	for _, m := range s.Path {
		for _, c := range m.Calls {
			if c.Turn == a.call.Turn && c.Turn != "" && c.ID != a.call.ID && c.Labels.Untrusted() {
				return "This reply read " + list
			}
		}
	}
	return "This conversation has read " + list
}

// shown makes a source fit for a sentence.
func shown(source string) string {
	for _, prefix := range [...]string{"file:", "attachment:"} {
		if rest, ok := strings.CutPrefix(source, prefix); ok {
			source = rest
			break
		}
	}
	source = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || hides(r) {
			return -1
		}
		return r
	}, source)
	if source == "" {
		return "an unnamed source"
	}
	return agent.Clip(source, 80)
}

// wants says what a call would do, after "wants to".
func wants(a asked, v ruling) string {
	target := shown(a.effect.Target)
	if a.effect.Target == "" {
		target = "a place it does not name"
	}
	switch a.effect.Kind {
	case agent.EffectExecute:
		if len(a.effect.Hosts) > 0 {
			return "run a command that can reach " + reach(a.effect.Hosts)
		}
		return "run a command"
	case agent.EffectWrite:
		return "change " + target
	case agent.EffectRemember:
		return "write to what Ash remembers"
	case agent.EffectFetch:
		site := a.host
		if site == "" {
			site = target
		}
		if v.composed {
			return "open an address it made up itself, at " + site
		}
		return "open a page at " + site
	case agent.EffectSend:
		if a.call.Name == toolSearch {
			return "search the web for words of its own"
		}
		return "send something to " + target
	case agent.EffectRead:
		return "read " + target
	case agent.EffectDelegate:
		return "start a helper"
	case agent.EffectAsk:
		return "ask you something"
	}
	return "do something to " + target
}

func reach(hosts []string) string {
	for _, h := range hosts {
		if h == "*" {
			return "the whole internet"
		}
	}
	return shown(strings.Join(hosts, ", "))
}
