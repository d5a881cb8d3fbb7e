package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/access"
)

// devicesKept is how many devices that are not signed in any more are remembered: who was here before has a budget of attempts of its own.
const devicesKept = 200

type deviceRow struct {
	bun.BaseModel `bun:"table:devices,alias:d"`

	ID      agent.ID   `bun:"id"`
	Name    string     `bun:"name"`
	Agent   string     `bun:"agent"`
	How     access.How `bun:"how"`
	Address string     `bun:"address"`
	Hash    []byte     `bun:"hash"`
	Former  []byte     `bun:"former"`
	Retired int64      `bun:"retired"`
	Rotated int64      `bun:"rotated"`
	Created int64      `bun:"created"`
	Seen    int64      `bun:"seen"`
	Expires int64      `bun:"expires"`
	Ended   int64      `bun:"ended"`
	Revoked bool       `bun:"revoked"`
}

func fromDevice(r deviceRow) access.Session {
	return access.Session{
		Device: access.Device{
			ID: r.ID, Name: r.Name, Agent: r.Agent, How: r.How, Address: r.Address,
			Created: fromMicros(r.Created), Seen: fromMicros(r.Seen), Expires: fromMicros(r.Expires),
		},
		Hash: r.Hash, Former: r.Former, Retired: fromMicros(r.Retired), Rotated: fromMicros(r.Rotated), Ended: fromMicros(r.Ended), Revoked: r.Revoked,
	}
}

// AddDevice implements access.DeviceStore.
func (s *Store) AddDevice(ctx context.Context, d access.Device, hash []byte, o access.Joining) (ended []agent.ID, err error) {
	err = s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		if o.Passphrase != "" {
			if err := stillPassphrase(ctx, tx, o.Passphrase); err != nil {
				return err
			}
		}
		at := micros(d.Created)
		if err := fixed(tx, `UPDATE devices SET ended = ?2 WHERE id = ?1 AND ended = 0 RETURNING id`, o.Former, at).Scan(ctx, &ended); err != nil {
			return err
		}
		var over []agent.ID
		err := fixed(tx, `UPDATE devices SET ended = ?1 WHERE id IN (SELECT id FROM devices WHERE ended = 0 ORDER BY seen DESC, id DESC LIMIT -1 OFFSET ?2)
			RETURNING id`, at, max(o.Limit-1, 0)).Scan(ctx, &over)
		if err != nil {
			return err
		}
		ended = append(ended, over...)
		_, err = fixed(tx, `DELETE FROM devices WHERE id IN (SELECT id FROM devices WHERE ended > 0 ORDER BY ended DESC LIMIT -1 OFFSET ?1)`, devicesKept).Exec(ctx)
		if err != nil {
			return err
		}
		row := deviceRow{
			ID: d.ID, Name: clean(d.Name), Agent: clean(d.Agent), How: d.How, Address: clean(d.Address), Hash: hash,
			Rotated: at, Created: at, Seen: micros(d.Seen), Expires: micros(d.Expires),
		}
		return insertRow(ctx, tx, &row)
	})
	return ended, err
}

// DeviceByHash implements access.DeviceStore.
func (s *Store) DeviceByHash(ctx context.Context, hash []byte) (access.Session, error) {
	var row deviceRow
	// One look into each index.
	err := fixed(s.reader, `SELECT * FROM devices WHERE hash = ?1 UNION ALL SELECT * FROM devices WHERE former = ?1 LIMIT 1`, hash).Scan(ctx, &row)
	if err != nil {
		return access.Session{}, s.translate(err)
	}
	return fromDevice(row), nil
}

// Devices implements access.DeviceStore.
func (s *Store) Devices(ctx context.Context) ([]access.Device, error) {
	var rows []deviceRow
	if err := fixed(s.reader, `SELECT * FROM devices WHERE ended = 0 ORDER BY seen DESC, id DESC`).Scan(ctx, &rows); err != nil {
		return nil, s.translate(err)
	}
	list := make([]access.Device, len(rows))
	for i, row := range rows {
		list[i] = fromDevice(row).Device
	}
	return list, nil
}

// ChangeDevice implements access.DeviceStore.
func (s *Store) ChangeDevice(ctx context.Context, id agent.ID, was []byte, c access.DeviceChange) error {
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		result, err := fixed(tx, `UPDATE devices SET
				seen = CASE ?3 WHEN 0 THEN seen ELSE ?3 END, expires = CASE ?4 WHEN 0 THEN expires ELSE ?4 END,
				address = CASE ?5 WHEN '' THEN address ELSE ?5 END, retired = CASE ?6 WHEN 0 THEN retired ELSE ?6 END
			WHERE id = ?1 AND hash = ?2 AND ended = 0`,
			id, was, micros(c.Seen), micros(c.Expires), clean(c.Address), micros(c.Retired)).Exec(ctx)
		if err == nil && !touched(result) {
			err = agent.Errorf(agent.CodeConflict, "This session was renewed or signed out just now.")
		}
		if err != nil || c.Hash == nil {
			return err
		}
		_, err = fixed(tx, `UPDATE devices SET hash = ?2, former = ?3, retired = 0, rotated = ?4 WHERE id = ?1`, id, c.Hash, c.Former, micros(c.At)).Exec(ctx)
		return err
	})
}

// EndDevices implements access.DeviceStore.
func (s *Store) EndDevices(ctx context.Context, at time.Time, end access.Ending) (ended []agent.ID, err error) {
	err = s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		ended, err = endDevices(ctx, tx, at, end)
		return err
	})
	return ended, err
}

func endDevices(ctx context.Context, tx bun.IDB, at time.Time, end access.Ending) (ended []agent.ID, err error) {
	if !end.All && end.Only == "" && end.How == "" {
		return nil, nil
	}
	err = fixed(tx, `UPDATE devices SET ended = ?1, revoked = 1
		WHERE ended = 0 AND id <> ?2 AND (?3 = '' OR id = ?3) AND (?4 = '' OR how = ?4) RETURNING id`,
		micros(at), end.Except, end.Only, end.How).Scan(ctx, &ended)
	return ended, err
}
