package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"ash/agent"
)

// Stats are figures about what is stored, for people.
type Stats struct {
	Threads  int64 // not deleted
	Messages int64
	Spent    agent.MicroDollars // by turns begun since the given time
	Bytes    int64              // of the database, free pages included
}

// Stats counts. It reads an index of threads and messages and the table of turns to the
// end: some milliseconds at 100,000 messages.
func (s *Store) Stats(ctx context.Context, since time.Time) (Stats, error) {
	var out Stats
	err := s.read(ctx, func(ctx context.Context, tx bun.IDB) error {
		var err error
		if out.Threads, err = tx.NewSelect().Model((*threadRow)(nil)).Where("deleted = 0").Count(ctx); err != nil {
			return err
		}
		if out.Messages, err = tx.NewSelect().Model((*messageRow)(nil)).Count(ctx); err != nil {
			return err
		}
		// Turns hold the sums of their replies, and their rows are few and narrow.
		if err = tx.NewSelect().Model((*turnRow)(nil)).ColumnExpr("coalesce(sum(cost), 0)").
			Where("started >= ?", micros(since)).Scan(ctx, &out.Spent); err != nil {
			return err
		}
		return tx.NewRaw("SELECT (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size)").Scan(ctx, &out.Bytes)
	})
	return out, err
}
