package main

import (
	"context"
	"time"

	"ash/agent"
)

const (
	// takeUpAfter is how long after the start, and after the last turn ended, recall takes up what was said: turns that follow each other
	// are taken up together, and a page that comes first is not kept waiting.
	takeUpAfter = 300 * time.Millisecond
	// takeUpLatest is how long turns that never rest can put it off.
	takeUpLatest = 3 * time.Second
)

// takeUp has recall take up what turns have said, until ctx ends. A reply recalls from the index as it stands: taking up is a
// transaction, which its first token would wait for.
func (a *app) takeUp(ctx context.Context) {
	turns := make(chan int, 1) // how many run
	a.beside.Go(func() { a.countTurns(ctx, turns) })
	due := time.NewTimer(takeUpAfter)
	defer due.Stop()
	latest := time.Now().Add(takeUpLatest) // of what waits; zero when nothing does
	for {
		select {
		case running, ok := <-turns:
			if !ok {
				return
			}
			if latest.IsZero() {
				latest = time.Now().Add(takeUpLatest)
			}
			wait := time.Until(latest)
			if running == 0 {
				wait = min(wait, takeUpAfter)
			}
			due.Reset(max(0, wait))
		case <-due.C:
			latest = time.Time{}
			if err := a.mind.recall.CatchUp(ctx); err != nil && ctx.Err() == nil {
				a.log.Warn("recall could not take up what was said last; it is tried again", "error", err)
				due.Reset(expiryRound)
			}
			a.mind.meaning.Wake()
		}
	}
}

// countTurns tells how many turns run whenever one begins or ends, until ctx ends. Of counts that follow each other fast only the
// last is told.
func (a *app) countTurns(ctx context.Context, told chan int) {
	defer close(told)
	running := map[agent.ID]bool{}
	for batch := range a.feed.Tap(ctx) {
		if batch.Resync {
			clear(running) // those that go on are not waited for
		}
		turns := batch.Resync
		for _, e := range batch.Events {
			t, ok := e.Event.(agent.TurnEvent)
			if !ok {
				continue
			}
			turns = true
			delete(running, t.Turn.ID)
			if t.Turn.State == agent.TurnRunning {
				running[t.Turn.ID] = true
			}
		}
		if !turns {
			continue
		}
		select {
		case <-told:
		default:
		}
		told <- len(running)
	}
}
