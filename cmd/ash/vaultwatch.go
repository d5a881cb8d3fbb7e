package main

import (
	"context"
	"time"

	"ash/agent"
	"ash/agent/config"
)

// What happens in a running Ash when the vault is locked or unlocked, wherever that was done.

// takeUpWithin is how old an answer that failed for want of the vault may be to be given when somebody unlocks it.
const takeUpWithin = 24 * time.Hour

// vaultIdle is the setting as the vault takes it.
func vaultIdle(c config.Vault) time.Duration {
	if c.Idle == 0 {
		return -1
	}
	return c.Idle
}

// watchVault tells the pages when the vault changes, and goes on with what waits for it, until ctx ends.
func (a *app) watchVault(ctx context.Context) {
	seen := uint64(0)
	for {
		now := a.vault.Watch()
		if now.Unlocked && now.Unlocks != seen {
			a.unlocked(ctx)
		}
		seen = now.Unlocks
		select {
		case <-now.Next:
		case <-ctx.Done():
			return
		}
		a.feed.Publish(agent.Envelope{Path: "ash", Event: agent.VaultEvent{Unlocked: a.vault.Watch().Unlocked}})
	}
}

// unlocked goes on with what waits for the vault. Answers of before Ash started are given only where a person unlocked: nothing resumes by itself
// after a restart.
func (a *app) unlocked(ctx context.Context) {
	since := time.Now().Add(-takeUpWithin)
	if a.byItself.Swap(false) && since.Before(a.started) {
		since = a.started
	}
	n, err := a.engine.Unlocked(ctx, since)
	if err != nil && ctx.Err() == nil {
		a.log.Error("the vault is unlocked, but not all that waited for it goes on", "error", err)
	}
	if n > 0 {
		a.log.Info("the vault is unlocked; what waited for it goes on", "count", n)
	}
}
