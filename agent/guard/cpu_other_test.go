//go:build !unix

package guard

import "time"

// cpuOf returns the milliseconds that f takes.
func cpuOf(f func()) float64 {
	start := time.Now()
	f()
	return float64(time.Since(start).Microseconds()) / 1000
}
