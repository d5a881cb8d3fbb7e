package agent

import (
	"context"
	"time"
)

// conversation is the owner of one thread: a goroutine that takes commands one
// by one and runs at most one turn beside them.
type conversation struct {
	engine  *Engine
	thread  ID
	mailbox chan func()
	pending int // commands not yet handled; guarded by engine.mu

	turn   Turn                    // the one being advanced
	cancel context.CancelCauseFunc // ends it; nil at rest
	ended  chan TurnState          // how the advance came to rest
	halted bool                    // the kill switch: begin nothing after this turn
}

// command runs fn on the goroutine that owns thread, starting it if need be,
// and returns what fn returned. ctx bounds the waiting, not fn's storing.
func command[T any](ctx context.Context, e *Engine, thread ID, fn func(*conversation) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var zero T
	c, err := e.own(thread)
	if err != nil {
		return zero, err
	}
	answers := make(chan answer, 1)
	c.mailbox <- func() {
		v, err := fn(c)
		answers <- answer{v, err}
	}
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		return zero, Wrap(CodeUnavailable, ctx.Err(), "That took too long. It may still have happened; reload to see.")
	}
}

// own returns the conversation of a thread with one command announced, so that it cannot retire before taking it.
func (e *Engine) own(thread ID) (*conversation, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, Wrap(CodeUnavailable, errClosing, "Ash is shutting down. Nothing was changed; try again when it is back.")
	}
	c := e.conversations[thread]
	if c == nil {
		c = &conversation{engine: e, thread: thread, mailbox: make(chan func()), ended: make(chan TurnState, 1)}
		e.conversations[thread] = c
		e.owners.Add(1)
		go c.run()
	}
	c.pending++
	return c, nil
}

// run handles commands and ends of turns until there is nothing left to own.
func (c *conversation) run() {
	defer c.engine.owners.Done()
	for {
		select {
		case cmd := <-c.mailbox:
			cmd()
			c.handled(1)
		case state := <-c.ended:
			c.settle(state)
		}
		if c.retired() {
			return
		}
	}
}

func (c *conversation) handled(n int) {
	c.engine.mu.Lock()
	c.pending -= n
	c.engine.mu.Unlock()
}

// retired removes the conversation from the register when it rests and nobody is on the way to it.
func (c *conversation) retired() bool {
	if c.cancel != nil {
		return false
	}
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	if c.pending > 0 {
		return false
	}
	delete(c.engine.conversations, c.thread)
	return true
}

// start advances turn beside the mailbox.
func (c *conversation) start(turn Turn) {
	ctx, cancel := context.WithCancelCause(c.engine.ctx)
	c.turn, c.cancel = turn, cancel
	c.engine.publish(c.thread, turn.ID, TurnEvent{Turn: turn})
	go func() { c.ended <- c.engine.Advance(ctx, c.thread) }()
}

// settle stores how a turn came to rest and begins what was queued behind it.
// It outlives the server's stop: this is the storing that must still happen.
func (c *conversation) settle(state TurnState) {
	c.cancel(nil)
	c.cancel = nil
	ctx, done := c.storing()
	defer done()
	ended, err := c.engine.Store.EndTurn(ctx, c.turn, state)
	if err != nil {
		c.engine.Logger.Error("turn could not be ended", "thread", c.thread, "turn", c.turn.ID, "state", state, "error", err)
		failed := c.turn
		failed.State = TurnFailed
		c.engine.publish(c.thread, c.turn.ID, ErrorEvent{Failure{CodeOf(err), PublicOf(err)}})
		c.engine.publish(c.thread, c.turn.ID, TurnEvent{Turn: failed})
		return
	}
	c.engine.publish(c.thread, c.turn.ID, TurnEvent{Turn: ended.Turn})
	c.engine.touched(ctx, c.thread)
	c.closed(ended.Superseded)
	c.joined(ended.Joined)
	switch {
	case ended.Next != nil && (c.halted || c.engine.ctx.Err() != nil):
		c.abandon(ctx, *ended.Next)
	case ended.Next != nil:
		c.start(*ended.Next)
	case state == TurnWaiting:
		c.recheck(ctx)
	case state == TurnDone:
		c.engine.nameThread(c.thread)
	}
	c.halted = false
}

// abandon ends a turn that must not begin.
func (c *conversation) abandon(ctx context.Context, turn Turn) {
	state := TurnStopped
	if c.engine.ctx.Err() != nil {
		state = TurnInterrupted
	}
	ended, err := c.engine.Store.EndTurn(ctx, turn, state)
	if err != nil {
		c.engine.Logger.Error("queued turn could not be ended", "thread", c.thread, "turn", turn.ID, "error", err)
		return
	}
	c.engine.publish(c.thread, turn.ID, TurnEvent{Turn: ended.Turn})
}

// recheck catches a decision that came while the advance was coming to rest.
func (c *conversation) recheck(ctx context.Context) {
	tail, err := c.engine.Store.Tail(ctx, c.thread)
	if err != nil {
		c.engine.Logger.Error("conversation could not be read", "thread", c.thread, "error", err)
		return
	}
	if tail.Turn.State == TurnWaiting && nextStep(tail) != stepWait {
		c.resume(ctx, tail.Turn)
	}
}

func (c *conversation) resume(ctx context.Context, turn Turn) {
	if c.engine.ctx.Err() != nil {
		return // the page offers Continue after the restart
	}
	resumed, err := c.engine.Store.Resume(ctx, turn.ID)
	if err != nil {
		c.engine.Logger.Error("turn could not be resumed", "thread", c.thread, "turn", turn.ID, "error", err)
		return
	}
	c.start(resumed)
}

// storing returns a context for writes that must happen although the turn or the server ends.
func (c *conversation) storing() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(c.engine.ctx), 10*time.Second)
}

// running reports whether a turn is being advanced.
func (c *conversation) running() bool { return c.cancel != nil }

// begin starts a turn that the store has begun.
func (c *conversation) begin(ctx context.Context, turn Turn) {
	c.engine.touched(ctx, c.thread)
	c.start(turn)
}
