package tool

import (
	"context"
	"sync"

	"ash/agent"
)

// lane is what shares a bound: a family, in the whole house or in one thread.
type lane struct {
	family Family
	thread agent.ID
}

// laneOf returns the lane of a call. Helpers are counted in their thread: one that waits for a helper of its own
// holds a place, and in a lane of the house all of them could wait for each other.
func laneOf(f Family, t agent.Thread) lane {
	if f == FamilyHelpers {
		return lane{f, t.ID}
	}
	return lane{family: f}
}

// lanes bounds how many calls of a lane run at once. The bound is read at each entry, so that a changed
// setting takes effect with the next call.
type lanes struct {
	mu      sync.Mutex
	running map[lane]int  // none of them 0
	freed   chan struct{} // closed and replaced when a place becomes free
}

// enter waits for a place and returns how to leave it. The error is the context's.
func (l *lanes) enter(ctx context.Context, k lane, most int) (leave func(), err error) {
	for {
		l.mu.Lock()
		if l.running == nil {
			l.running, l.freed = map[lane]int{}, make(chan struct{})
		}
		if l.running[k] < most {
			l.running[k]++
			l.mu.Unlock()
			return func() { l.leave(k) }, nil
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

func (l *lanes) leave(k lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running[k]--; l.running[k] == 0 {
		delete(l.running, k)
	}
	close(l.freed)
	l.freed = make(chan struct{})
}
