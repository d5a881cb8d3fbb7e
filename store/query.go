package store

import (
	"strings"
	"unicode"

	"ash/agent"
)

const (
	// maxTerms and maxTerm bound a query: more words, or longer ones, are not looked at.
	maxTerms = 16
	maxTerm  = 64 // bytes
	// minPrefix is the shortest last word that is taken as a beginning; the index
	// keeps beginnings of two and three characters ready.
	minPrefix = 2
)

// term is a word of a query, or a run of characters of a spaceless script.
type term struct {
	text      string // as typed
	spaceless bool
}

// terms takes the words out of what a person typed. Everything that is not a
// letter, a digit or a mark on one only separates.
func terms(query string) []term {
	var (
		list  []term
		start = -1
		own   bool
	)
	end := func(at int) {
		if start >= 0 {
			list = append(list, term{text: agent.Clip(query[start:at], maxTerm), spaceless: own})
			start = -1
		}
	}
	for i, r := range query {
		if len(list) == maxTerms {
			return list
		}
		switch {
		case !wordRune(r):
			end(i)
		case start < 0:
			start, own = i, spaceless(r)
		case spaceless(r) != own && !unicode.Is(unicode.M, r):
			end(i)
			start, own = i, spaceless(r)
		}
	}
	end(len(query))
	return list[:min(len(list), maxTerms)]
}

func wordRune(r rune) bool {
	return r != unicode.ReplacementChar && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.M, r) || unicode.Is(unicode.Co, r))
}

// matches returns the full-text queries for list, best first: the words side by side and
// whole, then all of them anywhere, the last one as a beginning. What the person
// typed stands inside quotes only (https://www.sqlite.org/fts5.html#fts5_strings).
func matches(list []term) []string {
	if len(list) == 0 {
		return nil
	}
	words := make([]string, len(list))
	for i, t := range list {
		words[i] = quotable(t)
	}
	exact := `"` + strings.Join(words, " ") + `"`
	for i, w := range words {
		words[i] = `"` + w + `"`
	}
	if last := list[len(list)-1]; prefix(last) {
		words[len(words)-1] += "*"
	}
	loose := strings.Join(words, " AND ")
	if loose == exact {
		return []string{exact}
	}
	return []string{exact, loose}
}

// prefix reports whether the last term of a query is taken as a beginning.
func prefix(t term) bool {
	return !t.spaceless && len([]rune(t.text)) >= minPrefix
}

func quotable(t term) string {
	text := strings.ReplaceAll(clean(t.text), `"`, " ")
	if t.spaceless {
		return searchable(text)
	}
	return text
}
