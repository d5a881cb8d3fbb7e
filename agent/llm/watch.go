package llm

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

var (
	errFirstToken = errors.New("no first token in time")
	errStalled    = errors.New("the stream stands still")
)

// watch cancels a call whose provider keeps silent too long. Time the caller spends on a delta
// does not count. A beat costs one atomic addition: the timer looks four times per limit whether there
// was one, so that a limit is kept within a quarter of itself.
type watch struct {
	cancel context.CancelCauseFunc
	beats  atomic.Uint64 // odd while the caller has a delta in hand

	mu     sync.Mutex
	timer  *time.Timer
	limit  time.Duration
	cause  error
	seen   uint64
	silent int // quarters of the limit without a beat
	ended  bool
}

func newWatch(cancel context.CancelCauseFunc, limit time.Duration) *watch {
	w := &watch{cancel: cancel, limit: limit, cause: errFirstToken}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(limit/4, w.look)
	return w
}

// begun switches to the limit between deltas, once the first one has come.
func (w *watch) begun(limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit, w.cause, w.silent = limit, errStalled, 0
	w.timer.Reset(limit / 4)
}

func (w *watch) beat() { w.beats.Add(1) }

func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	beats := w.beats.Load()
	switch {
	case beats%2 == 1 || beats != w.seen:
		w.silent = 0
	default:
		w.silent++
	}
	w.seen = beats
	if w.silent >= 4 {
		w.cancel(w.cause)
		return
	}
	w.timer.Reset(w.limit / 4)
}

func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	w.timer.Stop()
}
