package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Normal returns a statement as it is compared with others: letters and digits only, without case, accents and
// width, one space between words. Two texts with the same Normal say the same.
func Normal(text string) string {
	var b strings.Builder
	apart := false
	for _, r := range text {
		folded := foldRune(r)
		if folded == "" && !unicode.Is(unicode.Mn, r) {
			apart = true
		}
		if folded == "" {
			continue
		}
		if apart && b.Len() > 0 {
			b.WriteByte(' ')
		}
		apart = false
		b.WriteString(folded)
	}
	if b.Len() == 0 {
		return strings.Join(strings.Fields(text), " ") // signs only: they are all there is
	}
	return b.String()
}

// Fingerprint is a short name of what Normal returns: the same for texts that say the same. It is not keyed, so it goes
// where the text goes.
func Fingerprint(text string) string {
	sum := sha256.Sum256([]byte(Normal(text)))
	return hex.EncodeToString(sum[:16])
}

// FoldName returns the name of an entity as it is compared.
func FoldName(name string) string { return Normal(name) }

// foldRune returns a letter or digit without case, accents and width; "" for anything else.
func foldRune(r rune) string {
	if r < utf8.RuneSelf {
		switch {
		case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			return string(r)
		case 'A' <= r && r <= 'Z':
			return string(r + 'a' - 'A')
		}
		return ""
	}
	if !unicode.IsLetter(r) && !unicode.IsNumber(r) {
		return ""
	}
	if r == 'ß' || r == 'ẞ' {
		return "ss"
	}
	var b strings.Builder
	for _, d := range norm.NFKD.String(string(r)) {
		if unicode.IsLetter(d) || unicode.IsNumber(d) {
			b.WriteRune(unicode.ToLower(d))
		}
	}
	return b.String()
}

// spaceless reports whether r is of a script that writes without spaces between words.
func spaceless(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}
