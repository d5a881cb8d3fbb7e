package store

import (
	"testing"

	"ash/agent"
)

// TestFactsThatWentByThemselves holds that an item whose fact is not current any more goes when the index is next brought up to date, even if
// whoever changed the fact left it there.
func TestFactsThatWentByThemselves(t *testing.T) {
	f := newFixture(t)
	add := func(id string) {
		_, err := f.writer.ExecContext(f.ctx, `INSERT INTO facts (id, kind, status, owner, subject, confidence, importance, said, true_from, true_until, expires,
			pinned, source, note, created, updated, labels, fold, quote, text)
			SELECT ?, 'fact', 'current', id, 'me', 1, 0.5, 1, 0, 0, 0, 0, 'person', '', 1, 1, '[]', '', '', 'sourdough' FROM persons LIMIT 1`, id)
		f.ok(err)
	}
	catchUp := func() {
		for more := true; more; {
			var err error
			more, err = f.CatchUp(f.ctx, 1)
			f.ok(err)
		}
	}
	number := func(id string) int64 {
		list, err := f.ItemNumbers(f.ctx, []agent.Recollection{{Kind: agent.MemoryFact, Ref: id}})
		f.ok(err)
		return list[0]
	}
	for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		add(id)
	}
	catchUp()
	if number("a") == 0 || number("j") == 0 {
		t.Fatal("ten facts are not indexed")
	}
	_, err := f.writer.ExecContext(f.ctx, `UPDATE facts SET status = 'retired' WHERE id IN ('a', 'b')`)
	f.ok(err)
	add("k")
	catchUp()
	if number("a") != 0 || number("b") != 0 || number("k") == 0 || number("c") == 0 {
		t.Errorf("retired %d %d, new %d, current %d", number("a"), number("b"), number("k"), number("c"))
	}
}
