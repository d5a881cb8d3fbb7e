//go:build linux

package bench

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkStart is the time from starting the process to the first page: on a small home, and on one with
// 100,000 messages. The baseline is the bare proxy, which opens nothing.
func BenchmarkStart(b *testing.B) {
	m := newModel(b, answer{tokens: words(20)})
	b.Run("bare", func(b *testing.B) {
		starts(b, 1e9, func() *process { return bare(b, m) }, "/healthz")
	})
	b.Run("small home", func(b *testing.B) {
		home := b.TempDir()
		p := ash(b, home, m)
		thread := visit(b, p).begin("hello")
		p.stop()
		starts(b, 45, func() *process { return ash(b, home, m) }, "/chat/"+thread)
	})
	b.Run("100000 messages", func(b *testing.B) {
		home := b.TempDir()
		thread := fill(b, home, m, 1000, 100)
		starts(b, 70, func() *process { return ash(b, home, m) }, "/chat/"+thread)
	})
}

func starts(b *testing.B, limit float64, start func() *process, path string) {
	var all samples
	for b.Loop() {
		began := time.Now()
		p := start()
		answers(b, p.url+path)
		all = append(all, time.Since(began))
		b.StopTimer()
		p.kill()
		b.StartTimer()
	}
	b.ReportMetric(all.least(), "ms/least")
	figure(b, all.median(), "ms/median", limit)
	b.ReportMetric(0, "ns/op")
}

// initialised is a line of GODEBUG=inittrace=1.
var initialised = regexp.MustCompile(`(?m)^init (\S+) @\S+ ms, (\S+) ms clock, (\d+) bytes, (\d+) allocs`)

// BenchmarkInit is what packages do before main: in all, and the five that take longest.
func BenchmarkInit(b *testing.B) {
	m := newModel(b, answer{})
	binary, err := ashBinary()
	if err != nil {
		b.Fatal(err)
	}
	home := b.TempDir()
	least := map[string]float64{}
	for b.Loop() {
		p := launch(b, []string{"HOME=" + home, "ASH_HOME=" + home, "GODEBUG=inittrace=1"}, binary,
			"serve", "--listen", "127.0.0.1:0", "--model", "openai/gpt-4o-mini", "--base-url", m.url+"/v1")
		p.kill()
		for _, l := range initialised.FindAllStringSubmatch(p.log.String(), -1) {
			took, err := strconv.ParseFloat(l[2], 64)
			if err != nil {
				b.Fatal(err)
			}
			if before, ok := least[l[1]]; !ok || took < before {
				least[l[1]] = took
			}
		}
	}
	sum := 0.0
	var names []string
	for name, took := range least {
		sum += took
		names = append(names, name)
	}
	slices.SortFunc(names, func(x, y string) int {
		if least[x] > least[y] {
			return -1
		}
		return 1
	})
	var top []string
	for _, name := range names[:min(12, len(names))] {
		top = append(top, name+" "+strconv.FormatFloat(least[name], 'f', 2, 64))
	}
	b.Logf("packages, in ms: %s", strings.Join(top, ", "))
	b.ReportMetric(sum, "ms/init")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkBinary is the size of the program, stripped.
func BenchmarkBinary(b *testing.B) {
	binary, err := ashBinary()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		info, err := os.Stat(binary)
		if err != nil {
			b.Fatal(err)
		}
		figure(b, float64(info.Size())/1e6, "MB", 40)
	}
	b.ReportMetric(0, "ns/op")
}
