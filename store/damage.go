package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ash/agent"
)

// magic begins every SQLite database (https://www.sqlite.org/fileformat.html).
const magic = "SQLite format 3\x00"

// checkHeader refuses a file that is no SQLite database, or is one cut short.
func checkHeader(f *os.File, size int64) error {
	if size == 0 {
		return checkEmpty(f.Name())
	}
	header := make([]byte, 100)
	if _, err := io.ReadFull(f, header); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("read header of the database: %w", err)
	}
	if !bytes.HasPrefix(header, []byte(magic)) || size < 512 {
		return damagedFile(f.Name(), errors.New("no SQLite header"))
	}
	return nil
}

// checkEmpty tells a database that is about to begin from one that was lost: an empty file
// beside a log or snapshots is a loss, and starting anew would hide it.
func checkEmpty(path string) error {
	if err := checkLog(path); err != nil {
		return err
	}
	snapshots, err := os.ReadDir(backupFolder(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for snapshots: %w", err)
	}
	if len(snapshots) > 0 {
		return damagedFile(path, errors.New("empty, but there are snapshots of it"))
	}
	return nil
}

// checkLog refuses a log without its database.
func checkLog(path string) error {
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		return damagedFile(path, errors.New("lost, but its log is there"))
	}
	return nil
}

func damagedFile(path string, cause error) error {
	return agent.Wrap(agent.CodeUnavailable, cause, "The database %s is damaged. Ash has not touched it. "+
		"Stop Ash, keep a copy of the file, and put a snapshot from %s in its place.", path, backupFolder(path))
}

func (s *Store) damagedError(cause error) error {
	return agent.Wrap(agent.CodeUnavailable, cause, "The database %s is damaged, so nothing is stored any more; reading still works where it can. "+
		"Stop Ash, keep a copy of the file, and put a snapshot from %s in its place.", s.path, backupFolder(s.path))
}

func (s *Store) turnWritingOff(cause error) {
	if s.damaged.Swap(true) {
		return
	}
	s.logger.Error("database is damaged; writing is turned off", "path", s.path, "error", cause)
	if err := os.WriteFile(s.uncleanMark(), []byte(markDamaged), 0o600); err != nil {
		s.logger.Error("damage could not be noted", "path", s.uncleanMark(), "error", err)
	}
}

// The mark beside the database that outlives restarts until a check found all well.
const (
	markUnclean = "the last stop was not clean; the database is to be checked\n"
	markDamaged = "the database is damaged; writing is off until a check finds it well\n"
)

func (s *Store) uncleanMark() string { return s.path + ".unclean" }

// noteUnclean finds out how the last run ended. A clean stop leaves no
// write-ahead log: SQLite itself removes it, in the order that is safe, after it
// was merged and synced. The mark keeps the finding until CheckIntegrity has answered.
func (s *Store) noteUnclean() error {
	mark, err := os.ReadFile(s.uncleanMark())
	switch {
	case err == nil:
		s.unclean = true
		s.damaged.Store(string(mark) == markDamaged)
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("read mark of the last stop: %w", err)
	}
	info, err := os.Stat(s.path + "-wal")
	if errors.Is(err, fs.ErrNotExist) || (err == nil && info.Size() == 0) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for a log: %w", err)
	}
	s.unclean = true
	if err := os.WriteFile(s.uncleanMark(), []byte(markUnclean), 0o600); err != nil {
		return fmt.Errorf("note the unclean stop: %w", err)
	}
	return nil
}

// Unclean reports whether the last run ended without Close and no check has
// been passed since. The owner then calls CheckIntegrity in the background.
func (s *Store) Unclean() bool { return s.unclean }

// Damaged reports whether writing is turned off because of damage.
func (s *Store) Damaged() bool { return s.damaged.Load() }

// Writable returns nil, or why writing is turned off. It costs nothing.
func (s *Store) Writable() error {
	if s.damaged.Load() {
		return s.damagedError(nil)
	}
	return nil
}

// CheckIntegrity reads the whole database and its indexes. It takes seconds for
// a large one and holds up nobody. On damage it turns writing off and returns
// CodeUnavailable; when all is well it clears the mark of an unclean stop.
func (s *Store) CheckIntegrity(ctx context.Context) error {
	db := openAside(s.path)
	defer func() { _ = db.Close() }() // read only: nothing can be lost
	var findings []string
	if err := db.NewRaw("PRAGMA integrity_check(20)").Scan(ctx, &findings); err != nil {
		return s.translate(fmt.Errorf("check integrity: %w", err))
	}
	if len(findings) != 1 || findings[0] != "ok" {
		damage := fmt.Errorf("integrity check: %s", strings.Join(findings, "; "))
		s.turnWritingOff(damage)
		return s.damagedError(damage)
	}
	if err := os.Remove(s.uncleanMark()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s.translate(fmt.Errorf("clear mark of the unclean stop: %w", err))
	}
	s.damaged.Store(false)
	return nil
}

func backupFolder(path string) string { return filepath.Join(filepath.Dir(path), "backups") }
