package sandbox

import (
	"fmt"
	"strconv"
)

// bytesText is a size for people.
func bytesText(n int64) string {
	switch {
	case n >= 1<<30:
		return strconv.FormatFloat(float64(n)/(1<<30), 'g', 3, 64) + " GB"
	case n >= 1<<20:
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%d KB", n>>10)
}

func floatText(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func intText(n int) string { return strconv.Itoa(n) }
