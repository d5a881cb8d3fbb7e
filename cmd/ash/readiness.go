package main

import (
	"context"
	"sync"
	"time"

	"ash/agent"
	"ash/agent/sandbox"
)

// How long what is known of the sandbox holds, and how long anybody waits for the first word of it.
const (
	readinessAge  = 15 * time.Second
	readinessWait = 1500 * time.Millisecond
)

// readiness knows whether commands can run. Asking the engine takes a while, and it is asked for every prompt: it is
// looked at beside, and the last word holds meanwhile.
type readiness struct {
	sandbox *sandbox.Sandbox

	mu      sync.Mutex // guards the rest
	looking chan struct{}
	known   bool
	err     error
	at      time.Time
	closed  bool
	beside  sync.WaitGroup
}

func newReadiness(s *sandbox.Sandbox) *readiness { return &readiness{sandbox: s} }

// Available returns nil, or why commands cannot run and how to get them.
func (r *readiness) Available(ctx context.Context) error {
	r.mu.Lock()
	known, err := r.known, r.err
	if !known || time.Since(r.at) > readinessAge {
		r.look()
	}
	looking := r.looking
	r.mu.Unlock()
	if known || looking == nil {
		return err
	}
	select {
	case <-looking:
	case <-time.After(readinessWait):
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.known {
		return agent.Errorf(agent.CodeUnavailable, "Ash is still looking for a sandbox. Try again in a moment.")
	}
	return r.err
}

// look asks the engine beside, unless that is going on. r.mu is held.
func (r *readiness) look() {
	if r.looking != nil || r.closed {
		return
	}
	done := make(chan struct{})
	r.looking = done
	r.beside.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), readinessAge)
		defer cancel()
		st := r.sandbox.Status(ctx)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.known, r.err, r.at, r.looking = true, nil, time.Now(), nil
		if !st.Ready {
			r.err = agent.Errorf(agent.CodeUnavailable, "%s", st.Problem)
		}
		close(done)
	})
}

// close waits for a look that is under way; none begins after it.
func (r *readiness) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.beside.Wait()
}
