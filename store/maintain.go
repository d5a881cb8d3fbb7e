package store

import (
	"context"
	"errors"

	"ash/agent"
	"ash/migrations"
)

// What the command line does with a database that no server holds. These
// functions open it, leave its schema as it is unless they say otherwise, and
// close it again.

// Status returns which migrations the database at o.Path has. A database that does
// not exist yet is not made: it is CodeNotFound.
func Status(ctx context.Context, o Options) (Schema, error) {
	var schema Schema
	err := maintain(ctx, o, func(s *Store, set []migrations.Migration) error {
		rows, err := s.applied(ctx)
		if err != nil {
			return err
		}
		schema = Schema{Version: len(rows), Known: len(set)}
		for i := range max(len(rows), len(set)) {
			var step Step
			if i < len(set) {
				step = Step{Version: set[i].Version, Name: set[i].Name}
			}
			if i < len(rows) {
				step = Step{Version: rows[i].Version, Name: rows[i].Name, Applied: fromMicros(rows[i].Applied)}
			}
			schema.Steps = append(schema.Steps, step)
		}
		return nil
	})
	return schema, err
}

// Migrate brings the database to this binary's schema, as Open does.
func Migrate(ctx context.Context, o Options) (Change, error) {
	var change Change
	err := maintain(ctx, o, func(s *Store, set []migrations.Migration) (err error) {
		change, err = s.migrate(ctx, set)
		return err
	})
	return change, err
}

// Rollback takes the newest steps of the schema back, after a snapshot. What only
// the newer schema could hold is lost from the database. CodeInvalid when it has fewer steps.
func Rollback(ctx context.Context, o Options, steps int) (Change, error) {
	var change Change
	err := maintain(ctx, o, func(s *Store, set []migrations.Migration) (err error) {
		change, err = s.rollback(ctx, set, steps)
		return err
	})
	return change, err
}

// Backup copies the database at o.Path to dest, which must not exist, whatever its schema.
func Backup(ctx context.Context, o Options, dest string) error {
	return maintain(ctx, o, func(s *Store, _ []migrations.Migration) error { return s.Backup(ctx, dest) })
}

// Check reads the whole database and returns CodeUnavailable when it is damaged.
func Check(ctx context.Context, o Options) error {
	return maintain(ctx, o, func(s *Store, _ []migrations.Migration) error { return s.CheckIntegrity(ctx) })
}

func maintain(ctx context.Context, o Options, fn func(*Store, []migrations.Migration) error) error {
	if !exists(o.Path) {
		return agent.Errorf(agent.CodeNotFound, "There is no database at %s yet. It is made when Ash first runs.", o.Path)
	}
	set, err := migrations.All()
	if err != nil {
		return agent.Wrap(agent.CodeInternal, err, "Ash's own schema cannot be read.")
	}
	s, err := connect(ctx, o)
	if err != nil {
		return err
	}
	err = s.translate(fn(s, set))
	return errors.Join(err, s.Close())
}
