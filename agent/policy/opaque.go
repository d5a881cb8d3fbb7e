package policy

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds beyond which a payload counts as one that cannot be read. Lengths are in bytes.
const (
	longURL    = 2 << 10
	longQuery  = 512
	maxPayload = 16 << 10
	maxBits    = 60  // that one word may hold beyond what language explains
	maxSum     = 128 // the same of a whole payload, and maxPerByte of a long one
	maxPerByte = 0.25
)

// unreadable reports whether text holds more than a person could read in it: keys, ciphers, encoded data. It estimates
// how many bits of each word ordinary language does not explain.
func unreadable(text string) bool {
	sum := 0.0
	for token := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("/?&=.,:;'\"()[]{}<>|!#", r)
	}) {
		bits := surprise(token)
		if bits >= maxBits {
			return true
		}
		sum += bits
	}
	return sum >= max(maxSum, maxPerByte*float64(len(text)))
}

// surprise estimates the bits of a token that language does not explain.
func surprise(token string) float64 {
	bits, mixed := 0.0, switches(token) >= 4
	for i := 0; i < len(token); {
		r, n := utf8.DecodeRuneInString(token[i:])
		j := i + n
		switch {
		case r >= '0' && r <= '9':
			for j < len(token) && token[j] >= '0' && token[j] <= '9' {
				j++
			}
			bits += 3.3 * float64(j-i)
		case r < utf8.RuneSelf && isAlnum(byte(r)):
			j = chunkEnd(token, i)
			free := (i == 0 || joins(token[i-1])) && (j == len(token) || joins(token[j]))
			if w := token[i:j]; mixed && len(w) < 8 {
				bits += 4.7 * float64(len(w))
			} else {
				bits += strangeness(w, free)
			}
		case r < utf8.RuneSelf:
			if !joins(byte(r)) {
				bits += 3
			}
		default:
			bits += foreign(r)
		}
		i = j
	}
	return bits
}

// switches counts how often letters and digits follow each other at once: in names and numbers seldom more than twice.
func switches(token string) int {
	n := 0
	for i := 1; i < len(token); i++ {
		a, b := token[i-1], token[i]
		if isAlnum(a) && isAlnum(b) && (a <= '9') != (b <= '9') {
			n++
		}
	}
	return n
}

// chunkEnd returns where the word that begins at i ends: words in camel case are several.
func chunkEnd(s string, i int) int {
	upper := func(c byte) bool { return c >= 'A' && c <= 'Z' }
	letter := func(c byte) bool { return upper(c) || (c >= 'a' && c <= 'z') }
	j := i + 1
	if upper(s[i]) && j < len(s) && upper(s[j]) {
		for j < len(s) && upper(s[j]) {
			j++
		}
		return j
	}
	for j < len(s) && letter(s[j]) && !upper(s[j]) {
		j++
	}
	return j
}

// joins reports signs that join words.
func joins(c byte) bool { return c == '-' || c == '_' || c == '+' || c == '%' }

// strangeness returns the bits of a run of Latin letters that do not read like a word. Short runs are words only where they
// stand free, not between digits and capitals.
func strangeness(w string, free bool) float64 {
	switch {
	case len(w) >= 4 && readsLikeWord(w) && (free || len(w) >= 6):
		return 0
	case len(w) >= 4 && readsLikeWord(w):
		return 2 * float64(len(w))
	case free && len(w) < 4 && (readsLikeWord(w) && len(w) == 3 || len(w) == 2 && usualPair(w) || strings.ContainsAny(w, "aeiouyAEIOUY") && len(w) == 1):
		return 1
	}
	return 4.7 * float64(len(w))
}

func usualPair(w string) bool {
	return pairs[int(w[0]|0x20-'a')*26+int(w[1]|0x20-'a')] >= '4'
}

// foreign returns the bits of a character beyond ASCII: letters of scripts with words are read, others are counted.
func foreign(r rune) float64 {
	switch {
	case r == utf8.RuneError || unicode.Is(unicode.Co, r) || hides(r):
		return 16
	case unicode.Is(unicode.M, r):
		return 1
	case r > 0xFFFF:
		return 16
	case wordless(r):
		return 2
	case unicode.IsLetter(r):
		return 0.3
	}
	return 8
}

// hides reports characters that cannot be seen, or change how others are read.
func hides(r rune) bool {
	return unicode.Is(unicode.Cf, r) || (r >= 0xFE00 && r <= 0xFE0F) || (r > unicode.MaxASCII && !unicode.IsGraphic(r))
}

// readsLikeWord reports whether a run of Latin letters could be a word of a European language, by how usual
// its pairs of letters are. Short words are given the benefit of the doubt.
func readsLikeWord(w string) bool {
	score := 0
	for i := range len(w) {
		if !isAlnum(w[i]) || w[i] <= '9' {
			return true // other scripts have other pairs
		}
		if i > 0 {
			score += int(pairs[int(w[i-1]|0x20-'a')*26+int(w[i]|0x20-'a')] - '0')
		}
	}
	return float64(score) >= usual(len(w))*float64(len(w)-1)
}

// usual is the mean of pairs that a word of n letters has at least. Of 16,000 words of text 1 to 3 % have less, of random
// letters 5 to 10 % have more, from ten letters on 3 %.
func usual(n int) float64 {
	switch {
	case n <= 2:
		return 0
	case n == 3:
		return 1.5
	case n == 4:
		return 3.5
	}
	return 4.6
}

// pairs says how much more usual than chance each pair of letters is, in rows for the first letter: 5 plus the binary logarithm of the ratio, within 0
// and 9. Counted over English documentation, with an eighth of text in nine other European languages.
const pairs = "" +
	"66761464645868050878554254520070006206105004326000507041710760651081053650003462248123711420620442521124" +
	"64776563635779354987454633500054006004106005344000305120713550152461064240010170308100600233600525501020" +
	"65757564445769752587250334600240000003004000304230006001602050440240024353000083348212841743722155631061" +
	"74127010600341660042410040736775826154256201785510413466466243566856087675631271127213501610650745500030" +
	"00000000000200000000600000745593417054557326666324546162721574544366217863203572438318822443740766634152" +
	"55546341534667450676342201600070006030005002113000005022500470010350044000000040304102300010040004000510" +
	"4130402032033254024300100140226000500420400021302041"
