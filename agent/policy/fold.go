package policy

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Folding takes away what can be changed in a text without changing what it says: case, accents, look-alike
// letters, blanks, punctuation. What is left are letters and digits. Private texts are folded once, with their words
// weighed by how much they give away; payloads are folded letter by letter, so that a match can be shown where it stands.

// word is a word of a folded text.
type word struct {
	at     uint32 // where it begins
	weight uint8  // in quarters: see weigh
}

// folded is a private text made ready for comparison.
type folded struct {
	text  []byte // followed by pad zero bytes
	words []word
	inner []uint32 // further places within long words of the kind keys are made of, where a piece of one may begin
	size  int      // without the padding
}

const pad = 8

// Weights are in quarters of an ordinary word.
const (
	weightStop   = 2
	weightWord   = 4
	weightName   = 9
	weightSecret = 20
	innerStep    = 4
)

// foldText folds a private text.
func foldText(text string) *folded {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			text = norm.NFKD.String(text)
			break
		}
	}
	f := &folded{text: make([]byte, 0, len(text)+pad), words: make([]word, 0, len(text)/6+1)}
	var (
		start    = -1 // of the word in text
		from     int  // the same in f.text
		sentence = true
		spread   = false // the last separator within an address
	)
	end := func(to int) {
		if start < 0 {
			return
		}
		w := word{at: uint32(from), weight: weigh(text[start:to], sentence, len(f.text)-from)} //nolint:gosec // texts are far below 4 GB
		if spread {
			w.weight = max(w.weight, weightName)
		}
		f.words = append(f.words, w)
		if w.weight >= weightSecret {
			for at := from + innerStep; at+pad <= len(f.text); at += innerStep {
				f.inner = append(f.inner, uint32(at)) //nolint:gosec // as above
			}
		}
		start, sentence = -1, false
	}
	for i, r := range text {
		switch {
		case r < utf8.RuneSelf && !isAlnum(byte(r)):
			end(i)
			spread = r == '@'
			if r == '.' || r == '!' || r == '?' || r == '\n' {
				sentence = true
			}
			continue
		case r >= utf8.RuneSelf && unicode.Is(unicode.M, r):
			continue
		case r >= utf8.RuneSelf && !unicode.IsLetter(r) && !unicode.IsNumber(r):
			end(i)
			spread = false
			continue
		}
		if start >= 0 && (wordless(r) || len(f.text)-from >= maxWord) {
			end(i)
		}
		if start < 0 {
			start, from = i, len(f.text)
		}
		f.text = appendFolded(f.text, r)
	}
	end(len(text))
	f.size = len(f.text)
	f.text = append(f.text, make([]byte, pad)...)
	return f
}

// maxWord is where a run of letters is taken apart, in bytes.
const maxWord = 64

func isAlnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// wordless reports letters of scripts that do not separate words: each counts as one.
func wordless(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// appendFolded appends a letter or digit without case, accent and script.
func appendFolded(to []byte, r rune) []byte {
	if r < utf8.RuneSelf {
		c := byte(r)
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		return append(to, c)
	}
	r = unicode.ToLower(r)
	if same, ok := lookalike(r); ok {
		return append(to, same)
	}
	if r == 'ß' {
		return append(to, "ss"...)
	}
	return utf8.AppendRune(to, r)
}

// lookalike returns the Latin letter or the digit that r is drawn like.
func lookalike(r rune) (byte, bool) {
	const drawn, like = "аеорсхуіѕјкмтвнοανικρτυχεβηıłøđħ", "aeopcxyisjkmtbhoavikptuxebhilodh"
	if r > 0x04FF {
		return 0, false
	}
	if i := strings.IndexRune(drawn, r); i >= 0 {
		return like[utf8.RuneCountInString(drawn[:i])], true
	}
	return 0, false
}

// foldRune appends what a letter or digit of a payload folds to; nothing for all other characters.
func foldRune(to []byte, r rune) []byte {
	if r < utf8.RuneSelf {
		if isAlnum(byte(r)) {
			return appendFolded(to, r)
		}
		return to
	}
	if r == utf8.RuneError {
		return to
	}
	for _, d := range norm.NFKD.String(string(r)) {
		switch {
		case d < utf8.RuneSelf && !isAlnum(byte(d)):
		case unicode.IsLetter(d), unicode.IsNumber(d), d < utf8.RuneSelf:
			to = appendFolded(to, d)
		}
	}
	return to
}

// weigh says how much a word of a private text gives away, in quarters. A name says more than an ordinary word, a long number or what looks like a
// key says enough by itself. sentence says that the word begins one, where a capital means nothing.
func weigh(w string, sentence bool, size int) uint8 {
	letters, numbers, upper := 0, 0, 0
	for _, r := range w {
		switch {
		case r >= '0' && r <= '9':
			numbers++
		case unicode.IsUpper(r):
			upper++
			letters++
		case !unicode.Is(unicode.M, r):
			letters++
		}
	}
	switch {
	case numbers > 0 && letters > 0:
		switch {
		case size >= 8:
			return weightSecret
		case size >= 5:
			return 12
		}
		return 8
	case numbers >= 8:
		return weightSecret
	case numbers >= 6:
		return 16
	case numbers == 4 && (strings.HasPrefix(w, "19") || strings.HasPrefix(w, "20")):
		return weightWord // a year
	case numbers >= 4:
		return 10
	case numbers > 0:
		return weightWord
	case size >= 8 && !readsLikeWord(w):
		return weightSecret
	case stopWord(w):
		return weightStop
	case upper > 0 && (!sentence || upper > 1):
		return weightName
	case size >= 8:
		return weightWord + 1
	}
	return weightWord
}

// stopWord reports words that say nothing by themselves.
func stopWord(w string) bool {
	if len(w) > 6 {
		return false
	}
	return strings.Contains(stopWords, " "+strings.ToLower(w)+" ")
}

const stopWords = " a an and are as at be been but by can could did do does for from had has have he her him his how i if in into is it its " +
	"just let like may me more most my no nor not of off on one only or other our out over own said same she should so some such than that " +
	"the their them then there these they this those to too two up us very was we were what when where which while who why will with would you your " +
	"der die das und ist ein eine einen dem den des mit von zu im in auf für nicht auch sich es ich du er sie wir ihr " +
	"le la les de des du et est un une en que qui dans pour pas sur au aux ce il elle je tu nous vous " +
	"el los las y es una con por para no se lo al del como su mi si o e di il che per non sono da i na nie to w z do " +
	"http https www com org net html the new get set use see way all any day now "
