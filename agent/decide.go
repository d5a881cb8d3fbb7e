package agent

import (
	"context"
	"encoding/json"
	"strings"
)

// The person's word on calls that wait for it.

// waitingQuestion returns the first question at the end of a conversation, also while its siblings still run.
func waitingQuestion(t Tail) (ToolCall, bool) {
	if t.Turn.State != TurnWaiting && t.Turn.State != TurnRunning {
		return ToolCall{}, false
	}
	for _, call := range t.Head.Calls {
		if call.Question && call.State == CallWaiting {
			return call, true
		}
	}
	return ToolCall{}, false
}

// answer takes a message sent while a question waits as its answer, with all that was attached to it.
func (c *conversation) answer(ctx context.Context, q ToolCall, m NewMessage) (Posted, error) {
	d := Decision{Approve: true, By: m.Author, Answer: Message{Parts: m.Parts}.Text(), Form: m.Form, Binding: q.Binding}
	call, err := c.decide(ctx, q.ID, d, m.Parts...)
	return Posted{Answered: &call, Turn: c.turn}, err
}

// sent says what became of a message that came with this form before: the question that it answered, mostly at the end of the conversation, or
// that it was stored.
func (c *conversation) sent(ctx context.Context, t Tail, form string) (answered ToolCall, stored bool, err error) {
	if form == "" || t.Turn.ID == "" {
		return ToolCall{}, false, nil
	}
	for _, call := range t.Head.Calls {
		if call.Decision != nil && call.Decision.Form == form {
			return call, false, nil
		}
	}
	return c.engine.Store.Sent(ctx, c.thread, form)
}

// decide stores the person's word on a call and goes on with the turn when it was the last one missing. content is the answer
// to a question as it was sent; d.Answer when there is none.
func (c *conversation) decide(ctx context.Context, id ID, d Decision, content ...Part) (ToolCall, error) {
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
	if call.Locked && d.Approve {
		return ToolCall{}, Errorf(CodeLocked, "This waits for the vault. Unlock it, and it goes on by itself.")
	}
	d.At, d.Reason, d.Answer = c.engine.Now(), c.engine.redact(d.Reason), c.engine.redact(strings.TrimSpace(d.Answer))
	switch {
	case !d.Approve:
		d.Arguments, d.Always = nil, ""
		call.State, call.Finished = CallDenied, d.At
	case call.Question:
		d.Arguments, d.Always = nil, ""
		if len(content) == 0 {
			content = []Part{Text{Text: d.Answer}}
		}
		if err := checkParts(content); err != nil {
			return ToolCall{}, Errorf(CodeInvalid, "The answer is empty. Choose one, or write your own.")
		}
		call.State, call.Finished, call.Result = CallFinished, d.At, c.engine.redactParts(content)
	default:
		if call, err = c.prepare(ctx, call, &d); err != nil {
			return ToolCall{}, err
		}
		call.State = CallApproved
	}
	call.Decision = &d
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
		c.decided(call)
	}
	return call, nil
}

// decided goes on with the turn of a call at rest. The decision is stored: what follows from it does not depend on who asked.
func (c *conversation) decided(call ToolCall) {
	ctx, done := c.storing()
	defer done()
	c.turn = Turn{ID: call.Turn, Thread: call.Thread, State: TurnWaiting}
	if c.recheck(ctx) {
		return
	}
	// Its turn failed, or Ash ended while it ran. Whoever decides wants it to go on.
	tail, err := c.engine.Store.Tail(ctx, c.thread)
	if err != nil || tail.Turn.Active() || tail.Head.ID != call.Message || nextStep(tail) == stepWait || c.engine.ctx.Err() != nil {
		return
	}
	turn, err := c.engine.Store.Begin(ctx, c.thread, call.Message)
	if err != nil {
		c.engine.Logger.Warn("decided, but the turn cannot go on; the page offers it", "thread", c.thread, "call", call.ID, "error", err)
		return
	}
	c.begin(turn, false, nil)
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
	thread, err := c.engine.Store.Thread(ctx, call.Thread)
	if err != nil {
		return call, err
	}
	s, err := c.engine.situation(ctx, thread, call.Message)
	if err != nil {
		return call, err
	}
	offer, offered := call.Effect.Offer(d.Always)
	if d.Always != "" && !offered {
		return call, Errorf(CodeInvalid, "That standing permission was not offered here.")
	}
	prepared := call
	if d.EditedArguments() {
		if prepared, err = c.edited(ctx, s, call, d); err != nil {
			return call, err
		}
	}
	if d.Always != "" { // last: nothing else can go wrong here but the storing
		if err := c.engine.Tools.Permit(ctx, s, call, offer); err != nil {
			return call, err
		}
	}
	return prepared, nil
}

// edited puts the person's arguments in the place of the model's, as they will run: without secrets.
func (c *conversation) edited(ctx context.Context, s Situation, call ToolCall, d *Decision) (ToolCall, error) {
	if !json.Valid(d.Arguments) {
		return call, Errorf(CodeInvalid, "These arguments are not JSON. Nothing was run.")
	}
	d.Arguments = c.engine.redactJSON(d.Arguments)
	call.Arguments = d.Arguments
	j, err := c.engine.judgement(ctx, s, call)
	switch {
	case err != nil:
		return call, err
	case j.Verdict != Allow && j.Verdict != Ask:
		return call, Errorf(CodeInvalid, "With these arguments it cannot run: %s", c.engine.redact(j.Why))
	}
	call.Binding, call.Effect, d.Binding = j.Binding, c.engine.redactEffect(j.Effect), j.Binding
	return call, nil
}
