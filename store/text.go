package store

import (
	"strings"
	"unicode"

	"ash/agent"
)

const (
	// maxSearchable bounds how much of one message the search knows, in bytes.
	maxSearchable = 256 << 10
	// maxPreview is the length of a message's beginning in lists, in characters.
	maxPreview = 120
)

// searchable returns text as the full-text index gets it: every character of a
// script that writes without spaces between words is set apart by one, so that
// it is a word of its own and a phrase finds any run of them.
func searchable(text string) string {
	text = agent.Clip(text, maxSearchable)
	if !strings.ContainsFunc(text, spaceless) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + len(text)/3)
	apart := false // the last character written needs a space behind it
	for _, r := range text {
		own := spaceless(r)
		if apart || (own && b.Len() > 0) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		apart = own
	}
	return b.String()
}

// spaceless reports whether r is of Chinese, Japanese or Korean script.
func spaceless(r rune) bool {
	if r == 'ー' || r == 'ｰ' { // long vowels are of no script of their own
		return true
	}
	return r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo)
}

// preview returns the beginning of text on one line, without the marks of Markdown.
func preview(text string) string {
	// Four bytes a character and room for white space that is folded.
	line := []rune(strings.Join(strings.Fields(unmarked(agent.Clip(text, 16*maxPreview))), " "))
	if len(line) > maxPreview {
		line = append(line[:maxPreview-1], '…')
	}
	return string(line)
}

// unmarked takes from Markdown what is only shape: the marks that begin a line,
// emphasis, code marks, and the addresses of links.
func unmarked(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(line, " \t#>")
		for _, bullet := range []string{"- ", "* ", "+ "} {
			line = strings.TrimPrefix(line, bullet)
		}
		b.WriteString(line)
	}
	text = strings.NewReplacer("**", "", "*", "", "`", "", "~~", "").Replace(b.String())
	b.Reset()
	for {
		name, rest, found := strings.Cut(text, "](")
		address := strings.IndexByte(rest, ')')
		open := strings.LastIndexByte(name, '[')
		if !found || address < 0 || open < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(strings.TrimSuffix(name[:open], "!") + name[open+1:])
		text = rest[address+1:]
	}
}
