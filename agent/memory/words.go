package memory

import (
	"slices"
	"strings"
	"unicode"

	"ash/agent"
)

const (
	// maxWords bounds the distinctive words of a statement: more of them say nothing new.
	maxWords = 12
	// maxProbe bounds the words of a text that is looked up under the tombstones.
	maxProbe = 48
	// stemLength is where a word is cut, in characters: what follows is mostly grammar.
	stemLength = 6
	// self stands for the one who speaks, whatever the word for that.
	self = "~self"
)

// word is a word of a text.
type word struct {
	stem    string
	named   bool // a name or a number, by how it is written
	common  bool // a verb or the like that half of all statements have
	isSelf  bool
	nothing bool // of grammar only
}

// wordsOf takes a text apart. A run of a script without spaces gives its pairs of characters.
func wordsOf(text string) []word {
	var list []word
	first := true // of a sentence
	for i := 0; i < len(text); {
		end := wordEnd(text[i:])
		if end == 0 {
			r, size := rune(text[i]), 1
			for _, c := range text[i:] {
				r, size = c, len(string(c))
				break
			}
			if strings.ContainsRune(".!?\n。！？:", r) {
				first = true
			}
			i += size
			continue
		}
		list = append(list, readWord(text[i:i+end], first)...)
		first = false
		i += end
	}
	return list
}

// wordEnd returns the length of the word that s begins with, 0 for none.
func wordEnd(s string) int {
	var own, begun bool
	for i, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.Is(unicode.Mn, r) {
			return i
		}
		if begun && !unicode.Is(unicode.Mn, r) && spaceless(r) != own {
			return i
		}
		if !begun {
			own, begun = spaceless(r), true
		}
	}
	return len(s)
}

func readWord(s string, first bool) []word {
	runes := []rune(s)
	if spaceless(runes[0]) {
		folded := []rune(Normal(s))
		if len(folded) < 2 {
			return []word{{stem: string(folded)}}
		}
		var list []word
		for i := range len(folded) - 1 {
			list = append(list, word{stem: string(folded[i : i+2]), named: true})
		}
		return list
	}
	folded := Normal(s)
	if folded == "" {
		return nil
	}
	w := word{stem: stem(folded)}
	w.named = strings.ContainsFunc(s, unicode.IsNumber) || !first && unicode.IsUpper(runes[0]) && len(runes) > 1
	_, w.isSelf = selfWords()[folded]
	_, w.nothing = grammar()[folded]
	_, w.common = commonStems()[w.stem]
	return []word{w}
}

// stem cuts the grammar off a folded word. What is left is a beginning of it, so that an index of whole words can be
// asked for what begins so.
func stem(w string) string {
	r := []rune(w)
	for _, ending := range []string{"ings", "ing", "ies", "ied", "ic", "ed", "es", "en", "er", "s", "y", "e", "n"} {
		if e := []rune(ending); len(r) >= len(e)+3 && strings.HasSuffix(string(r), ending) {
			r = r[:len(r)-len(e)]
			break
		}
	}
	if len(r) > 3 && r[len(r)-1] == 'e' {
		r = r[:len(r)-1]
	}
	return string(r[:min(len(r), stemLength)])
}

// gist is what tells a statement from others.
type gist struct {
	words   []string // stems, each once
	values  []string // those of them that it says about its subject: all, when none stands out
	telling []string // values without the name it begins with, where there are others: that is whom it is about
}

// gistOf finds the distinctive words of a fact.
func gistOf(f agent.Fact) gist {
	all := wordsOf(f.Text)
	var g gist
	add := func(keep func(word) bool) {
		for _, w := range all {
			if !w.nothing && !w.isSelf && keep(w) && !slices.Contains(g.words, w.stem) && len(g.words) < maxWords {
				g.words = append(g.words, w.stem)
			}
		}
	}
	add(func(w word) bool { return w.named })
	add(func(w word) bool { return !w.common })
	if len(g.words) < 2 {
		add(func(word) bool { return true })
		if slices.ContainsFunc(all, func(w word) bool { return w.isSelf }) || f.Subject == "" {
			g.words = append(g.words, self)
		}
	}
	subject := stemsOf(f.Subject)
	names := []string{}
	for _, e := range f.Entities {
		if FoldName(e.Name) != FoldName(f.Subject) {
			names = append(names, stemsOf(e.Name)...)
		}
	}
	for _, w := range g.words {
		named := slices.ContainsFunc(all, func(x word) bool { return x.stem == w && x.named })
		if (named || slices.Contains(names, w)) && !slices.Contains(subject, w) {
			g.values = append(g.values, w)
		}
	}
	if len(g.values) == 0 {
		for _, w := range g.words {
			if !slices.Contains(subject, w) && w != self {
				g.values = append(g.values, w)
			}
		}
	}
	if len(g.values) == 0 {
		g.values = g.words
	}
	g.telling = g.values
	name := firstName(all, g.values)
	if rest := slices.DeleteFunc(slices.Clone(g.values), func(v string) bool { return slices.Contains(name, v) }); len(rest) > 0 {
		g.telling = rest
	}
	return g
}

// firstName returns the words of the first name among values, which is most likely whom a statement is about: "Hannah Lang".
func firstName(all []word, values []string) []string {
	var name []string
	for _, w := range all {
		named := w.named && slices.Contains(values, w.stem)
		if !named && len(name) > 0 {
			break
		}
		if named {
			name = append(name, w.stem)
		}
	}
	return name
}

// same reports whether a text that has these hits says no more than the gist, or all of it: another name or number beside those they
// share, in both of them, makes it another statement about the same.
func (g gist) same(text string, hits []string) bool {
	if !g.says(hits) {
		return false
	}
	lacks := func(words []string) func(string) bool {
		return func(w string) bool { return !slices.Contains(words, w) }
	}
	return !slices.ContainsFunc(g.values, lacks(hits)) || !slices.ContainsFunc(gistOf(agent.Fact{Text: text}).values, lacks(g.words))
}

func stemsOf(text string) []string {
	var list []string
	for _, w := range wordsOf(text) {
		list = append(list, w.stem)
	}
	return list
}

// spoken returns the words without the stand-in for the speaker: what can be searched for.
func (g gist) spoken() []string {
	return slices.DeleteFunc(slices.Clone(g.words), func(w string) bool { return w == self })
}

// pairs returns the word pairs that a paraphrase of the statement would have: those with a value in them.
func (g gist) pairs() []string {
	var list []string
	for i, a := range g.words {
		for _, b := range g.words[i+1:] {
			if slices.Contains(g.values, a) || slices.Contains(g.values, b) {
				list = append(list, pair(a, b))
			}
		}
	}
	return list
}

// probe returns every word pair of a text, to be looked up.
func probe(text string) []string {
	words := []string{}
	add := func(s string) {
		if !slices.Contains(words, s) && len(words) < maxProbe {
			words = append(words, s)
		}
	}
	all := wordsOf(text)
	for _, w := range all {
		if w.isSelf {
			add(self)
		}
	}
	for _, named := range []bool{true, false} {
		for _, w := range all {
			if w.named == named && !w.nothing && !w.isSelf {
				add(w.stem)
			}
		}
	}
	var list []string
	for i, a := range words {
		for _, b := range words[i+1:] {
			list = append(list, pair(a, b))
		}
	}
	return list
}

func pair(a, b string) string {
	if b < a {
		a, b = b, a
	}
	return a + " " + b
}

// hits returns which of the gist's words a text has.
func (g gist) hits(text string) []string {
	var list []string
	for _, w := range wordsOf(text) {
		if slices.Contains(g.words, w.stem) && !slices.Contains(list, w.stem) {
			list = append(list, w.stem)
		}
	}
	return list
}

// says reports whether words of the gist are enough of it to say the same: a value, and half of what can be said in words.
func (g gist) says(hits []string) bool {
	sayable := len(g.spoken())
	if !g.names(hits) {
		return false
	}
	return len(hits) >= 2 && 2*len(hits) >= sayable || len(hits) >= sayable
}

// names reports whether a value is among the words.
func (g gist) names(hits []string) bool {
	return slices.ContainsFunc(hits, func(w string) bool { return slices.Contains(g.values, w) })
}

// tells reports whether a value that is not merely whom it is about is among the words.
func (g gist) tells(hits []string) bool {
	return slices.ContainsFunc(hits, func(w string) bool { return slices.Contains(g.telling, w) })
}

// Mentions returns how many of the words (stems, as in Trail.Saying) a text has.
func Mentions(text string, words []string) int {
	return len(gist{words: words}.hits(text))
}
