package webfetch

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean takes out what does not belong in a text: control characters but line feed and tab, and broken UTF-8. Line
// ends become line feeds. Invisible characters that are no controls stay: the guard is to see them.
func clean(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// window is a part of a text, counted in characters.
type window struct {
	text              string
	start, end, total int
}

// cutWindow returns at most length characters and resultBytes bytes of text from character start on. It ends at the
// end of a line where one is near. start beyond the end is errBeyond, with the total filled in.
func cutWindow(text string, start, length int) (window, error) {
	w := window{start: start, total: utf8.RuneCountInString(text)}
	if start >= w.total {
		return w, errBeyond
	}
	from := offset(text, start)
	to := min(from+offset(text[from:], length), from+resultBytes)
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to--
	}
	if to < len(text) {
		if i := strings.LastIndexByte(text[from:to], '\n'); i > (to-from)*9/10 {
			to = from + i + 1
		}
	}
	w.text = text[from:to]
	w.end = start + utf8.RuneCountInString(w.text)
	return w, nil
}

// offset returns the byte at which character n of text begins, len(text) when it has fewer.
func offset(text string, n int) int {
	if n >= len(text) {
		return len(text)
	}
	for i := range text {
		if n == 0 {
			return i
		}
		n--
	}
	return len(text)
}
