package store

import (
	"context"
	"strings"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/memory"
)

// A fact that stays may quote a sentence of a message that says what is forgotten, too: two facts are often learned from one sentence. Such
// quotes are masked as the message is.

// keptQuote is a quote as it was: of a fact, or of what a run says about one.
type keptQuote struct {
	Run   agent.ID // "" for the fact itself
	Fact  agent.ID
	Quote string
}

// quotes masks what facts that stay, and the runs that made them, quote of the messages.
func (h *hiding) quotes(ctx context.Context) error {
	passages := map[agent.ID][]string{}
	for _, m := range h.act.Masks {
		passages[m.Message] = append(passages[m.Message], m.Passage)
	}
	ids := bun.List(append(h.messages(), ""))
	var rows []struct {
		ID, Message agent.ID
		Quote       string
	}
	if err := h.tx.NewRaw(`SELECT id, message, quote FROM facts WHERE message IN (?) AND quote <> ''`, ids).Scan(ctx, &rows); err != nil {
		return err
	}
	for _, r := range rows {
		masked := maskedQuote(r.Quote, passages[r.Message])
		if masked == r.Quote {
			continue
		}
		h.kept.Quotes = append(h.kept.Quotes, keptQuote{Fact: r.ID, Quote: r.Quote})
		h.touched.Facts = append(h.touched.Facts, r.ID)
		if err := saveQuote(ctx, h.tx, r.ID, masked); err != nil {
			return err
		}
	}
	var runs []memoryRunRow
	err := h.tx.NewRaw(`SELECT r.* FROM memory_runs r WHERE EXISTS (SELECT 1 FROM json_each(r.changes) c
		WHERE c.value ->> '$.before.message' IN (?0) OR c.value ->> '$.after.message' IN (?0))`, ids).Scan(ctx, &runs)
	if err != nil {
		return err
	}
	for _, row := range runs {
		err := eachQuote(ctx, h.tx, row, func(f *factJSON) {
			masked := maskedQuote(f.Quote, passages[f.Message])
			if masked != f.Quote {
				h.kept.Quotes = append(h.kept.Quotes, keptQuote{Run: row.ID, Fact: f.ID, Quote: f.Quote})
				f.Quote = masked
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// maskedQuote returns a quote without passages; an empty one stands for the whole message.
func maskedQuote(quote string, passages []string) string {
	for _, p := range passages {
		if p == "" {
			return ""
		}
	}
	return memory.MaskedText(quote, passages...)
}

func saveQuote(ctx context.Context, tx bun.IDB, fact agent.ID, quote string) error {
	_, err := fixed(tx, `UPDATE facts SET quote = ?2 WHERE id = ?1`, fact, quote).Exec(ctx)
	return err
}

// eachQuote changes the facts that a run speaks of, and stores the run if any of them changed.
func eachQuote(ctx context.Context, tx bun.IDB, row memoryRunRow, change func(*factJSON)) error {
	var changes []changeJSON
	if err := fromJSON(row.Changes, &changes); err != nil {
		return err
	}
	changed := false
	for _, c := range changes {
		for _, f := range []*factJSON{c.Before, c.After} {
			if f == nil || f.Quote == "" {
				continue
			}
			was := f.Quote
			change(f)
			changed = changed || f.Quote != was
		}
	}
	if !changed {
		return nil
	}
	return saveChanges(ctx, tx, row.ID, changes)
}

// quotes gives back what was masked, where it was not changed since.
func (u *unhiding) quotes(ctx context.Context) error {
	for _, k := range u.kept.Quotes {
		if k.Run == "" {
			_, err := fixed(u.tx, `UPDATE facts SET quote = ?2 WHERE id = ?1 AND (quote = '' OR instr(quote, ?3) > 0)`, k.Fact, k.Quote, memory.Blank).Exec(ctx)
			if err != nil {
				return err
			}
			u.touched.Facts = append(u.touched.Facts, k.Fact)
			continue
		}
		var rows []memoryRunRow
		if err := fixed(u.tx, `SELECT * FROM memory_runs WHERE id = ?1`, k.Run).Scan(ctx, &rows); err != nil {
			return err
		}
		for _, row := range rows {
			// Before and after of a change quote the same passage.
			if err := u.quoteOf(ctx, row, k); err != nil {
				return err
			}
		}
	}
	return nil
}

func (u *unhiding) quoteOf(ctx context.Context, row memoryRunRow, k keptQuote) error {
	var changes []changeJSON
	if err := fromJSON(row.Changes, &changes); err != nil {
		return err
	}
	for _, c := range changes {
		for _, f := range []*factJSON{c.Before, c.After} {
			if f != nil && f.ID == k.Fact && (f.Quote == "" || strings.Contains(f.Quote, memory.Blank)) {
				f.Quote = k.Quote
			}
		}
	}
	return saveChanges(ctx, u.tx, row.ID, changes)
}
