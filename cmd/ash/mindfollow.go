package main

import (
	"context"
	"slices"
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
	due := time.NewTimer(takeUpAfter)
	defer due.Stop()
	told := make(chan struct{}, 1)
	a.beside.Go(func() {
		defer close(told)
		for batch := range a.feed.Tap(ctx) {
			if !batch.Resync && !turns(batch.Events) {
				continue
			}
			select {
			case told <- struct{}{}:
			default: // it is about to look anyway
			}
		}
	})
	latest := time.Now().Add(takeUpLatest) // of what waits; zero when nothing does
	for {
		select {
		case _, ok := <-told:
			if !ok {
				return
			}
			if latest.IsZero() {
				latest = time.Now().Add(takeUpLatest)
			}
			due.Reset(max(0, min(takeUpAfter, time.Until(latest))))
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

// turns reports whether a turn begins, ends or waits in events.
func turns(events []agent.Envelope) bool {
	return slices.ContainsFunc(events, func(e agent.Envelope) bool {
		_, ok := e.Event.(agent.TurnEvent)
		return ok
	})
}
