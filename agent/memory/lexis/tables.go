package lexis

import (
	"embed"
	"slices"
	"strings"
	"sync"

	"github.com/blevesearch/snowballstem/german"
)

//go:embed data/*.txt
var data embed.FS

// small are the word lists that every text is read with, as they are written.
type small struct {
	stopEnglish map[string]struct{}
	stopGerman  map[string]struct{}
	irregular   map[string]string // form → base
}

// load reads them on first use: they never change.
var load = sync.OnceValue(func() *small {
	t := &small{stopEnglish: set("data/stop-en.txt"), stopGerman: set("data/stop-de.txt"), irregular: map[string]string{}}
	for line := range lines("data/irregular.txt") {
		for _, form := range line[1:] {
			t.irregular[form] = line[0]
		}
	}
	return t
})

// tables are the word lists that questions are widened with, by stem.
type tables struct {
	alike   map[string][]string // stem → stems that mean nearly the same
	plain   map[string]struct{} // stems
	members map[string][]string // stem of a kind ("instrument") → stems of what is of it
}

// loadStems reads them on first use: a text is taken up without them, and stemming 2,000 words takes a while.
var loadStems = sync.OnceValue(func() *tables {
	t := &tables{plain: map[string]struct{}{}, alike: map[string][]string{}, members: map[string][]string{}}
	s := newStemmer()
	for line := range lines("data/plain.txt") {
		for _, w := range line {
			t.plain[s.based(w)] = struct{}{}
			s.env.SetCurrent(w)
			german.Stem(s.env)
			t.plain[s.env.Current()] = struct{}{}
		}
	}
	for line := range lines("data/alike.txt") {
		stems := s.all(line)
		for _, a := range stems {
			for _, b := range stems {
				add(t.alike, a, b)
			}
		}
	}
	for line := range lines("data/kinds.txt") {
		colon := slices.Index(line, ":")
		members := s.all(line[colon+1:])
		for _, name := range s.all(line[:max(0, colon)]) {
			for _, member := range members {
				add(t.members, name, member)
			}
		}
	}
	return t
})

// all returns the stems of words.
func (s *stemmer) all(words []string) []string {
	stems := make([]string, len(words))
	for i, w := range words {
		stems[i] = s.based(w)
	}
	return stems
}

// add notes that b goes with a, once.
func add(m map[string][]string, a, b string) {
	if a == b {
		return
	}
	for _, have := range m[a] {
		if have == b {
			return
		}
	}
	m[a] = append(m[a], b)
}

// lines yields the words of each line of a list. "#" begins a remark.
func lines(name string) func(yield func([]string) bool) {
	text, err := data.ReadFile(name)
	if err != nil {
		panic(err) // embedded: it is there, or the binary was not built
	}
	return func(yield func([]string) bool) {
		for line := range strings.Lines(string(text)) {
			line, _, _ = strings.Cut(line, "#")
			if words := strings.Fields(line); len(words) > 0 && !yield(words) {
				return
			}
		}
	}
}

func set(name string) map[string]struct{} {
	m := map[string]struct{}{}
	for line := range lines(name) {
		for _, w := range line {
			m[w] = struct{}{}
		}
	}
	return m
}

func stopword(folded string) bool {
	t := load()
	_, en := t.stopEnglish[folded]
	if en {
		return true
	}
	_, de := t.stopGerman[folded]
	return de && len(folded) > 1
}

// Alike returns stems of words that mean nearly the same as the one with the given stem, in a fixed order.
func Alike(stem string) []string { return loadStems().alike[stem] }

// Members returns stems of what is of a kind ("instrument": guitar, piano, …), in a fixed order.
func Members(stem string) []string { return loadStems().members[stem] }

// Plain reports whether a stem is of a word that says little of what a question is about: "do", "happen", "mention".
func Plain(stem string) bool {
	_, ok := loadStems().plain[stem]
	return ok
}
