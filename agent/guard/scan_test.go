package guard

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"
)

var verbose = os.Getenv("GUARD_VERBOSE") != ""

// rate counts how many of the samples are flagged, by group.
func rate(t *testing.T, samples []sample, held bool, show bool) map[string][2]int {
	t.Helper()
	g := New(Options{})
	out := map[string][2]int{}
	for _, s := range samples {
		if s.held != held {
			continue
		}
		r := g.Scan(t.Context(), s.channel, s.text)
		c := out[s.group]
		c[1]++
		if r.Flagged {
			c[0]++
		}
		out[s.group] = c
		if show && verbose {
			var rules []string
			for _, f := range r.Findings {
				rules = append(rules, fmt.Sprintf("%s %.2f", f.Rule, f.Score))
			}
			t.Logf("%s flagged=%v %.2f %q %v", s.group, r.Flagged, r.Score, s.text[:min(len(s.text), 160)], rules)
		}
		for _, f := range r.Findings {
			if f.Start < 0 || f.End <= f.Start || f.End > len(s.text) || f.Why == "" {
				t.Fatalf("%+v in %q", f, s.text)
			}
		}
	}
	return out
}

func macro(rates map[string][2]int) (share float64, lines string) {
	var names []string
	for n := range rates {
		names = append(names, n)
	}
	sort.Strings(names)
	var b strings.Builder
	for _, n := range names {
		c := rates[n]
		s := float64(c[0]) / float64(c[1])
		share += s / float64(len(names))
		fmt.Fprintf(&b, "  %-24s %3d of %3d  %5.1f %%\n", n, c[0], c[1], s*100)
	}
	return share, b.String()
}

func TestAttacksInData(t *testing.T) {
	for _, held := range []bool{false, true} {
		share, lines := macro(rate(t, attackSamples(), held, !held))
		t.Logf("held out %v: %.1f %% macro\n%s", held, share*100, lines)
		if share < .65 {
			t.Errorf("held out %v: %.1f %% of the attacks flagged, want 65 %%", held, share*100)
		}
	}
}

func TestWrappedClassics(t *testing.T) {
	rates := rate(t, wrapped(), false, false)
	n, all := 0, 0
	for how, c := range rates {
		n, all = n+c[0], all+c[1]
		if c[0] < c[1] {
			t.Logf("%s: %d of %d", how, c[0], c[1])
		}
	}
	t.Logf("%d of %d", n, all)
	if share := float64(n) / float64(all); share < .99 {
		t.Errorf("%.2f %% of the wrapped classics flagged, want 99 %%", share*100)
	}
	if verbose {
		g := New(Options{})
		for _, s := range wrapped() {
			if r := g.Scan(t.Context(), Tool, s.text); !r.Flagged {
				t.Logf("missed %s %.2f %q", s.group, r.Score, s.text)
			}
		}
	}
}
