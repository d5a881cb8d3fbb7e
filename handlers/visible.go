package handlers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// What the person approves must be what they see: characters that have no look of their own, or that turn the
// text around them, are shown by their number (Unicode TR 36, 39).

// hides reports whether a character hides, or hides what stands beside it, in any text: controls other than
// line end and tab, direction marks, tag characters.
func hides(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || ordinary(r):
		return false
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
		return true
	case r >= 0xFE00 && r <= 0xFE0E, r >= 0xE0100 && r <= 0xE01EF: // variation selectors carry what nobody reads
		return true
	}
	return r == 0x2028 || r == 0x2029
}

// ordinary reports whether a character that is not seen is common in what people write: joiners of scripts and
// emoji, the soft hyphen, the emoji selector.
func ordinary(r rune) bool { return r == 0x200C || r == 0x200D || r == 0x00AD || r == 0xFE0F }

// deceives is hides for commands and addresses, where no such character is common, nor a space that is none, nor a letter that
// looks empty.
func deceives(r rune) bool {
	switch {
	case r >= 0x2000 && r <= 0x200A:
		return true
	case hides(r), ordinary(r):
		return true
	}
	return slices.Contains([]rune{0x00A0, 0x202F, 0x205F, 0x3000, 0x115F, 0x1160, 0x3164, 0xFFA0, 0x2800}, r)
}

// visible shows a text of any kind, exact one that a machine takes literally.
func visible(s string) string { return numbered(s, hides) }

func exact(s string) string { return numbered(s, deceives) }

func numbered(s string, hidden func(rune) bool) string {
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// shortestMark is how long a line of a private passage must be to be marked by itself, in bytes.
const shortestMark = 6

// marks returns private passages in every form in which a card may show them: as they are, line by line as
// in a diff, and as in JSON.
func marks(private []string) []string {
	var out []string
	add := func(s string) {
		for _, shown := range []string{visible(s), exact(s)} {
			if shown != "" && !slices.Contains(out, shown) {
				out = append(out, shown)
			}
		}
	}
	for _, p := range private {
		add(p)
		for l := range strings.Lines(p) {
			if l = strings.TrimSpace(l); len(l) >= shortestMark {
				add(l)
			}
		}
		if quoted, err := json.Marshal(p); err == nil {
			add(string(quoted[1 : len(quoted)-1]))
		}
	}
	return out
}
