package markdown

import "strings"

// lineClass says what the beginning of a line can mean to the block structure.
type lineClass uint8

const (
	lineText lineClass = iota
	lineBlank
	lineIndented // four columns or more: code, or inside a list item
	lineFence
	lineHeading
	lineRule
	lineQuote
	lineBullet
	lineOrdered
	lineNote    // [^label]: a footnote's definition
	lineMath    // $$ or \[
	lineModel   // <think> and its kind
	lineSetext  // === under a paragraph
	lineSetext2 // --- which is also a rule where there is no paragraph
)

// line is what classify found.
type line struct {
	class   lineClass
	indent  int    // columns before the first character
	content int    // list items: the column where the item's content begins
	marker  byte   // bullet, delimiter of an ordered item, or fence character
	first   bool   // ordered items: numbered 1
	empty   bool   // list items: nothing after the marker
	run     int    // fences: how many characters
	tag     string // lineModel: what ends it; "" if the tag stands alone
	size    int    // lineModel: bytes up to the end of the tag; lineNote: up to the end of the colon
}

// maxStart bounds how much of a line is looked at to classify it, so that a line of a million dashes arriving one by one
// is not read a million times. A line still undecided there is text.
const maxStart = 1000

// classify tells what a line begins. text is the line without its end, or as much of it as is here; complete says
// which. It answers false while what follows could still change the answer: whatever is answered for a part is what would be
// answered for the whole.
func classify(text string, complete bool) (line, bool) {
	if len(text) > maxStart {
		if l, ok := classifyStart(text[:maxStart], false); ok {
			return l, true
		}
		_, col := indentation(text[:maxStart])
		return line{class: lineText, indent: col}, true
	}
	return classifyStart(text, complete)
}

func classifyStart(text string, complete bool) (line, bool) {
	i, col := indentation(text)
	l := line{class: lineText, indent: col}
	rest := text[i:]
	if rest == "" {
		l.class = lineBlank
		return l, complete
	}
	if col >= 4 {
		l.class = lineIndented
		return l, true
	}
	switch c := rest[0]; {
	case c == '#':
		return l.heading(rest, complete)
	case c == '>':
		l.class = lineQuote
		return l, true
	case c == '`' || c == '~':
		return l.fence(rest, complete)
	case c == '=' || c == '-' || c == '*' || c == '_' || c == '+':
		return l.ruleOrBullet(rest, complete)
	case '0' <= c && c <= '9':
		return l.ordered(rest, complete)
	case c == '[':
		return l.note(rest, complete)
	case c == '$' || c == '\\':
		return l.math(rest, complete)
	case c == '<':
		return l.model(text, i, complete)
	}
	return l, true
}

// indentation counts the spaces and tabs a line begins with, in bytes and in columns (tab stops of four).
func indentation(text string) (n, col int) { return indentationFrom(text, 0) }

// indentationFrom is indentation for a text that begins at a column; it returns the column at which the space ends.
func indentationFrom(text string, col int) (n, end int) {
	for ; n < len(text); n++ {
		switch text[n] {
		case ' ':
			col++
		case '\t':
			col += 4 - col%4
		default:
			return n, col
		}
	}
	return n, col
}

func runLength(s string, c byte) int {
	n := 0
	for n < len(s) && s[n] == c {
		n++
	}
	return n
}

func (l line) heading(rest string, complete bool) (line, bool) {
	n := runLength(rest, '#')
	if n > 6 {
		return l, true
	}
	if n == len(rest) && !complete {
		return l, false
	}
	if n == len(rest) || isBlank(rest[n]) {
		l.class = lineHeading
	}
	return l, true
}

func (l line) fence(rest string, complete bool) (line, bool) {
	n := runLength(rest, rest[0])
	if n == len(rest) && !complete {
		return l, false
	}
	if n < 3 {
		return l, true
	}
	if rest[0] == '`' {
		if strings.IndexByte(rest[n:], '`') >= 0 {
			return l, true // inline code, as CommonMark has it
		}
		if !complete {
			return l, false
		}
	}
	l.class, l.marker, l.run = lineFence, rest[0], n
	return l, true
}

func (l line) ruleOrBullet(rest string, complete bool) (line, bool) {
	c := rest[0]
	same, gap, other := 0, false, false
	for i := 0; i < len(rest) && !other; i++ {
		switch {
		case rest[i] == c:
			same++
		case isBlank(rest[i]):
			gap = true
		default:
			other = true
		}
	}
	if !other {
		if !complete {
			return l, false
		}
		solid := same == len(strings.TrimRight(rest, " \t")) // no gap between
		switch {
		case c == '=' && solid:
			l.class = lineSetext
			return l, true
		case c == '-' && solid && (same >= 2 || !gap):
			l.class, l.run = lineSetext2, same
			l.marker, l.empty, l.content = '-', true, l.indent+2
			return l, true
		case same >= 3 && c != '=' && c != '+':
			l.class = lineRule
			return l, true
		}
	}
	if c == '=' || c == '_' {
		return l, true
	}
	return l.item(rest, 1, complete, lineBullet)
}

func (l line) ordered(rest string, complete bool) (line, bool) {
	n := 0
	for n < len(rest) && '0' <= rest[n] && rest[n] <= '9' {
		n++
	}
	if n > 9 {
		return l, true
	}
	if n == len(rest) {
		return l, complete
	}
	if rest[n] != '.' && rest[n] != ')' {
		return l, true
	}
	l.first = strings.TrimLeft(rest[:n], "0") == "1"
	return l.item(rest, n+1, complete, lineOrdered)
}

// item finishes a list item whose marker is the first n bytes of rest.
func (l line) item(rest string, n int, complete bool, class lineClass) (line, bool) {
	if n < len(rest) && !isBlank(rest[n]) {
		return l, true
	}
	pad, end := indentationFrom(rest[n:], l.indent+n)
	width := end - l.indent - n
	if n+pad == len(rest) {
		if !complete {
			return l, false
		}
		l.empty, width = true, 1
	}
	if width > 4 {
		width = 1 // the content is indented code
	}
	l.class, l.marker, l.content = class, rest[n-1], l.indent+n+width
	return l, true
}

// maxLabel bounds a footnote's label, in bytes.
const maxLabel = 64

func (l line) note(rest string, complete bool) (line, bool) {
	label, n, open := noteLabel(rest)
	if label == "" {
		return l, !open || complete
	}
	if n == len(rest) {
		return l, complete
	}
	if rest[n] == ':' {
		l.class, l.size, l.tag = lineNote, n+1, label
	}
	return l, true
}

// noteLabel reads [^label] at the beginning of s and returns the label and its length in s with the brackets. open says that s
// may be the beginning of one.
func noteLabel(s string) (label string, n int, open bool) {
	if len(s) < 2 || s[0] != '[' || s[1] != '^' {
		return "", 0, s == "[" || s == ""
	}
	for i := 2; i < len(s) && i < 2+maxLabel; i++ {
		switch c := s[i]; {
		case c == ']':
			return s[2:i], i + 1, false
		case c == '[' || c <= ' ' || c == '^':
			return "", 0, false
		}
	}
	return "", 0, len(s) < 2+maxLabel
}

func (l line) math(rest string, complete bool) (line, bool) {
	if len(rest) == 1 {
		return l, complete
	}
	if rest[:2] == "$$" || rest[:2] == `\[` {
		l.class, l.tag = lineMath, "$$"
		if rest[0] == '\\' {
			l.tag = `\]`
		}
	}
	return l, true
}

func (l line) model(text string, at int, complete bool) (line, bool) {
	tag, n, open := modelTag(text[at:])
	if n == 0 {
		return l, !open || complete
	}
	l.class, l.tag, l.size = lineModel, tag, at+n
	return l, true
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }
