package learn

import (
	"strings"
	"sync"

	"ash/agent"
)

// Wish is what somebody asks for in so many words.
type Wish struct {
	Text string // the statement
	Core bool   // it is who they are, or how they want things
}

var wishes = sync.OnceValue(newPhrasebook)

// Asked returns what a message asks to be remembered in so many words ("remember that …", "merk dir, dass …"), in its order: the same
// statements that learning by phrases would keep of it. Quotations do not count.
func Asked(text string) []Wish {
	b := wishes()
	hidden := b.hide(text)
	var out []Wish
	for _, c := range clauses(hidden) {
		if len(out) == maxPhrases || strings.ContainsRune(hidden[c.from:c.to], blanked) {
			continue
		}
		k, _, ok := b.clause(strings.TrimSpace(text[c.from:c.to]), false, false)
		if ok && k != nil && k.explicit {
			out = append(out, Wish{k.text, k.kind == agent.FactCore})
		}
	}
	return out
}
