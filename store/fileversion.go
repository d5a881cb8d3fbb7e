package store

import (
	"context"
	"database/sql"
	"io/fs"
	"time"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/tool/files"
)

type fileVersionRow struct {
	bun.BaseModel `bun:"table:file_versions,alias:f"`

	Seq     int64          `bun:"seq,pk,autoincrement"`
	ID      agent.ID       `bun:"id"`
	Thread  agent.ID       `bun:"thread"`
	Call    agent.ID       `bun:"call"`
	Root    string         `bun:"root"`
	Path    string         `bun:"path"`
	Before  sql.NullString `bun:"before"`
	After   sql.NullString `bun:"after"`
	Mode    uint32         `bun:"mode"`
	Undone  bool           `bun:"undone"`
	Created int64          `bun:"created"`
	Labels  string         `bun:"labels"`
	Bytes   []byte         `bun:"bytes"`
	Kept    bool           `bun:"kept,scanonly"`
}

func toFileVersion(v files.Version, before []byte) (fileVersionRow, error) {
	labels, err := encodeLabels(v.Labels)
	if before == nil && v.Kept && v.Before != "" {
		before = []byte{} // an empty file is not the same as one that is not kept
	}
	return fileVersionRow{
		ID: v.ID, Thread: v.Thread, Call: v.Call, Root: clean(v.Root), Path: clean(v.Path),
		Before: orNone(v.Before), After: orNone(v.After), Mode: uint32(v.Mode), Undone: v.Undone,
		Created: micros(orNow(v.Created)), Labels: labels, Bytes: before,
	}, err
}

func fromFileVersion(r fileVersionRow) (files.Version, error) {
	labels, err := decodeLabels(r.Labels)
	return files.Version{
		ID: r.ID, Thread: r.Thread, Call: r.Call, Root: r.Root, Path: r.Path, Before: r.Before.String, After: r.After.String,
		Mode: fs.FileMode(r.Mode), Kept: r.Kept || !r.Before.Valid, Undone: r.Undone, Created: fromMicros(r.Created), Labels: labels,
	}, err
}

func orNone(hash string) sql.NullString {
	return sql.NullString{String: clean(hash), Valid: hash != ""}
}

var _ files.Versions = (*Store)(nil)

// AddFileVersion implements files.Versions.
func (s *Store) AddFileVersion(ctx context.Context, v files.Version, before []byte, undoes agent.ID) error {
	row, err := toFileVersion(v, before)
	if err != nil {
		return s.translate(err)
	}
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		if undoes != "" {
			res, err := tx.NewUpdate().Model((*fileVersionRow)(nil)).Set("undone = 1").
				Where("id = ? AND undone = 0", undoes).Exec(ctx)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n == 0 {
				return agent.Wrap(agent.CodeConflict, err, "This change was already undone.")
			}
		}
		_, err := tx.NewInsert().Model(&row).Returning("NULL").Exec(ctx)
		return err
	})
}

// DropFileVersion implements files.Versions.
func (s *Store) DropFileVersion(ctx context.Context, id, undoes agent.ID) error {
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		if _, err := tx.NewDelete().Model((*fileVersionRow)(nil)).Where("id = ?", id).Exec(ctx); err != nil {
			return err
		}
		if undoes == "" {
			return nil
		}
		_, err := tx.NewUpdate().Model((*fileVersionRow)(nil)).Set("undone = 0").Where("id = ?", undoes).Exec(ctx)
		return err
	})
}

// FileVersions implements files.Versions.
func (s *Store) FileVersions(ctx context.Context, call agent.ID) ([]files.Version, error) {
	var rows []fileVersionRow
	err := s.reader.NewSelect().Model(&rows).ExcludeColumn("bytes").ColumnExpr("bytes IS NOT NULL AS kept").
		Where("call = ?", call).Order("seq DESC").Scan(ctx)
	if err != nil {
		return nil, s.translate(err)
	}
	list := make([]files.Version, len(rows))
	for i, row := range rows {
		if list[i], err = fromFileVersion(row); err != nil {
			return nil, s.translate(err)
		}
	}
	return list, nil
}

// FileVersionBytes implements files.Versions.
func (s *Store) FileVersionBytes(ctx context.Context, id agent.ID) ([]byte, error) {
	var row fileVersionRow
	err := s.reader.NewSelect().Model(&row).Column("bytes").Where("id = ? AND bytes IS NOT NULL", id).Scan(ctx)
	return row.Bytes, s.translate(err)
}

// PruneFileVersions removes the versions of files that are older than a time, but never the newest
// keepNewest of a file, and returns how many they were and how many bytes they kept. Their pages are overwritten, in the log
// too.
func (s *Store) PruneFileVersions(ctx context.Context, olderThan time.Time, keepNewest int) (removed int, bytes int64, err error) {
	err = s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		var sizes []int64
		err := tx.NewRaw(`DELETE FROM file_versions WHERE seq IN (
				SELECT seq FROM (
					SELECT seq, created, row_number() OVER (PARTITION BY root, path ORDER BY seq DESC) AS age FROM file_versions
				) WHERE created < ? AND age > ?
			) RETURNING ifnull(length(bytes), 0)`, micros(olderThan), max(keepNewest, 0)).Scan(ctx, &sizes)
		removed = len(sizes)
		for _, n := range sizes {
			bytes += n
		}
		return err
	})
	if err != nil || removed == 0 {
		return 0, 0, err
	}
	_, err = s.writer.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return removed, bytes, s.translate(err)
}
