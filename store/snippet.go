package store

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"ash/agent"
)

const (
	// maxSnippet is the length of a snippet in characters, maxLead how much of it may stand
	// before the first match.
	maxSnippet = 160
	maxLead    = 40
)

// marker finds the words of a query in a text the way the index did: without
// regard to case and diacritics.
type marker struct {
	whole  map[string]bool // folded words that match as a whole
	prefix string          // folded beginning that matches, "" for none
	runs   []string        // folded runs of a spaceless script, found anywhere
}

func newMarker(list []term) *marker {
	m := &marker{whole: map[string]bool{}}
	for i, t := range list {
		folded := fold(t.text)
		switch {
		case t.spaceless:
			m.runs = append(m.runs, folded)
		case i == len(list)-1 && prefix(t):
			m.prefix = folded
		default:
			m.whole[folded] = true
		}
	}
	return m
}

// fold returns s in lower case without diacritics.
func fold(s string) string {
	ascii := true
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return strings.ToLower(s)
	}
	var b strings.Builder
	for _, r := range norm.NFD.String(s) {
		if !unicode.Is(unicode.Mn, r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// span is a range of bytes.
type span struct{ from, to int }

// snippet returns the piece of text around the first match with all matches in it
// marked; the beginning of text when nothing matches.
func (m *marker) snippet(text string) []agent.SnippetPart {
	first := m.next(text, 0)
	from := 0
	if first.to > 0 {
		from = back(text, first.from, maxLead)
	}
	to := forward(text, from, maxSnippet)
	var parts []agent.SnippetPart
	if from > 0 {
		parts = appendPart(parts, "…", false)
	}
	at := from
	for s := first; s.to > 0 && s.from < to; s = m.next(text, s.to) {
		end := min(s.to, to)
		parts = appendPart(parts, text[at:s.from], false)
		parts = appendPart(parts, text[s.from:end], true)
		at = end
	}
	parts = appendPart(parts, text[at:to], false)
	if to < len(text) {
		parts = appendPart(parts, "…", false)
	}
	return parts
}

// appendPart adds text on one line, to the last part when that is of the same kind.
func appendPart(parts []agent.SnippetPart, text string, match bool) []agent.SnippetPart {
	var b strings.Builder
	space := false
	for _, r := range text {
		if unicode.IsSpace(r) {
			space = true
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	if space {
		b.WriteByte(' ')
	}
	switch {
	case b.Len() == 0:
	case len(parts) > 0 && parts[len(parts)-1].Match == match:
		parts[len(parts)-1].Text += b.String()
	default:
		parts = append(parts, agent.SnippetPart{Text: b.String(), Match: match})
	}
	return parts
}

// next returns the first match at or after byte at, zero when there is none.
func (m *marker) next(text string, at int) span {
	for at < len(text) {
		r, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case spaceless(r):
			if to := m.runAt(text, at); to > 0 {
				return span{at, to}
			}
			at += size
		case wordRune(r):
			to := wordEnd(text, at)
			if m.matches(fold(text[at:to])) {
				return span{at, to}
			}
			at = to
		default:
			at += size
		}
	}
	return span{}
}

func (m *marker) matches(word string) bool {
	return m.whole[word] || (m.prefix != "" && strings.HasPrefix(word, m.prefix))
}

// runAt returns where a run of a spaceless script that begins at byte at ends, 0 when none does.
func (m *marker) runAt(text string, at int) int {
	for _, run := range m.runs {
		to := at
		want := utf8.RuneCountInString(norm.NFC.String(run))
		for range want {
			_, size := utf8.DecodeRuneInString(text[to:])
			to += size
		}
		if fold(text[at:to]) == run {
			return to
		}
	}
	return 0
}

// wordEnd returns the end of the word that begins at byte at.
func wordEnd(text string, at int) int {
	for i, r := range text[at:] {
		if !wordRune(r) || spaceless(r) {
			return at + i
		}
	}
	return len(text)
}

// back returns the byte at most n characters before at, at the beginning of a word if there is one.
func back(text string, at, n int) int {
	from := at
	for range n {
		_, size := utf8.DecodeLastRuneInString(text[:from])
		from -= size
	}
	if from == 0 {
		return 0
	}
	if i := strings.IndexFunc(text[from:at], unicode.IsSpace); i >= 0 {
		return from + i + 1
	}
	return from
}

// forward returns the byte at most n characters after at.
func forward(text string, at, n int) int {
	for range n {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}
