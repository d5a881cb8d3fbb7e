package agent

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"
)

// conversation is the owner of one thread: a goroutine that takes commands one
// by one and runs at most one turn beside them.
type conversation struct {
	engine  *Engine
	thread  ID
	mailbox chan func()
	pending int // commands not yet handled; guarded by engine.mu

	turn      Turn // the one being advanced
	advancing      // its cancel is nil at rest
	halted    bool // the kill switch: begin nothing after this turn

	owed     TurnState     // how turn came to rest, while the store refuses to take it; "" else
	refusal  error         // why it does
	patience time.Duration // until the next try
}

// The first and the longest wait before what the store refused is offered again.
const (
	firstPatience = time.Second
	mostPatience  = 30 * time.Second
)

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
	run := func() {
		a := answer{err: c.mend()}
		if a.err == nil {
			a.value, a.err = protected(e, "command", c.thread, func() (T, error) { return fn(c) })
		}
		answers <- a
	}
	select {
	case c.mailbox <- run:
	case <-ctx.Done():
		go func() { c.mailbox <- func() {} }() // it was announced, so it is waited for
		return zero, Wrap(CodeUnavailable, ctx.Err(), "That took too long. Nothing was changed.")
	}
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		return zero, Wrap(CodeUnavailable, ctx.Err(), "That took too long. It may still have happened; reload to see.")
	}
}

// protected turns a panic in fn into an error: one conversation must not take the others down.
func protected[T any](e *Engine, what string, thread ID, fn func() (T, error)) (value T, err error) {
	defer func() {
		if r := recover(); r != nil {
			e.Logger.Error("panic", "in", what, "thread", thread, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			err = Errorf(CodeInternal, "Something broke inside Ash. The log says more; trying again may help.")
		}
	}()
	return fn()
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
		c = &conversation{engine: e, thread: thread, mailbox: make(chan func())}
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
			c.handled()
		case r := <-c.ended:
			c.settle(r)
		case <-c.again():
			c.settle(rest{state: c.owed})
		case <-c.closing():
			c.settle(rest{state: c.owed})
			c.forgive() // at the next start, Recover closes what is open
		}
		if c.retired() {
			return
		}
	}
}

func (c *conversation) handled() {
	c.engine.mu.Lock()
	c.pending--
	c.engine.mu.Unlock()
}

// retired removes the conversation from the register when it rests and nobody is on the way to it.
func (c *conversation) retired() bool {
	if c.running() || c.owed != "" {
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

// advancing is a turn that is being advanced beside the mailbox.
type advancing struct {
	cancel context.CancelCauseFunc // ends it
	ended  chan rest               // how it came to rest, once
	opened uint64                  // how often the vault had been unlocked when it began
}

// advance begins to advance turn. known may be nil.
func (c *conversation) advance(turn Turn, known *known) advancing {
	ctx, cancel := context.WithCancelCause(c.engine.ctx)
	if l := c.engine.lentFor(turn); l != nil {
		ctx = WithLent(ctx, *l)
	}
	a := advancing{cancel, make(chan rest, 1), c.engine.unlocks()}
	c.engine.owners.Go(func() {
		r, err := protected(c.engine, "turn", c.thread, func() (rest, error) { return c.engine.advance(ctx, c.thread, known), nil })
		if err != nil {
			r = rest{state: c.engine.halted(ctx, c.thread, turn.ID, err)}
		}
		a.ended <- r
	})
	return a
}

// follow makes a turn that the store has begun the conversation's own.
func (c *conversation) follow(turn Turn, a advancing) {
	c.turn, c.advancing = turn, a
	c.engine.publish(c.thread, turn.ID, TurnEvent{Turn: turn})
}

// start is advance and follow; the turn is told of first.
func (c *conversation) start(turn Turn, known *known) {
	c.engine.publish(c.thread, turn.ID, TurnEvent{Turn: turn})
	c.turn, c.advancing = turn, c.advance(turn, known)
}

// settle stores how a turn came to rest and begins what was queued behind it.
// It outlives the server's stop: this is the storing that must still happen.
// What the store refuses is owed: it is offered again after a while, and before the next command.
func (c *conversation) settle(r rest) {
	if c.running() {
		c.cancel(nil)
		c.cancel = nil
	}
	ctx, done := c.storing()
	defer done()
	ended, state, err := c.end(ctx, r)
	switch CodeOf(err) {
	case "":
		c.owed, c.refusal = "", nil
	case CodeConflict, CodeNotFound: // ended in another way, or the thread is gone
		c.engine.returned(c.turn)
		c.engine.Logger.Warn("turn had ended already", "thread", c.thread, "turn", c.turn.ID, "error", err)
		c.forgive()
		return
	default:
		c.owe(state, err)
		return
	}
	lent := ended.Turn.State != TurnWaiting && c.engine.returned(c.turn)
	c.engine.publish(c.thread, c.turn.ID, TurnEvent{Turn: ended.Turn})
	c.engine.touched(ctx, c.thread)
	c.closed(ended.Superseded)
	c.joined(ended.Joined)
	switch {
	case ended.Next != nil && c.engine.ctx.Err() != nil:
		c.turn = *ended.Next
		c.settle(rest{state: TurnInterrupted})
	case ended.Next != nil && c.halted:
		c.turn = *ended.Next
		c.settle(rest{state: TurnStopped})
	case ended.Next != nil:
		c.start(*ended.Next, nil)
	case ended.Turn.State == TurnWaiting:
		c.recheck(ctx)
	case ended.Turn.State == TurnFailed && c.engine.unlocks() > c.opened && !c.halted:
		c.takeUpHere(ctx)
	case ended.Turn.State == TurnDone && !lent: // who brought a key did not ask for a title at the owner's cost
		c.engine.nameThread(c.thread)
	}
	c.halted = c.halted && c.owed != ""
}

// end stores how a turn came to rest, after what is owed of it. It returns the state it stored: a turn whose reply
// the store refused has failed, until that is made good.
func (c *conversation) end(ctx context.Context, r rest) (EndedTurn, TurnState, error) {
	e := c.engine
	if r.reply != nil {
		ended, err := c.conclude(ctx, r)
		if err == nil {
			return ended, r.state, nil
		}
		if r.state == TurnDone {
			r.state = TurnFailed
		}
	}
	paid, err := e.pay(ctx, c.thread)
	if err != nil {
		return EndedTurn{}, r.state, err
	}
	if paid && r.state == TurnFailed {
		tail, err := e.Store.Tail(ctx, c.thread)
		if err != nil {
			return EndedTurn{}, r.state, err
		}
		if tail.Head.State == MessageComplete && nextStep(tail) == stepRest {
			r.state = TurnDone // nothing was wrong but the storing
		}
	}
	ended, err := e.Store.EndTurn(ctx, c.turn, r.state)
	return ended, r.state, err
}

// conclude stores the last reply of the turn and its end as one, and tells of the reply. A reply that the store refuses is owed.
func (c *conversation) conclude(ctx context.Context, r rest) (EndedTurn, error) {
	e := c.engine
	_, err := e.pay(ctx, c.thread) // what was done before the reply stands before it
	if err == nil {
		var ended EndedTurn
		if ended, err = e.Store.Conclude(ctx, *r.reply, r.state); err == nil {
			e.publishReply(*r.reply)
			return ended, nil
		}
	}
	e.Logger.Error("a reply could not be stored with the end of its turn", "thread", c.thread, "turn", c.turn.ID, "error", err)
	e.owe(c.thread, e.closing(*r.reply))
	return EndedTurn{}, err
}

// owe notes that the turn came to rest in state and the store did not take it. The person is told once.
func (c *conversation) owe(state TurnState, err error) {
	first := c.owed == ""
	c.owed, c.refusal = state, err
	c.patience = min(2*c.patience, mostPatience)
	if !first {
		return
	}
	c.patience = firstPatience
	c.engine.Logger.Error("turn could not be ended; it is tried again", "thread", c.thread, "turn", c.turn.ID, "state", state, "error", err)
	failed := c.turn
	failed.State = TurnFailed
	c.engine.publish(c.thread, c.turn.ID, ErrorEvent{*c.engine.fail(err)})
	c.engine.publish(c.thread, c.turn.ID, TurnEvent{Turn: failed})
}

// mend has the store take what it refused before; as long as it does not, nothing new is begun.
func (c *conversation) mend() error {
	if c.owed != "" {
		c.settle(rest{state: c.owed})
	}
	return c.refusal
}

func (c *conversation) forgive() {
	c.owed, c.refusal, c.halted = "", nil, false
	c.engine.forgive(c.thread)
}

// again tells when what is owed is to be offered again; never when nothing is.
func (c *conversation) again() <-chan time.Time {
	if c.owed == "" {
		return nil
	}
	return time.After(c.patience)
}

// closing tells a conversation that waits only for the store that Ash shuts down.
func (c *conversation) closing() <-chan struct{} {
	if c.owed == "" {
		return nil
	}
	return c.engine.ctx.Done()
}

// recheck goes on with a turn whose last decision has come, and catches one that came while
// the advance was coming to rest. It reports whether the turn waits, goes on, or the store refuses to say.
func (c *conversation) recheck(ctx context.Context) bool {
	if c.engine.ctx.Err() != nil {
		return true // the decision is stored; after the restart the page offers to go on
	}
	tail, err := c.engine.Store.Tail(ctx, c.thread)
	if err != nil {
		c.owe(TurnWaiting, err)
		return true
	}
	if tail.Turn.State != TurnWaiting {
		return false
	}
	if nextStep(tail) == stepWait {
		return true
	}
	c.turn = tail.Turn
	resumed, err := c.engine.Store.Resume(ctx, tail.Turn.ID)
	if err != nil {
		c.owe(TurnWaiting, err)
		return true
	}
	c.start(resumed, nil)
	return true
}

// storing returns a context for writes that must happen although the turn or the server ends.
func (c *conversation) storing() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(c.engine.ctx), storeTimeout)
}

// running reports whether a turn is being advanced.
func (c *conversation) running() bool { return c.cancel != nil }

// begin starts a turn that the store has begun. moved says that the head went elsewhere; known is as in start.
// Whoever asked may be gone by now: what is told does not depend on them.
func (c *conversation) begin(turn Turn, moved bool, known *known) {
	ctx, done := c.storing()
	defer done()
	if moved {
		c.engine.moved(ctx, c.thread)
	}
	c.start(turn, known)
	c.told()
}

// told tells all lists that the conversation has gone on. The person waits for the answer: whoever makes that goes first.
func (c *conversation) told() {
	runtime.Gosched()
	ctx, done := c.storing()
	defer done()
	c.engine.touched(ctx, c.thread)
}
