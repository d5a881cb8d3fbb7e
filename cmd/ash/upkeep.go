package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// What a running server does beside answering: it checks the database after an
// unclean stop, and removes what was deleted.
const (
	upkeepDelay = time.Minute    // after the start, so that nobody waits for it
	upkeepEvery = 6 * time.Hour  // between rounds
	undoWindow  = 24 * time.Hour // how long a deleted conversation can be brought back
	draftWindow = 24 * time.Hour // how long a file that was never sent is kept

	versionWindow = 90 * 24 * time.Hour // how long a change of a file can be taken back
	newestKept    = 3                   // versions of each file that are kept longer
)

// keepUp runs until ctx ends.
func (a *app) keepUp(ctx context.Context) {
	if a.store.Unclean() {
		a.log.Info("the last run did not end cleanly; the database is being checked")
		if err := a.store.CheckIntegrity(ctx); err != nil && ctx.Err() == nil {
			a.log.Error("the database is damaged; writing is off", "error", err)
		}
	}
	timer := time.NewTimer(upkeepDelay)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if err := a.purge(ctx, time.Now()); err != nil && ctx.Err() == nil {
			a.log.Warn("what was deleted could not be removed; it is tried again", "error", err)
		}
		timer.Reset(upkeepEvery)
	}
}

// purge removes deleted conversations for good, then files that no message names.
func (a *app) purge(ctx context.Context, now time.Time) error {
	threads, err := a.store.PurgeDeleted(ctx, now.Add(-undoWindow))
	if err != nil {
		return err
	}
	named, err := a.store.ReferencedAttachments(ctx)
	if err != nil {
		return err
	}
	keep := make(map[string]struct{}, len(named))
	for _, hash := range named {
		keep[hash] = struct{}{}
	}
	if versions, bytes, err := a.store.PruneFileVersions(ctx, now.Add(-versionWindow), newestKept); err != nil {
		return err
	} else if versions > 0 {
		a.log.Info("removed old versions of files", "versions", versions, "bytes", bytes)
	}
	files, bytes, err := a.files.Purge(ctx, keep, draftWindow)
	if threads > 0 || files > 0 {
		a.log.Info("removed what was deleted", "threads", threads, "files", files, "bytes", bytes)
	}
	return err
}

const (
	tidyEvery = 5 * time.Second // how often memory is looked after
	calm      = 1 << 20         // bytes: what a house at rest allocates in that time is less
	worthIt   = 1 << 20         // bytes: what was allocated since memory was last given back is at least this, or it is left alone
)

// tidy gives memory back when the house has come to rest, until ctx ends. Without it what the last turn
// left behind would stay for minutes: nothing is collected while nothing happens. The pages of the program go, too: those that
// only a start or a turn needs are most of what a house at rest would hold.
func (a *app) tidy(ctx context.Context) {
	ticker := time.NewTicker(tidyEvery)
	defer ticker.Stop()
	for rest := new(rest); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if rest.come(allocated(), a.engine.Busy() > 0) {
			debug.FreeOSMemory()
			if n, err := giveBackPages(); err != nil {
				a.log.Debug("the pages of the program stay in memory", "told of", n, "error", err)
			}
			rest.given = allocated()
		}
	}
}

// rest knows when the house has come to rest, by how much it allocates: the end of a turn does not tell, since what was said is
// indexed and learned from after it, and pages, imports and rounds of upkeep leave as much behind as turns.
type rest struct {
	seen  uint64 // bytes allocated since the start, at the last look
	given uint64 // the same, when memory was last given back
}

// come reports whether memory is to be given back now: nothing runs, next to nothing was allocated since the last look, and
// there is something to give.
func (r *rest) come(allocated uint64, busy bool) bool {
	lately := allocated - r.seen
	r.seen = allocated
	return !busy && lately < calm && allocated-r.given >= worthIt
}

// allocated returns the bytes allocated since the start, collected ones included.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
