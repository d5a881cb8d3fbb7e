package recall

import (
	"slices"
	"strings"
	"time"

	"ash/agent/memory/lexis"
)

const (
	// maxTerms bounds the words of a question that are looked for, maxVariants what each may stand for.
	maxTerms    = 16
	maxVariants = 28
)

// term is a word of a question, with what may stand in its place.
type term struct {
	word     string
	weight   float64 // how much the word counts in this question
	variants []variant
}

// variant is a stem to look for.
type variant struct {
	stem   string
	weight float64 // 1 for the word itself
	why    string  // the word it stands for, "" for the word itself
}

// wants is the kind of answer a question asks for.
type wants int

const (
	wantsTime wants = 1 << iota
	wantsNumber
	wantsPlace
)

// question is what a query asks for.
type question struct {
	terms    []term
	speakers []int32 // whom it names, as the outline numbers them, in order
	spans    []lexis.Span
	wants    wants
}

// analyse takes a query apart. speakers are the names of those who speak in the index, folded.
func analyse(query string, speakers map[string][]int32, now time.Time, w weights) question {
	words := lexis.Words(query)
	q := question{spans: lexis.Spans(words, now), wants: wantsOf(words)}
	dates := map[int]bool{}
	for _, s := range q.spans {
		for i := s.Words[0]; i < s.Words[1]; i++ {
			dates[i] = true
		}
	}
	seen := map[string]bool{}
	for i, word := range words {
		if names := speakers[word.Text]; len(names) > 0 && !word.Stop {
			for _, n := range names {
				if !slices.Contains(q.speakers, n) {
					q.speakers = append(q.speakers, n)
				}
			}
			continue
		}
		if word.Stop || seen[word.Stem] || len(q.terms) == maxTerms {
			continue
		}
		seen[word.Stem] = true
		t := term{word: word.Text, weight: 1, variants: variants(word, w)}
		if i+1 < len(words) {
			t.variants = together(t.variants, compound(word, words[i+1], w))
		}
		switch {
		case dates[i]:
			t.weight = w.dateWord
		case asking(words, i):
			t.weight = w.askingWord
		case lexis.Plain(word.Stem):
			t.weight = w.plainWord
		case word.Raw != word.Text && i > 0: // a name, most likely
			t.weight = w.nameWord
		}
		q.terms = append(q.terms, t)
	}
	return q
}

// variants returns what to look for in place of a word.
func variants(word lexis.Word, w weights) []variant {
	list := []variant{{stem: word.Stem, weight: 1}}
	put := func(stem string, weight float64) {
		if len(list) < maxVariants && stem != "" && !slices.ContainsFunc(list, func(v variant) bool { return v.stem == stem }) {
			list = append(list, variant{stem: stem, weight: weight, why: word.Text})
		}
	}
	put(lexis.StemGerman(word.Raw), 0.9)
	put(lexis.StemEnglish(word.Text), 0.9)
	for _, s := range lexis.Alike(word.Stem) {
		put(s, w.alike)
	}
	for _, s := range lexis.Members(word.Stem) {
		put(s, w.member)
	}
	return list
}

// partOf is how much a word counts by itself when with the next one it is a word of its own: who works out is not at work.
const partOf = 0.4

// together puts what a word and the next are as one before what it is alone.
func together(alone, joined []variant) []variant {
	if len(joined) == 0 {
		return alone
	}
	for i := range alone {
		alone[i].weight *= partOf
	}
	list := slices.Concat(joined, alone)
	return list[:min(len(list), maxVariants)]
}

// compound returns what to look for when two words are one that is known: "work out", "camp fire".
func compound(a, b lexis.Word, w weights) []variant {
	stem := lexis.StemEnglish(a.Text + b.Text)
	alike, members := lexis.Alike(stem), lexis.Members(stem)
	if len(alike)+len(members) == 0 {
		return nil
	}
	why := a.Text + " " + b.Text
	list := []variant{{stem: stem, weight: 0.9, why: why}}
	for _, s := range alike {
		list = append(list, variant{stem: s, weight: w.alike, why: why})
	}
	for _, s := range members {
		list = append(list, variant{stem: s, weight: w.member, why: why})
	}
	return list
}

// wantsOf reads the words that ask.
func wantsOf(words []lexis.Word) wants {
	var w wants
	for i, word := range words {
		next := ""
		if i+1 < len(words) {
			next = words[i+1].Text
		}
		switch word.Text {
		case "when", "wann":
			w |= wantsTime
		case "how":
			switch next {
			case "long":
				w |= wantsTime | wantsNumber
			case "many", "much", "old", "often":
				w |= wantsNumber
			}
		case "which", "what", "welches", "welchem":
			switch next {
			case "year", "month", "day", "date", "time", "week", "weekend", "jahr", "monat", "tag":
				w |= wantsTime
			}
		case "where", "wo", "wohin", "woher":
			w |= wantsPlace
		case "since", "seit":
			w |= wantsTime
		case "wieviel", "wieviele", "wie":
			if word.Text != "wie" || strings.HasPrefix(next, "viel") {
				w |= wantsNumber
			}
		}
	}
	return w
}

// asking reports whether the word at i says what kind of answer is wanted rather than what it is about: "what kind of",
// "which month".
func asking(words []lexis.Word, i int) bool {
	switch words[i].Stem {
	case "kind", "type", "sort", "name", "way", "time", "date", "year", "month", "exampl":
	default:
		return false
	}
	for _, w := range words[max(0, i-3):i] {
		switch w.Text {
		case "what", "which", "how", "some":
			return true
		}
	}
	return false
}
