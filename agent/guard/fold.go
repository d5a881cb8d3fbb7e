package guard

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// folding maps a character to what it is read as: lower case, without marks, compatibility forms and look-alikes of
// Latin letters made equal (after the skeletons of Unicode TS #39, in small). Lexicon and text go through the same mapping, so it only
// matters that it is the same.
type folding struct {
	table [0x3000][2]rune // up to two characters; 0 for none, drop for invisible ones
}

const (
	drop  rune = -1 // invisible: does not even separate words
	space rune = -2 // separates words
)

// lookAlikes are letters of other scripts that are drawn like Latin ones.
const (
	lookAlikes = "аaеeоoрpсcуyхxіiјjѕsԁdһhкkмmтtвbнhԛqԝwɡgɑaαaοoρpνvιiκkτtυuεeηnχxγyωwσoβbѵvӏlԍgոnօoսuհhքfɩiıiſsʟlᴀaʙbᴄcᴅdᴇeꜰfɢgʜhɪiᴊjᴋkᴍmɴnᴏoᴘpʀrꜱsᴛtᴜuᴠvᴡwʏyᴢzøołlđdħhŧtƒfɓbɗdɛeɔoəeɣyʋvɨiʉuᎪaᎬeᏒrᏔwᎻhᎷmᎳwᏢpᏚsᏞlᏟcᎠdᎢtᏙvᎩyᏃzᏀgᏴbᏦkᎫjꓮaꓰeꓲiꓳoꓴu"
	doubles    = "ßssæaeœoeþth"
)

// newFolding computes the table: a few thousand small steps.
func newFolding() *folding {
	f := &folding{}
	alike := map[rune]rune{}
	for p := []rune(lookAlikes); len(p) >= 2; p = p[2:] {
		alike[p[0]] = p[1]
		alike[unicode.ToLower(p[0])] = p[1]
	}
	for r := rune(0x20); r < 0x3000; r++ {
		out := compute(r)
		for i, c := range out {
			if a, ok := alike[c]; ok {
				out[i] = latin(a)
			}
		}
		f.table[r] = out
	}
	for p := []rune(doubles); len(p) >= 3; p = p[3:] {
		f.table[p[0]] = [2]rune{latin(p[1]), latin(p[2])}
		if up := unicode.ToUpper(p[0]); up < 0x3000 && up >= utf8.RuneSelf {
			f.table[up] = f.table[p[0]]
		}
	}
	return f
}

// compute decomposes one character.
func compute(r rune) [2]rune {
	if invisible(r) {
		return [2]rune{drop}
	}
	var out [2]rune
	n := 0
	for _, d := range norm.NFKD.String(string(r)) {
		switch {
		case unicode.In(d, unicode.Mn, unicode.Me) || d == 0x0640:
			if d == r {
				return [2]rune{drop}
			}
		case n < 2 && (unicode.IsLetter(d) || unicode.IsDigit(d) || unicode.Is(unicode.Mc, d)):
			out[n] = latin(unicode.ToLower(d))
			n++
		}
	}
	if n == 0 {
		return [2]rune{space}
	}
	return out
}

// latin makes equal what look-alikes within ASCII stand for.
func latin(r rune) rune {
	switch r {
	case '1', '!':
		return 'i'
	case '|':
		return 'l'
	case '0':
		return 'o'
	case '3':
		return 'e'
	case '4', '@':
		return 'a'
	case '5', '$':
		return 's'
	case '7':
		return 't'
	case '8':
		return 'b'
	case '9':
		return 'g'
	}
	return r
}

// alike makes i and l one letter, in words long enough for that to be no confusion: "la" is not "ia".
func alike(word []byte) {
	if len(word) > 3 {
		for i, b := range word {
			if b == 'i' {
				word[i] = 'l'
			}
		}
	}
}

// invisible reports characters that are not drawn: joiners, direction marks, variation selectors, tags.
func invisible(r rune) bool {
	switch {
	case r == 0xad, r == 0x34f, r == 0x61c, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, r == 0xfeff,
		r >= 0x180b && r <= 0x180f, r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f,
		r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0000 && r <= 0xe0fff, r >= 0xfff0 && r <= 0xfffb:
		return true
	}
	return false
}

// rune folds r, which is not ASCII.
func (f *folding) rune(r rune) [2]rune {
	switch {
	case r < 0x3000:
		return f.table[r]
	case r >= 0xff01 && r <= 0xff5e: // full width
		return f.ascii(byte(r - 0xff01 + '!'))
	case r >= 0x1d400 && r <= 0x1d7ff, r >= 0x1f100 && r <= 0x1f14f: // mathematical and enclosed letters
		for _, d := range norm.NFKD.String(string(r)) {
			d = unicode.ToLower(d)
			if d < 0x3000 && (unicode.IsLetter(d) || unicode.IsDigit(d)) {
				if d < utf8.RuneSelf {
					return [2]rune{latin(d)}
				}
				return f.table[d]
			}
		}
		return [2]rune{space}
	case r >= 0x1f150 && r <= 0x1f169:
		return [2]rune{latin('a' + r - 0x1f150)}
	case r >= 0x1f170 && r <= 0x1f189:
		return [2]rune{latin('a' + r - 0x1f170)}
	case r >= 0x1f1e6 && r <= 0x1f1ff:
		return [2]rune{latin('a' + r - 0x1f1e6)}
	case invisible(r):
		return [2]rune{drop}
	case unicode.IsLetter(r), unicode.IsDigit(r), unicode.Is(unicode.Mc, r), r == 'ー':
		return [2]rune{r}
	}
	return [2]rune{space}
}

// ascii folds one byte.
func (f *folding) ascii(b byte) [2]rune {
	switch {
	case 'a' <= b && b <= 'z', '0' <= b && b <= '9':
		return [2]rune{latin(rune(b))}
	case 'A' <= b && b <= 'Z':
		return [2]rune{latin(rune(b | 0x20))}
	}
	return [2]rune{space}
}

// unspaced reports scripts that are written without spaces: each of their characters is a word.
func unspaced(r rune) bool {
	return r >= 0x3041 && r <= 0x30ff || r >= 0x3400 && r <= 0x9fff || r >= 0xf900 && r <= 0xfaff || r >= 0x20000 && r <= 0x3ffff || r >= 0x0e00 && r <= 0x0eff
}
