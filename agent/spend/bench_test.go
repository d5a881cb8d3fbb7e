package spend_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/spend"
	"ash/store"
)

// filled is a book with 100,000 calls of a year: 2,000 conversations, three models, all purposes.
func filled(b *testing.B) *spend.Book {
	b.Helper()
	s, err := store.Open(b.Context(), store.Options{Path: filepath.Join(b.TempDir(), "ash.db")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	roots := make([]agent.ID, 2000)
	for i := range roots {
		roots[i] = agent.NewID()
	}
	var list []spend.Taken
	for i := range 100_000 {
		at := now.Add(-time.Duration(i) * 5 * time.Minute)
		list = append(list, spend.Taken{Usage: agent.Usage{Input: 5000, Output: 400, Cost: 900}, Call: spend.Call{
			ID: agent.NewID(), Day: spend.DayOf(at, time.UTC), Root: roots[i/50], Free: true, Purpose: spend.Purposes()[i%5],
			Model: agent.ModelRef{Provider: "p", Name: fmt.Sprint("m", i%3)},
		}})
	}
	for batch := range slices.Chunk(list, 5000) {
		if err := s.SettleSpend(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	return spend.New(spend.Options{
		Store: s, Zone: time.UTC, Now: func() time.Time { return now }, Size: func(agent.Prompt) int { return 5000 }, Tokens: func(s string) int { return len(s) / 4 },
		Settings: func() spend.Settings {
			return spend.Settings{PerCap: spend.PerCap{Day: 1 << 50, Month: 1 << 50, Thread: 1 << 50}}
		},
	})
}

// timed runs fn for each iteration and reports the 95th percentile.
func timed(b *testing.B, fn func() error) {
	b.Helper()
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		if err := fn(); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
}

// BenchmarkSpend measures, at 100,000 calls, what a call waits for its reservation and settlement (two fsynced transactions), and what the page
// reads for a month and for a year.
func BenchmarkSpend(b *testing.B) {
	book := filled(b)
	ctx := context.Background()
	b.Run("call", func(b *testing.B) {
		p := chat(1)
		p.Charge.Thread = agent.NewID()
		timed(b, func() (err error) {
			for _, e := range book.Stream(ctx, paid(), p, says("x", 5000, 1)) {
				err = e
			}
			return err
		})
	})
	b.Run("caps", func(b *testing.B) {
		timed(b, func() error { _, err := book.Allowances(ctx, ""); return err })
	})
	for name, from := range map[string]spend.Day{"month": "2026-10-24", "year": "2025-11-23"} {
		b.Run(name, func(b *testing.B) {
			timed(b, func() error { _, err := book.Report(ctx, from, "2026-11-22"); return err })
		})
	}
}
