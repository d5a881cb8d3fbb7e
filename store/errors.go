package store

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"ash/agent"
)

// Refusals that several methods share.
func errGone() error {
	return agent.Errorf(agent.CodeNotFound, "That does not exist, or no longer does.")
}

func errRunning() error {
	return agent.Errorf(agent.CodeConflict, "An answer is being written. Stop it first, or wait for its end.")
}

// translate gives every error that leaves the package its code and its words:
// the one place that knows what SQLite's result codes mean for a person. Damage
// found on the way turns writing off.
func (s *Store) translate(err error) error {
	if err == nil {
		return nil
	}
	var known *agent.Error
	if errors.As(err, &known) {
		return err
	}
	var lite *sqlite.Error
	switch {
	case errors.As(err, &lite):
		return s.translateCode(lite.Code(), err)
	case errors.Is(err, sql.ErrNoRows):
		return agent.Wrap(agent.CodeNotFound, err, "That does not exist, or no longer does.")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return agent.Wrap(agent.CodeUnavailable, err, "That took too long and was broken off.")
	case errors.Is(err, syscall.ENOSPC):
		return diskFull(err)
	case errors.Is(err, fs.ErrPermission):
		return agent.Wrap(agent.CodeUnavailable, err, "Ash may not use its database at %s. Check who owns the folder.", s.path)
	case errors.Is(err, sql.ErrConnDone):
		return agent.Wrap(agent.CodeUnavailable, err, "Ash is shutting down.")
	}
	return agent.Wrap(agent.CodeInternal, err, "Ash could not use its database. The log says more.")
}

// translateCode translates a result code (https://www.sqlite.org/rescode.html).
// The extended codes that matter come first, then the primary ones.
func (s *Store) translateCode(code int, err error) error {
	switch code {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return agent.Wrap(agent.CodeConflict, err, "That exists already.")
	case sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
		return agent.Wrap(agent.CodeNotFound, err, "Something this belongs to does not exist, or no longer does.")
	}
	switch code & 0xff {
	case sqlite3.SQLITE_FULL:
		return diskFull(err)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		s.turnWritingOff(err)
		return s.damagedError(err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return agent.Wrap(agent.CodeUnavailable, err, "Another program is using Ash's database. Close it and try again.")
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return agent.Wrap(agent.CodeUnavailable, err, "Ash cannot write to its database at %s. Check the folder's owner and permissions.", s.path)
	case sqlite3.SQLITE_IOERR:
		return agent.Wrap(agent.CodeUnavailable, err, "The disk with Ash's database does not answer properly. Nothing was changed; check the disk.")
	case sqlite3.SQLITE_TOOBIG:
		return agent.Wrap(agent.CodeInvalid, err, "That is too large to be stored.")
	case sqlite3.SQLITE_INTERRUPT:
		return agent.Wrap(agent.CodeUnavailable, err, "That took too long and was broken off.")
	}
	return agent.Wrap(agent.CodeInternal, err, "Ash could not use its database. The log says more.")
}

func diskFull(err error) error {
	return agent.Wrap(agent.CodeExhausted, err, "The disk is full. Nothing was changed; free some space and try again.")
}

// closing closes c on the way out with err.
func closing(c io.Closer, err error) error {
	return errors.Join(err, c.Close())
}
