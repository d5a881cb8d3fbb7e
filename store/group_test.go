package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"ash/agent"
)

func (f *fixture) note(name string) error {
	return f.write(f.ctx, func(ctx context.Context, tx bun.IDB) error { return put(ctx, tx, name) })
}

func put(ctx context.Context, tx bun.IDB, name string) error {
	_, err := fixed(tx, "INSERT INTO properties (name, value) VALUES (?1, x'00')", name).Exec(ctx)
	return err
}

// noted returns which of the notes are stored.
func (f *fixture) noted() []string {
	f.t.Helper()
	var names []string
	f.ok(f.reader.NewRaw("SELECT name FROM properties WHERE name LIKE 'n%' ORDER BY name").Scan(f.ctx, &names))
	return names
}

// together runs writes that all wait for the same commit, and returns what became of each.
func (f *fixture) together(fns ...func(ctx context.Context, tx bun.IDB) error) []error {
	f.t.Helper()
	begun, release := make(chan struct{}), make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		err := f.write(f.ctx, func(context.Context, bun.IDB) error { close(begun); <-release; return nil })
		if err != nil {
			f.t.Error(err)
		}
	})
	<-begun
	errs := make([]error, len(fns))
	for i, fn := range fns {
		group.Go(func() {
			defer func() {
				if r := recover(); r != nil {
					errs[i] = fmt.Errorf("panicked: %v", r)
				}
			}()
			errs[i] = f.write(f.ctx, fn)
		})
		for f.queued() <= i {
			time.Sleep(100 * time.Microsecond)
		}
	}
	close(release)
	group.Wait()
	return errs
}

func (f *fixture) queued() int {
	f.writes.mu.Lock()
	defer f.writes.mu.Unlock()
	return len(f.writes.waiting)
}

func TestWritesThatShareACommitFailAlone(t *testing.T) {
	f := newFixture(t)
	note := func(name string) func(context.Context, bun.IDB) error {
		return func(ctx context.Context, tx bun.IDB) error { return put(ctx, tx, name) }
	}
	errs := f.together(
		note("n1"),
		func(ctx context.Context, tx bun.IDB) error {
			return errors.Join(put(ctx, tx, "n2"), agent.Errorf(agent.CodeConflict, "changed my mind"))
		},
		func(ctx context.Context, tx bun.IDB) error { _ = put(ctx, tx, "n3"); panic("oh") },
		note("n1"), // is taken
		note("n4"),
	)
	want := []agent.Code{"", agent.CodeConflict, agent.CodeInternal, agent.CodeConflict, ""}
	for i, err := range errs {
		if agent.CodeOf(err) != want[i] {
			t.Errorf("write %d: %v, want code %q", i, err, want[i])
		}
	}
	equal(t, errs[2].Error(), "panicked: oh")
	equal(t, f.noted(), []string{"n1", "n4"})
	f.ok(f.note("n5")) // and the writer goes on
	equal(t, f.noted(), []string{"n1", "n4", "n5"})
}

// What ends the whole transaction (SQLite itself does on a full disk) is told to everybody in it: nobody believes that
// something is stored which is not.
func TestEndOfASharedTransactionIsToldToAll(t *testing.T) {
	f := newFixture(t)
	errs := f.together(
		func(ctx context.Context, tx bun.IDB) error { return put(ctx, tx, "n1") },
		func(ctx context.Context, tx bun.IDB) error {
			_, err := fixed(tx, "ROLLBACK").Exec(ctx)
			return errors.Join(err, agent.Errorf(agent.CodeExhausted, "The disk is full."))
		},
		func(ctx context.Context, tx bun.IDB) error { return put(ctx, tx, "n3") },
	)
	for i, err := range errs {
		if agent.CodeOf(err) != agent.CodeExhausted {
			t.Errorf("write %d: %v", i, err)
		}
	}
	if names := f.noted(); len(names) != 0 {
		t.Errorf("stored all the same: %v", names)
	}
	f.ok(f.note("n5"))
	equal(t, f.noted(), []string{"n5"})
}

func TestManyWritesAtOnceAllHappen(t *testing.T) {
	f := newFixture(t)
	var group sync.WaitGroup
	var want []string
	for i := range 5 * maxGroup {
		name := fmt.Sprintf("n%03d", i)
		want = append(want, name)
		group.Go(func() {
			if err := f.note(name); err != nil {
				t.Error(err)
			}
			if names := f.noted(); !slices.Contains(names, name) {
				t.Errorf("%s is said to be stored and is not", name)
			}
		})
	}
	group.Wait()
	equal(t, f.noted(), want)
}
