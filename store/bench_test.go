package store

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"ash/agent"
)

// BenchmarkPost measures what a message of the person costs before the model is
// asked: one transaction, fsynced. BenchmarkFsync is its floor.
func BenchmarkPost(b *testing.B) {
	f := newFixture(b)
	ctx := context.Background()
	for b.Loop() {
		b.StopTimer()
		thread := f.newThread("")
		b.StartTimer()
		if _, err := f.Post(ctx, agent.NewMessage{Thread: thread, Parts: text("What is the weather in Köln tomorrow?"), Author: f.owner, Form: "f"}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFsync(b *testing.B) {
	file, err := os.Create(filepath.Join(b.TempDir(), "f"))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	page := make([]byte, 12<<10)
	for b.Loop() {
		if _, err := file.Write(page); err != nil {
			b.Fatal(err)
		}
		if err := file.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTurn(b *testing.B) {
	f := newFixture(b)
	for b.Loop() {
		f.exchange("question", "answer")
	}
}

func BenchmarkSaveProgress(b *testing.B) {
	f := newFixture(b)
	f.post("q")
	m := f.openReply()
	piece := agent.ReplyProgress{Message: m.ID, Text: string(make([]byte, 0, 2048))}
	for range 2048 {
		piece.Text += "x"
	}
	for b.Loop() {
		if err := f.SaveProgress(context.Background(), []agent.ReplyProgress{piece}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	s := seeded(b)
	for _, c := range []struct{ name, query string }{
		{"commonest word", "the"},
		{"two-letter prefix", "aa"},
		{"one letter", "a"},
		{"rare word", "invoice"},
		{"two common words", "the aaword0"},
		{"common and rare", "the invoice"},
		{"phrase that is nowhere", "word the invoice the"},
		{"nothing", "zzzzzz"},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Search(context.Background(), c.query, 20); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	s := seeded(b)
	path := s.path
	for name, at := range map[string]string{"empty": filepath.Join(b.TempDir(), "ash.db"), "100000 messages": path} {
		b.Run(name, func(b *testing.B) {
			first, err := Open(context.Background(), Options{Path: at})
			if err != nil {
				b.Fatal(err)
			}
			if err := first.Close(); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				s, err := Open(context.Background(), Options{Path: at})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.Recover(context.Background()); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}

func BenchmarkWindow(b *testing.B) {
	for name, n := range map[string]int{"100": 100, "10000": 10_000} {
		b.Run(name, func(b *testing.B) {
			s := openAt(b, filepath.Join(b.TempDir(), "ash.db"))
			thread := seed(b, s, 1, n)[0]
			for b.Loop() {
				nodes, _, err := s.Window(context.Background(), thread, "", 50)
				if err != nil || len(nodes) != 50 {
					b.Fatal(len(nodes), err)
				}
			}
		})
	}
}

func BenchmarkThreads(b *testing.B) {
	s := openAt(b, filepath.Join(b.TempDir(), "ash.db"))
	seed(b, s, 10_000, 1)
	_, middle, err := s.Threads(context.Background(), agent.ThreadFilter{Limit: 200})
	if err != nil {
		b.Fatal(err)
	}
	for name, after := range map[string]string{"first page": "", "later page": middle} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				page, _, err := s.Threads(context.Background(), agent.ThreadFilter{Limit: 50, After: after})
				if err != nil || len(page) != 50 {
					b.Fatal(len(page), err)
				}
			}
		})
	}
}

// BenchmarkStep measures what a step of the loop reads before it asks the model.
func BenchmarkStep(b *testing.B) {
	f := newFixture(b)
	for range 10 {
		f.exchange("question", "answer")
	}
	ctx, head := context.Background(), f.tail().Thread.Head
	for name, read := range map[string]func() error{
		"tail":      func() error { _, err := f.Tail(ctx, f.thread); return err },
		"path of 8": func() error { _, err := f.Path(ctx, head, 8); return err },
		"summaries": func() error { _, err := f.Summaries(ctx, f.thread); return err },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
