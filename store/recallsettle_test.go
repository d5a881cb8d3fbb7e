package store

import (
	"context"
	"fmt"
	"testing"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/memory/recall"
)

// TestSettle holds that the full-text index is of one piece after it was settled, and finds what it found before.
func TestSettle(t *testing.T) {
	f := newFixture(t)
	for i := range 30 {
		f.ok(f.write(f.ctx, func(ctx context.Context, tx bun.IDB) error {
			var items []recall.Item
			for j := range 20 {
				items = append(items, recall.Item{Kind: agent.MemoryNote, Ref: fmt.Sprint(i), Part: j, Text: fmt.Sprintf("sourdough number%d", i*20+j)})
			}
			return putItems(ctx, tx, items)
		}))
	}
	look := func() (pieces, found int) {
		f.ok(fixed(f.reader, `SELECT count(DISTINCT segid) FROM recall_fts_idx WHERE ?1`, true).Scan(f.ctx, &pieces))
		lists, err := f.Postings(f.ctx, []string{"sourdough", "number7", "absent"}, []int{1000, 1000, 250})
		f.ok(err)
		if len(lists[1]) != 1 || len(lists[2]) != 0 {
			t.Errorf("one item holds number7, none absent: %v", lists[1:])
		}
		return pieces, len(lists[0])
	}
	if pieces, found := look(); pieces < 2 || found != 600 {
		t.Fatalf("%d pieces, %d found before", pieces, found)
	}
	f.ok(f.Settle(f.ctx))
	if pieces, found := look(); pieces != 1 || found != 600 {
		t.Errorf("%d pieces, %d found after", pieces, found)
	}
}
