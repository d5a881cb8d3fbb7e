package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"ash/agent"
)

func TestTranslateCode(t *testing.T) {
	s := newFixture(t).Store
	for code, want := range map[int]agent.Code{
		sqlite3.SQLITE_CONSTRAINT_UNIQUE:     agent.CodeConflict,
		sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY: agent.CodeConflict,
		sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY: agent.CodeNotFound,
		sqlite3.SQLITE_CONSTRAINT_CHECK:      agent.CodeInternal,
		sqlite3.SQLITE_FULL:                  agent.CodeExhausted,
		sqlite3.SQLITE_BUSY:                  agent.CodeUnavailable,
		sqlite3.SQLITE_BUSY_SNAPSHOT:         agent.CodeUnavailable,
		sqlite3.SQLITE_READONLY:              agent.CodeUnavailable,
		sqlite3.SQLITE_CANTOPEN:              agent.CodeUnavailable,
		sqlite3.SQLITE_IOERR_FSYNC:           agent.CodeUnavailable,
		sqlite3.SQLITE_TOOBIG:                agent.CodeInvalid,
		sqlite3.SQLITE_INTERRUPT:             agent.CodeUnavailable,
		sqlite3.SQLITE_ERROR:                 agent.CodeInternal,
	} {
		if got := agent.CodeOf(s.translateCode(code, errors.New("x"))); got != want {
			t.Errorf("result code %d is %s, want %s", code, got, want)
		}
	}
	if s.Writable() != nil {
		t.Error("writing was turned off without damage")
	}
	if got := agent.CodeOf(s.translateCode(sqlite3.SQLITE_CORRUPT_INDEX, errors.New("x"))); got != agent.CodeUnavailable {
		t.Errorf("damage is %s", got)
	}
	if agent.CodeOf(s.Writable()) != agent.CodeUnavailable || !s.Damaged() || !exists(s.uncleanMark()) {
		t.Error("damage did not turn writing off")
	}
}

func TestTranslate(t *testing.T) {
	s := newFixture(t).Store
	own := agent.Errorf(agent.CodeLocked, "mine")
	for _, c := range []struct {
		err  error
		want agent.Code
	}{
		{nil, ""},
		{own, agent.CodeLocked},
		{fmt.Errorf("deeper: %w", own), agent.CodeLocked},
		{sql.ErrNoRows, agent.CodeNotFound},
		{sql.ErrConnDone, agent.CodeUnavailable},
		{context.Canceled, agent.CodeUnavailable},
		{&fs.PathError{Err: syscall.ENOSPC}, agent.CodeExhausted},
		{&fs.PathError{Err: syscall.EACCES}, agent.CodeUnavailable},
		{errors.New("surprise"), agent.CodeInternal},
	} {
		if got := agent.CodeOf(s.translate(c.err)); got != c.want {
			t.Errorf("%v is %s, want %s", c.err, got, c.want)
		}
	}
}

func TestStats(t *testing.T) {
	f := newFixture(t)
	f.post("q")
	m := f.openReply()
	m.State, m.Usage = agent.MessageComplete, agent.Usage{Cost: 42}
	f.ok(f.CloseReply(f.ctx, m))
	got, err := f.Stats(f.ctx, now().Add(-time.Hour))
	f.ok(err)
	if got.Threads != 1 || got.Messages != 2 || got.Spent != 42 || got.Bytes < 4096 {
		t.Errorf("stats are %+v", got)
	}
	got, err = f.Stats(f.ctx, now().Add(time.Hour))
	f.ok(err)
	equal(t, got.Spent, 0)
}
