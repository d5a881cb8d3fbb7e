//go:build linux

package bench

import (
	"sync"
	"testing"
	"time"
)

// kinds are replies of one block each, whose rendering could grow with the square of their length.
var kinds = []struct {
	name   string
	tokens func(n int) []string
}{
	{"paragraph", func(n int) []string { return repeat(n, "word ") }},
	{"code", func(n int) []string {
		return append([]string{"```go\n"}, repeat(n-1, "x", " :=", " f(", "y)", "\n")...)
	}},
	{"list", func(n int) []string { return repeat(n, "- ", "one ", "thing ", "more", "\n") }},
	{"table", func(n int) []string {
		return append([]string{"| a | b |\n|---|---|\n"}, repeat(n-1, "| ", "cell", " | ", "value", " |\n")...)
	}},
}

func repeat(n int, tokens ...string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = tokens[i%len(tokens)]
	}
	return out
}

// BenchmarkBytes is what the event stream of a page weighs, uncompressed, for a reply of 500 tokens at 50 a second,
// and what ten times as many cost in bytes and in the program's processor time. The baseline is the model
// server's own stream. The long reply takes 100 s, so the kinds run side by side, each on a program of its own.
func BenchmarkBytes(b *testing.B) {
	weighed := make([]weights, len(kinds))
	for b.Loop() {
		var wg sync.WaitGroup
		for i := range kinds {
			m := newModel(b, answer{tokens: []string{"zebra"}})
			p := ash(b, b.TempDir(), m)
			page := visit(b, p)
			x := page.open(page.begin("hello"), nil)
			page.rest(x.thread)
			wg.Go(func() {
				time.Sleep(time.Second) // the title is made beside
				weighed[i] = weights{
					short: weigh(p, m, x, kinds[i].tokens(500)),
					long:  weigh(p, m, x, kinds[i].tokens(5000)),
				}
			})
		}
		wg.Wait()
	}
	for i, kind := range kinds {
		w := weighed[i]
		b.ReportMetric(w.short.cpu.Seconds()*1000, "cpu-ms/"+kind.name)
		figure(b, float64(w.short.bytes)/1e3, "KB/"+kind.name, 120)
		figure(b, float64(w.long.bytes)/float64(w.short.bytes), "x-bytes/"+kind.name, 11)
		figure(b, float64(w.long.cpu)/float64(w.short.cpu), "x-work/"+kind.name, 11)
	}
	b.ReportMetric(0, "ns/op")
}

// weights are what a reply and one ten times as long took.
type weights struct{ short, long weight }

type weight struct {
	bytes int64
	cpu   time.Duration
}

// weigh has a question answered with tokens at 50 a second.
func weigh(p *process, m *model, x *tab, tokens []string) weight {
	m.says(answer{tokens: tokens, every: 20 * time.Millisecond})
	bytes, cpu := x.bytes.Load(), p.cpu()
	x.exchange("And now?")
	return weight{x.bytes.Load() - bytes, p.cpu() - cpu}
}
