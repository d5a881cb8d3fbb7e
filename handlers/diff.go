package handlers

import (
	"fmt"
	"strings"

	"ash/views/components"
)

// maxDiff is how many lines of a change that was decided already a card shows. One that waits is shown whole.
const maxDiff = 400

// presentDiff reads a unified diff. Lines that are none of its own are shown as they stand, so that
// nothing of what is approved is left out.
func presentDiff(unified string, whole bool) []components.DiffLine {
	if unified == "" {
		return nil
	}
	var out []components.DiffLine
	var before, after int
	inside := false
	for l := range strings.Lines(unified) {
		l = strings.TrimSuffix(strings.TrimSuffix(l, "\n"), "\r")
		if !whole && len(out) == maxDiff {
			return append(out, components.DiffLine{Op: components.DiffGap, Text: "More lines follow; the full record has them all."})
		}
		switch {
		case strings.HasPrefix(l, "@@"):
			before, after = hunk(l)
			if inside {
				out = append(out, components.DiffLine{Op: components.DiffGap, Text: "…"})
			}
			inside = true
		case !inside && (strings.HasPrefix(l, "--- ") || strings.HasPrefix(l, "+++ ")):
		case strings.HasPrefix(l, "+"):
			out = append(out, components.DiffLine{Op: components.DiffAdded, Text: visible(l[1:]), New: after})
			after++
		case strings.HasPrefix(l, "-"):
			out = append(out, components.DiffLine{Op: components.DiffRemoved, Text: visible(l[1:]), Old: before})
			before++
		case strings.HasPrefix(l, " "), l == "" && inside:
			out = append(out, components.DiffLine{Op: components.DiffSame, Text: visible(strings.TrimPrefix(l, " ")), Old: before, New: after})
			before++
			after++
		default:
			out = append(out, components.DiffLine{Op: components.DiffGap, Text: visible(l)})
		}
	}
	return out
}

// hunk reads the line numbers of a hunk's head: "@@ -3,7 +3,9 @@".
func hunk(l string) (before, after int) {
	for _, word := range strings.Fields(l) {
		start, _, _ := strings.Cut(word, ",")
		switch {
		case strings.HasPrefix(start, "-"):
			_, _ = fmt.Sscanf(start, "-%d", &before) // a number that cannot be read stays 0
		case strings.HasPrefix(start, "+"):
			_, _ = fmt.Sscanf(start, "+%d", &after)
		}
	}
	return before, after
}
