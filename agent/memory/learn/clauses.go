package learn

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// clause is a sentence of a text, from and to in bytes.
type clause struct {
	from, to int
	question bool
}

// abbreviations end in a full stop that ends no sentence.
var abbreviations = setOf(`dr mr mrs ms prof st nr no vs etc e.g i.e z.b d.h bzw ca inkl usw str jr sr approx dept inc ltd co`)

// clauses cuts a text into sentences. Lines end sentences.
func clauses(text string) []clause {
	var out []clause
	from := 0
	add := func(to int, question bool) {
		if strings.TrimSpace(text[from:to]) != "" {
			out = append(out, clause{from, to, question})
		}
		from = to
	}
	for i, r := range text {
		size := utf8.RuneLen(r)
		if r == utf8.RuneError {
			continue
		}
		switch r {
		case '\n':
			add(i+size, false)
		case '。', '！':
			add(i+size, false)
		case '？':
			add(i+size, true)
		case '.', '!', '?', '…':
			next, _ := utf8.DecodeRuneInString(text[i+size:])
			if i+size < len(text) && !unicode.IsSpace(next) && next != '"' && next != ')' {
				continue
			}
			if r == '.' && abbreviated(text[from:i]) {
				continue
			}
			add(i+size, r == '?' || strings.HasSuffix(text[from:i], "?"))
		}
	}
	add(len(text), false)
	return out
}

// abbreviated reports whether what ends here is an abbreviation, an initial or an ordinal.
func abbreviated(s string) bool {
	word := strings.ToLower(s[strings.LastIndexAny(s, " \n(")+1:])
	if abbreviations()[word] {
		return true
	}
	if r, n := utf8.DecodeRuneInString(word); n == len(word) && n > 0 && unicode.IsLetter(r) && r != 'i' {
		return true
	}
	return word != "" && len(word) <= 2 && strings.Trim(word, "0123456789") == ""
}

// blanked stands where something is b.quoted.
const blanked = 0x1f

// hide blanks what the person quotes: code, cited lines, mails passed on, and quotations that are sentences. Offsets stay.
func (b *phrasebook) hide(text string) string {
	out := []byte(text)
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' {
				out[i] = blanked
			}
		}
	}
	for _, re := range []*regexp.Regexp{b.fenced, b.cited} {
		for _, at := range re.FindAllStringIndex(text, -1) {
			blank(at[0], at[1])
		}
	}
	for _, at := range b.quoted.FindAllStringIndex(text, -1) {
		if len(strings.Fields(text[at[0]:at[1]])) > 3 || sentenceStart(text[:at[0]]) {
			blank(at[0], at[1])
		}
	}
	if len(b.headed.FindAllStringIndex(text, 3)) >= 2 { // a mail: the head and all below
		blank(b.headed.FindStringIndex(text)[0], len(text))
	}
	if at := b.forwards.FindStringIndex(text); at != nil {
		blank(at[0], len(text))
	}
	return string(out)
}

// sentenceStart reports whether a sentence begins after text.
func sentenceStart(text string) bool {
	text = strings.TrimRight(text, " \t")
	return text == "" || strings.HasSuffix(text, "\n") || strings.HasSuffix(text, ".") || strings.HasSuffix(text, ":") ||
		strings.HasSuffix(text, "!") || strings.HasSuffix(text, "?")
}
