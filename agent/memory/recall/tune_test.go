package recall_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ash/agent"
	"ash/agent/memory/recall"
)

// kept is an index that remembers what it was asked: weights can be tried quickly.
type kept struct {
	recall.Index
	extent   recall.Extent
	postings map[string][]int64
	items    map[int64]recall.Found
}

func keep(t testing.TB, i recall.Index) *kept {
	t.Helper()
	if err := recall.New(recall.Options{Index: i}).CatchUp(context.Background()); err != nil {
		t.Fatal(err)
	}
	e, err := i.Extent(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return &kept{i, e, map[string][]int64{}, map[int64]recall.Found{}}
}

func (k *kept) CatchUp(context.Context, int) (bool, error)    { return false, nil }
func (k *kept) Extent(context.Context) (recall.Extent, error) { return k.extent, nil }

func (k *kept) Postings(ctx context.Context, words []string, limits []int) ([][]int64, error) {
	out := make([][]int64, len(words))
	for i, w := range words {
		key := fmt.Sprint(w, limits[i])
		if _, ok := k.postings[key]; !ok {
			lists, err := k.Index.Postings(ctx, words[i:i+1], limits[i:i+1])
			if err != nil {
				return nil, err
			}
			k.postings[key] = lists[0]
		}
		out[i] = k.postings[key]
	}
	return out, nil
}

func (k *kept) Items(ctx context.Context, seqs []int64) ([]recall.Found, error) {
	missing := slices.DeleteFunc(slices.Clone(seqs), func(s int64) bool { _, ok := k.items[s]; return ok })
	list, err := k.Index.Items(ctx, missing)
	if err != nil {
		return nil, err
	}
	for _, f := range list {
		k.items[f.Seq] = f
	}
	out := make([]recall.Found, len(seqs))
	for i, s := range seqs {
		out[i] = k.items[s]
	}
	return out, nil
}

// trial is a conversation with an engine over it, alone or with the others.
type trial struct {
	c conversation
	e *recall.Engine
}

// rate returns the share among the first ten, and a smoother measure: a turn counts fully when it is first, and fades behind the tenth.
func (r trial) rate(t testing.TB) (ten, gain float64) {
	t.Helper()
	of := 0.0
	for _, q := range r.c.questions {
		hits, err := r.e.Recall(context.Background(), recall.Query{Text: q.text, Limit: 40})
		if err != nil {
			t.Fatal(err)
		}
		for _, turn := range q.turns {
			of++
			rank := slices.IndexFunc(hits, func(h agent.Recollection) bool { return h.Archive == r.c.name && h.External == turn })
			if rank >= 0 {
				gain += 0.85/(1+math.Exp(float64(rank-9)/1.5)) + 0.15/float64(rank+1)
			}
			if rank >= 0 && rank < 10 {
				ten++
			}
		}
	}
	return 100 * ten / of, 100 * gain / of
}

// trials are all conversations alone, then all in one store.
func trials(t testing.TB) []trial {
	t.Helper()
	var (
		list []trial
		all  []conversation
	)
	for _, set := range sets {
		c := read(t, set.name)
		all = append(all, c)
		list = append(list, trial{c, recall.New(recall.Options{Index: keep(t, opened(t, c))})})
	}
	one := keep(t, opened(t, all...))
	for _, c := range all {
		list = append(list, trial{c, recall.New(recall.Options{Index: one})})
	}
	return list
}

// TestTune looks for better weights on the conversations for that, and shows what they do to the others:
//
//	ASH_TUNE="far=0.2 asks=0.3" ASH_ROUNDS=2 go test ./agent/memory/recall -run TestTune -v
func TestTune(t *testing.T) {
	if os.Getenv("ASH_TUNE") == "" {
		t.Skip("a tool: set ASH_TUNE to weights to begin with, or to 1")
	}
	list, weights := trials(t), recall.Names()
	set := func(name string, v float64) {
		weights[name] = v
		for _, r := range list {
			recall.Set(r.e, name, v)
		}
	}
	for _, field := range strings.Fields(os.Getenv("ASH_TUNE")) {
		if name, text, ok := strings.Cut(field, "="); ok {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			set(name, v)
		}
	}
	goal := func() float64 {
		sum := 0.0
		for i, r := range list {
			if n := i % len(sets); n < 2 { // tune and boat
				ten, gain := r.rate(t)
				sum += 0.7*gain + 0.3*ten
			}
		}
		return sum
	}
	show := func() string {
		s := ""
		for _, r := range list {
			ten, gain := r.rate(t)
			s += fmt.Sprintf("  %s %.1f (%.1f)", r.c.name, ten, gain)
		}
		return s
	}
	names := make([]string, 0, len(weights))
	for n := range weights {
		names = append(names, n)
	}
	slices.Sort(names)
	best := goal()
	t.Logf("%.2f %s", best, show())
	rounds, _ := strconv.Atoi(os.Getenv("ASH_ROUNDS")) // none: nothing is tried
	for range rounds {
		for _, n := range names {
			was, to := weights[n], weights[n]
			for _, v := range []float64{was * 0.6, was * 0.8, was * 1.25, was * 1.6} {
				set(n, v)
				if g := goal(); g > best+0.1 {
					best, to = g, v
				}
			}
			if set(n, to); to != was {
				t.Logf("%-10s %.3f → %.3f: %.2f %s", n, was, to, best, show())
			}
		}
	}
}

// TestMisses lists what is not found: ASH_MISSES=boat go test ./agent/memory/recall -run TestMisses -v.
func TestMisses(t *testing.T) {
	name := os.Getenv("ASH_MISSES")
	if name == "" {
		t.Skip("a tool: set ASH_MISSES to a conversation")
	}
	c := read(t, name)
	e := recall.New(recall.Options{Index: opened(t, c)})
	texts := map[string]string{}
	for _, m := range c.turns {
		texts[m.ID] = m.Speaker + ": " + m.Text
	}
	for _, q := range c.questions {
		hits, err := e.Recall(context.Background(), recall.Query{Text: q.text, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		for _, turn := range q.turns {
			rank := slices.IndexFunc(hits, func(r agent.Recollection) bool { return r.External == turn })
			if rank >= 0 && rank < 10 {
				continue
			}
			t.Logf("%s %s\n   %d: %s", q.kind, q.text, rank, texts[turn])
			for _, h := range hits[:min(3, len(hits))] {
				t.Logf("      %.2f %s %v", h.Score, texts[h.External], h.Why)
			}
		}
	}
}
