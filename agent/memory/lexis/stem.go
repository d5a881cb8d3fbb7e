package lexis

import (
	"strings"

	snowball "github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/german"
)

// Language is what a text is written in, as far as that changes its stems.
type Language int

// The languages that are told apart. Unknown is stemmed as English.
const (
	Unknown Language = iota
	English
	German
)

// languageOf counts the small words of each language.
func languageOf(words []string) Language {
	t := load()
	var en, de int
	for _, w := range words {
		lower := fold(strings.ToLower(w))
		_, e := t.stopEnglish[lower]
		_, d := t.stopGerman[lower]
		if e && !d {
			en++
		}
		if d && !e {
			de++
		}
	}
	switch {
	case de > en:
		return German
	case en > 0:
		return English
	}
	return Unknown
}

// stemmer reuses the room that stemming needs. The zero value is not usable.
type stemmer struct{ env *snowball.Env }

func newStemmer() *stemmer { return &stemmer{snowball.NewEnv("")} }

// stem returns the stem of a word.
func (s *stemmer) stem(lower, folded string, language Language) string {
	if language == German {
		s.env.SetCurrent(lower)
		german.Stem(s.env)
		return fold(s.env.Current())
	}
	return s.based(folded)
}

// based returns the stem of an English word: of its base form where it is an irregular one.
func (s *stemmer) based(word string) string {
	if base, ok := load().irregular[word]; ok {
		word = base
	}
	return s.english(word)
}

func (s *stemmer) english(word string) string {
	s.env.SetCurrent(word)
	english.Stem(s.env)
	return s.env.Current()
}

// StemEnglish returns the stem of one English word.
func StemEnglish(word string) string {
	word = fold(strings.ToLower(word))
	return newStemmer().stem(word, word, English)
}

// StemGerman returns the stem of one German word.
func StemGerman(word string) string {
	word = strings.ToLower(word)
	return newStemmer().stem(word, fold(word), German)
}
