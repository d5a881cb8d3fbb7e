package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/access"
)

var _ access.DoorStore = (*Store)(nil)

type delayRow struct {
	bun.BaseModel `bun:"table:door_delays,alias:l"`

	Key   string `bun:"key"`
	Count int    `bun:"count"`
	Since int64  `bun:"since"`
	Until int64  `bun:"until"`
}

// passphrase returns the hash that is kept, "" for none.
func passphrase(ctx context.Context, db bun.IDB) (phc string, err error) {
	err = fixed(db, `SELECT phc FROM door_passphrase`).Scan(ctx, &phc)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return phc, err
}

// stillPassphrase refuses with CodeConflict unless the hash is the one that is kept.
func stillPassphrase(ctx context.Context, tx bun.IDB, was string) error {
	kept, err := passphrase(ctx, tx)
	if err == nil && kept != was {
		err = agent.Errorf(agent.CodeConflict, "The passphrase was changed just now. Nothing was done; try again.")
	}
	return err
}

// Passphrase implements access.PassphraseStore.
func (s *Store) Passphrase(ctx context.Context) (string, error) {
	phc, err := passphrase(ctx, s.reader)
	return phc, s.translate(err)
}

// SetPassphrase implements access.PassphraseStore.
func (s *Store) SetPassphrase(ctx context.Context, was, phc string, at time.Time, end access.Ending) (ended []agent.ID, err error) {
	err = s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		if err := stillPassphrase(ctx, tx, was); err != nil {
			return err
		}
		_, err := fixed(tx, `INSERT INTO door_passphrase (id, phc, changed) VALUES (1, ?1, ?2)
			ON CONFLICT (id) DO UPDATE SET phc = excluded.phc, changed = excluded.changed`, phc, micros(at)).Exec(ctx)
		if err != nil {
			return err
		}
		ended, err = endDevices(ctx, tx, at, end)
		return err
	})
	return ended, err
}

// Delays implements access.DelayStore.
func (s *Store) Delays(ctx context.Context) ([]access.Delay, error) {
	var rows []delayRow
	if err := fixed(s.reader, `SELECT * FROM door_delays`).Scan(ctx, &rows); err != nil {
		return nil, s.translate(err)
	}
	list := make([]access.Delay, len(rows))
	for i, r := range rows {
		list[i] = access.Delay{Key: r.Key, Count: r.Count, Since: fromMicros(r.Since), Until: fromMicros(r.Until)}
	}
	return list, nil
}

// SaveDelays implements access.DelayStore.
func (s *Store) SaveDelays(ctx context.Context, changed []access.Delay, gone []string) error {
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		for _, key := range gone {
			if _, err := fixed(tx, `DELETE FROM door_delays WHERE key = ?1`, key).Exec(ctx); err != nil {
				return err
			}
		}
		for _, d := range changed {
			_, err := fixed(tx, `INSERT INTO door_delays (key, count, since, until) VALUES (?1, ?2, ?3, ?4)
				ON CONFLICT (key) DO UPDATE SET count = excluded.count, since = excluded.since, until = excluded.until`,
				clean(d.Key), d.Count, micros(d.Since), micros(d.Until)).Exec(ctx)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// ResetDoors implements access.DoorStore.
func (s *Store) ResetDoors(ctx context.Context, at time.Time) (ended []agent.ID, err error) {
	err = s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		if ended, err = endDevices(ctx, tx, at, access.Ending{All: true}); err != nil {
			return err
		}
		for _, table := range []string{"door_passphrase", "door_delays", "devices"} {
			if _, err := fixed(tx, "DELETE FROM "+table).Exec(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	return ended, err
}
