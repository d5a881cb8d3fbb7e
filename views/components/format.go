package components

import (
	"fmt"
	"strconv"
	"time"

	"ash/agent"
)

// Count writes a number with thousands set apart: 12,480.
func Count(n int) string {
	s := strconv.Itoa(n)
	start := 0
	if n < 0 {
		start = 1
	}
	for i := len(s) - 3; i > start; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Money writes an amount in dollars with as many digits as it needs.
func Money(m agent.MicroDollars) string {
	d := float64(m) / 1e6
	switch {
	case m == 0:
		return "$0"
	case d >= 1:
		return fmt.Sprintf("$%.2f", d)
	case d >= 0.001:
		return fmt.Sprintf("$%.3f", d)
	}
	return "<$0.001"
}

// Seconds writes a duration as people say it: 0.4 s, 12 s, 3 min 20 s.
func Seconds(d time.Duration) string {
	switch {
	case d < 50*time.Millisecond:
		return "<0.1 s"
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

// Bytes writes a size: 812 B, 14 KB, 3.2 MB.
func Bytes(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000_000:
		return fmt.Sprintf("%d KB", (n+500)/1000)
	case n < 10_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%d MB", (n+500_000)/1000_000)
}

// Plural writes a number with its noun.
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}
