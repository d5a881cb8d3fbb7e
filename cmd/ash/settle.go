package main

import (
	"context"
	"runtime/debug"
	"sync"
	"time"
)

// settleAfter is how long after the doors are open the work begins that nobody waits for: a page that comes first has the machine to itself.
const settleAfter = 300 * time.Millisecond

const (
	// startingHeap is how far the heap may grow at first before anything is collected, as a percentage like GOGC: 16 MB. Most of what a
	// start makes stays, so that collecting it again and again would be a fifth of its work.
	startingHeap = 400
	// startingTime is how long that holds.
	startingTime = 2 * time.Second
)

// settling knows when the start is over.
type settling struct {
	over  chan struct{} // closed then
	timer *time.Timer
}

// newSettling begins the start. It is over after settleAfter, unless that is put off.
func newSettling() *settling {
	s := &settling{over: make(chan struct{})}
	s.timer = time.AfterFunc(settleAfter, sync.OnceFunc(func() { close(s.over) }))
	return s
}

// roomy puts off collecting garbage, unless whoever started Ash wants even less of it, until the function it returns is called.
func roomy() (usual func()) {
	was := debug.SetGCPercent(startingHeap)
	if was < 0 || was >= startingHeap {
		debug.SetGCPercent(was)
		return func() {}
	}
	return func() { debug.SetGCPercent(was) }
}

// putOff counts anew from this moment, as long as the start is not over.
func (s *settling) putOff() { s.timer.Reset(settleAfter) }

// wait returns when the start is over, or false when ctx ended before.
func (s *settling) wait(ctx context.Context) bool {
	select {
	case <-s.over:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// later runs fn beside everything else once the start is over. What protects the home is not for later, nor what would miss
// something meanwhile.
func (a *app) later(ctx context.Context, fn func(context.Context)) {
	a.beside.Go(func() {
		if a.settling.wait(ctx) {
			fn(ctx)
		}
	})
}
