package store

import (
	"context"
	"encoding/hex"
	"slices"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/memory"
	"ash/agent/memory/archive"
)

var _ memory.Tombstones = (*Store)(nil)

type tombstoneRow struct {
	bun.BaseModel `bun:"table:tombstones,alias:t"`

	ID      agent.ID `bun:"id"`
	Space   string   `bun:"space"`
	Created int64    `bun:"created"`
	Vector  []byte   `bun:"vector,nullzero"`
	Key     string   `bun:"key"` // what the hashes were made with; "" is this home's own
}

func insertTombstone(ctx context.Context, tx bun.IDB, t agent.Tombstone) error {
	row := tombstoneRow{ID: t.ID, Space: clean(t.Space), Created: micros(orNow(t.Created)), Vector: t.Vector}
	if err := insertRow(ctx, tx, &row); err != nil {
		return err
	}
	return insertHashes(ctx, tx, t)
}

// insertHashes stores the hashes of a tombstone: of Keyed's, the one by its own key.
func insertHashes(ctx context.Context, tx bun.IDB, t agent.Tombstone) error {
	for _, hash := range t.Hashes {
		one := hash[:min(len(hash), archive.HashSize)]
		if _, err := fixed(tx, `INSERT OR IGNORE INTO tombstone_hashes (tombstone, hash) VALUES (?1, ?2)`, t.ID, one).Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Buried implements memory.Tombstones. The first hash of a tombstone is of its statement, the rest of its pairs. What Keyed returned is
// looked up by every key.
func (s *Store) Buried(ctx context.Context, statement []byte, pairs [][]byte) ([]memory.Grave, error) {
	var asked, whole []string
	for chunk := range slices.Chunk(statement, archive.HashSize) {
		whole = append(whole, hex.EncodeToString(chunk))
	}
	asked = append(asked, whole...)
	for _, p := range pairs {
		for chunk := range slices.Chunk(p, archive.HashSize) {
			asked = append(asked, hex.EncodeToString(chunk))
		}
	}
	list, err := toJSON(asked)
	if err != nil {
		return nil, s.translate(err)
	}
	statements, err := toJSON(whole)
	if err != nil {
		return nil, s.translate(err)
	}
	var rows []struct {
		ID        agent.ID
		Statement bool
		Hits      int
		Total     int
	}
	err = fixed(s.reader, `SELECT h.tombstone AS id, max(h.hash IN (SELECT unhex(value) FROM json_each(?2))) AS statement, count(*) AS hits,
			(SELECT count(*) FROM tombstone_hashes a WHERE a.tombstone = h.tombstone) AS total
		FROM (SELECT DISTINCT unhex(value) AS hash FROM json_each(?1)) q JOIN tombstone_hashes h ON h.hash = q.hash
		GROUP BY h.tombstone`, list, statements).Scan(ctx, &rows)
	if err != nil {
		return nil, s.translate(err)
	}
	graves := make([]memory.Grave, len(rows))
	for i, row := range rows {
		graves[i] = memory.Grave{ID: row.ID, Statement: row.Statement, Pairs: row.Hits, Of: max(row.Total-1, 0)}
		if row.Statement {
			graves[i].Pairs--
		}
	}
	return graves, nil
}

// Tombstones implements memory.Tombstones. Their hashes are left out.
func (s *Store) Tombstones(ctx context.Context, space string) ([]agent.Tombstone, error) {
	var rows []tombstoneRow
	if err := fixed(s.reader, `SELECT * FROM tombstones WHERE space = ?1 AND vector IS NOT NULL`, space).Scan(ctx, &rows); err != nil {
		return nil, s.translate(err)
	}
	list := make([]agent.Tombstone, len(rows))
	for i, row := range rows {
		list[i] = agent.Tombstone{ID: row.ID, Vector: row.Vector, Space: row.Space, Created: fromMicros(row.Created)}
	}
	return list, nil
}
