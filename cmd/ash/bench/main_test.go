//go:build linux

package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// folder holds the binaries for the length of the run.
var folder string

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "ash-bench-"); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	code := m.Run()
	if err := os.RemoveAll(folder); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		code = 1
	}
	os.Exit(code)
}

// ashBinary builds the program as it is released, once. ASH_TEST_BINARY names one that is already there.
var ashBinary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("ASH_TEST_BINARY"); path != "" {
		return filepath.Abs(path)
	}
	return build("ash", "ash/cmd/ash")
})

// bareBinary builds the baseline, once.
var bareBinary = sync.OnceValues(func() (string, error) { return build("bare", "./testdata/bare") })

func build(name, pkg string) (string, error) {
	binary := filepath.Join(folder, name)
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	return binary, nil
}

// number reads a whole number from the environment.
func number(t testing.TB, name string, otherwise int) int {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is no number of at least 1", name, s)
	}
	return n
}

// figure reports a measured value, and says so when it is over its limit.
func figure(b *testing.B, value float64, unit string, limit float64) {
	b.Helper()
	b.ReportMetric(value, unit)
	if value > limit {
		missed(b, "%.5g %s is over the limit of %g", value, unit, limit)
	}
}

// atLeast is figure for a value that has to reach its limit.
func atLeast(b *testing.B, value float64, unit string, limit float64) {
	b.Helper()
	b.ReportMetric(value, unit)
	if value < limit {
		missed(b, "%.5g %s is under the limit of %g", value, unit, limit)
	}
}

func missed(b *testing.B, format string, args ...any) {
	b.Helper()
	if os.Getenv("ASH_FIGURES") == "strict" {
		b.Errorf(format, args...)
		return
	}
	b.Logf(format, args...)
}

// samples are durations of the same thing, measured again and again.
type samples []time.Duration

// at returns the value that the share q of the samples does not exceed, in milliseconds.
func (s samples) at(q float64) float64 {
	sorted := slices.Sorted(slices.Values(s))
	return ms(sorted[int(q*float64(len(sorted)-1))])
}

func (s samples) median() float64 { return s.at(0.5) }
func (s samples) least() float64  { return s.at(0) }
func (s samples) most() float64   { return s.at(1) }

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
