package agent

import (
	"context"
	"slices"
)

// known is what the owner of a conversation knows of the store without asking, because it has just stored the
// person's message there: its end, and what stands before it. The turn that answers begins with it, and
// reads the store from its second step on.
type known struct {
	tail  Tail
	ahead *ahead // what stands above tail.Head; nil when that is not known
	begun *begun // the reply that was opened with tail.Head; nil when none was
}

// ahead is the history of a conversation, read while the message that follows it is on its way to the disk.
type ahead struct {
	done      chan struct{}
	path      []Message
	summaries []Summary
	err       error
}

// readAhead begins to read what stands up to head.
func (e *Engine) readAhead(ctx context.Context, thread, head ID) *ahead {
	a := &ahead{done: make(chan struct{})}
	limit := 2 * e.Settings().MaxMessages
	e.owners.Go(func() {
		defer close(a.done)
		_, a.err = protected(e, "reading ahead", thread, func() (none struct{}, err error) {
			a.path, a.summaries, err = e.read(ctx, thread, head, limit)
			return none, err
		})
	})
	return a
}

// tail returns the conversation's end.
func (e *Engine) tail(ctx context.Context, thread ID, known *known) (Tail, error) {
	if known != nil {
		return known.tail, nil
	}
	return e.Store.Tail(ctx, thread)
}

// history returns the last limit messages up to the head (all for 0), and the summaries of those before.
func (e *Engine) history(ctx context.Context, tail Tail, known *known, limit int) ([]Message, []Summary, error) {
	if known != nil && known.ahead != nil {
		a := known.ahead
		<-a.done
		if a.err == nil {
			path := slices.Concat(a.path, []Message{tail.Head})
			if limit > 0 && len(path) > limit {
				path = path[len(path)-limit:]
			}
			return path, a.summaries, nil
		}
	}
	return e.read(ctx, tail.Thread.ID, tail.Head.ID, limit)
}

func (e *Engine) read(ctx context.Context, thread, head ID, limit int) ([]Message, []Summary, error) {
	path, err := e.Store.Path(ctx, head, limit)
	if err != nil {
		return nil, nil, err
	}
	summaries, err := e.Store.Summaries(ctx, thread)
	return path, summaries, err
}
