package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/migrations"
)

// Health is what a look at a database found that changes nothing in it.
type Health struct {
	There   bool
	Bytes   int64    // of the file
	Damage  []string // what a check found; at most 20 lines
	Marked  bool     // the last run did not end cleanly, and no check was passed since
	Off     bool     // writing is turned off because damage was found before
	Log     bool     // there is a write-ahead log: a server runs, or was ended hard
	Version int      // newest step of the schema that was applied
	Known   int      // newest step this binary has
	Foreign bool     // a step was applied that this binary knows in another form, or the file is another program's
	Newest  time.Time
	// Who from another machine could sign in: whether there is a passphrase, and when a device that is signed in was seen last; zero
	// for none.
	Passphrase bool
	DeviceSeen time.Time
}

// Inspect looks at the database at path beside whoever uses it: it takes no lock that holds up others, makes no mark and brings no schema
// forward. full reads the indexes as well, which takes seconds for a large one. Errors: CodeUnavailable for a file that
// cannot be read; damage is no error.
func Inspect(ctx context.Context, path string, full bool) (Health, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return Health{}, agent.Wrap(agent.CodeInvalid, err, "%s is no path of a database.", path)
	}
	s := &Store{path: path}
	h, err := s.lookOutside()
	if err != nil || !h.There || len(h.Damage) > 0 {
		return h, s.inspected(err)
	}
	for {
		// Without a log nobody writes, and a reader that takes the file as it is leaves no files of its own beside it.
		still := !h.Log
		out := h
		err := s.lookInside(ctx, &out, full, still)
		if still && exists(path+"-wal") {
			h.Log = true // a server began meanwhile: what was read may be half of the old and half of the new
			continue
		}
		return out, s.inspected(err)
	}
}

// inspected translates an error without the notes that translate makes of damage.
func (s *Store) inspected(err error) error {
	var known *agent.Error
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return agent.Wrap(agent.CodeUnavailable, err, "Reading the database took too long and was broken off.")
	}
	return agent.Wrap(agent.CodeUnavailable, err, "The database %s cannot be read. Check that it belongs to you.", s.path)
}

// lookOutside looks at the files.
func (s *Store) lookOutside() (h Health, err error) {
	f, err := os.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		if lost := checkLog(s.path); lost != nil {
			h.There, h.Damage = true, []string{"the file is gone, but its log is there"}
		}
		return h, nil
	}
	if err != nil {
		return h, err
	}
	defer func() { _ = f.Close() }() // read only: nothing can be lost
	info, err := f.Stat()
	if err != nil {
		return h, err
	}
	h.There, h.Bytes = true, info.Size()
	if mark, err := os.ReadFile(s.uncleanMark()); err == nil {
		h.Off = string(mark) == markDamaged
		h.Marked = !h.Off
	}
	if info, err := os.Stat(s.path + "-wal"); err == nil && info.Size() > 0 {
		h.Log = true
	}
	if err := checkHeader(f, info.Size()); err != nil {
		h.Damage = []string{"it does not begin as a database does, or is empty although there are copies of it"}
	}
	if h.Bytes == 0 && len(h.Damage) == 0 {
		h.There = false
	}
	return h, nil
}

// lookInside reads the pages and the schema. still says that nobody writes.
func (s *Store) lookInside(ctx context.Context, h *Health, full, still bool) (err error) {
	set, err := migrations.All()
	if err != nil {
		return agent.Wrap(agent.CodeInternal, err, "Ash's own schema cannot be read.")
	}
	h.Known = len(set)
	settings := []string{readerCache, "mode=ro", "_query_only=1"}
	if still {
		settings = append(settings, "immutable=1")
	}
	db := openPool(dsn(s.path, settings...))
	db.SetMaxOpenConns(1)
	defer func() { _ = db.Close() }() // read only: nothing can be lost
	check := "PRAGMA quick_check(20)"
	if full {
		check = "PRAGMA integrity_check(20)"
	}
	var lines []string
	if err := db.NewRaw(check).Scan(ctx, &lines); err != nil {
		return h.broken(ctx, err)
	}
	if len(lines) != 1 || lines[0] != "ok" {
		h.Damage = shorter(lines)
	}
	if err := s.lookAtSchema(ctx, db, h, set); err != nil {
		return h.broken(ctx, err)
	}
	return nil
}

// broken tells damage that SQLite cannot read past from other failures.
func (h *Health) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if text := err.Error(); strings.Contains(text, "malformed") || strings.Contains(text, "not a database") || strings.Contains(text, "disk I/O") {
		h.Damage = append(h.Damage, agent.Clip(text, 200))
		return nil
	}
	return err
}

func shorter(lines []string) []string {
	for i, l := range lines {
		lines[i] = agent.Clip(strings.ReplaceAll(l, "\n", " "), 200)
	}
	return lines
}

func (s *Store) lookAtSchema(ctx context.Context, db *bun.DB, h *Health, set []migrations.Migration) error {
	looking := &Store{path: s.path, writer: db}
	rows, err := looking.applied(ctx)
	if agent.CodeOf(err) == agent.CodeConflict {
		h.Foreign = true
		return nil
	}
	if err != nil {
		return err
	}
	h.Version = len(rows)
	for i, row := range rows {
		if i < len(set) && (row.Version != set[i].Version || row.Checksum != set[i].Checksum) {
			h.Foreign = true
		}
	}
	if h.Version == 0 {
		return nil
	}
	var newest int64
	err = db.NewRaw(`SELECT max(ifnull((SELECT time FROM events ORDER BY seq DESC LIMIT 1), 0),
		ifnull((SELECT started FROM turns ORDER BY seq DESC LIMIT 1), 0))`).Scan(ctx, &newest)
	if err != nil {
		return fmt.Errorf("read the newest time: %w", err)
	}
	h.Newest = fromMicros(newest)
	return h.lookAtDoors(ctx, db)
}

// lookAtDoors finds out who could sign in. A schema from before there were doors lets nobody in.
func (h *Health) lookAtDoors(ctx context.Context, db *bun.DB) error {
	var tables int
	if err := db.NewRaw(`SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('door_passphrase', 'devices')`).Scan(ctx, &tables); err != nil || tables < 2 {
		return err
	}
	var seen int64
	err := db.NewRaw(`SELECT EXISTS (SELECT 1 FROM door_passphrase WHERE phc <> ''), ifnull((SELECT max(seen) FROM devices WHERE ended = 0 AND expires > ?), 0)`, micros(now())).
		Scan(ctx, &h.Passphrase, &seen)
	if err != nil {
		return fmt.Errorf("read who could sign in: %w", err)
	}
	if seen > 0 {
		h.DeviceSeen = fromMicros(seen)
	}
	return nil
}
