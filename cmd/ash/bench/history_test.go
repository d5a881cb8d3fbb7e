//go:build linux

package bench

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkOpenThread is a conversation's page, from request to last byte, for a long and a short conversation.
func BenchmarkOpenThread(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n, " messages"), func(b *testing.B) {
			m := newModel(b, answer{})
			home := b.TempDir()
			thread := fill(b, home, m, 1, n)
			reads(b, visit(b, ash(b, home, m)), "/chat/"+thread)
		})
	}
}

// BenchmarkSearch looks through 100,000 messages, from request to last byte. The baseline asks for the empty search.
func BenchmarkSearch(b *testing.B) {
	m := newModel(b, answer{})
	home := b.TempDir()
	fill(b, home, m, 1000, 100)
	page := visit(b, ash(b, home, m))
	for _, q := range []struct{ name, query string }{
		{"nothing asked", ""},
		{"commonest word", "the"},
		{"two-letter prefix", "aa"},
		{"one letter", "a"},
		{"rare word", "invoice"},
		{"two words", "the+invoice"},
		{"found nowhere", "zzzzzz"},
	} {
		b.Run(q.name, func(b *testing.B) { reads(b, page, "/search?q="+q.query) })
	}
}

func reads(b *testing.B, page *browser, path string) {
	page.page(path) // fills the program's caches
	var all samples
	for b.Loop() {
		began := time.Now()
		page.page(path)
		all = append(all, time.Since(began))
	}
	b.ReportMetric(all.at(0.99), "ms/p99")
	figure(b, all.median(), "ms/median", 50)
	b.ReportMetric(0, "ns/op")
}
