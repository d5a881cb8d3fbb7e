package lexis

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxWord bounds a word, in bytes: longer runs are no words (keys, data).
const maxWord = 48

// Word is a word of a text.
type Word struct {
	Text string // folded: lower case, without diacritics
	Raw  string // as it stands there, without the ending of a contraction
	Stem string // as the index keeps it
	Stop bool   // says nothing: not in the index
}

// Words cuts a text into words, in order. Runs of Chinese, Japanese and Korean become pairs of neighbouring
// characters, which find a word inside a run without knowing words.
func Words(text string) []Word {
	raw := split(text)
	language := languageOf(raw)
	list := make([]Word, 0, len(raw))
	s := newStemmer()
	for _, r := range raw {
		if spaceless(firstRune(r)) {
			list = appendPairs(list, r)
			continue
		}
		lower := strings.ToLower(r)
		w := Word{Raw: r, Text: fold(lower)}
		w.Stop = stopword(w.Text)
		w.Stem = s.stem(lower, w.Text, language)
		list = append(list, w)
	}
	return list
}

// Index returns the words of a text as the index keeps them, a space between, how many they are, and what kind of text it is.
func Index(text string) (body string, words int, marks Marks) {
	var b strings.Builder
	b.Grow(len(text))
	list := Words(text)
	for _, w := range list {
		if w.Stop {
			continue
		}
		if words > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.Stem)
		words++
	}
	return b.String(), words, marksOf(text, list)
}

// split returns runs of letters and digits. Of a contraction the ending is left out ("Anna's", "don't").
func split(text string) []string {
	var (
		list  []string
		start = -1
	)
	end := func(at int) {
		if start >= 0 && at-start <= maxWord {
			list = append(list, text[start:at])
		}
		start = -1
	}
	skip := false // inside the ending of a contraction
	for i, r := range text {
		switch {
		case isApostrophe(r) && start >= 0:
			end(i)
			skip = ending(text[i+utf8.RuneLen(r):])
		case !wordRune(r):
			end(i)
			skip = false
		case skip:
		case start < 0:
			start = i
		case spaceless(r) != spaceless(firstRune(text[start:])):
			end(i)
			start = i
		}
	}
	end(len(text))
	return list
}

// ending reports whether what follows an apostrophe is the ending of an English contraction.
func ending(rest string) bool {
	n := strings.IndexFunc(rest, func(r rune) bool { return !wordRune(r) })
	if n < 0 {
		n = len(rest)
	}
	return n <= 2
}

func isApostrophe(r rune) bool { return r == '\'' || r == '’' }

func wordRune(r rune) bool {
	return r != unicode.ReplacementChar && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.M, r))
}

// spaceless reports whether r is of a script that puts no spaces between words.
func spaceless(r rune) bool {
	if r == 'ー' || r == 'ｰ' { // long vowels are of no script of their own
		return true
	}
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo, unicode.Thai)
}

// appendPairs adds the pairs of neighbouring characters of a run, or its only one.
func appendPairs(list []Word, run string) []Word {
	chars := []rune(norm.NFKC.String(run))
	if len(chars) == 1 {
		return append(list, Word{Text: run, Raw: run, Stem: string(chars)})
	}
	for i := range len(chars) - 1 {
		pair := string(chars[i : i+2])
		list = append(list, Word{Text: pair, Raw: pair, Stem: pair})
	}
	return list
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// fold takes the marks off letters: "Café" and "cafe" are one word. lower is in lower case.
func fold(lower string) string {
	ascii := true
	for i := range len(lower) {
		ascii = ascii && lower[i] < utf8.RuneSelf
	}
	if ascii {
		return lower
	}
	var b strings.Builder
	for _, r := range norm.NFKD.String(lower) {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r == 'ß':
			b.WriteString("ss")
		case r == 'ø':
			b.WriteByte('o')
		case r == 'ł':
			b.WriteByte('l')
		case r == 'æ':
			b.WriteString("ae")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
