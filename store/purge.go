package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"ash/agent"
)

// purged names what goes with a thread, in an order that keeps the references whole.
var purged = [...]string{
	"DELETE FROM reply_progress WHERE message IN (SELECT id FROM messages WHERE thread = ?)",
	"DELETE FROM message_attachments WHERE message IN (SELECT id FROM messages WHERE thread = ?)",
	"DELETE FROM tool_calls WHERE thread = ?",
	"DELETE FROM summaries WHERE thread = ?",
	"DELETE FROM messages WHERE thread = ?",
	"DELETE FROM turns WHERE thread = ?",
	"DELETE FROM file_versions WHERE thread = ?",
	"DELETE FROM events WHERE thread = ?",
	"DELETE FROM threads WHERE id = ?",
}

// PurgeDeleted removes the threads that were deleted before the given time, with everything
// that belongs to them, the ledger's rows included, and returns how many they were. Their pages are overwritten,
// in the log too. Snapshots in backups/ still hold them.
func (s *Store) PurgeDeleted(ctx context.Context, before time.Time) (int, error) {
	var threads []agent.ID
	err := s.reader.NewSelect().Model((*threadRow)(nil)).Column("id").
		Where("deleted <> 0 AND deleted < ?", micros(before)).Scan(ctx, &threads)
	if err != nil || len(threads) == 0 {
		return 0, s.translate(err)
	}
	for done, id := range threads {
		// One transaction each: a long one would keep messages of the person waiting.
		err := s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
			for _, statement := range purged {
				if _, err := tx.NewRaw(statement, id).Exec(ctx); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return done, err
		}
	}
	// Deleted text would stay readable in the log until it is used again.
	_, err = s.writer.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return len(threads), s.translate(err)
}
