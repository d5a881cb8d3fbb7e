package store

import (
	"context"
	"encoding/json"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/memory/notes"
	"ash/agent/memory/recall"
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
	rows, err := s.noteRows(ctx, "SELECT * FROM notes WHERE path = ?", path)
	if err == nil && len(rows) == 0 {
		err = errGone()
	}
	if err != nil {
		return notes.Row{}, err
	}
	return rows[0], nil
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

// noteStamp is what a scan reads of a row.
type noteStamp struct {
	Path     string `bun:"path"`
	Size     int64  `bun:"size"`
	Modified int64  `bun:"modified"`
	Seen     int64  `bun:"seen"`
}

// NoteStamps implements notes.Rows.
func (s *Store) NoteStamps(ctx context.Context, after string, limit int) ([]notes.Stamp, error) {
	var rows []noteStamp
	if err := fixed(s.reader, "SELECT path, size, modified, seen FROM notes WHERE path > ? ORDER BY path LIMIT ?", after, limit).Scan(ctx, &rows); err != nil {
		return nil, s.translate(err)
	}
	out := make([]notes.Stamp, len(rows))
	for i, r := range rows {
		out[i] = notes.Stamp{Path: r.Path, Size: r.Size, Modified: fromMicros(r.Modified), Seen: fromMicros(r.Seen)}
	}
	return out, nil
}

// StaleNotes returns the paths of up to limit notes that recall has not taken up as they are now, in their order, after path
// after ("" from the first).
func (s *Store) StaleNotes(ctx context.Context, after string, limit int) ([]string, error) {
	var paths []string
	err := fixed(s.reader, "SELECT path FROM notes WHERE stale = 1 AND path > ? ORDER BY path LIMIT ?", after, limit).Scan(ctx, &paths)
	return paths, s.translate(err)
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
			stale = max(notes.stale, excluded.stale), title = excluded.title, front = excluded.front, problem = excluded.problem, labels = excluded.labels`,
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

// NotePassages are what recall is to hold of a note.
type NotePassages struct {
	Path     string
	Hash     string       // of the note they were taken from
	Labels   agent.Labels // of that note
	Passages []recall.Item
}

// IndexNotes has recall hold the passages of notes in place of those it had, in one transaction. What is not the note's row any more, since
// it changed or went meanwhile, is left alone: it is stale still, or gone.
func (s *Store) IndexNotes(ctx context.Context, list []NotePassages) error {
	ready := make([][]recallRow, len(list)) // made before the transaction: cutting words takes longer than storing them
	labels := make([]string, len(list))
	for i, n := range list {
		var err error
		if labels[i], err = encodeLabels(n.Labels); err != nil {
			return s.translate(err)
		}
		if ready[i], err = passageRows(n); err != nil {
			return s.translate(err)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		for i, n := range list {
			if err := indexNote(ctx, tx, n, labels[i], ready[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func passageRows(n NotePassages) ([]recallRow, error) {
	rows := make([]recallRow, len(n.Passages))
	for i, p := range n.Passages {
		p.Kind, p.Ref, p.Part = agent.MemoryNote, n.Path, i
		var err error
		if rows[i], err = toRecall(p); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func indexNote(ctx context.Context, tx bun.IDB, n NotePassages, labels string, passages []recallRow) error {
	done, err := fixed(tx, "UPDATE notes SET stale = 0 WHERE path = ? AND hash = ? AND labels = ?", n.Path, n.Hash, labels).Exec(ctx)
	if err != nil {
		return err
	}
	if rows, err := done.RowsAffected(); err != nil || rows == 0 {
		return err
	}
	if _, err := fixed(tx, `DELETE FROM recall_items WHERE kind = 'note' AND ref = ?1`, clean(n.Path)).Exec(ctx); err != nil {
		return err
	}
	for i := range passages {
		if err := insertRow(ctx, tx, &passages[i]); err != nil {
			return err
		}
	}
	return nil
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

// SaveNoteRecords implements notes.Records.
func (s *Store) SaveNoteRecords(ctx context.Context, list ...notes.Record) error {
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		for _, r := range list {
			labels, err := encodeLabels(r.Labels)
			if err != nil {
				return err
			}
			_, err = fixed(tx, `INSERT INTO note_records (path, hash, labels, own, noted) VALUES (?, ?, ?, ?, ?)
				ON CONFLICT (path) DO UPDATE SET hash = excluded.hash, labels = excluded.labels, own = excluded.own, noted = excluded.noted`,
				r.Path, r.Hash, labels, r.Own, micros(now())).Exec(ctx)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// DropNoteRecord implements notes.Records.
func (s *Store) DropNoteRecord(ctx context.Context, path string) error {
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		_, err := fixed(tx, "DELETE FROM note_records WHERE path = ?", path).Exec(ctx)
		return err
	})
}
