package guard

import "strings"

// wordSet finds which of many words stand in a text, in one pass. Words are at least two bytes long.
type wordSet struct {
	heads  map[[2]byte][]string // words by their first two bytes
	starts [1 << 10]uint64      // a bit for each two bytes that a word begins with
}

// newWordSet returns the set of some words; words shorter than two bytes are left out.
func newWordSet(words []string) *wordSet {
	s := &wordSet{heads: make(map[[2]byte][]string, len(words))}
	for _, w := range words {
		if len(w) < 2 {
			continue
		}
		head := [2]byte{w[0], w[1]}
		s.heads[head] = append(s.heads[head], w)
		at := uint16(w[0])<<8 | uint16(w[1])
		s.starts[at>>6] |= 1 << (at & 63)
	}
	return s
}

// In reports whether one of the words stands in text.
func (s *wordSet) In(text string) bool {
	hit := false
	s.each(text, func(string) bool { hit = true; return false })
	return hit
}

// each calls found for every word at every place of text, until it returns false.
func (s *wordSet) each(text string, found func(word string) bool) {
	for i := range len(text) - 1 {
		at := uint16(text[i])<<8 | uint16(text[i+1])
		if s.starts[at>>6]&(1<<(at&63)) == 0 {
			continue
		}
		for _, w := range s.heads[[2]byte{text[i], text[i+1]}] {
			if strings.HasPrefix(text[i:], w) && !found(w) {
				return
			}
		}
	}
}
