package lexis

import (
	"embed"
	"strings"
	"sync"

	"github.com/blevesearch/snowballstem/german"
)

//go:embed data/*.txt
var data embed.FS

// tables are the word lists, by stem where they are asked by stem.
type tables struct {
	stopEnglish map[string]struct{}
	stopGerman  map[string]struct{}
	irregular   map[string]string   // form → base
	alike       map[string][]string // stem → stems that mean nearly the same
	plain       map[string]struct{} // stems
	members     map[string][]string // stem of a kind ("instrument") → stems of what is of it
}

// load reads the lists on first use: they never change.
var load = sync.OnceValue(func() *tables {
	t := &tables{
		stopEnglish: set("data/stop-en.txt"), stopGerman: set("data/stop-de.txt"),
		irregular: map[string]string{}, plain: map[string]struct{}{}, alike: map[string][]string{}, members: map[string][]string{},
	}
	for line := range lines("data/irregular.txt") {
		for _, form := range line[1:] {
			t.irregular[form] = line[0]
		}
	}
	s := newStemmer()
	stem := func(word string) string { return s.stemWith(t.irregular, word) }
	for line := range lines("data/plain.txt") {
		for _, w := range line {
			t.plain[stem(w)] = struct{}{}
			s.env.SetCurrent(w)
			german.Stem(s.env)
			t.plain[s.env.Current()] = struct{}{}
		}
	}
	for line := range lines("data/alike.txt") {
		for _, a := range line {
			for _, b := range line {
				add(t.alike, stem(a), stem(b))
			}
		}
	}
	for line := range lines("data/kinds.txt") {
		var names []string
		for i, w := range line {
			if w == ":" {
				names, line = line[:i], line[i+1:]
				break
			}
		}
		for _, name := range names {
			for _, member := range line {
				add(t.members, stem(name), stem(member))
			}
		}
	}
	return t
})

// stemWith is stem while the tables are being made.
func (s *stemmer) stemWith(irregular map[string]string, word string) string {
	if base, ok := irregular[word]; ok {
		word = base
	}
	return s.english(word)
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
func Alike(stem string) []string { return load().alike[stem] }

// Members returns stems of what is of a kind ("instrument": guitar, piano, …), in a fixed order.
func Members(stem string) []string { return load().members[stem] }

// Plain reports whether a stem is of a word that says little of what a question is about: "do", "happen", "mention".
func Plain(stem string) bool {
	_, ok := load().plain[stem]
	return ok
}
