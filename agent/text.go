package agent

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// FirstWords returns the beginning of text on one line, at most limit
// characters, cut at a word where there is one.
func FirstWords(text string, limit int) string {
	text = strings.Join(strings.FieldsFunc(Clip(text, 16*limit), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	runes := []rune(text)[:limit-1]
	cut := string(runes)
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)/2 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,.;:–—-") + "…"
}

// Clip returns at most n bytes of s, cut at a character.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
