package recall_test

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"ash/agent/memory/recall"
)

// TestAsItGrows holds that an engine which saw an index grow answers as one that reads it whole: messages came at the end of a thread
// and in new threads, between those it knew.
func TestAsItGrows(t *testing.T) {
	ctx := context.Background()
	boat, comic := read(t, "boat"), read(t, "comic")
	s := opened(t)
	old := recall.New(recall.Options{Index: s})
	for at := 0; at < len(boat.turns); at += 30 {
		if _, err := s.ImportMessages(ctx, boat.turns[at:min(at+30, len(boat.turns))]); err != nil {
			t.Fatal(err)
		}
		if err := old.CatchUp(ctx); err != nil {
			t.Fatal(err)
		}
		if at == 30 {
			if _, err := s.ImportMessages(ctx, comic.turns); err != nil {
				t.Fatal(err)
			}
		}
	}
	whole := recall.New(recall.Options{Index: s})
	for _, q := range append(slices.Clone(boat.questions), comic.questions...) {
		a, err := old.Recall(ctx, recall.Query{Text: q.text})
		if err != nil {
			t.Fatal(err)
		}
		b, err := whole.Recall(ctx, recall.Query{Text: q.text})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("%s: %v as it grew, %v of the whole", q.text, a, b)
		}
	}
}
