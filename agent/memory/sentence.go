package memory

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sentences cuts a text into what passages are made of: a line, or a sentence of it. A place where something was
// forgotten is a sentence of its own and is not returned, so that passages of two acts never overlap in part.
func Sentences(text string) []string {
	var list []string
	for line := range strings.Lines(text) {
		for i, piece := range strings.Split(line, Blank) {
			if i > 0 {
				piece = strings.TrimLeft(piece, ".!?,;: ")
			}
			list = appendSentences(list, piece)
		}
	}
	return list
}

func appendSentences(list []string, line string) []string {
	begin := 0
	for i, r := range line {
		end := i + utf8.RuneLen(r)
		if !strings.ContainsRune(".!?…。！？", r) {
			continue
		}
		next, _ := utf8.DecodeRuneInString(line[end:])
		if r < utf8.RuneSelf && end < len(line) && !unicode.IsSpace(next) {
			continue // 3.14, example.org, "…"
		}
		list = appendSentence(list, line[begin:end])
		begin = end
	}
	return appendSentence(list, line[begin:])
}

func appendSentence(list []string, s string) []string {
	s = strings.TrimSpace(s)
	if !strings.ContainsFunc(s, wordRune) {
		return list
	}
	return append(list, s)
}
