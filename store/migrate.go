package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/migrations"
)

// applicationID marks the file as Ash's: "ASH1" in SQLite's header.
const applicationID = 0x41534831

// Schema tells which migrations a database has.
type Schema struct {
	Version int // the newest applied; 0 for an empty database
	Known   int // the newest this binary has
	Steps   []Step
}

// Step is one migration and when it was applied.
type Step struct {
	Version int
	Name    string
	Applied time.Time // zero: not yet
}

// Change is what a migration or rollback did.
type Change struct {
	From, To int
	Snapshot string // path of the copy taken before; "" when there was nothing to copy
}

type migrationRow struct {
	bun.BaseModel `bun:"table:schema_migrations,alias:s"`

	Version  int    `bun:"version,pk"`
	Name     string `bun:"name"`
	Checksum string `bun:"checksum"`
	Applied  int64  `bun:"applied"`
}

// applied returns the migrations the database has, oldest first, and refuses a
// database that is not Ash's.
func (s *Store) applied(ctx context.Context) ([]migrationRow, error) {
	var file struct {
		ID      int64
		Tables  int
		Managed bool
	}
	err := s.writer.NewRaw(`SELECT (SELECT application_id FROM pragma_application_id) AS id,
		(SELECT count(*) FROM sqlite_schema WHERE type = 'table') AS tables,
		EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'schema_migrations') AS managed`).Scan(ctx, &file)
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	if file.Tables > 0 && (file.ID != applicationID || !file.Managed) {
		return nil, agent.Errorf(agent.CodeConflict, "The database %s belongs to another program. Choose another home folder.", s.path)
	}
	if !file.Managed {
		return nil, nil
	}
	var rows []migrationRow
	if err := s.writer.NewSelect().Model(&rows).Order("version").Scan(ctx); err != nil {
		return nil, fmt.Errorf("read schema version: %w", err)
	}
	return rows, nil
}

// match compares what was applied with set and returns what is still to be done.
func (s *Store) match(rows []migrationRow, set []migrations.Migration) ([]migrations.Migration, error) {
	if len(rows) > len(set) {
		return nil, agent.Errorf(agent.CodeConflict,
			"The database was written by a newer Ash: its schema is version %d, this Ash knows up to %d. "+
				"Install the newer Ash again, or put a snapshot from %s in place of %s.",
			rows[len(rows)-1].Version, len(set), backupFolder(s.path), s.path)
	}
	for i, row := range rows {
		if row.Version != set[i].Version || row.Checksum != set[i].Checksum {
			return nil, agent.Errorf(agent.CodeConflict,
				"Step %d (%s) of the database's schema is not the one this Ash knows. The database comes from a build that was never released; "+
					"use that build, or put a snapshot from %s in place of %s.", row.Version, row.Name, backupFolder(s.path), s.path)
		}
	}
	return set[len(rows):], nil
}

// migrate applies what is missing, one transaction each, after a snapshot of a
// database that has something in it.
func (s *Store) migrate(ctx context.Context, set []migrations.Migration) (Change, error) {
	rows, err := s.applied(ctx)
	if err != nil {
		return Change{}, err
	}
	change := Change{From: len(rows), To: len(rows)}
	todo, err := s.match(rows, set)
	if err != nil || len(todo) == 0 {
		return change, err
	}
	if s.damaged.Load() {
		return change, s.damagedError(errors.New("not migrated"))
	}
	if len(rows) > 0 {
		if change.Snapshot, err = s.snapshot(ctx, len(rows), len(set)); err != nil {
			return change, err
		}
	}
	for _, m := range todo {
		if err := s.step(ctx, m.Up, func(ctx context.Context, tx bun.Tx) error {
			row := migrationRow{Version: m.Version, Name: m.Name, Checksum: m.Checksum, Applied: micros(now())}
			_, err := tx.NewInsert().Model(&row).Exec(ctx)
			return err
		}); err != nil {
			return change, fmt.Errorf("migration %04d_%s: %w", m.Version, m.Name, err)
		}
		change.To = m.Version
	}
	s.logger.Info("database schema is up to date", "from", change.From, "to", change.To, "snapshot", change.Snapshot)
	return change, nil
}

// rollback takes the newest steps back, one transaction each, after a snapshot.
func (s *Store) rollback(ctx context.Context, set []migrations.Migration, steps int) (Change, error) {
	rows, err := s.applied(ctx)
	if err != nil {
		return Change{}, err
	}
	change := Change{From: len(rows), To: len(rows)}
	if _, err := s.match(rows, set); err != nil {
		return change, err
	}
	if steps < 1 || steps > len(rows) {
		return change, agent.Errorf(agent.CodeInvalid, "The schema is at version %d; %d steps cannot be taken back.", len(rows), steps)
	}
	if change.Snapshot, err = s.snapshot(ctx, len(rows), len(rows)-steps); err != nil {
		return change, err
	}
	for _, m := range slices.Backward(set[len(rows)-steps : len(rows)]) {
		if err := s.step(ctx, m.Down, func(ctx context.Context, tx bun.Tx) error {
			_, err := tx.NewDelete().Model((*migrationRow)(nil)).Where("version = ?", m.Version).Exec(ctx)
			return err
		}); err != nil {
			return change, fmt.Errorf("rollback of %04d_%s: %w", m.Version, m.Name, err)
		}
		change.To = m.Version - 1
	}
	return change, nil
}

// step runs a script and notes it, in one transaction.
func (s *Store) step(ctx context.Context, script string, note func(context.Context, bun.Tx) error) error {
	return s.writer.RunInTx(context.WithoutCancel(ctx), nil, func(ctx context.Context, tx bun.Tx) error {
		prepare := `PRAGMA application_id = ` + strconv.Itoa(applicationID) + `;
			CREATE TABLE IF NOT EXISTS schema_migrations (
				version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied INTEGER NOT NULL
			) STRICT;`
		// Not through bun: a script may hold question marks.
		if _, err := tx.Tx.ExecContext(ctx, prepare+script); err != nil {
			return err
		}
		return note(ctx, tx)
	})
}
