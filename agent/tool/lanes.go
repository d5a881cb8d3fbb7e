package tool

import (
	"context"
	"sync"
)

// lanes bounds how many calls of a family run at once. The bound is read at each entry, so that a changed
// setting takes effect with the next call.
type lanes struct {
	mu      sync.Mutex
	running map[Family]int
	freed   chan struct{} // closed and replaced when a place becomes free
}

// enter waits for a place and returns how to leave it. The error is the context's.
func (l *lanes) enter(ctx context.Context, f Family, most int) (leave func(), err error) {
	for {
		l.mu.Lock()
		if l.running == nil {
			l.running, l.freed = map[Family]int{}, make(chan struct{})
		}
		if l.running[f] < most {
			l.running[f]++
			l.mu.Unlock()
			return func() { l.leave(f) }, nil
		}
		freed := l.freed
		l.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (l *lanes) leave(f Family) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running[f]--
	close(l.freed)
	l.freed = make(chan struct{})
}
