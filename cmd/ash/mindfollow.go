package main

import (
	"context"
	"time"

	"ash/agent"
)

// takeUpAfter is how long after the start, and after a turn, recall takes up what was said: turns that end together are taken up
// together, and a page that comes first is not kept waiting.
const takeUpAfter = 300 * time.Millisecond

// takeUp has recall take up what turns have said, until ctx ends. A reply recalls from the index as it stands: taking up is a
// transaction, which its first token would wait for.
func (a *app) takeUp(ctx context.Context) {
	due := time.NewTimer(takeUpAfter)
	defer due.Stop()
	turns := make(chan struct{}, 1)
	a.beside.Go(func() {
		defer close(turns)
		for batch := range a.feed.Tap(ctx) {
			if !batch.Resync && !ends(batch.Events) {
				continue
			}
			select {
			case turns <- struct{}{}:
			default: // it is about to look anyway
			}
		}
	})
	for waiting := true; ; {
		select {
		case _, ok := <-turns:
			if !ok {
				return
			}
			if !waiting {
				waiting = true
				due.Reset(takeUpAfter)
			}
		case <-due.C:
			waiting = false
			if err := a.mind.recall.CatchUp(ctx); err != nil && ctx.Err() == nil {
				a.log.Warn("recall could not take up what was said last; it is tried again", "error", err)
				waiting = true
				due.Reset(expiryRound)
			}
			a.mind.meaning.Wake()
		}
	}
}

// ends reports whether a turn ends in events.
func ends(events []agent.Envelope) bool {
	for _, e := range events {
		if t, ok := e.Event.(agent.TurnEvent); ok && !t.Turn.Active() {
			return true
		}
	}
	return false
}
