package agent

import (
	"context"
	"encoding/json"
)

// The person's word on calls that wait for it.

func waitingQuestion(t Tail) (ToolCall, bool) {
	if t.Turn.State != TurnWaiting {
		return ToolCall{}, false
	}
	for _, call := range t.Head.Calls {
		if call.Question && call.State == CallWaiting {
			return call, true
		}
	}
	return ToolCall{}, false
}

// answer takes a message sent while a question waits as its answer.
func (c *conversation) answer(ctx context.Context, q ToolCall, m NewMessage) (Posted, error) {
	text := c.engine.redact(Message{Parts: m.Parts}.Text())
	call, err := c.decide(ctx, q.ID, Decision{Approve: true, By: m.Author, Answer: text, Form: m.Form, Binding: q.Binding})
	return Posted{Answered: &call, Turn: c.turn}, err
}

// answered finds the question of the head that a message with this form has answered already.
func answered(t Tail, form string) (ToolCall, bool) {
	for _, call := range t.Head.Calls {
		if form != "" && call.Decision != nil && call.Decision.Form == form {
			return call, true
		}
	}
	return ToolCall{}, false
}

func (c *conversation) decide(ctx context.Context, id ID, d Decision) (ToolCall, error) {
	call, err := c.engine.Store.Call(ctx, id)
	if err != nil {
		return ToolCall{}, err
	}
	if call.State != CallWaiting {
		return ToolCall{}, Errorf(CodeConflict, "This was already decided or withdrawn.")
	}
	if d.Binding != call.Binding {
		return ToolCall{}, Errorf(CodeConflict, "What would run has changed since you were asked. Look at it again.")
	}
	if d.Approve && !call.Question {
		if call, err = c.prepare(ctx, call, &d); err != nil {
			return ToolCall{}, err
		}
	}
	d.At = c.engine.Now()
	call.Decision = &d
	switch {
	case !d.Approve:
		call.State, call.Finished = CallDenied, d.At
	case call.Question:
		call.State, call.Finished = CallFinished, d.At
		call.Result = []Part{Text{Text: d.Answer}}
	default:
		call.State = CallApproved
	}
	call, err = c.engine.Store.MoveCall(ctx, call, CallWaiting)
	if err != nil {
		return ToolCall{}, err
	}
	c.engine.publishCall(call, ConfirmResponse{Call: call})
	if call.State.Ended() {
		c.engine.publishCall(call, ToolResultEvent{Call: call})
	}
	c.engine.touched(ctx, c.thread) // it leaves every page, also while the turn goes on
	if !c.running() {
		ctx, done := c.storing() // the decision is stored: what follows from it does not depend on who asked
		defer done()
		c.turn = Turn{ID: call.Turn, Thread: call.Thread, State: TurnWaiting}
		c.recheck(ctx)
	}
	return call, nil
}

// prepare makes an approval ready to be stored: the person's own arguments take the place of the
// model's, bound to what they apply to now, and the standing permission given with it is made.
func (c *conversation) prepare(ctx context.Context, call ToolCall, d *Decision) (ToolCall, error) {
	if !d.EditedArguments() && d.Always == "" {
		return call, nil
	}
	if c.engine.Tools == nil {
		return call, Errorf(CodeInvalid, "There are no tools any more.")
	}
	tail, err := c.engine.Store.Tail(ctx, c.thread)
	if err != nil {
		return call, err
	}
	s, err := c.engine.situation(ctx, tail)
	if err != nil {
		return call, err
	}
	if d.Always != "" {
		offer, ok := call.Effect.Offer(d.Always)
		if !ok {
			return call, Errorf(CodeInvalid, "That standing permission was not offered here.")
		}
		if err := c.engine.Tools.Permit(ctx, s, call, offer); err != nil {
			return call, err
		}
	}
	if !d.EditedArguments() {
		return call, nil
	}
	if !json.Valid(d.Arguments) {
		return call, Errorf(CodeInvalid, "These arguments are not JSON. Nothing was run.")
	}
	call.Arguments = d.Arguments
	j, err := c.engine.judgement(ctx, s, call)
	switch {
	case err != nil:
		return call, err
	case j.Verdict == Invalid || j.Verdict == Deny:
		return call, Errorf(CodeInvalid, "With these arguments it cannot run: %s", j.Why)
	}
	call.Binding, call.Effect, d.Binding = j.Binding, j.Effect, j.Binding
	return call, nil
}
