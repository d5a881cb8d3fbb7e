package store

import (
	"context"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/memory"
)

type maskRow struct {
	bun.BaseModel `bun:"table:message_masks,alias:k"`

	Message    agent.ID `bun:"message"`
	Passage    string   `bun:"passage"`
	Forgetting agent.ID `bun:"forgetting"`
	Created    int64    `bun:"created"`
}

// Masks returns the passages that are hidden at the moment, of the given messages, of all without any. Messages that the store
// returns have them applied already; the text of what is forgotten for good is not there to be hidden.
func (s *Store) Masks(ctx context.Context, messages ...agent.ID) ([]agent.Mask, error) {
	of, err := masks(ctx, s.reader)
	if err != nil {
		return nil, s.translate(err)
	}
	var list []agent.Mask
	for id, these := range of {
		if len(messages) == 0 || slices.Contains(messages, id) {
			list = append(list, these...)
		}
	}
	slices.SortFunc(list, func(a, b agent.Mask) int {
		return strings.Compare(string(a.Message)+"\x00"+a.Passage, string(b.Message)+"\x00"+b.Passage)
	})
	return slices.Compact(list), nil
}

// masks returns every mask by its message. They live only as long as forgetting can be taken back, so that there are few, most of
// the time none: reading all of them is the cheapest way to know.
func masks(ctx context.Context, db bun.IDB) (map[agent.ID][]agent.Mask, error) {
	var rows []maskRow
	if err := fixed(db, `SELECT message, passage, created FROM message_masks WHERE ?1`, 1).Scan(ctx, &rows); err != nil || len(rows) == 0 {
		return nil, err
	}
	of := map[agent.ID][]agent.Mask{}
	for _, row := range rows {
		of[row.Message] = append(of[row.Message], agent.Mask{Message: row.Message, Passage: row.Passage, Created: fromMicros(row.Created)})
	}
	return of, nil
}

// mask hides in messages what is hidden at the moment.
func mask(ctx context.Context, db bun.IDB, list []agent.Message) error {
	of, err := masks(ctx, db)
	if err != nil || of == nil {
		return err
	}
	for i, m := range list {
		list[i] = memory.Masked(m, of[m.ID])
	}
	return nil
}

// remask makes the beginnings and the searched text of messages what may be seen of them now.
func remask(ctx context.Context, tx bun.IDB, messages []agent.ID) error {
	for _, id := range messages {
		m, err := messageByID(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := saveSearched(ctx, tx, m); err != nil {
			return err
		}
	}
	return nil
}

// saveSearched stores what search and lists know of a message.
func saveSearched(ctx context.Context, tx bun.IDB, m agent.Message) error {
	text := clean(m.Text())
	row := messageRow{ID: m.ID, Preview: preview(text), SearchText: searchable(withoutBlanks(text))}
	return updateRow(ctx, tx, &row, "preview", "search_text")
}

// withoutBlanks keeps what stands for the forgotten from being found.
func withoutBlanks(text string) string { return strings.ReplaceAll(text, memory.Blank, " ") }
