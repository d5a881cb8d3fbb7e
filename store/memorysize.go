package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"ash/agent"
)

type memorySizeRow struct {
	bun.BaseModel `bun:"table:memory_sizes"`

	Day      int64 `bun:"day,pk"`
	Taken    int64 `bun:"taken"`
	Store    int64 `bun:"store"`
	Words    int64 `bun:"words"`
	Meaning  int64 `bun:"meaning"`
	Noted    int64 `bun:"noted"`
	Notes    int   `bun:"notes"`
	Episodes int   `bun:"episodes"`
	Messages int   `bun:"messages"`
	Vectors  int   `bun:"vectors"`
}

const dayMicros = int64(24 * time.Hour / time.Microsecond)

// MeasureMemory takes the sizes of memory as they are now and keeps them as those of the day. It looks at every page of the
// database: a second at some hundred megabytes. Pages show what was kept.
func (s *Store) MeasureMemory(ctx context.Context, at time.Time) (agent.MemorySizes, error) {
	row := memorySizeRow{Day: micros(at) / dayMicros, Taken: micros(at)}
	err := fixed(s.reader, `SELECT coalesce(sum(bytes), 0) AS store,
			coalesce(sum(bytes) FILTER (WHERE t IN ('recall_items', 'recall_fts_data', 'recall_fts_idx', 'recall_fts_docsize', 'recall_fts_config')), 0) AS words,
			coalesce(sum(bytes) FILTER (WHERE t IN ('recall_codes', 'recall_vectors', 'recall_pending', 'recall_spaces')), 0) AS meaning,
			(SELECT coalesce(sum(size), 0) FROM notes) AS noted, (SELECT count(*) FROM notes) AS notes,
			(SELECT count(*) FROM episodes) AS episodes, (SELECT count(*) FROM messages) AS messages, (SELECT count(*) FROM recall_codes) AS vectors
		FROM (SELECT coalesce(m.tbl_name, d.name) AS t, d.bytes FROM (SELECT name, sum(pgsize) AS bytes FROM dbstat WHERE aggregate = ?1 GROUP BY name) d
			LEFT JOIN sqlite_schema m ON m.name = d.name)`, true).
		Scan(ctx, &row.Store, &row.Words, &row.Meaning, &row.Noted, &row.Notes, &row.Episodes, &row.Messages, &row.Vectors)
	if err != nil {
		return agent.MemorySizes{}, s.translate(err)
	}
	err = s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		if _, err := fixed(tx, `DELETE FROM memory_sizes WHERE day = ?1`, row.Day).Exec(ctx); err != nil {
			return err
		}
		return insertRow(ctx, tx, &row)
	})
	return fromMemorySize(row), err
}

// MemoryRoom returns the sizes kept from a time on, a day's each, the oldest first.
func (s *Store) MemoryRoom(ctx context.Context, from time.Time) ([]agent.MemorySizes, error) {
	var rows []memorySizeRow
	if err := fixed(s.reader, `SELECT * FROM memory_sizes WHERE day >= ?1 ORDER BY day`, micros(from)/dayMicros).Scan(ctx, &rows); err != nil {
		return nil, s.translate(err)
	}
	list := make([]agent.MemorySizes, len(rows))
	for i, row := range rows {
		list[i] = fromMemorySize(row)
	}
	return list, nil
}

func fromMemorySize(r memorySizeRow) agent.MemorySizes {
	return agent.MemorySizes{
		Taken: fromMicros(r.Taken), Store: r.Store, Words: r.Words, Meaning: r.Meaning, Noted: r.Noted,
		Notes: r.Notes, Episodes: r.Episodes, Messages: r.Messages, Vectors: r.Vectors,
	}
}
