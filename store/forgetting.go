package store

import (
	"context"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/memory"
)

var _ memory.Forgetter = (*Store)(nil)

// Forgetting has two steps. Hide takes everything that says the thing out of what anybody reads, and keeps what
// is needed to bring it back in one row of forgettings. Finish overwrites that row and the passages themselves.
// Each is one transaction, so that a crash leaves a thing hidden or not, and final or not, never in part.

type forgettingRow struct {
	bun.BaseModel `bun:"table:forgettings,alias:g"`

	ID      agent.ID `bun:"id"`
	Due     int64    `bun:"due"`
	Created int64    `bun:"created"`
	Final   bool     `bun:"final"`
	Act     string   `bun:"act"`
	Kept    string   `bun:"kept"`
}

// kept is what an act took away, as it was.
type kept struct {
	Facts      []keptFact
	Messages   []agent.ID // with masks
	Threads    []agent.ID // deleted by it
	Episodes   []episodeRow
	Summaries  []agent.ID // disabled by it
	Titles     []keptTitle
	Proposals  []proposalRow
	Receipts   []receiptRow
	Changes    []keptChange
	Tombstones []agent.ID
	Quotes     []keptQuote
}

type keptFact struct {
	factJSON
	Seq int64
}

type keptTitle struct {
	Thread agent.ID
	Title  string
	Source agent.TitleSource
}

// keptChange is a change that a run of memory had, with its place there.
type keptChange struct {
	Run    agent.ID
	Place  int
	Change changeJSON
}

// Forgettings implements memory.Forgetter.
func (s *Store) Forgettings(ctx context.Context) ([]memory.Forgetting, error) {
	var rows []forgettingRow
	if err := fixed(s.reader, `SELECT * FROM forgettings WHERE final = ?1 ORDER BY created, id`, 0).Scan(ctx, &rows); err != nil {
		return nil, s.translate(err)
	}
	list := make([]memory.Forgetting, len(rows))
	for i, row := range rows {
		var k kept
		if err := fromJSON(row.Kept, &k); err != nil {
			return nil, s.translate(err)
		}
		var act memory.Act
		if err := fromJSON(row.Act, &act); err != nil {
			return nil, s.translate(err)
		}
		list[i] = memory.Forgetting{
			ID: row.ID, Messages: len(k.Messages), Threads: k.Threads, Left: act.Left, Created: fromMicros(row.Created), Due: fromMicros(row.Due),
		}
		for _, f := range k.Facts {
			list[i].Facts = append(list[i].Facts, fromFactJSON(f.factJSON))
		}
	}
	return list, nil
}

// Hide implements memory.Forgetter.
func (s *Store) Hide(ctx context.Context, a memory.Act) (memory.Touched, error) {
	var touched memory.Touched
	err := s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		h := hiding{act: a, tx: tx}
		for _, step := range []func(context.Context) error{
			h.helpers, h.rest, h.facts, h.runs, h.passages, h.quotes, h.derived, h.titles, h.threads, h.bury,
		} {
			if err := step(ctx); err != nil {
				return err
			}
		}
		touched = h.touched
		k, err := toJSON(h.kept)
		if err != nil {
			return err
		}
		act, err := toJSON(h.act)
		if err != nil {
			return err
		}
		row := forgettingRow{ID: a.ID, Due: micros(a.Due), Created: micros(orNow(a.Created)), Act: act, Kept: k}
		return insertRow(ctx, tx, &row)
	})
	return touched, err
}

// Unhide implements memory.Forgetter.
func (s *Store) Unhide(ctx context.Context, id agent.ID) (memory.Touched, error) {
	var touched memory.Touched
	err := s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		row, k, err := forgettingByID(ctx, tx, id)
		if err != nil {
			return err
		}
		u := unhiding{id: row.ID, kept: k, tx: tx}
		for _, step := range []func(context.Context) error{u.facts, u.runs, u.passages, u.quotes, u.derived, u.titles, u.threads} {
			if err := step(ctx); err != nil {
				return err
			}
		}
		touched = u.touched
		_, err = fixed(tx, `DELETE FROM forgettings WHERE id = ?1`, id).Exec(ctx)
		return err
	})
	return touched, err
}

func forgettingByID(ctx context.Context, db bun.IDB, id agent.ID) (forgettingRow, kept, error) {
	var (
		row forgettingRow
		k   kept
	)
	if err := fixed(db, `SELECT * FROM forgettings WHERE id = ?1 AND final = 0`, id).Scan(ctx, &row); err != nil {
		return row, k, err
	}
	return row, k, fromJSON(row.Kept, &k)
}

// unlistThread takes the messages of a thread out of what recall reads; its indexer makes them anew from there on.
func unlistThread(ctx context.Context, tx bun.IDB, thread agent.ID) error {
	for _, statement := range []string{
		`DELETE FROM recall_items WHERE kind = 'message' AND thread = ?1`,
		`UPDATE recall_state SET floor = min(floor, coalesce((SELECT min(seq) - 1 FROM messages WHERE thread = ?1), floor))`,
	} {
		if _, err := fixed(tx, statement, thread).Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}
