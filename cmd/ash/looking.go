package main

import (
	"context"
	"sync"
)

// looking runs one look at the house at a time, in the background, and tells how far it is. R is its report.
type looking[R any] struct {
	mu     sync.Mutex // guards the rest
	ended  chan struct{}
	done   int
	total  int
	result R
	err    error
	closed bool
	stop   context.CancelFunc
	beside sync.WaitGroup
}

// lookFunc makes a report. each hears how far it is.
type lookFunc[R any] func(ctx context.Context, each func(done, total int)) (R, error)

// begin starts a look unless one is under way, and returns what closes at the end of the one that is.
func (l *looking[R]) begin(run lookFunc[R]) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended != nil {
		return l.ended
	}
	ended := make(chan struct{})
	if l.closed {
		close(ended)
		return ended
	}
	ctx, stop := context.WithCancel(context.Background())
	l.ended, l.done, l.total, l.stop = ended, 0, 0, stop
	l.beside.Go(func() {
		defer stop()
		result, err := run(ctx, func(done, total int) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.done, l.total = done, total
		})
		l.mu.Lock()
		defer l.mu.Unlock()
		l.result, l.err, l.ended = result, err, nil
		close(ended)
	})
	return ended
}

// wait begins a look, or joins the one under way, and returns its report.
func (l *looking[R]) wait(ctx context.Context, run lookFunc[R]) (R, error) {
	select {
	case <-l.begin(run):
	case <-ctx.Done():
		var none R
		return none, ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.result, l.err
}

// state says whether a look is under way, how far it is, and why the last one failed.
func (l *looking[R]) state() (running bool, done, total int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended != nil, l.done, l.total, l.err
}

// close ends a look that is under way; none begins after it.
func (l *looking[R]) close() {
	l.mu.Lock()
	l.closed = true
	if l.stop != nil {
		l.stop()
	}
	l.mu.Unlock()
	l.beside.Wait()
}
