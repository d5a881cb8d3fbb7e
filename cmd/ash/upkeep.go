package main

import (
	"context"
	"math"
	"runtime/debug"
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

// tidyEvery is how often memory is looked after.
const tidyEvery = 5 * time.Second

// tidy gives memory back when the house has come to rest, until ctx ends. Without it what the last turn
// left behind would stay for minutes: nothing is collected while nothing happens.
func (a *app) tidy(ctx context.Context) {
	ticker := time.NewTicker(tidyEvery)
	defer ticker.Stop()
	for seen := uint64(math.MaxUint64); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if now := a.feed.Last().Seq; now != seen && a.engine.Busy() == 0 {
			seen = now
			debug.FreeOSMemory()
		}
	}
}
