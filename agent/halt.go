package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// letGo is how long a tool may go on after its context has ended. Then its call is given up: the turn
// goes on or ends without it, and what it still does is nobody's.
const letGo = 2 * time.Second

// Halted is what the kill switch did.
type Halted struct {
	Threads []ID       // whose turns were ended, those of helpers included
	Holding []ToolCall // calls whose tools had not let go when it returned
}

// hold notes that the tool of call runs, until the returned function is called.
func (e *Engine) hold(call ToolCall) (release func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.held[call.ID] = call
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.held, call.ID)
	}
}

// holding returns the calls whose tools run, or were given up and run all the same.
func (e *Engine) holding() []ToolCall {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]ToolCall, 0, len(e.held))
	for _, c := range e.held {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b ToolCall) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return out
}

// Halt is the kill switch: it ends every running turn, helpers' too, and waits until nothing runs any more, a little longer
// than tools may take to let go (2 s). What was queued behind a turn is stored and not answered. A conversation at rest is
// left as it is: approvals and questions that wait go on waiting. Halted is filled in as far as it is known also with an error.
func (e *Engine) Halt(ctx context.Context) (Halted, error) {
	e.mu.Lock()
	ids := make([]ID, 0, len(e.conversations))
	for id := range e.conversations {
		ids = append(ids, id)
	}
	e.mu.Unlock()
	slices.Sort(ids)
	ran, errs := make([]bool, len(ids)), make([]error, len(ids))
	var pressing sync.WaitGroup
	for i, id := range ids { // side by side: one that is slow to take it does not hold up the others
		pressing.Go(func() {
			ran[i], errs[i] = command(ctx, e, id, func(c *conversation) (bool, error) {
				running := c.running()
				return running, c.stop(ctx, true)
			})
		})
	}
	pressing.Wait()
	var h Halted
	for i, id := range ids {
		if ran[i] {
			h.Threads = append(h.Threads, id)
		}
	}
	h.Holding = e.quiet(ctx, ids)
	return h, errors.Join(errs...)
}

// quiet waits until none of these conversations is owned and no tool runs, but not for ever. It returns the calls whose tools do.
func (e *Engine) quiet(ctx context.Context, ids []ID) []ToolCall {
	patience := time.NewTimer(letGo + letGo/4)
	defer patience.Stop()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		holding := e.holding()
		if len(holding) == 0 && !e.owns(ids) {
			return nil
		}
		select {
		case <-look.C:
		case <-patience.C:
			return holding
		case <-ctx.Done():
			return holding
		}
	}
}

func (e *Engine) owns(ids []ID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.ContainsFunc(ids, func(id ID) bool { return e.conversations[id] != nil })
}

// StopAll is Halt for those who only want to know whether anything still runs: then it is CodeUnavailable and names the tools.
func (e *Engine) StopAll(ctx context.Context) error {
	h, err := e.Halt(ctx)
	if err != nil || len(h.Holding) == 0 {
		return err
	}
	return Errorf(CodeUnavailable, "Everything was told to stop, but this does not let go: %s. What it still does is not stored; ending Ash ends it.", h.Held())
}

// Held names the tools that have not let go, each once; "" for none.
func (h Halted) Held() string {
	var names []string
	for _, c := range h.Holding {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}
