//go:build linux

package bench

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// mixed is an answer with prose, code and a table.
func mixed() []string {
	text := "Here is a plan, with **weight** and `code`.\n\n" +
		"```go\nfunc main() {\n\tfmt.Println(\"hello\") // greet\n}\n```\n\n" +
		"| City | People |\n|:--|--:|\n| Köln | 1 084 000 |\n| 東京 | 14 000 000 |\n\n" +
		"- [x] done\n- [ ] open, with a [link](https://example.org)\n\nThat is all.\n"
	return strings.SplitAfter(text, " ")
}

// table is a file to attach: 200 KB of CSV.
func table() string {
	var s strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&s, "%d,Köln,%d,open\n", i, i*i%997)
	}
	return s.String()
}

// What the program may take at rest, in MiB: fresh, with one page open, and after a first turn with an attachment whose answer has code and a
// table.
const (
	freshLimit = 32
	usedLimit  = 48
)

// TestIdleMemory holds the limits of the program at rest. What it takes hardly depends on how busy the machine is: only how long it takes to come
// to rest does, and that is waited for.
func TestIdleMemory(t *testing.T) {
	m := newModel(t, answer{tokens: mixed()})
	p := ash(t, t.TempDir(), m)
	page := visit(t, p)
	p.restsWithin(freshLimit)
	thread := page.beginWith("What is in this table?", "cities.csv", table())
	x := page.open(thread, nil)
	page.rest(thread)
	page.page("/chat/" + thread)
	p.restsWithin(usedLimit)
	x.close()
	p.wellBehaved()
}

// BenchmarkIdleMemory is the PSS of the program at rest: fresh, with one page open, and after a first turn
// with an attachment whose answer has code and a table. The baseline is the bare proxy at rest.
func BenchmarkIdleMemory(b *testing.B) {
	var base, fresh, used []float64
	for b.Loop() {
		m := newModel(b, answer{tokens: mixed()})
		proxy, p := bare(b, m), ash(b, b.TempDir(), m)
		page := visit(b, p)
		time.Sleep(time.Second)
		base, fresh = append(base, proxy.settled()), append(fresh, p.settled())
		thread := page.beginWith("What is in this table?", "cities.csv", table())
		x := page.open(thread, nil)
		page.rest(thread)
		page.page("/chat/" + thread)
		used = append(used, p.settled())
		x.close()
		p.kill()
		proxy.kill()
	}
	b.ReportMetric(middle(base), "MiB/bare")
	figure(b, middle(fresh), "MiB/fresh", freshLimit)
	figure(b, middle(used), "MiB/used", usedLimit)
	b.ReportMetric(0, "ns/op")
}

// BenchmarkGrowth is how much the PSS grows from turn 100 to turn 1,100 of ten conversations, each read in a page.
func BenchmarkGrowth(b *testing.B) {
	var at100, at1100 float64
	for b.Loop() {
		r := newReaders(b)
		r.turns(90)
		at100 = r.p.settled()
		r.turns(1000)
		at1100 = r.p.settled()
		r.p.kill()
	}
	b.ReportMetric(at100, "MiB/turn-100")
	b.ReportMetric(at1100, "MiB/turn-1100")
	figure(b, at1100-at100, "MiB/growth", 4)
	b.ReportMetric(0, "ns/op")
}

// TestGrowth holds what a program keeps of further turns: caches that fill up, and little of each. File pages are left out,
// which the system keeps or drops as it likes.
func TestGrowth(t *testing.T) {
	turns := number(t, "ASH_TURNS", 300)
	limit := 2.5 + 1.5/1024*float64(turns) // MiB
	r := newReaders(t)
	r.turns(140) // by then a feed's stretch of each conversation, and most connections to the database, are there
	r.p.settled()
	before := r.p.memory("Anonymous:")
	r.turns(turns)
	r.p.settled()
	after := r.p.memory("Anonymous:")
	for end := time.Now().Add(patience); after-before > limit && time.Now().Before(end); time.Sleep(time.Second) {
		after = r.p.memory("Anonymous:") // a busy machine comes to rest later
	}
	t.Logf("%.1f MiB after 150 turns, %.1f after %d more", before, after, turns)
	if after-before > limit {
		t.Errorf("%d turns left %.1f MiB behind, the limit is %.1f", turns, after-before, limit)
	}
	r.p.wellBehaved()
}

// readers are ten conversations, each read in a page and one turn old.
type readers struct {
	p    *process
	tabs []*tab
	next int
}

func newReaders(t testing.TB) *readers {
	t.Helper()
	r := &readers{p: ash(t, t.TempDir(), newModel(t, answer{tokens: mixed()}))}
	page := visit(t, r.p)
	for range 10 {
		thread := page.begin("hello")
		page.rest(thread)
		r.tabs = append(r.tabs, page.open(thread, nil))
	}
	return r
}

// turns takes n turns, in one conversation after the other.
func (r *readers) turns(n int) {
	for range n {
		r.tabs[r.next%len(r.tabs)].exchange("And now?")
		r.next++
	}
}

// BenchmarkHello is what the model is sent for "hello" in a new home, headers and tools aside.
func BenchmarkHello(b *testing.B) {
	m := newModel(b, answer{tokens: words(5)})
	page := visit(b, ash(b, b.TempDir(), m))
	for b.Loop() {
		thread := page.begin("hello")
		page.rest(thread)
	}
	var sent map[string]json.RawMessage
	if err := json.Unmarshal([]byte(m.question()), &sent); err != nil {
		b.Fatal(err)
	}
	tools := len(sent["tools"])
	figure(b, float64(len(m.question())-tools)/1e3, "KB", 4)
	b.ReportMetric(float64(tools)/1e3, "KB/tools")
	b.ReportMetric(0, "ns/op")
}

func middle(values []float64) float64 {
	var s samples
	for _, v := range values {
		s = append(s, time.Duration(v*float64(time.Millisecond)))
	}
	return s.median()
}
