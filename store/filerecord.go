package store

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"ash/agent/policy"
)

var _ policy.RecordStore = (*Store)(nil)

type fileRecordRow struct {
	bun.BaseModel `bun:"table:file_records,alias:f"`

	Path   string `bun:"path,pk"`
	Hash   string `bun:"hash"`
	Labels string `bun:"labels"`
	Noted  int64  `bun:"noted"`
}

// recordBatch is how many records one statement stores or removes.
const recordBatch = 500

// FileRecords implements policy.RecordStore.
func (s *Store) FileRecords(ctx context.Context, paths ...string) ([]policy.Record, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	var rows []fileRecordRow
	if err := s.reader.NewSelect().Model(&rows).Where("path IN (?)", bun.List(paths)).Scan(ctx); err != nil {
		return nil, s.translate(err)
	}
	return s.fromFileRecords(rows)
}

// FileRecordsBelow implements policy.RecordStore.
func (s *Store) FileRecordsBelow(ctx context.Context, folder string) ([]policy.Record, error) {
	const slash = string(filepath.Separator)
	begin := strings.TrimSuffix(folder, slash) + slash
	end := begin[:len(begin)-1] + string(rune(filepath.Separator)+1)
	var rows []fileRecordRow
	if err := s.reader.NewSelect().Model(&rows).Where("path >= ? AND path < ?", begin, end).Scan(ctx); err != nil {
		return nil, s.translate(err)
	}
	return s.fromFileRecords(rows)
}

func (s *Store) fromFileRecords(rows []fileRecordRow) ([]policy.Record, error) {
	list := make([]policy.Record, len(rows))
	same := map[string]policy.Record{} // thousands of files bear the same labels
	for i, row := range rows {
		known, ok := same[row.Labels]
		if !ok {
			labels, err := decodeLabels(row.Labels)
			if err != nil {
				return nil, s.translate(err)
			}
			known.Labels = labels
			same[row.Labels] = known
		}
		list[i] = policy.Record{Path: row.Path, Hash: row.Hash, Labels: known.Labels, Noted: fromMicros(row.Noted)}
	}
	return list, nil
}

// SaveFileRecords implements policy.RecordStore. Paths that are not UTF-8 are kept as they are, so that each file has its own record.
func (s *Store) SaveFileRecords(ctx context.Context, records []policy.Record, gone []string) error {
	if len(records) == 0 && len(gone) == 0 {
		return nil
	}
	rows := make([]fileRecordRow, len(records))
	for i, r := range records {
		labels, err := encodeLabels(r.Labels)
		if err != nil {
			return s.translate(err)
		}
		rows[i] = fileRecordRow{Path: r.Path, Hash: clean(r.Hash), Labels: labels, Noted: micros(orNow(r.Noted))}
	}
	return s.write(ctx, func(ctx context.Context, tx bun.Tx) error {
		for chunk := range slices.Chunk(gone, recordBatch) {
			if _, err := tx.NewDelete().Model((*fileRecordRow)(nil)).Where("path IN (?)", bun.List(chunk)).Exec(ctx); err != nil {
				return err
			}
		}
		for chunk := range slices.Chunk(rows, recordBatch) {
			_, err := tx.NewInsert().Model(&chunk).On("CONFLICT (path) DO UPDATE").
				Set("hash = excluded.hash").Set("labels = excluded.labels").Set("noted = excluded.noted").Exec(ctx)
			if err != nil {
				return err
			}
		}
		return nil
	})
}
