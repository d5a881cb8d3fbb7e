package components

import "strings"

// tickedPart is a run of a label.
type tickedPart struct {
	text string
	code bool
}

// tickedParts cuts a label at its backquotes. One that stands alone is an ordinary character.
func tickedParts(label string) []tickedPart {
	pieces := strings.Split(label, "`")
	if len(pieces)%2 == 0 {
		return []tickedPart{{text: label}}
	}
	var out []tickedPart
	for i, p := range pieces {
		if p != "" {
			out = append(out, tickedPart{text: p, code: i%2 == 1})
		}
	}
	return out
}
