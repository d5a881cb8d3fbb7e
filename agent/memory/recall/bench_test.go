package recall_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ash/agent/memory/archive"
	"ash/agent/memory/recall"
)

// prose makes messages of the words of the scenes, with a tail of rare ones: as frequent as words are in chats.
func prose(b testing.TB, n int) ([]archive.Message, []string) {
	b.Helper()
	random := rand.New(rand.NewPCG(5, 6))
	var words []string
	for _, name := range []string{"tune", "held"} {
		for _, m := range read(b, name).turns {
			words = append(words, strings.Fields(m.Text)...)
		}
	}
	list := make([]archive.Message, n)
	for i := range list {
		var text []string
		for range 8 + random.IntN(30) {
			w := words[random.IntN(len(words))]
			if random.IntN(5) == 0 {
				w = fmt.Sprintf("rare%d", int(random.ExpFloat64()*3000))
			}
			text = append(text, w)
		}
		list[i] = archive.Message{
			Thread: fmt.Sprintf("t%d", i/600), ID: fmt.Sprint(i), Speaker: []string{"Anna", "Bob"}[i%2] + fmt.Sprint(i/600),
			Time: time.Date(2020, 1, 1+i/20, 12, i%20, 0, 0, time.UTC).Format(time.RFC3339), Text: strings.Join(text, " "),
		}
	}
	var questions []string
	for i := range 100 {
		q := fmt.Sprintf("What did Anna%d", i%10)
		for range 8 {
			q += " " + words[random.IntN(len(words))]
		}
		questions = append(questions, q+"?")
	}
	return list, questions
}

// processor returns how much processor time the process has used: on a machine that others use too, what a question costs.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// heap returns how many bytes are in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what pools keep goes with the second
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // far below
}

// BenchmarkRecall reports the 95th percentile of questions of eight words, what the outline takes, and what SQLite's
// BM25 alone takes for the same questions.
func BenchmarkRecall(b *testing.B) {
	for _, n := range []int{6000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			list, questions := prose(b, n)
			s := opened(b)
			for batch := range slices.Chunk(list, 1000) {
				if _, err := s.ImportMessages(context.Background(), batch); err != nil {
					b.Fatal(err)
				}
			}
			if err := recall.New(recall.Options{Index: s}).CatchUp(context.Background()); err != nil {
				b.Fatal(err)
			}
			e := recall.New(recall.Options{Index: s})
			empty, began := heap(), processor(b)
			if err := e.CatchUp(context.Background()); err != nil { // reads the outline
				b.Fatal(err)
			}
			drawn, kept := processor(b)-began, heap()-empty
			var took []time.Duration
			before := processor(b)
			for i := 0; b.Loop(); i++ {
				began := time.Now()
				if _, err := e.Recall(context.Background(), recall.Query{Text: questions[i%len(questions)]}); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
			}
			b.ReportMetric(float64(drawn.Microseconds())/1000, "cpu-ms/outline")
			b.ReportMetric(float64(kept)/float64(n), "B/item")
			per := processor(b) - before
			bm25 := baseline(b, conversation{turns: list}, false)
			before = processor(b)
			for _, q := range questions {
				bm25(q)
			}
			b.ReportMetric(float64((processor(b)-before).Microseconds())/1000/float64(len(questions)), "cpu-ms/bm25")
			slices.Sort(took)
			b.ReportMetric(float64(per.Microseconds())/1000/float64(len(took)), "cpu-ms/op")
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms/p50")
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "ms/p95")
		})
	}
}

// BenchmarkImport stores and indexes 10,000 messages.
func BenchmarkImport(b *testing.B) {
	list, _ := prose(b, 10_000)
	for b.Loop() {
		s := opened(b)
		for batch := range slices.Chunk(list, 1000) {
			if _, err := s.ImportMessages(context.Background(), batch); err != nil {
				b.Fatal(err)
			}
		}
		if err := recall.New(recall.Options{Index: s}).CatchUp(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
