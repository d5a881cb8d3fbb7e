//go:build unix

package sandbox_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"ash/agent/sandbox"
)

// median runs fn b.N times and reports the median and the slowest in milliseconds.
func median(b *testing.B, fn func() time.Duration) {
	b.Helper()
	var all []time.Duration
	for b.Loop() {
		all = append(all, fn())
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2])/1e6, "ms/median")
	b.ReportMetric(float64(all[len(all)-1])/1e6, "ms/max")
	b.ReportMetric(0, "ns/op")
}

func eachEngine(b *testing.B, bench func(b *testing.B, k *kit)) {
	for _, engine := range []string{sandbox.EngineDocker, sandbox.EngineBubblewrap} {
		b.Run(engine, func(b *testing.B) {
			k := open(b, engine, sandbox.Options{})
			k.line("true")
			bench(b, k)
		})
	}
}

// BenchmarkWarm is one more command in a sandbox that is there.
func BenchmarkWarm(b *testing.B) {
	eachEngine(b, func(b *testing.B, k *kit) {
		median(b, func() time.Duration {
			began := time.Now()
			k.line("true")
			return time.Since(began)
		})
	})
}

// BenchmarkFirst is the first command of a thread.
func BenchmarkFirst(b *testing.B) {
	eachEngine(b, func(b *testing.B, k *kit) {
		median(b, func() time.Duration {
			if err := k.Release(context.Background(), k.thread); err != nil {
				b.Fatal(err)
			}
			began := time.Now()
			k.line("true")
			return time.Since(began)
		})
	})
}

// BenchmarkStop is from cancelling a command with descendants that left its session to its end.
func BenchmarkStop(b *testing.B) {
	eachEngine(b, func(b *testing.B, k *kit) {
		median(b, func() time.Duration {
			ctx, stop := context.WithCancel(context.Background())
			var began time.Time
			_, err := k.Run(ctx, sandbox.Command{Thread: k.thread, Root: k.root, Line: "setsid sleep 9090 & echo up; sleep 9090"}, func(p []byte) {
				if strings.Contains(string(p), "up") {
					began = time.Now()
					stop()
				}
			})
			if err == nil {
				b.Fatal("not stopped")
			}
			return time.Since(began)
		})
	})
}
