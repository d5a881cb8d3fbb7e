package agent

import (
	"context"
	"errors"
	"time"
)

// WaitingStore finds what waits for the person, and what helpers took.
type WaitingStore interface {
	LockedStore
	// Unanswered returns the approvals (not questions, nor what waits for the vault) that wait and were asked for before then, the oldest first.
	Unanswered(ctx context.Context, before time.Time) ([]ID, error)
	// Sent says what became of a message of thread that came with this form before: the question that it answered (the zero call when
	// there is none), or that it was stored.
	Sent(ctx context.Context, thread ID, form string) (answered ToolCall, stored bool, err error)
	// Orphans returns the threads of helpers whose turn waits or runs although the call they work for has ended.
	Orphans(ctx context.Context) ([]ID, error)
	// Waits reports whether a turn, or one of a helper that works for it, waits for the person.
	Waits(ctx context.Context, turn ID) (bool, error)
	// Helped returns the tokens and cost of all helpers that worked for a turn.
	Helped(ctx context.Context, turn ID) (Usage, error)
}

// Expired reports whether nobody decided in time: it is a refusal by no one.
func (d Decision) Expired() bool { return !d.Approve && d.By == "" && d.Reason == "" }

// Expire denies the approvals that were asked for before then and returns how many. Questions go on waiting: they hold up nothing
// but their own turn, and there is no answer to give in the person's place. One that cannot be denied does not hold up the others.
func (e *Engine) Expire(ctx context.Context, before time.Time) (int, error) {
	ids, err := e.Store.Unanswered(ctx, before)
	if err != nil {
		return 0, err
	}
	n := 0
	var errs []error
	for _, id := range ids {
		call, err := e.Store.Call(ctx, id)
		if err == nil {
			_, err = e.Decide(ctx, id, Decision{Binding: call.Binding})
		}
		switch CodeOf(err) {
		case "":
			n++
		case CodeConflict, CodeNotFound: // decided in the same instant
		default:
			errs = append(errs, err)
		}
	}
	return n, errors.Join(errs...)
}

// StopOrphans ends the turns of helpers that nobody waits for any more (Ash ended while they waited for the person): their
// approvals would lead nowhere. It is called at the start, before anybody can decide.
func (e *Engine) StopOrphans(ctx context.Context) (int, error) {
	threads, err := e.Store.Orphans(ctx)
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, t := range threads {
		errs = append(errs, e.Stop(ctx, t))
	}
	return len(threads), errors.Join(errs...)
}
