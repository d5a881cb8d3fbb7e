package recall_test

import (
	"context"
	"math"
	"os"
	"slices"
	"testing"

	"ash/agent/memory/recall"
)

// gain rates a ranking more smoothly than a share does: a turn counts fully when it is first, and fades behind the tenth.
func gain(t testing.TB, c conversation, e *recall.Engine) float64 {
	t.Helper()
	sum, of := 0.0, 0
	for _, q := range c.questions {
		hits, err := e.Recall(context.Background(), recall.Query{Text: q.text, Limit: 40})
		if err != nil {
			t.Fatal(err)
		}
		for _, turn := range q.turns {
			of++
			rank := slices.IndexFunc(hits, func(r agentRecollection) bool { return r.External == turn })
			if rank >= 0 {
				sum += fade(rank)
			}
		}
	}
	return 100 * sum / float64(of)
}

func fade(rank int) float64 {
	return 0.85/(1+math.Exp(float64(rank-9)/1.5)) + 0.15/float64(rank+1)
}

// TestTune looks for better weights on the tuning half: ASH_TUNE=1 go test -run TestTune -v.
func TestTune(t *testing.T) {
	if os.Getenv("ASH_TUNE") == "" {
		t.Skip("a tool: set ASH_TUNE=1")
	}
	c, held := read(t, "tune"), read(t, "held")
	e, h := recall.New(recall.Options{Index: opened(t, c)}), recall.New(recall.Options{Index: opened(t, held)})
	set := func(name string, v float64) { recall.Set(e, name, v); recall.Set(h, name, v) }
	weights := recall.Names()
	names := make([]string, 0, len(weights))
	for n := range weights {
		names = append(names, n)
	}
	slices.Sort(names)
	best := gain(t, c, e)
	t.Logf("start: %.2f, held %.2f", best, gain(t, held, h))
	for _, n := range names {
		was := weights[n]
		for _, v := range []float64{0, was * 0.5, was * 1.6} {
			set(n, v)
			if g := gain(t, c, e); math.Abs(g-best) > 0.15 {
				t.Logf("%-10s %.3f → %.3f: %+.2f, held %.2f", n, was, v, g-best, gain(t, held, h))
			}
		}
		set(n, was)
	}
}

// TestMisses lists what is not found.
func TestMisses(t *testing.T) {
	if os.Getenv("ASH_TUNE") == "" {
		t.Skip("a tool: set ASH_TUNE=1")
	}
	c := read(t, os.Getenv("ASH_TUNE"))
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
			rank := slices.IndexFunc(hits, func(r agentRecollection) bool { return r.External == turn })
			if rank < 0 || rank >= 10 {
				t.Logf("%s %s\n   %d: %s", q.kind, q.text, rank, texts[turn])
				for _, h := range hits[:min(3, len(hits))] {
					t.Logf("      %.2f %s (%s)", h.Score, texts[h.External], h.Why)
				}
			}
		}
	}
}
