package agent

import (
	"context"
	"strings"
)

// The commands a person gives a conversation. They run on its owner's goroutine.

// tail reads the conversation's end and first mends what an earlier failure of
// the store (a full disk) kept this process from ending: only the owner advances
// a turn, so one that is stored as running while the owner rests is not.
func (c *conversation) tail(ctx context.Context) (Tail, error) {
	tail, err := c.engine.Store.Tail(ctx, c.thread)
	if err != nil || c.running() || (tail.Turn.State != TurnRunning && tail.Turn.State != TurnStopping) {
		return tail, err
	}
	if tail.Head.State == MessageOpen {
		cut := tail.Head
		cut.State, cut.Finished = MessageCut, c.engine.Now()
		cut.Error = &Failure{Code: CodeUnavailable, Public: "This answer could not be stored to its end."}
		if err := c.engine.Store.CloseReply(ctx, cut); err != nil {
			return Tail{}, err
		}
	}
	for turn := &tail.Turn; turn != nil; { // what was queued begins a turn of its own, which nobody advances either
		ended, err := c.engine.Store.EndTurn(ctx, *turn, TurnInterrupted)
		if err != nil {
			return Tail{}, err
		}
		c.joined(ended.Joined)
		turn = ended.Next
	}
	return c.engine.Store.Tail(ctx, c.thread)
}

func (c *conversation) post(ctx context.Context, m NewMessage) (Posted, error) {
	tail, err := c.tail(ctx)
	if err != nil {
		return Posted{}, err
	}
	call, again, err := c.answered(ctx, tail, m.Form)
	if err != nil {
		return Posted{}, err
	}
	if again {
		return Posted{Answered: &call, Again: true, Turn: tail.Turn}, nil
	}
	if m.Lent != nil && c.running() {
		return Posted{}, Errorf(CodeConflict, "An answer is being written in this conversation. With a key of your own, wait until it has ended.")
	}
	if q, ok := waitingQuestion(tail); ok && (m.Form != "" || m.Author != "") { // not what Ash posts by itself
		c.engine.lend(tail.Turn, m.Lent)
		return c.answer(ctx, q, m)
	}
	m.Parts = c.engine.inspectParts(ctx, c.thread, c.engine.redactParts(m.Parts))
	if tail.Thread.TitleSource == TitleNone {
		m.Title = titleByWords(m)
	}
	var above *ahead
	if !c.running() {
		above = c.engine.readAhead(ctx, c.thread, tail.Thread.Head)
	}
	c.engine.storing.Add(1)
	posted, err := c.engine.Store.Post(ctx, m)
	c.engine.storing.Add(-1)
	if err != nil || posted.Again {
		return posted, err
	}
	c.closed(posted.Superseded)
	c.joined(posted.Joined)
	c.engine.publish(c.thread, posted.Message.Turn, UserEvent{Message: posted.Message})
	c.engine.lend(posted.Turn, m.Lent)
	if posted.Message.State != MessageQueued {
		if posted.Message.Parent != tail.Thread.Head || len(posted.Superseded) > 0 {
			above = nil // it is not as it was read
		}
		tail.Thread.Head, tail.Turn, tail.Head = posted.Message.ID, posted.Turn, posted.Message
		c.begin(posted.Turn, false, &known{tail, above})
	}
	return posted, nil
}

func (c *conversation) edit(ctx context.Context, old ID, m NewMessage) (Posted, error) {
	if _, err := c.tail(ctx); err != nil {
		return Posted{}, err
	}
	m.Parts = c.engine.inspectParts(ctx, c.thread, c.engine.redactParts(m.Parts))
	posted, err := c.engine.Store.Edit(ctx, old, m)
	if err != nil || posted.Again {
		return posted, err
	}
	c.closed(posted.Superseded)
	c.joined(posted.Joined)
	c.begin(posted.Turn, true, nil)
	return posted, nil
}

func (c *conversation) regenerate(ctx context.Context, message ID) (Turn, error) {
	path, err := c.engine.Store.Path(ctx, message, 1)
	if err != nil {
		return Turn{}, err
	}
	m := path[len(path)-1]
	if m.Thread != c.thread || m.Role != RoleAssistant || m.Parent == "" {
		return Turn{}, Errorf(CodeInvalid, "Only an answer can be written anew.")
	}
	if _, err := c.tail(ctx); err != nil {
		return Turn{}, err
	}
	turn, err := c.engine.Store.Begin(ctx, c.thread, m.Parent)
	if err != nil {
		return Turn{}, err
	}
	c.begin(turn, true, nil)
	return turn, nil
}

// goOn continues below the head, or answers anew where the head holds nothing to continue.
func (c *conversation) goOn(ctx context.Context) (Turn, error) {
	if c.running() {
		return Turn{}, Errorf(CodeConflict, "An answer is being written already.")
	}
	tail, err := c.tail(ctx)
	if err != nil {
		return Turn{}, err
	}
	from := tail.Head
	if from.ID == "" {
		return Turn{}, Errorf(CodeInvalid, "There is nothing to continue yet.")
	}
	below := from.ID
	if from.Role == RoleAssistant && from.State != MessageComplete && strings.TrimSpace(from.Text()) == "" {
		below = from.Parent
	}
	turn, err := c.engine.Store.Begin(ctx, c.thread, below)
	if err != nil {
		return Turn{}, err
	}
	c.begin(turn, below != from.ID, nil)
	return turn, nil
}

func (c *conversation) stop(ctx context.Context, halt bool) error {
	if c.running() {
		c.halted = c.halted || halt
		c.cancel(errStopped) // first: a store that is slow or full does not hold up a stop
		ended, err := c.engine.Store.EndTurn(ctx, c.turn, TurnStopping)
		if err != nil {
			c.engine.Logger.Warn("stop could not be stored; the turn ends all the same", "thread", c.thread, "turn", c.turn.ID, "error", err)
			return nil
		}
		c.engine.publish(c.thread, c.turn.ID, TurnEvent{Turn: ended.Turn})
		return nil
	}
	if halt {
		return nil // what waits for the person runs nothing
	}
	tail, err := c.tail(ctx)
	if err != nil || !tail.Turn.Active() {
		return err
	}
	if err := c.cancelCalls(ctx, tail.Head.Calls, CallStopped); err != nil {
		return err
	}
	c.turn = tail.Turn
	c.settle(TurnStopped)
	return c.refusal
}

// cancelCalls ends calls that have not started.
func (c *conversation) cancelCalls(ctx context.Context, calls []ToolCall, to CallState) error {
	for _, call := range calls {
		if call.State.Ended() || call.State == CallStarted {
			continue
		}
		call.State, call.Finished = to, c.engine.Now()
		ended, err := c.engine.Store.MoveCall(ctx, call, CallProposed, CallWaiting, CallApproved)
		if CodeOf(err) == CodeConflict {
			continue // decided or ended in the same instant
		}
		if err != nil {
			return err
		}
		c.closed([]ToolCall{ended})
	}
	return nil
}

func (c *conversation) branch(ctx context.Context, message ID) (Thread, error) {
	if c.running() {
		return Thread{}, Errorf(CodeConflict, "An answer is being written. Stop it first, or wait for its end.")
	}
	if _, err := c.tail(ctx); err != nil {
		return Thread{}, err
	}
	t, cancelled, err := c.engine.Store.MoveHead(ctx, c.thread, message)
	if err != nil {
		return Thread{}, err
	}
	c.closed(cancelled)
	c.engine.moved(ctx, c.thread)
	c.engine.touched(ctx, c.thread)
	return t, nil
}

// joined tells that messages left the queue.
func (c *conversation) joined(messages []Message) {
	for _, m := range messages {
		c.engine.publish(c.thread, m.Turn, UserEvent{Message: m, Joined: true})
	}
}

// closed tells that calls ended without running.
func (c *conversation) closed(calls []ToolCall) {
	for _, call := range calls {
		c.engine.publishCall(call, ToolResultEvent{Call: call})
	}
}

// publishCall publishes an event of a call, correlated by the call's id, in the tool's lane.
func (e *Engine) publishCall(call ToolCall, ev Event) {
	e.Publisher.Publish(Envelope{
		Thread: call.Thread, Turn: call.Turn, Correlation: call.ID,
		Path: "ash › tools › " + call.Name, Event: ev,
	})
}
