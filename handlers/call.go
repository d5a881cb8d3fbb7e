package handlers

import (
	"slices"
	"strings"

	"ash/agent"
	"ash/views/components"
)

// maxOutput is how much of a tool's output a card shows, in bytes; a page of its own shows
// maxRecord.
const (
	maxOutput = 32 << 10
	maxRecord = 1 << 20
)

// call presents a tool call in any state.
func (p presenter) call(c agent.ToolCall) components.Call {
	out := components.Call{
		ID: c.ID, Thread: c.Thread, Message: c.Message, Name: c.Name, State: c.State, Question: c.Question, Locked: c.Locked,
		Why: c.Why, Binding: c.Binding, Exit: c.Exit, Started: p.at(c.Started), Place: p.place, CSRF: p.token,
		Arguments: visible(arguments(c.Arguments)),
	}
	if !c.Started.IsZero() && !c.Finished.IsZero() {
		out.Duration = c.Finished.Sub(c.Started)
	}
	p.effect(&out, c)
	p.decided(&out, c)
	p.result(&out, c)
	if c.Question {
		out.Asked, out.Why, out.Arguments, out.Payload = question(c), "", "", ""
		if out.Title == "" {
			out.Title = "A question for you"
		}
	}
	if c.State == agent.CallWaiting && c.Locked && p.unlock != nil {
		out.Unlock = p.unlock(c)
	}
	if c.State == agent.CallWaiting && !c.Question && !c.Locked {
		out.Fields = fields(c.Arguments)
	}
	if out.Kind == agent.EffectDelegate {
		out.Lane = p.helpers.lane(p, c)
	}
	out.Undo = c.State == agent.CallFinished && out.Kind == agent.EffectWrite && p.helpers.undoable(c.ID)
	out.Undone = out.Undo && p.helpers.undone(c.ID)
	return out
}

// effect presents what a call would do, as it was shown when it was judged.
func (p presenter) effect(out *components.Call, c agent.ToolCall) {
	e := c.Effect
	if e == nil {
		return
	}
	out.Kind, out.Title, out.Target = e.Kind, e.Title, visible(e.Target)
	out.Payload, out.Diff = visible(e.Text), presentDiff(e.Diff, out.State == agent.CallWaiting || p.place == components.PlaceRun)
	if e.Kind == agent.EffectExecute || e.Kind == agent.EffectFetch {
		out.Payload, out.Target = exact(e.Text), exact(e.Target)
	}
	out.Private, out.Opaque, out.Choices = marks(e.Private), e.Opaque, e.Choices
	out.Sources = unnamed(e.Sources, c.Why)
	for _, host := range e.Hosts {
		out.Hosts = append(out.Hosts, exact(host))
	}
	if out.Payload != "" && visible(e.Text) == out.Arguments {
		out.Arguments = "" // it is all there is to say
	}
	if out.Target == out.Payload {
		out.Target = ""
	}
	if c.State != agent.CallWaiting {
		return
	}
	for _, o := range e.Offers {
		out.Offers = append(out.Offers, components.Offer(o))
	}
}

// unnamed returns the sources that a sentence does not name already.
func unnamed(sources []string, sentence string) []string {
	var out []string
	for _, s := range sources {
		_, name, ok := strings.Cut(s, ":")
		if !strings.Contains(sentence, s) && (!ok || name == "" || !strings.Contains(sentence, name)) {
			out = append(out, s)
		}
	}
	return out
}

// question is what the person is asked.
func question(c agent.ToolCall) string {
	switch {
	case c.Effect != nil && c.Effect.Text != "":
		return c.Effect.Text
	case c.Why != "":
		return c.Why
	}
	return arguments(c.Arguments)
}

// decided says who decided what about a call.
func (p presenter) decided(out *components.Call, c agent.ToolCall) {
	d := c.Decision
	if d == nil {
		return
	}
	out.Reason, out.Answer = d.Reason, d.Answer
	when := ""
	if !d.At.IsZero() {
		when = " at " + p.at(d.At).Format("15:04")
	}
	switch {
	case d.Approve && c.Question:
		out.Decided = "You answered" + when + ":"
	case !d.Approve && d.By == "": // it expired: the reason says so
		out.Decided, out.Reason = d.Reason, ""
	case !d.Approve:
		out.Decided = "You said no" + when + "."
	default:
		out.Decided = "You approved this" + when
		if d.EditedArguments() {
			out.Decided += ", with your own changes"
		}
		if offer, ok := c.Effect.Offer(d.Always); ok {
			out.Decided += ", and from then on: " + offer.Label
		}
		out.Decided += "."
	}
}

// result presents what came out of a call.
func (p presenter) result(out *components.Call, c agent.ToolCall) {
	whole := agent.Message{Parts: c.Result}.Text()
	bound := maxOutput
	if p.place == components.PlaceRun {
		bound = maxRecord
	}
	out.Output = agent.Clip(whole, bound)
	out.Clipped = len(out.Output) < len(whole)
	out.Files = p.files(c.Result)
	for i, part := range c.Result {
		if f, ok := part.(agent.File); ok && f.Truncated && i > 0 {
			out.Clipped = true
		}
	}
	for i := range out.Files {
		if !out.Files[i].Image && !c.Question {
			out.Files[i].Note = "the whole output"
		}
	}
	if c.State.Ended() {
		out.From = sources(c.Labels)
	}
	out.Findings = presentFindings(c.Findings)
}

// calls presents all calls of a reply.
func (p presenter) calls(all []agent.ToolCall) []components.Call {
	out := make([]components.Call, 0, len(all))
	for _, c := range all {
		out = append(out, p.call(c))
	}
	return out
}

// batch presents what one decision can cover of a reply's calls.
func (p presenter) batch(m agent.Message) components.Batch {
	b := components.BatchOf(m.Thread, m.ID, p.calls(m.Calls), p.token)
	b.Place = p.place
	return b
}

// sources names where untrusted content came from, each once.
func sources(l agent.Labels) []string {
	var out []string
	for _, x := range l {
		if x.Kind == agent.LabelUntrusted {
			out = append(out, x.Source)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
