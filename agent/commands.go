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
	select {
	case c.engine.beginning <- struct{}{}:
		defer func() { <-c.engine.beginning }()
	case <-ctx.Done():
		return Posted{}, Wrap(CodeUnavailable, ctx.Err(), "That took too long. Nothing was changed.")
	}
	tail, err := c.tail(ctx)
	if err != nil {
		return Posted{}, err
	}
	call, stored, err := c.sent(ctx, tail, m.Form)
	if err != nil {
		return Posted{}, err
	}
	if call.ID != "" {
		return Posted{Answered: &call, Again: true, Turn: tail.Turn}, nil
	}
	if m.Lent != nil && c.running() {
		return Posted{}, Errorf(CodeConflict, "An answer is being written in this conversation. With a key of your own, wait until it has ended.")
	}
	if q, ok := waitingQuestion(tail); ok && !stored && (m.Form != "" || m.Author != "") { // not what Ash posts by itself
		c.engine.lend(tail.Turn, m.Lent)
		return c.answer(ctx, q, m)
	}
	m.Parts = c.engine.inspectParts(ctx, c.thread, c.engine.redactParts(m.Parts))
	if tail.Thread.TitleSource == TitleNone {
		m.Title = titleByWords(m)
	}
	if c.running() || stored { // nothing begins
		return c.say(ctx, m, tail, nil, nil)
	}
	above := c.engine.readAhead(ctx, c.thread, tail.Thread.Head)
	if m.Lent != nil { // who pays has a say in who answers, and that is known with the turn
		return c.say(ctx, m, tail, above, nil)
	}
	return c.say(ctx, m, tail, above, c.engine.begins(ctx, tail.Thread))
}

// say stores a message of the person, with the reply that begins below it if there is one, and goes on from there.
func (c *conversation) say(ctx context.Context, m NewMessage, tail Tail, above *ahead, reply *begun) (Posted, error) {
	var x *early
	few := c.engine.storing.Add(1) <= fewWrites // counted before it is looked at: of many at once only the first are asked about early
	if reply != nil {
		m.Reply = &reply.message
		if few {
			x = c.askEarly(tail, above, reply, m)
		}
	}
	defer func() { x.drop() }() // unless it goes on
	posted, err := c.stored(ctx, m)
	if err != nil || posted.Again {
		return posted, err
	}
	c.closed(posted.Superseded)
	c.joined(posted.Joined)
	told := UserEvent{Message: posted.Message, Alone: posted.Alone}
	if posted.Message.Parent == tail.Head.ID {
		told.Follows = tail.Head.State
	}
	c.engine.publish(c.thread, posted.Message.Turn, told)
	c.engine.lend(posted.Turn, m.Lent)
	switch {
	case posted.Message.State == MessageQueued:
	case x != nil && x.fits(posted):
		c.follow(posted.Turn, x.advancing)
		x.opening.stored(nil)
		x = nil
		c.told()
	default:
		x.drop()
		x = nil
		if posted.Message.Parent != tail.Thread.Head || len(posted.Superseded) > 0 {
			above = nil // it is not as it was read
		}
		if posted.Reply == nil {
			reply = nil
		}
		tail.Thread.Head, tail.Turn, tail.Head = posted.Message.ID, posted.Turn, posted.Message
		c.begin(posted.Turn, false, &known{tail, above, reply})
	}
	return posted, nil
}

// stored stores a message that was counted in storing.
func (c *conversation) stored(ctx context.Context, m NewMessage) (Posted, error) {
	defer c.engine.storing.Add(-1)
	return c.engine.Store.Post(ctx, m)
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
	c.settle(rest{state: TurnStopped})
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
