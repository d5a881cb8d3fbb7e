package agent

import (
	"context"
	"errors"
	"time"
)

// What rests because the vault is locked, and how it goes on.

// Place names something in a thread.
type Place struct{ Thread, ID ID }

// LockedStore finds what waits for the vault.
type LockedStore interface {
	// LockedCalls returns the calls that wait for the vault, the oldest first.
	LockedCalls(ctx context.Context) ([]Place, error)
	// LockedReplies returns the replies that failed since then because the vault was locked, and that still are the head of
	// a conversation (not of a helper's), the oldest first, at most limit.
	LockedReplies(ctx context.Context, since time.Time, limit int) ([]Place, error)
}

// maxTakenUp is how many answers one unlocking sets off, so that it cannot begin more than a person may have waited for.
const maxTakenUp = 20

// Unlocked goes on with everything that waits for the vault, which was unlocked: calls of any age, which said that they would, and answers
// that failed at or after since. It returns how many there were. It may be called more than once: nothing begins twice.
func (e *Engine) Unlocked(ctx context.Context, since time.Time) (int, error) {
	calls, err := e.Store.LockedCalls(ctx)
	if err != nil {
		return 0, err
	}
	n := 0
	var errs []error
	for _, p := range calls {
		went, err := command(ctx, e, p.Thread, func(c *conversation) (bool, error) { return c.unlocked(ctx, p.ID) })
		if went {
			n++
		}
		errs = append(errs, err)
	}
	replies, err := e.Store.LockedReplies(ctx, since, maxTakenUp)
	errs = append(errs, err)
	for _, p := range replies {
		went, err := e.TakeUp(ctx, p.Thread, p.ID)
		if went {
			n++
		}
		errs = append(errs, err)
	}
	return n, errors.Join(errs...)
}

// TakeUp answers anew where the reply message failed, for what it failed for (the locked vault, a missing key) is there now. It reports whether it began
// to: nothing happens when the conversation has gone on from there, or does already, so page, command and watcher may all ask.
func (e *Engine) TakeUp(ctx context.Context, thread, message ID) (bool, error) {
	return command(ctx, e, thread, func(c *conversation) (bool, error) { return c.takeUp(ctx, message) })
}

// unlocks is Options.Unlocks, 0 without a vault.
func (e *Engine) unlocks() uint64 {
	if e.Unlocks == nil {
		return 0
	}
	return e.Unlocks()
}

// locked reports whether a call ended without doing anything because the vault is locked.
func (e *Engine) locked(ctx context.Context, err error) bool {
	return e.Unlocks != nil && CodeOf(err) == CodeLocked && ctx.Err() == nil
}

// restLocked has a call that was started, and has done nothing, wait for the vault. unlocks is how often that had been unlocked before: if it was
// meanwhile, the call may run at once, for nobody will come to say so.
func (e *Engine) restLocked(ctx context.Context, call ToolCall, why error, unlocks uint64) error {
	call.State, call.Locked, call.Why, call.Started = CallWaiting, true, e.redact(PublicOf(why)), time.Time{}
	storing, done := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer done()
	rest := func(ctx context.Context) error {
		rested, err := e.Store.MoveCall(ctx, call, CallStarted)
		if err == nil {
			e.publishCall(rested, ConfirmRequest{Call: rested})
			e.touched(ctx, call.Thread)
		}
		return err
	}
	if err := rest(storing); err != nil {
		e.owe(call.Thread, rest)
		return err
	}
	if e.unlocks() == unlocks {
		return nil
	}
	_, err := e.release(storing, call)
	return err
}

// release moves a call that waits for the vault on. It reports whether it was the one to do so.
func (e *Engine) release(ctx context.Context, call ToolCall) (bool, error) {
	call.State, call.Locked = CallApproved, false
	call, err := e.Store.MoveCall(ctx, call, CallWaiting)
	if CodeOf(err) == CodeConflict {
		return false, nil // stopped, denied or released in the same instant
	}
	if err != nil {
		return false, err
	}
	e.publishCall(call, ConfirmResponse{Call: call})
	e.touched(ctx, call.Thread)
	return true, nil
}

// unlocked goes on with a call that waits for the vault.
func (c *conversation) unlocked(ctx context.Context, id ID) (bool, error) {
	call, err := c.engine.Store.Call(ctx, id)
	if err != nil || !call.Locked || call.State != CallWaiting {
		return false, err
	}
	released, err := c.engine.release(ctx, call)
	if released && !c.running() {
		c.decided(call)
	}
	return released, err
}

// takeUp answers anew if message is the head and failed.
func (c *conversation) takeUp(ctx context.Context, message ID) (bool, error) {
	if c.running() {
		return false, nil
	}
	tail, err := c.tail(ctx)
	head := tail.Head
	if err != nil || head.ID != message || head.State != MessageFailed {
		return false, err
	}
	_, err = c.goOn(ctx)
	return err == nil, err
}

// takeUpHere takes up the turn that has just failed, if it was for want of the vault, which was unlocked while it ran: whoever
// unlocked it found nothing to go on with.
func (c *conversation) takeUpHere(ctx context.Context) {
	tail, err := c.engine.Store.Tail(ctx, c.thread)
	if e := tail.Head.Error; err == nil && e != nil && e.Code == CodeLocked {
		_, err = c.takeUp(ctx, tail.Head.ID)
	}
	if err != nil {
		c.engine.Logger.Warn("the vault was unlocked, but the answer cannot be taken up; the page offers it", "thread", c.thread, "error", err)
	}
}
