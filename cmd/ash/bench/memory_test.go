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
	figure(b, middle(fresh), "MiB/fresh", 32)
	figure(b, middle(used), "MiB/used", 48)
	b.ReportMetric(0, "ns/op")
}

// BenchmarkGrowth is how much the PSS grows from turn 100 to turn 1,100 of ten conversations, each read in a page.
func BenchmarkGrowth(b *testing.B) {
	var at100, at1100 float64
	for b.Loop() {
		m := newModel(b, answer{tokens: mixed()})
		p := ash(b, b.TempDir(), m)
		page := visit(b, p)
		tabs := make([]*tab, 10)
		for i := range tabs {
			thread := page.begin("hello")
			page.rest(thread)
			tabs[i] = page.open(thread, nil)
		}
		turns := func(n int) float64 {
			for i := range n {
				tabs[i%len(tabs)].exchange("And now?")
			}
			return p.settled()
		}
		at100 = turns(90)
		at1100 = turns(1000)
		p.kill()
	}
	b.ReportMetric(at100, "MiB/turn-100")
	b.ReportMetric(at1100, "MiB/turn-1100")
	figure(b, at1100-at100, "MiB/growth", 4)
	b.ReportMetric(0, "ns/op")
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
