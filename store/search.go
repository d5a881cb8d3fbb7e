package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/memory"
)

const (
	// maxHits bounds the results of one search.
	maxHits = 100
	// candidates bounds how many matches of one kind are looked at: the newest
	// ones. It keeps the commonest word as fast as a rare one.
	candidates = 400
)

// hitRow is a match before its snippet is cut.
type hitRow struct {
	threadRow
	Message agent.ID   `bun:"message"`
	Role    agent.Role `bun:"role"`
	By      string     `bun:"by"`
	At      int64      `bun:"at"`
	Parts   string     `bun:"parts"`
}

// Search implements agent.Reader. Titles come before messages, the exact words before scattered ones; within a
// rank the newest first. A query without a word finds nothing. limit is at most 100.
func (s *Store) Search(ctx context.Context, query string, limit int) ([]agent.SearchHit, error) {
	list := terms(query)
	limit = min(limit, maxHits)
	if len(list) == 0 || limit < 1 {
		return nil, nil
	}
	f := &finder{limit: limit, seen: map[agent.ID]bool{}, mark: newMarker(list)}
	err := s.read(ctx, func(ctx context.Context, tx bun.IDB) (err error) {
		if f.masks, err = masks(ctx, tx); err != nil {
			return err
		}
		for _, find := range []func(context.Context, bun.IDB, string) error{f.titles, f.messages} {
			for _, match := range matches(list) {
				if len(f.hits) >= limit {
					return nil
				}
				if err := find(ctx, tx, match); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return f.hits, err
}

// finder collects the hits of one search.
type finder struct {
	limit int
	seen  map[agent.ID]bool // threads by title, and messages
	mark  *marker
	masks map[agent.ID][]agent.Mask
	hits  []agent.SearchHit
}

func (f *finder) titles(ctx context.Context, tx bun.IDB, match string) error {
	var rows []hitRow
	err := tx.NewRaw(`SELECT t.*, '' AS message, '' AS role, '' AS by, t.updated AS at, '' AS parts
		FROM (SELECT rowid FROM threads_fts WHERE threads_fts MATCH ? ORDER BY rowid DESC LIMIT ?) f
		CROSS JOIN threads t ON t.seq = f.rowid
		WHERE t.deleted = 0 ORDER BY t.updated DESC LIMIT ?`, match, candidates, f.limit).Scan(ctx, &rows)
	if err != nil {
		return err
	}
	return f.add(rows)
}

func (f *finder) messages(ctx context.Context, tx bun.IDB, match string) error {
	var rows []hitRow
	err := tx.NewRaw(`SELECT t.*, m.id AS message, m.role, m.provider AS by, m.created AS at, m.parts
		FROM (SELECT rowid FROM messages_fts WHERE messages_fts MATCH ? ORDER BY rowid DESC LIMIT ?) f
		CROSS JOIN messages m ON m.seq = f.rowid CROSS JOIN threads t ON t.id = m.thread
		WHERE t.deleted = 0 LIMIT ?`, match, candidates, f.limit).Scan(ctx, &rows)
	if err != nil {
		return err
	}
	return f.add(rows)
}

func (f *finder) add(rows []hitRow) error {
	for _, row := range rows {
		key := row.Message
		if key == "" {
			key = row.ID
		}
		if f.seen[key] || len(f.hits) >= f.limit {
			continue
		}
		f.seen[key] = true
		hit, err := f.hit(row)
		if err != nil {
			return err
		}
		f.hits = append(f.hits, hit)
	}
	return nil
}

func (f *finder) hit(row hitRow) (agent.SearchHit, error) {
	t, err := fromThread(row.threadRow)
	if err != nil {
		return agent.SearchHit{}, err
	}
	hit := agent.SearchHit{Thread: t, Message: row.Message, Role: row.Role, By: row.By, Created: fromMicros(row.At).In(time.UTC)}
	text := t.Title
	if row.Message != "" {
		parts, err := decodeParts(row.Parts)
		if err != nil {
			return agent.SearchHit{}, err
		}
		text = memory.Masked(agent.Message{ID: row.Message, Parts: parts}, f.masks[row.Message]).Text()
	}
	hit.Snippet = f.mark.snippet(agent.Clip(text, maxSearchable))
	return hit, nil
}
