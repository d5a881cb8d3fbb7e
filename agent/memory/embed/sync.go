package embed

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"ash/agent"
)

// tellEvery is how often OnStatus is told of progress.
const tellEvery = 500 * time.Millisecond

// Run keeps the index up to date until ctx ends: after each Wake, and again some time after a failure.
func (x *Index) Run(ctx context.Context) {
	rest := x.options.Rest
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-x.wake:
		case <-timer.C:
		}
		err := x.Sync(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			rest = x.options.Rest
			continue
		}
		x.options.Log.WarnContext(ctx, "vectors not up to date", slog.Any("error", err), slog.Duration("again", rest))
		timer.Reset(rest)
		rest = min(2*rest, 20*x.options.Rest)
	}
}

// Sync makes the vectors of all items that lack one, newest items first, and returns when none is left, on the first failure, or
// when the embedder is changed. Without an embedder it does nothing. Searches go on meanwhile.
func (x *Index) Sync(ctx context.Context) error {
	x.working.Lock()
	defer x.working.Unlock()
	e, space, loaded, err := x.ready(ctx)
	if err != nil {
		x.failed(e, err)
		return err
	}
	if e == nil {
		return nil
	}
	if err = x.embedPending(ctx, e, space, loaded); err != nil {
		x.failed(e, err)
		return err
	}
	return x.settle(ctx, e, space, loaded)
}

// embedPending works through the pending items.
func (x *Index) embedPending(ctx context.Context, e Embedder, space Space, loaded *codes) error {
	told := time.Time{}
	for x.uses(e) {
		items, err := x.vectors.PendingItems(ctx, x.options.Batch)
		if err != nil || len(items) == 0 {
			return err
		}
		vectors, err := x.embed(ctx, e, space, items)
		if err != nil {
			return err
		}
		if !x.uses(e) {
			return nil // what was made belongs to nothing any more
		}
		if err := x.vectors.SaveVectors(ctx, space, items, vectors); err != nil {
			return err
		}
		x.mu.Lock()
		loaded.put(vectors)
		x.mu.Unlock()
		if time.Since(told) >= tellEvery {
			if err := x.count(ctx, e, space, true); err != nil {
				return err
			}
			told = time.Now()
		}
	}
	return nil
}

func (x *Index) embed(ctx context.Context, e Embedder, space Space, items []Item) ([]Vector, error) {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = agent.Clip(item.Text, maxText)
	}
	found, err := e.Documents(ctx, texts)
	if err != nil {
		return nil, err
	}
	if err := check(found, len(items), space.Dimensions, space.Name); err != nil {
		return nil, err
	}
	vectors := make([]Vector, len(items))
	for i, v := range found {
		vectors[i].Item = items[i].Seq
		if vectors[i].Bytes = bytesOf(v); vectors[i].Bytes != nil {
			vectors[i].Code = codeOf(v)
		}
	}
	return vectors, nil
}

// settle ends a Sync: what was removed behind the index's back leaves memory.
func (x *Index) settle(ctx context.Context, e Embedder, space Space, loaded *codes) error {
	if err := x.count(ctx, e, space, false); err != nil {
		return err
	}
	x.mu.RLock()
	stale := x.codes == loaded && loaded.len() != x.status.Have
	x.mu.RUnlock()
	if !stale {
		return nil
	}
	anew := newCodes(space.Dimensions)
	if err := x.vectors.Codes(ctx, space, anew.put); err != nil {
		return err
	}
	x.mu.Lock()
	if x.codes == loaded {
		x.codes = anew
	}
	x.mu.Unlock()
	return nil
}

// count brings the status up to date and tells it.
func (x *Index) count(ctx context.Context, e Embedder, space Space, indexing bool) error {
	have, pending, err := x.vectors.CountVectors(ctx, space)
	if err != nil {
		return err
	}
	x.mu.Lock()
	if x.embedder == e {
		x.status = Status{Have: have, Pending: pending, Indexing: indexing && pending > 0}
	}
	x.mu.Unlock()
	x.tell()
	return nil
}

// failed notes why an embedder cannot be used. One that changed its dimensions is asked for them anew next time.
func (x *Index) failed(e Embedder, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	x.mu.Lock()
	if x.embedder != e {
		x.mu.Unlock()
		return
	}
	x.status.Indexing = false
	if problem := agent.PublicOf(err); x.status.Problem != problem {
		x.status.Problem, x.status.Since = problem, time.Now().UTC()
	}
	if errors.Is(err, errDimensions) {
		x.space, x.codes = Space{}, nil
		if f, ok := e.(forgetter); ok {
			f.forget()
		}
		x.Wake()
	}
	x.mu.Unlock()
	x.tell()
}

// forgetter is an embedder that remembers its dimensions.
type forgetter interface{ forget() }

func (x *Index) uses(e Embedder) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.embedder == e
}

func (x *Index) tell() {
	if x.options.OnStatus != nil {
		x.options.OnStatus(x.Status())
	}
}
