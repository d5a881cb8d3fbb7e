package guard

import (
	"html"
	"strconv"
	"strings"
	"unicode/utf8"
)

// token is a word of a text, folded. id and stem are its numbers in the lexicon, 0 for words no phrase has.
type token struct {
	start, end int32 // bytes in the original
	id, stem   uint32
	brk        brk // what stood before it
}

// brk says how far apart a word is from the one before.
type brk uint8

// The breaks, growing.
const (
	brkNone brk = iota // a space, a hyphen
	brkSoft            // a comma, quote or bracket
	brkLine            // one line end
	brkHard            // the end of a sentence
	brkPara            // an empty line
)

// reading is a text taken apart.
type reading struct {
	text   string
	tokens []token
	tags   []tagRun // hidden characters that spell something
	hidden int      // invisible characters between letters
}

// tagRun is text spelt in tag characters or variation selectors.
type tagRun struct {
	start, end int
	text       []byte
}

// reader takes a text apart into folded words. It resolves, as it goes, the escapes of HTML, URLs, JSON and
// quoted-printable, since words may be broken by them.
type reader struct {
	lex   *lexicon
	out   reading
	word  []byte
	start int
	end   int
	brk   brk
}

const maxFolded = 40 // bytes of a folded word that count; longer ones are no words

// read runs over text once.
func (l *lexicon) read(text string) reading {
	r := &reader{lex: l, brk: brkPara, word: make([]byte, 0, maxFolded)}
	r.out.text = text
	r.out.tokens = make([]token, 0, len(text)/6+1)
	for i := 0; i < len(text); {
		b := text[i]
		if folded := l.ascii[b]; folded > 1 { // letters and digits, by far the most
			r.letter(folded, i, i+1)
			i++
			continue
		}
		if b >= utf8.RuneSelf {
			i = r.high(text, i)
			continue
		}
		i = r.other(text, i, b)
	}
	r.flush()
	return r.out
}

func (r *reader) letter(b byte, start, end int) {
	if len(r.word) == 0 {
		r.start = start
	}
	if len(r.word) < maxFolded {
		r.word = append(r.word, b)
	}
	r.end = end
}

func (r *reader) flush() {
	if len(r.word) == 0 {
		return
	}
	t := token{start: int32(r.start), end: int32(r.end), brk: r.brk}
	alike(r.word)
	if len(r.word) > 3 || r.end-r.start != len(r.word) || !hasDigit(r.out.text[r.start:r.end]) { // 41 is no way to write ai
		t.id, t.stem = r.lex.lookup(r.word)
	}
	r.out.tokens = append(r.out.tokens, t)
	r.word = r.word[:0]
	r.brk = brkNone
}

func hasDigit(s string) bool {
	for i := range len(s) {
		if classOf(s[i]) == isDigit {
			return true
		}
	}
	return false
}

func (r *reader) separate(b brk) {
	r.flush()
	if b == brkLine && r.brk >= brkLine && r.brk != brkHard || b == brkLine && r.brk == brkPara {
		b = brkPara
	}
	r.brk = max(r.brk, b)
}

// high reads a character beyond ASCII at i and returns where the next begins.
func (r *reader) high(text string, i int) int {
	c, n := utf8.DecodeRuneInString(text[i:])
	r.char(c, i, i+n)
	return i + n
}

// char takes in one character, from wherever it was decoded.
func (r *reader) char(c rune, start, end int) {
	if c < utf8.RuneSelf {
		if folded := r.lex.ascii[c]; folded > 1 {
			r.letter(folded, start, end)
		} else {
			r.separate(breakOf(byte(c)))
		}
		return
	}
	f := r.lex.fold.rune(c)
	switch f[0] {
	case drop:
		r.invisible(c, start, end)
	case space:
		switch c {
		case '。', '！', '？', '؟', '।', '…', '．':
			r.separate(brkHard)
		case '，', '、', '：', '；', '“', '”', '„', '«', '»', '‘', '「', '」', '（', '）', '—', '–', '·', '•', '،', '؛', '『', '』', '【', '】':
			r.separate(brkSoft)
		case '’':
			r.apostrophe(start)
		default:
			r.separate(brkNone)
		}
	default:
		if unspaced(c) {
			r.flush()
			r.start, r.end = start, end
			r.word = utf8.AppendRune(r.word, f[0])
			r.flush()
			return
		}
		if len(r.word) == 0 {
			r.start = start
		}
		for _, x := range f {
			if x > 0 && len(r.word) < maxFolded {
				r.word = utf8.AppendRune(r.word, x)
			}
		}
		r.end = end
	}
}

// invisible notes what is not drawn: between letters it hides a word, tag characters spell another text.
func (r *reader) invisible(c rune, start, end int) {
	if len(r.word) > 0 && c != 0xad && c != 0x200d && c != 0x200c {
		r.out.hidden++
	}
	var b byte
	switch {
	case c >= 0xe0020 && c <= 0xe007e:
		b = byte(c - 0xe0000)
	case c >= 0xe0100 && c <= 0xe01ef:
		b = byte(c - 0xe0100 + 16)
	default:
		return
	}
	if n := len(r.out.tags); n == 0 || r.out.tags[n-1].end != start {
		r.out.tags = append(r.out.tags, tagRun{start: start, end: end})
	}
	t := &r.out.tags[len(r.out.tags)-1]
	t.text = append(t.text, b)
	t.end = end
}

// apostrophe joins English contractions; elsewhere it separates, as in l'utilisateur.
func (r *reader) apostrophe(at int) {
	rest := r.out.text[min(len(r.out.text), at+1):]
	if at < len(r.out.text) && r.out.text[at] >= utf8.RuneSelf {
		rest = r.out.text[min(len(r.out.text), at+3):]
	}
	for _, s := range [...]string{"t", "s", "re", "ll", "ve", "d", "m"} {
		if len(rest) >= len(s) && strings.EqualFold(rest[:len(s)], s) && (len(rest) == len(s) || classOf(rest[len(s)])&(isLetter|isHigh) == 0) && len(r.word) > 0 {
			return
		}
	}
	r.separate(brkSoft)
}

// breakOf tells what an ASCII character between words means.
func breakOf(b byte) brk {
	switch b {
	case '\n':
		return brkLine
	case '.', '!', '?':
		return brkHard
	case ' ', '\t', '\r', '-', '_', '*', '~', '/', '+':
		return brkNone
	}
	return brkSoft
}

// other reads an ASCII character that is no letter.
func (r *reader) other(text string, i int, b byte) int {
	inWord := len(r.word) > 0
	next := byte(0)
	if i+1 < len(text) {
		next = text[i+1]
	}
	switch b {
	case '&':
		if c, n := entity(text[i:]); n > 0 {
			r.char(c, i, i+n)
			return i + n
		}
	case '%':
		if c, n := percent(text[i:]); n > 0 {
			r.char(c, i, i+n)
			return i + n
		}
	case '\\':
		return r.escape(text, i, next)
	case '<':
		if n := inlineTag(text[i:]); n > 0 && inWord && i+n < len(text) && (classOf(text[i+n])&(isLetter|isHigh) != 0 || text[i+n] == '<') {
			return i + n // a word that markup runs through
		}
	case '=', '-':
		if inWord && (next == '\n' || next == '\r') { // quoted-printable, hyphenation
			j := i + 2
			if next == '\r' && j < len(text) && text[j] == '\n' {
				j++
			}
			if j < len(text) && classOf(text[j])&(isLetter|isHigh) != 0 {
				return j
			}
		}
	case '\'':
		r.apostrophe(i)
		return i + 1
	case '@', '$', '!', '|':
		if inWord && classOf(next) == isLetter && len(r.word) < maxFolded && !(b == '@' && address(text, i)) {
			r.letter(byte(latin(rune(b))), i, i+1)
			return i + 1
		}
	case '.':
		if inWord && classOf(next)&(isLetter|isDigit) != 0 {
			r.separate(brkSoft) // a name such as SOUL.md
			return i + 1
		}
	}
	r.separate(breakOf(b))
	return i + 1
}

// address reports whether the @ at i stands in a mail address.
func address(text string, i int) bool {
	for _, b := range []byte(text[i+1 : min(len(text), i+64)]) {
		if b == '.' {
			return true
		}
		if classOf(b) == 0 {
			return false
		}
	}
	return false
}

// escape reads a backslash escape as in JSON and source code.
func (r *reader) escape(text string, i int, next byte) int {
	switch next {
	case 'n', 'r':
		r.separate(brkLine)
		return i + 2
	case 't':
		r.separate(brkNone)
		return i + 2
	case '\\':
		if i+2 < len(text) && strings.IndexByte("xunrt\"", text[i+2]) >= 0 {
			return i + 1 // escaped twice
		}
		r.separate(brkSoft)
		return i + 2
	case '"', '\'', '/', '`':
		r.separate(brkSoft)
		return i + 2
	case 'u', 'x':
		n := 4
		if next == 'x' {
			n = 2
		}
		if i+2+n <= len(text) {
			if c, err := strconv.ParseUint(text[i+2:i+2+n], 16, 32); err == nil {
				r.char(rune(c), i, i+2+n)
				return i + 2 + n
			}
		}
	}
	r.separate(brkSoft)
	return i + 1
}

// entity decodes an HTML entity at the start of s; n is 0 when there is none.
func entity(s string) (c rune, n int) {
	end := strings.IndexByte(s[:min(len(s), 12)], ';')
	if end < 2 {
		return 0, 0
	}
	decoded := html.UnescapeString(s[:end+1])
	if decoded == s[:end+1] {
		return 0, 0
	}
	c, size := utf8.DecodeRuneInString(decoded)
	if size != len(decoded) {
		return 0, 0
	}
	return c, end + 1
}

// percent decodes a URL escape at the start of s, also one that was escaped again; n is 0 when there is none.
func percent(s string) (c rune, n int) {
	var buf [utf8.UTFMax]byte
	k := 0
	for k < len(buf) {
		b, size := percentByte(s[n:])
		if size == 0 {
			break
		}
		buf[k] = b
		k++
		n += size
		if utf8.FullRune(buf[:k]) {
			break
		}
	}
	c, size := utf8.DecodeRune(buf[:k])
	if k == 0 || size != k || c == utf8.RuneError {
		return 0, 0
	}
	return c, n
}

func percentByte(s string) (b byte, n int) {
	if s == "" || s[0] != '%' {
		return 0, 0
	}
	n = 1
	for n+2 <= len(s) && n < 9 && s[n:n+2] == "25" {
		n += 2
	}
	if n+2 > len(s) || !hexed.has(s[n]) || !hexed.has(s[n+1]) {
		return 0, 0
	}
	v, err := strconv.ParseUint(s[n:n+2], 16, 8)
	if err != nil {
		return 0, 0
	}
	return byte(v), n + 2
}

// inlineTag returns the length of an HTML tag or comment at the start of s that does not end a word on the screen; 0 for others.
func inlineTag(s string) int {
	if strings.HasPrefix(s, "<!--") {
		if i := strings.Index(s[:min(len(s), 200)], "-->"); i > 0 {
			return i + 3
		}
		return 0
	}
	end := strings.IndexByte(s[:min(len(s), 200)], '>')
	if end < 2 {
		return 0
	}
	name := strings.TrimPrefix(s[1:end], "/")
	if i := strings.IndexAny(name, " \t\n/"); i >= 0 {
		name = name[:i]
	}
	switch strings.ToLower(name) {
	case "b", "i", "em", "strong", "span", "font", "u", "s", "wbr", "mark", "small", "big", "tt", "code", "a", "sup", "sub", "bdo", "bdi", "ins":
		return end + 1
	}
	return 0
}
