//go:build linux

package bench

import (
	"os"
	"regexp"
	"runtime"
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

// binaryLimit is what the stripped program may weigh, in MB of a million bytes.
const binaryLimit = 40

// binarySize is the size of the program, stripped, in MB.
func binarySize(t testing.TB) float64 {
	t.Helper()
	binary, err := ashBinary()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	return float64(info.Size()) / 1e6
}

// TestBinarySize: what is added to the program does not make it heavy unnoticed. "go tool nm -size -sort size" of a build with
// symbols tells what is in it.
func TestBinarySize(t *testing.T) {
	if os.Getenv("ASH_TEST_BINARY") != "" {
		t.Skip("ASH_TEST_BINARY may be built in any way: unset it")
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("the limit is that of amd64")
	}
	if got := binarySize(t); got > binaryLimit {
		t.Errorf("the stripped program weighs %.2f MB, more than %d", got, binaryLimit)
	}
}

// BenchmarkBinary is the size of the program, stripped.
func BenchmarkBinary(b *testing.B) {
	for b.Loop() {
		figure(b, binarySize(b), "MB", binaryLimit)
	}
	b.ReportMetric(0, "ns/op")
}
