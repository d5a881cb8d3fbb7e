package store

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

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
	if err := s.reader.NewSelect().Model(&rows).Where("path IN (?)", bun.List(toPaths(paths))).Scan(ctx); err != nil {
		return nil, s.translate(err)
	}
	return s.fromFileRecords(rows)
}

// FileRecordsBelow implements policy.RecordStore.
func (s *Store) FileRecordsBelow(ctx context.Context, folder string) ([]policy.Record, error) {
	const slash = string(filepath.Separator)
	begin := strings.TrimSuffix(toPath(folder), slash) + slash
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
		list[i] = policy.Record{Path: fromPath(row.Path), Hash: row.Hash, Labels: known.Labels, Noted: fromMicros(row.Noted)}
	}
	return list, nil
}

// SaveFileRecords implements policy.RecordStore.
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
		rows[i] = fileRecordRow{Path: toPath(r.Path), Hash: clean(r.Hash), Labels: labels, Noted: micros(orNow(r.Noted))}
	}
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		for chunk := range slices.Chunk(gone, recordBatch) {
			if _, err := tx.NewDelete().Model((*fileRecordRow)(nil)).Where("path IN (?)", bun.List(toPaths(chunk))).Exec(ctx); err != nil {
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

// A path need not be UTF-8, but text in SQLite must. Each byte that is part of no character becomes a character of its own
// from the end of the last plane, and so do the bytes of those characters themselves: no two paths become one.
const oddBytes = rune(0x10FF00)

func toPath(path string) string {
	if utf8.ValidString(path) && !strings.ContainsFunc(path, oddByte) {
		return path
	}
	var b strings.Builder
	for i := 0; i < len(path); {
		r, n := utf8.DecodeRuneInString(path[i:])
		if (r != utf8.RuneError || n > 1) && !oddByte(r) {
			b.WriteString(path[i : i+n])
		} else {
			for _, c := range []byte(path[i : i+n]) {
				b.WriteRune(oddBytes + rune(c))
			}
		}
		i += n
	}
	return b.String()
}

func fromPath(stored string) string {
	if !strings.ContainsFunc(stored, oddByte) {
		return stored
	}
	var b strings.Builder
	for _, r := range stored {
		if oddByte(r) {
			b.WriteByte(byte(r - oddBytes)) //nolint:gosec // within a byte: see oddByte
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func oddByte(r rune) bool { return r >= oddBytes && r <= oddBytes+0xFF }

func toPaths(paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = toPath(p)
	}
	return out
}
