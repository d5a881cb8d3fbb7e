package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"ash/agent"
	"ash/agent/audit"
)

// fixers do what findings offer. What a report says may be old, and whoever asks may be wrong: each looks anew whether the very thing is
// still among those that would be found, and touches nothing else.
func (a *app) fixers(p homePlaces) map[audit.Act]audit.Fixer {
	return map[audit.Act]audit.Fixer{
		audit.ActClose:    func(ctx context.Context, f audit.Fix) error { return closeFile(ctx, p, f) },
		audit.ActRemove:   func(ctx context.Context, f audit.Fix) error { return removeStray(ctx, p, f, false) },
		audit.ActDropCopy: func(ctx context.Context, f audit.Fix) error { return removeStray(ctx, p, f, true) },
		audit.ActRevoke: func(ctx context.Context, f audit.Fix) error {
			if err := stillFound(ctx, a.signIn(), f); err != nil {
				return err
			}
			return a.store.RevokeToken(ctx, agent.ID(f.Target), time.Now().UTC())
		},
		audit.ActUnrule: func(ctx context.Context, f audit.Fix) error {
			if err := stillFound(ctx, a.standingRules(), f); err != nil {
				return err
			}
			return a.hands.policy.Revoke(ctx, agent.ID(f.Target))
		},
		audit.ActSignOut: func(ctx context.Context, f audit.Fix) error {
			if err := stillFound(ctx, a.signIn(), f); err != nil {
				return err
			}
			return a.doors.SignOut(ctx, agent.ID(f.Target))
		},
	}
}

// stillFound has a check look anew: CodeConflict unless it still offers that very fix. A token or a device that was used since the report,
// a permission that was narrowed, is left alone.
func stillFound(ctx context.Context, c audit.Check, fix audit.Fix) error {
	found := false
	_, err := c.Run(ctx, func(f audit.Finding) {
		found = found || f.Fix != nil && f.Fix.Act == fix.Act && f.Fix.Target == fix.Target
	})
	if err == nil && !found {
		err = agent.Errorf(agent.CodeConflict, "It is no longer as it was found, so it was left alone. Look again.")
	}
	return err
}

// changed is the refusal of a fix whose thing is not as it was found.
func changed(path string) error {
	return agent.Errorf(agent.CodeConflict, "%s is no longer as it was found, so it was left alone. Look again.", path)
}

// closeFile takes the rights of others off a file. It is opened first and changed by its handle, so that nothing put in its place is.
func closeFile(ctx context.Context, p homePlaces, fix audit.Fix) error {
	list, err := loose(ctx, p)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(l looseFile) bool { return l.path == fix.Target && l.mode != 0 })
	if i < 0 {
		return changed(fix.Target)
	}
	before, err := os.Lstat(fix.Target)
	if err != nil || before.Mode()&fs.ModeSymlink != 0 {
		return changed(fix.Target)
	}
	if !before.Mode().IsRegular() && !before.IsDir() { // a socket cannot be opened
		if err := os.Chmod(fix.Target, list[i].mode); err != nil {
			return agent.Wrap(agent.CodeDenied, err, "%s cannot be closed: it may belong to somebody else.", fix.Target)
		}
		return nil
	}
	f, err := os.Open(fix.Target)
	if err != nil {
		return agent.Wrap(agent.CodeDenied, err, "%s cannot be opened.", fix.Target)
	}
	defer func() { _ = f.Close() }() // nothing is written
	if now, err := f.Stat(); err != nil || !os.SameFile(before, now) {
		return changed(fix.Target)
	}
	if err := f.Chmod(list[i].mode); err != nil {
		return agent.Wrap(agent.CodeDenied, err, "%s cannot be closed: it may belong to somebody else.", fix.Target)
	}
	return nil
}

// removeStray removes a temporary file or an old copy, if it is still one.
func removeStray(ctx context.Context, p homePlaces, fix audit.Fix, isCopy bool) error {
	list, err := straysAndCopies(ctx, p)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(s audit.Stray) bool { return s.Path == fix.Target && s.Copy == isCopy }) {
		return changed(fix.Target)
	}
	if err := os.Remove(fix.Target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return agent.Wrap(agent.CodeDenied, err, "%s cannot be removed.", fix.Target)
	}
	return nil
}

// serviceFiles are the files that start Ash by themselves on this machine, as "ash service" writes them.
func serviceFiles() []string {
	s, err := newSteward()
	if err != nil {
		return nil // there is no way to install one here
	}
	if _, err := os.Lstat(s.path); err != nil {
		return nil
	}
	return []string{s.path}
}
