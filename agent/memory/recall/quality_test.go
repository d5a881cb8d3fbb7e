package recall_test

import (
	"context"
	"math/rand/v2"
	"reflect"
	"testing"

	"ash/agent/memory/recall"
)

// sets are the conversations with the floors that are held: the share of turns with an answer among the first ten, and within 1,000
// tokens. The weights were chosen on tune and boat; the other two they did not see.
var sets = []struct {
	name        string
	ten, tokens float64
}{{"tune", 67, 78}, {"boat", 84, 91}, {"held", 63, 74}, {"comic", 71, 79}}

// skipUnderRace skips what measures: .ci/run runs it without the race detector.
func skipUnderRace(t *testing.T) {
	t.Helper()
	if underRace {
		t.Skip("the race detector makes this take minutes; run it without")
	}
}

// TestQuality holds the floors, beside what BM25 alone finds of the same.
func TestQuality(t *testing.T) {
	skipUnderRace(t)
	for _, set := range sets {
		c := read(t, set.name)
		t.Logf("%s: %d turns, %d questions", set.name, len(c.turns), len(c.questions))
		t.Logf("  bm25                %s", line(measure(t, c, baseline(t, c, false))))
		around := measure(t, c, baseline(t, c, true))
		t.Logf("  bm25 + around       %s", line(around))
		e := recall.New(recall.Options{Index: opened(t, c)})
		ours := measure(t, c, asker(t, e, recall.Query{Limit: 10}, c))
		t.Logf("  ours                %s", line(ours))
		within := measure(t, c, asker(t, e, recall.Query{Limit: recall.MaxLimit, Tokens: 1000}, c))
		t.Logf("  within 1,000 tokens %s", line(within))
		if got := ours[""].share(); got < set.ten || got < around[""].share()+8 {
			t.Errorf("%s: %.1f %% of the turns, want %.0f %% and eight points more than BM25 with the turns around", set.name, got, set.ten)
		}
		if got := within[""].share(); got < set.tokens {
			t.Errorf("%s: %.1f %% of the turns within 1,000 tokens, want %.0f %%", set.name, got, set.tokens)
		}
	}
}

// Everything in one store: the conversations disturb each other by little.
func TestQualityInOneStore(t *testing.T) {
	skipUnderRace(t)
	var all []conversation
	for _, set := range sets {
		all = append(all, read(t, set.name))
	}
	e := recall.New(recall.Options{Index: opened(t, all...)})
	for _, c := range all {
		alone := measure(t, c, asker(t, recall.New(recall.Options{Index: opened(t, c)}), recall.Query{}, c))
		together := measure(t, c, asker(t, e, recall.Query{}, c))
		t.Logf("%s: alone %.1f %%, together %.1f %%", c.name, alone[""].share(), together[""].share())
		if together[""].share() < alone[""].share()-9 {
			t.Errorf("%s: %.1f %% together, %.1f %% alone", c.name, together[""].share(), alone[""].share())
		}
	}
}

// noise is a ranker that knows nothing; oracle one that knows the answers.
type (
	noise  struct{ random *rand.Rand }
	oracle struct{ near func(q string) []int64 }
)

func (n noise) Nearest(_ context.Context, _ string, k int) ([]recall.Candidate, error) {
	list := make([]recall.Candidate, k)
	for i := range list {
		list[i] = recall.Candidate{Item: int64(1 + n.random.IntN(290)), Score: 1 - float64(i)/100}
	}
	return list, nil
}

func (o oracle) Nearest(_ context.Context, q string, _ int) ([]recall.Candidate, error) {
	var list []recall.Candidate
	for i, item := range o.near(q) {
		list = append(list, recall.Candidate{Item: item, Score: 1 - float64(i)/100})
	}
	return list, nil
}

// A ranker that knows nothing makes nothing worse.
func TestNoiseChangesNothing(t *testing.T) {
	for _, name := range []string{"tune", "held"} {
		c := read(t, name)
		s := opened(t, c)
		alone := measure(t, c, asker(t, recall.New(recall.Options{Index: s}), recall.Query{}, c))[""]
		for seed := range uint64(3) {
			e := recall.New(recall.Options{Index: s, Ranker: noise{rand.New(rand.NewPCG(seed, 1))}})
			with := measure(t, c, asker(t, e, recall.Query{}, c))[""]
			t.Logf("%s: alone %d, with noise %d of %d", name, alone.found, with.found, alone.of)
			if with.found < alone.found-1 {
				t.Errorf("%s: noise costs %d of %d turns", name, alone.found-with.found, alone.of)
			}
		}
	}
}

// A ranker that agrees with the words is listened to.
func TestAgreementIsHeard(t *testing.T) {
	c := read(t, "held")
	s := opened(t, c)
	plain := recall.New(recall.Options{Index: s})
	ids := map[string]int64{}
	for i, m := range c.turns { // imported in order into an empty store
		ids[m.ID] = int64(i + 1)
	}
	gold := map[string]int64{}
	for _, q := range c.questions {
		gold[q.text] = ids[q.turns[0]]
	}
	e := recall.New(recall.Options{Index: s, Ranker: oracle{func(q string) []int64 {
		hits, err := plain.Recall(context.Background(), recall.Query{Text: q, Limit: 9})
		if err != nil {
			t.Fatal(err)
		}
		list := []int64{gold[q]}
		for _, h := range hits {
			list = append(list, ids[h.External])
		}
		return list
	}}})
	alone, with := measure(t, c, asker(t, plain, recall.Query{}, c))[""], measure(t, c, asker(t, e, recall.Query{}, c))[""]
	if with.found <= alone.found {
		t.Errorf("found %d with a ranker that knows, %d without", with.found, alone.found)
	}
}

// The same question has the same answer, also after the index was made anew.
func TestRecallIsDeterministic(t *testing.T) {
	c := read(t, "held")
	e := recall.New(recall.Options{Index: opened(t, c)})
	ask := func(q string) any {
		hits, err := e.Recall(context.Background(), recall.Query{Text: q})
		if err != nil {
			t.Fatal(err)
		}
		return hits
	}
	var before []any
	for _, q := range c.questions[:20] {
		before = append(before, ask(q.text))
	}
	if err := e.Reindex(context.Background()); err != nil {
		t.Fatal(err)
	}
	for i, q := range c.questions[:20] {
		if again := ask(q.text); !reflect.DeepEqual(before[i], again) {
			t.Fatalf("%s: %v, then %v", q.text, before[i], again)
		}
	}
}

// What a question says is never more than words.
func FuzzRecall(f *testing.F) {
	for _, q := range []string{"", `"`, `a" OR body:*`, "NEAR(a b)", "\x00\xff", "喜欢 北京", "what happened in May 2023?", "Straße ändern"} {
		f.Add(q)
	}
	e := recall.New(recall.Options{Index: opened(f, read(f, "held"))})
	f.Fuzz(func(t *testing.T, q string) {
		hits, err := e.Recall(context.Background(), recall.Query{Text: q})
		if err != nil || len(hits) > 10 {
			t.Fatalf("%d hits, %v", len(hits), err)
		}
	})
}
