package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"ash/agent"
	"ash/agent/inventory"
)

// homeLock is held by the one process that may advance conversations and
// migrate the database of a home. Taking it finishes a deletion that was broken off. The operating system drops it with the process,
// so a crash leaves nothing to clean up.
type homeLock struct{ file *flock.Flock }

// lockHome takes the lock of a home, or says who has it. CodeConflict when
// another process does.
func lockHome(home string) (*homeLock, error) {
	path := filepath.Join(home, "ash.lock")
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() { // what a link leads to would be overwritten
		return nil, agent.Errorf(agent.CodeDenied, "%s is not an ordinary file. Remove it; Ash makes its own.", path)
	}
	l := flock.New(path, flock.SetPermissions(0o600))
	got, err := l.TryLock()
	if err != nil {
		return nil, agent.Wrap(agent.CodeUnavailable, err, "Ash cannot lock its home %s. Check that the folder is yours and can be written.", home)
	}
	if !got {
		return nil, agent.Errorf(agent.CodeConflict, "Another Ash is already running on %s%s. Stop it first, or give this one another --home.", home, whoHas(path))
	}
	if err := os.WriteFile(path, []byte(ownPID()), 0o600); err != nil {
		return nil, errors.Join(agent.Wrap(agent.CodeUnavailable, err, "Ash cannot write in its home %s: %v.", home, errors.Unwrap(err)), l.Unlock())
	}
	// What was decided to go is gone before anybody looks at the rest.
	if err := inventory.Finish(home); err != nil {
		return nil, errors.Join(err, l.Unlock())
	}
	return &homeLock{l}, nil
}

// note says where the holder can be reached, for the message a second one gets.
func (l *homeLock) note(address string) error {
	return os.WriteFile(l.file.Path(), []byte(ownPID()+" "+address), 0o600)
}

func (l *homeLock) release() error { return l.file.Unlock() }

// whoHas reads what the holder wrote about itself.
func whoHas(path string) string {
	b, err := os.ReadFile(path)
	fields := strings.Fields(string(b))
	switch {
	case err != nil || len(fields) == 0:
		return ""
	case len(fields) == 1:
		return " (process " + fields[0] + ")"
	}
	return " (process " + fields[0] + ", " + fields[1] + ")"
}

func ownPID() string { return strconv.Itoa(os.Getpid()) }
