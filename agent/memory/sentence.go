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
		if r == '.' && goesOn(line[begin:i], line[end:]) {
			continue
		}
		list = appendSentence(list, line[begin:end])
		begin = end
	}
	return appendSentence(list, line[begin:])
}

// goesOn reports whether a full stop after before ends no sentence: a number in the middle of a date ("am 3. Mai"), a single
// small letter before it or a small letter after it ("z. B. morgens").
func goesOn(before, after string) bool {
	after = strings.TrimLeft(after, " \t")
	if first, _ := utf8.DecodeRuneInString(after); unicode.IsLower(first) {
		return true
	}
	day := before[strings.LastIndexFunc(before, unicode.IsSpace)+1:]
	if letter, size := utf8.DecodeRuneInString(day); size == len(day) && unicode.IsLower(letter) {
		return true
	}
	if len(day) == 0 || len(day) > 2 || strings.Trim(day, "0123456789") != "" {
		return false
	}
	end := wordEnd(after)
	switch Normal(after[:end]) {
	case "januar", "janner", "februar", "feber", "marz", "april", "mai", "juni", "juli", "august", "september", "oktober", "november", "dezember":
		return true
	}
	return false
}

func appendSentence(list []string, s string) []string {
	s = strings.TrimSpace(s)
	if !strings.ContainsFunc(s, wordRune) {
		return list
	}
	return append(list, s)
}
