package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"ash/agent"
)

// doorless empties what would let somebody in who got hold of a copy: hashes of passphrases and tokens can be guessed at, and the
// doors of a restored copy would open to devices that the person may have lost since.
func doorless() []string {
	return []string{"api_requests", "api_tokens", "devices", "door_passphrase", "door_delays"}
}

// CopyForExport copies the database, as it is at one instant, to dest, which does not exist, without API tokens, devices and the
// passphrase for signing in: their pages are overwritten. CodeConflict when dest exists; a copy that fails leaves nothing behind.
func (s *Store) CopyForExport(ctx context.Context, dest string) error {
	if err := s.copyTo(ctx, dest); err != nil {
		return s.translate(err)
	}
	if err := s.closeDoors(ctx, dest); err != nil {
		return s.translate(errors.Join(fmt.Errorf("take what opens doors out of the copy: %w", err), removeIfThere(dest)))
	}
	return nil
}

// closeDoors empties the tables of doorless in the database at path, which nobody else uses.
func (s *Store) closeDoors(ctx context.Context, path string) (err error) {
	db := openAside(path)
	defer func() { err = closing(db, err) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = closing(conn, err) }()
	// One connection: the pragmas are its own. Without a journal no second copy of a page lies on the disk.
	for _, statement := range []string{"PRAGMA journal_mode = MEMORY", "PRAGMA secure_delete = ON"} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	for _, table := range doorless() {
		var there int
		if err := conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?", table).Scan(&there); err != nil {
			return err
		}
		if there == 0 {
			continue // an older schema
		}
		if _, err := conn.ExecContext(ctx, "DELETE FROM "+table); err != nil {
			return err
		}
	}
	return nil
}

// CopyForExport copies the database at o.Path as the method does, whatever its schema, while others read and write it.
func CopyForExport(ctx context.Context, o Options, dest string) error {
	if !exists(o.Path) {
		return agent.Errorf(agent.CodeNotFound, "There is no database at %s yet. It is made when Ash first runs.", o.Path)
	}
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return err
	}
	s := &Store{path: path, logger: slog.New(slog.DiscardHandler)}
	return s.CopyForExport(ctx, dest)
}
