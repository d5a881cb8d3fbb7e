package policy

import (
	"context"
	"strconv"
	"time"

	"ash/agent"
)

// EventKind says what a line of the security log is about.
type EventKind string

// The kinds of event.
const (
	EventFlow    EventKind = "flow"    // the flow rule asked
	EventLeak    EventKind = "leak"    // a send repeats private text or cannot be read
	EventDenied  EventKind = "denied"  // a rule refused a call
	EventFinding EventKind = "finding" // something suspicious stands in a result
	EventGrant   EventKind = "grant"   // the person gave a standing permission
	EventRevoked EventKind = "revoked" // the person took one back
)

// SecurityEvent is a line of the security log. It never bears text of the conversation.
type SecurityEvent struct {
	Time   time.Time
	Kind   EventKind
	Thread agent.ID // "" for none
	Call   agent.ID // "" for none
	Tool   string
	Rule   string // of a rule or a grant, its match; of a finding, the scanner's rule
	Source string // one untrusted source
	Detail string // a count or a kind of effect, never text
}

// SecurityLog keeps the security log.
type SecurityLog interface {
	LogSecurity(ctx context.Context, events ...SecurityEvent) error
}

// maxLogged bounds the lines of one judgement: so many sources are named one by one.
const maxLogged = 16

// note counts the use of a rule and logs what the judgement is about, the first time a call is judged. Neither may
// stand in the way of asking the person: a failure is told to the operator's log.
func (p *Policy) note(ctx context.Context, s agent.Situation, a asked, v ruling) {
	if a.call.State != agent.CallProposed {
		return
	}
	now := p.options.Now().UTC()
	if v.ruled {
		if err := p.options.Rules.UseRule(ctx, v.rule.ID, now); err != nil {
			p.options.Logger.Warn("the use of a rule was not counted", "rule", v.rule.ID, "error", err)
		}
	}
	base := SecurityEvent{Time: now, Thread: s.Thread.ID, Call: a.call.ID, Tool: a.call.Name, Detail: string(a.effect.Kind)}
	var events []SecurityEvent
	if v.Verdict == agent.Deny {
		e := base
		e.Kind, e.Rule = EventDenied, v.rule.Match
		events = append(events, e)
	}
	if v.leak.found() {
		e := base
		e.Kind, e.Detail = EventLeak, "private passages: "+strconv.Itoa(len(v.leak.Private))
		if v.leak.Opaque {
			e.Detail += ", cannot be read"
		}
		events = append(events, e)
	}
	if v.flow && v.Verdict == agent.Ask {
		for _, source := range v.sources[:min(len(v.sources), maxLogged)] {
			e := base
			e.Kind, e.Source = EventFlow, source
			events = append(events, e)
		}
	}
	p.log(ctx, events...)
}

func (p *Policy) log(ctx context.Context, events ...SecurityEvent) {
	if p.options.Log == nil || len(events) == 0 {
		return
	}
	if err := p.options.Log.LogSecurity(ctx, events...); err != nil {
		p.options.Logger.Warn("the security log was not written", "events", len(events), "error", err)
	}
}

// Found logs what was found in a call's result. Excerpts are not kept.
func (p *Policy) Found(ctx context.Context, c agent.ToolCall, findings []agent.Finding) {
	events := make([]SecurityEvent, 0, len(findings))
	for _, f := range findings[:min(len(findings), maxLogged)] {
		e := SecurityEvent{Time: p.options.Now().UTC(), Kind: EventFinding, Thread: c.Thread, Call: c.ID, Tool: c.Name, Rule: f.Rule}
		for _, l := range c.Labels {
			if l.Kind == agent.LabelUntrusted {
				e.Source = l.Source
				break
			}
		}
		events = append(events, e)
	}
	p.log(ctx, events...)
}
