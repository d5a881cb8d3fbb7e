package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/memory"
)

const (
	// maxVacuum bounds the database that is written anew to get rid of a leftover, in bytes: it goes through memory.
	maxVacuum = 512 << 20
	// needle is how much of a text is looked for in the file, in bytes: a leftover may be part of it only.
	needle = 24
	// scrubTries and scrubPause bound the wait for readers that keep the log from being emptied.
	scrubTries = 40
	scrubPause = 50 * time.Millisecond
)

// Finish implements memory.Forgetter. Once it is decided, what is left of it (the log, files) is done again by the next call
// when it was broken off. CodeNotFound for an act that is neither hidden nor under way.
func (s *Store) Finish(ctx context.Context, id agent.ID) (memory.Touched, error) {
	var row forgettingRow
	if err := fixed(s.reader, `SELECT * FROM forgettings WHERE id = ?1`, id).Scan(ctx, &row); err != nil {
		return memory.Touched{}, s.translate(err)
	}
	var b burning
	if !row.Final {
		err := s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
			stored, k, err := forgettingByID(ctx, tx, id)
			if err != nil {
				return err
			}
			b = burning{id: id, kept: k, tx: tx}
			return b.all(ctx, stored)
		})
		if err != nil {
			return memory.Touched{}, err
		}
	}
	return b.touched, s.conclude(ctx, row, b.needles)
}

// conclude does what no transaction can: the log, leftovers in the file, files.
func (s *Store) conclude(ctx context.Context, row forgettingRow, needles [][]byte) error {
	var act memory.Act
	if err := fromJSON(row.Act, &act); err != nil {
		return s.translate(err)
	}
	if err := s.Scrub(ctx); err != nil {
		return err
	}
	// What is done again after a crash does not know its texts any more.
	if err := s.sweep(ctx, needles, row.Final); err != nil {
		return err
	}
	for _, name := range act.Snapshots {
		if name != filepath.Base(name) || strings.HasPrefix(name, ".") {
			return agent.Errorf(agent.CodeInvalid, "%q is no copy of the database.", name)
		}
		if err := removeIfThere(filepath.Join(backupFolder(s.path), name)); err != nil {
			return s.translate(err)
		}
	}
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		_, err := fixed(tx, `DELETE FROM forgettings WHERE id = ?1 AND final = 1`, row.ID).Exec(ctx)
		return err
	})
}

// Unfinished implements memory.Forgetter.
func (s *Store) Unfinished(ctx context.Context) ([]agent.ID, error) {
	var ids []agent.ID
	err := fixed(s.reader, `SELECT id FROM forgettings WHERE final = ?1`, 1).Scan(ctx, &ids)
	return ids, s.translate(err)
}

// Scrub merges the log into the database and cuts it to nothing. CodeUnavailable when a
// reader does not let go for two seconds.
func (s *Store) Scrub(ctx context.Context) error {
	if err := s.Writable(); err != nil {
		return err
	}
	for range scrubTries {
		var busy, log, done int
		if err := s.writer.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &done); err != nil {
			return s.translate(err)
		}
		if busy == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return s.translate(ctx.Err())
		case <-time.After(scrubPause):
		}
	}
	return agent.Errorf(agent.CodeUnavailable, "The database's log is in use and could not be emptied yet. It is tried again.")
}

// sweep looks for the texts in the database file itself. SQLite overwrites what is deleted, but a copy that was left when rows moved
// between pages stays; a database that has one is written anew. Texts that still stand somewhere by right have that done for nothing.
func (s *Store) sweep(ctx context.Context, needles [][]byte, unknown bool) error {
	found, size, err := holds(s.path, needles)
	if err != nil || !found && !unknown {
		return s.translate(err)
	}
	if size > maxVacuum {
		s.logger.WarnContext(ctx, "a forgotten text may have left a copy in unused space of the database, which is too large to be written anew", slog.Int64("bytes", size))
		return nil
	}
	if _, err := s.writer.ExecContext(ctx, "VACUUM"); err != nil {
		return s.translate(err)
	}
	return s.Scrub(ctx)
}

// holds reports whether a file has any of the texts, and its size.
func holds(path string, needles [][]byte) (found bool, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, 0, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	info, err := f.Stat()
	if err != nil {
		return false, 0, err
	}
	if len(needles) == 0 {
		return false, info.Size(), nil
	}
	buffer := make([]byte, 1<<20)
	rest := 0
	for {
		n, err := io.ReadFull(f, buffer[rest:])
		window := buffer[:rest+n]
		if slices.ContainsFunc(needles, func(needle []byte) bool { return bytes.Contains(window, needle) }) {
			return true, info.Size(), nil
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return false, info.Size(), nil
		}
		if err != nil {
			return false, 0, err
		}
		rest = copy(buffer, window[len(window)-needle:])
	}
}

// burning makes an act final.
type burning struct {
	id      agent.ID
	kept    kept
	threads []agent.ID
	tx      bun.IDB
	needles [][]byte
	touched memory.Touched
}

func (b *burning) all(ctx context.Context, row forgettingRow) error {
	var act memory.Act
	if err := fromJSON(row.Act, &act); err != nil {
		return err
	}
	for _, f := range b.kept.Facts {
		b.look(f.Text)
		b.look(f.Quote)
		b.touched.Facts = append(b.touched.Facts, f.ID)
	}
	b.threads = act.Threads
	for _, step := range []func(context.Context) error{b.passages, b.summaries, b.entities, b.purge} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if len(act.Versions) > 0 {
		_, err := b.tx.NewRaw(`DELETE FROM identity_versions WHERE id IN (?)
			AND seq <> (SELECT max(seq) FROM identity_versions n WHERE n.file = identity_versions.file)`, bun.List(act.Versions)).Exec(ctx)
		if err != nil {
			return err
		}
	}
	left, err := toJSON(memory.Act{ID: b.id, Snapshots: act.Snapshots})
	if err != nil {
		return err
	}
	_, err = fixed(b.tx, `UPDATE forgettings SET final = 1, act = ?2, kept = '{}' WHERE id = ?1`, b.id, left).Exec(ctx)
	return err
}

// look notes parts of a text that the file must not have afterwards.
func (b *burning) look(text string) {
	raw := []byte(text)
	for at := 0; at+needle/2 <= len(raw); at += needle {
		b.needles = append(b.needles, raw[at:min(at+needle, len(raw))])
	}
}

// passages writes the messages without what is hidden in them.
func (b *burning) passages(ctx context.Context) error {
	var rows []maskRow
	if err := fixed(b.tx, `SELECT * FROM message_masks WHERE forgetting = ?1`, b.id).Scan(ctx, &rows); err != nil {
		return err
	}
	of := map[agent.ID][]agent.Mask{}
	for _, row := range rows {
		b.look(row.Passage)
		of[row.Message] = append(of[row.Message], agent.Mask{Message: row.Message, Passage: row.Passage})
	}
	for id, masks := range of {
		if err := b.rewrite(ctx, id, masks); err != nil {
			return err
		}
		b.touched.Messages = append(b.touched.Messages, id)
	}
	if _, err := fixed(b.tx, `DELETE FROM message_masks WHERE forgetting = ?1`, b.id).Exec(ctx); err != nil {
		return err
	}
	return remask(ctx, b.tx, b.touched.Messages)
}

func (b *burning) rewrite(ctx context.Context, id agent.ID, masks []agent.Mask) error {
	var row messageRow
	if err := fixed(b.tx, `SELECT * FROM messages WHERE id = ?1`, id).Scan(ctx, &row); err != nil {
		return err
	}
	m, err := fromMessage(row)
	if err != nil {
		return err
	}
	if m.Calls, err = selectCalls(ctx, b.tx.NewSelect().Where("message = ?", id).Order("position")); err != nil {
		return err
	}
	if slices.ContainsFunc(masks, func(k agent.Mask) bool { return k.Passage == "" }) {
		b.look(m.Text())
	}
	m = memory.Masked(m, masks)
	if row.Parts, err = encodeParts(m.Parts); err != nil {
		return err
	}
	if err := updateRow(ctx, b.tx, &row, "parts"); err != nil {
		return err
	}
	for _, c := range m.Calls {
		one, err := toCall(c)
		if err != nil {
			return err
		}
		if err := updateRow(ctx, b.tx, &one, "why", "decision", "result", "arguments", "effect", "findings", "extra"); err != nil {
			return err
		}
	}
	return nil
}

// summaries removes those that were taken out of use.
func (b *burning) summaries(ctx context.Context) error {
	for _, id := range b.kept.Summaries {
		var text []string
		if err := fixed(b.tx, `SELECT text FROM summaries WHERE id = ?1`, id).Scan(ctx, &text); err != nil {
			return err
		}
		b.look(strings.Join(text, ""))
		if _, err := fixed(b.tx, `DELETE FROM summaries WHERE id = ?1`, id).Exec(ctx); err != nil {
			return err
		}
	}
	for _, t := range b.kept.Titles {
		b.look(t.Title)
	}
	for _, p := range b.kept.Proposals {
		b.look(p.Fact)
	}
	for _, e := range b.kept.Episodes {
		b.look(e.Text)
		b.touched.Episodes = append(b.touched.Episodes, e.Thread)
	}
	return nil
}

// entities removes those that nothing is about any more.
func (b *burning) entities(ctx context.Context) error {
	for _, f := range b.kept.Facts {
		for _, e := range f.Entities {
			_, err := fixed(b.tx, `DELETE FROM entities WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM fact_entities WHERE entity = ?1)`, e.ID).Exec(ctx)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// purge removes whole conversations.
func (b *burning) purge(ctx context.Context) error {
	for _, id := range b.threads {
		for _, statement := range purged {
			if _, err := b.tx.NewRaw(statement, id).Exec(ctx); err != nil {
				return err
			}
		}
		b.touched.Threads = append(b.touched.Threads, id)
	}
	return nil
}
