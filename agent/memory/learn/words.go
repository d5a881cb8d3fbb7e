package learn

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"ash/agent/memory"
)

// emptyWords say nothing by themselves, as memory.Normal writes them: English and German.
var emptyWords = setOf(`a an and are as at be been but by did do does for from had has have he her his i in is it its me my of on or our she so that the
	their them they this to was we were will with you your am im s t m re ve ll d than then there these those about into also just very really
	der die das den dem des ein eine einen einem einer und oder aber ich du er sie es wir ihr mein meine meinen meinem meiner dein deine sein seine ist
	sind war waren bin bist hat habe haben hatte im am in an auf bei mit zu zum zur von vom fur dass so auch nur sehr mich mir dich dir sich uns
	s owner person user besitzer nutzer`)

// negators turn a statement round.
var negators = setOf(`not no never none without neither nor cannot cant dont doesnt didnt isnt arent wasnt wont nicht kein keine keinen keinem keiner nie niemals
	ohne nichts weder`)

// setOf is the set of some words, made when it is first asked for.
func setOf(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		out := map[string]bool{}
		for _, w := range strings.Fields(words) {
			out[w] = true
		}
		return out
	})
}

// plainWords returns the words of a text as they are compared: folded, "don't" as "dont".
func plainWords(text string) []string {
	text = strings.NewReplacer("'", "", "’", "").Replace(text)
	return strings.Fields(memory.Normal(text))
}

// terms returns the words that say something, each once.
func terms(text string) []string {
	var out []string
	for _, w := range plainWords(text) {
		if !emptyWords()[w] && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// negated reports whether a text holds a word that turns it round.
func negated(text string) bool {
	return slices.ContainsFunc(plainWords(text), func(w string) bool { return negators()[w] })
}

// root cuts the grammar off a folded word.
func root(w string) string {
	r := []rune(w)
	if len(r) > 5 {
		return string(r[:5])
	}
	if len(r) > 3 && (r[len(r)-1] == 's' || r[len(r)-1] == 'e' || r[len(r)-1] == 'n') {
		return string(r[:len(r)-1])
	}
	return w
}

// vocabulary is the roots of the words of some texts.
type vocabulary map[string]bool

func vocabularyOf(texts ...string) vocabulary {
	v := vocabulary{}
	for _, t := range texts {
		for _, w := range plainWords(t) {
			v[root(w)] = true
		}
	}
	return v
}

// has reports whether a word stands in v, by its root.
func (v vocabulary) has(w string) bool { return v[root(w)] }

// shares reports whether a and b have a word in common that says something.
func shares(a, b string) bool {
	v := vocabulary{}
	for _, w := range terms(a) {
		v[root(w)] = true
	}
	return slices.ContainsFunc(terms(b), v.has)
}

// numeric reports whether a word has a digit in it.
func numeric(w string) bool { return strings.ContainsFunc(w, unicode.IsDigit) }

// grounded reports whether a statement says nothing that the words it rests on do not: every number and name of it
// stands there, most of its other words too, and it is not turned round. quote is the passage it is said to rest on, own
// all of what the person said.
func grounded(statement, quote, own string) bool {
	v := vocabularyOf(own)
	list := terms(statement)
	if len(list) == 0 || negated(statement) != negated(afterNo(quote)) {
		return false
	}
	if !shares(statement, quote) {
		return false
	}
	names := namesIn(statement)
	known := 0
	for _, w := range list {
		switch {
		case v.has(w):
			known++
		case numeric(w) && !datelike(w), slices.Contains(names, w):
			return false
		}
	}
	return 3*known >= 2*len(list)
}

// noes are said before a statement that puts something right: they turn round what was there, not what comes.
var noes = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, s := range []string{
		"no", "nope", "no" + " no", "no wait", "not quite", "not right", "not true", "thats not right", "thats not true", "thats not correct", "that is not right",
		"that is not true", "that is not correct", "that isnt right", "that isnt true", "not any more", "not anymore",
		"nein", "no nein", "stimmt nicht", "das stimmt nicht", "stimmt so nicht", "das stimmt so nicht", "nicht ganz", "nicht richtig", "das ist nicht richtig", "nicht mehr",
	} {
		out[s] = true
	}
	return out
})

// afterNo returns what follows such a word.
func afterNo(text string) string {
	i := strings.IndexAny(text, ",:;.!–")
	if i > 0 && noes()[strings.Join(plainWords(text[:i]), " ")] {
		return text[i:]
	}
	return text
}

// datelike reports numbers that a date may bring in where the person said "tomorrow".
func datelike(w string) bool {
	n := 0
	for _, r := range w {
		if r < '0' || r > '9' {
			return false
		}
		n = n*10 + int(r-'0')
		if n > 2100 {
			return false
		}
	}
	return n <= 31 || n >= 1900
}

// namesIn returns the folded words that are written as names: with a capital that no beginning of a sentence explains.
func namesIn(text string) []string {
	var out []string
	begin := true
	for _, f := range strings.Fields(text) {
		word := strings.TrimFunc(f, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if word != "" && !begin {
			if r := []rune(word); unicode.IsUpper(r[0]) && word != "I" && !strings.HasPrefix(word, "I'") && !strings.HasPrefix(word, "I’") {
				out = append(out, plainWords(word)...)
			}
		}
		begin = strings.HasSuffix(f, ".") || strings.HasSuffix(f, "!") || strings.HasSuffix(f, "?") || strings.HasSuffix(f, ":")
	}
	return out
}
