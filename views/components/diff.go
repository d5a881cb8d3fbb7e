package components

import "strings"

// DiffOp says what became of a line.
type DiffOp string

// The operations.
const (
	DiffSame    DiffOp = "same"
	DiffAdded   DiffOp = "added"   // in the newer text only
	DiffRemoved DiffOp = "removed" // in the older text only
	DiffGap     DiffOp = "gap"     // unchanged lines left out, or what is said about the rest
)

// DiffLine is one line of a comparison.
type DiffLine struct {
	Op   DiffOp
	Text string
	Old  int // line number there, from 1; 0 for none
	New  int
}

// Passage is a run of a text; Private marks what repeats something of the person's own.
type Passage struct {
	Text    string
	Private bool
}

// Passages cuts text at the private passages, which stand in it as they are given. Where
// two overlap, the longer one that begins first is marked.
func Passages(text string, private []string) []Passage {
	var out []Passage
	for text != "" {
		at, found := -1, ""
		for _, p := range private {
			if p == "" {
				continue
			}
			if i := strings.Index(text, p); i >= 0 && (at < 0 || i < at || i == at && len(p) > len(found)) {
				at, found = i, p
			}
		}
		if at < 0 {
			return append(out, Passage{Text: text})
		}
		if at > 0 {
			out = append(out, Passage{Text: text[:at]})
		}
		out = append(out, Passage{Text: found, Private: true})
		text = text[at+len(found):]
	}
	return out
}
