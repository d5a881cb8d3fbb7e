package store

import (
	"context"
	"encoding/json"

	"github.com/uptrace/bun"

	"ash/agent/memory/notes"
)

type noteRow struct {
	bun.BaseModel `bun:"table:notes,alias:n"`

	Path     string `bun:"path,pk"`
	Hash     string `bun:"hash"`
	Size     int64  `bun:"size"`
	Modified int64  `bun:"modified"`
	Seen     int64  `bun:"seen"`
	Stale    bool   `bun:"stale"`
	Title    string `bun:"title"`
	Front    string `bun:"front"`
	Problem  string `bun:"problem"`
	Labels   string `bun:"labels"`
}

type noteLinkRow struct {
	bun.BaseModel `bun:"table:note_links"`

	Note   string `bun:"note,pk"`
	Target string `bun:"target,pk"`
}

type noteRecordRow struct {
	bun.BaseModel `bun:"table:note_records,alias:r"`

	Path   string `bun:"path,pk"`
	Hash   string `bun:"hash"`
	Labels string `bun:"labels"`
	Own    bool   `bun:"own"`
	Noted  int64  `bun:"noted"`
}

var (
	_ notes.Rows    = (*Store)(nil)
	_ notes.Records = (*Store)(nil)
)

func toNote(r notes.Row) (noteRow, error) {
	labels, err := encodeLabels(r.Labels)
	return noteRow{
		Path: r.Path, Hash: r.Hash, Size: r.Size, Modified: r.Modified.UnixMicro(), Seen: r.Seen.UnixMicro(), Stale: r.Stale,
		Title: clean(r.Title), Front: clean(string(r.Front)), Problem: clean(r.Problem), Labels: labels,
	}, err
}

func fromNote(r noteRow) (notes.Row, error) {
	labels, err := decodeLabels(r.Labels)
	out := notes.Row{
		Path: r.Path, Hash: r.Hash, Size: r.Size, Modified: fromMicros(r.Modified), Seen: fromMicros(r.Seen), Stale: r.Stale,
		Title: r.Title, Problem: r.Problem, Labels: labels,
	}
	if r.Front != "" {
		out.Front = json.RawMessage(r.Front)
	}
	return out, err
}

// NoteRow implements notes.Rows.
func (s *Store) NoteRow(ctx context.Context, path string) (notes.Row, error) {
	var rows []noteRow
	if err := fixed(s.reader, "SELECT * FROM notes WHERE path = ?", path).Scan(ctx, &rows); err != nil {
		return notes.Row{}, s.translate(err)
	}
	if len(rows) == 0 {
		return notes.Row{}, errGone()
	}
	row, err := fromNote(rows[0])
	return row, s.translate(err)
}

// NoteRows implements notes.Rows.
func (s *Store) NoteRows(ctx context.Context, after string, limit int) ([]notes.Row, error) {
	return s.noteRows(ctx, "SELECT * FROM notes WHERE path > ? ORDER BY path LIMIT ?", after, limit)
}

// StaleNotes returns up to limit notes, by path, that recall has not taken up as they are now.
func (s *Store) StaleNotes(ctx context.Context, limit int) ([]notes.Row, error) {
	return s.noteRows(ctx, "SELECT * FROM notes WHERE stale = 1 ORDER BY path LIMIT ?", limit)
}

func (s *Store) noteRows(ctx context.Context, text string, args ...any) ([]notes.Row, error) {
	var rows []noteRow
	if err := fixed(s.reader, text, args...).Scan(ctx, &rows); err != nil {
		return nil, s.translate(err)
	}
	out := make([]notes.Row, len(rows))
	for i, r := range rows {
		var err error
		if out[i], err = fromNote(r); err != nil {
			return nil, s.translate(err)
		}
	}
	return out, nil
}

// SaveNotes implements notes.Rows.
func (s *Store) SaveNotes(ctx context.Context, saved []notes.Row, gone []string) error {
	if len(saved) == 0 && len(gone) == 0 {
		return nil
	}
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		for _, path := range gone {
			if _, err := fixed(tx, "DELETE FROM notes WHERE path = ?", path).Exec(ctx); err != nil {
				return err
			}
		}
		for _, r := range saved {
			if err := saveNote(ctx, tx, r); err != nil {
				return err
			}
		}
		return nil
	})
}

func saveNote(ctx context.Context, tx bun.IDB, r notes.Row) error {
	row, err := toNote(r)
	if err != nil {
		return err
	}
	_, err = fixed(tx, `INSERT INTO notes (path, hash, size, modified, seen, stale, title, front, problem, labels) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (path) DO UPDATE SET hash = excluded.hash, size = excluded.size, modified = excluded.modified, seen = excluded.seen,
			stale = excluded.stale, title = excluded.title, front = excluded.front, problem = excluded.problem, labels = excluded.labels`,
		row.Path, row.Hash, row.Size, row.Modified, row.Seen, row.Stale, row.Title, row.Front, row.Problem, row.Labels).Exec(ctx)
	if err != nil {
		return err
	}
	if _, err := fixed(tx, "DELETE FROM note_links WHERE note = ?", row.Path).Exec(ctx); err != nil {
		return err
	}
	for _, target := range r.Links {
		_, err := fixed(tx, "INSERT OR IGNORE INTO note_links (note, target) VALUES (?, ?)", row.Path, clean(target)).Exec(ctx)
		if err != nil {
			return err
		}
	}
	return nil
}

// NotesLinking implements notes.Rows.
func (s *Store) NotesLinking(ctx context.Context, targets []string) ([]string, error) {
	if len(targets) == 0 {
		return nil, nil
	}
	cleaned := make([]string, len(targets))
	for i, t := range targets {
		cleaned[i] = clean(t)
	}
	var paths []string
	err := s.reader.NewSelect().Model((*noteLinkRow)(nil)).Distinct().Column("note").
		Where("target IN (?)", bun.List(cleaned)).Order("note").Scan(ctx, &paths)
	return paths, s.translate(err)
}

// NoteIndexed implements notes.Rows.
func (s *Store) NoteIndexed(ctx context.Context, path, hash string) error {
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		_, err := fixed(tx, "UPDATE notes SET stale = 0 WHERE path = ? AND hash = ?", path, hash).Exec(ctx)
		return err
	})
}

// StaleAllNotes makes recall take up every note anew, as after its index was emptied.
func (s *Store) StaleAllNotes(ctx context.Context) error {
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		_, err := tx.ExecContext(ctx, "UPDATE notes SET stale = 1 WHERE stale = 0")
		return err
	})
}

// NoteRecords implements notes.Records.
func (s *Store) NoteRecords(ctx context.Context, paths []string, hash string) ([]notes.Record, error) {
	list, err := json.Marshal(paths)
	if err != nil {
		return nil, s.translate(err)
	}
	var rows []noteRecordRow
	// A thousand copies tell no more than a few.
	err = fixed(s.reader, `SELECT path, hash, labels, own, noted FROM note_records WHERE path IN (SELECT value FROM json_each(?1))
		UNION SELECT * FROM (SELECT path, hash, labels, own, noted FROM note_records WHERE hash = ?2 AND hash <> '' LIMIT 50)`, string(list), hash).Scan(ctx, &rows)
	if err != nil {
		return nil, s.translate(err)
	}
	out := make([]notes.Record, len(rows))
	for i, r := range rows {
		labels, err := decodeLabels(r.Labels)
		if err != nil {
			return nil, s.translate(err)
		}
		out[i] = notes.Record{Path: r.Path, Hash: r.Hash, Labels: labels, Own: r.Own}
	}
	return out, nil
}

// SaveNoteRecord implements notes.Records.
func (s *Store) SaveNoteRecord(ctx context.Context, r notes.Record) error {
	labels, err := encodeLabels(r.Labels)
	if err != nil {
		return s.translate(err)
	}
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		_, err := fixed(tx, `INSERT INTO note_records (path, hash, labels, own, noted) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (path) DO UPDATE SET hash = excluded.hash, labels = excluded.labels, own = excluded.own, noted = excluded.noted`,
			r.Path, r.Hash, labels, r.Own, micros(now())).Exec(ctx)
		return err
	})
}

// DropNoteRecord implements notes.Records.
func (s *Store) DropNoteRecord(ctx context.Context, path string) error {
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		_, err := fixed(tx, "DELETE FROM note_records WHERE path = ?", path).Exec(ctx)
		return err
	})
}
