package notes

import (
	"iter"
	"strings"
	"unicode/utf8"
)

// Bounds of passages.
const (
	// MaxPassage is the length of a passage's text, in bytes.
	MaxPassage = 1200
	// maxPassages is how many a note has at most; what is behind them is not found.
	maxPassages = 2000
	// maxHeading bounds one heading, in bytes.
	maxHeading = 200
)

// Passage is a piece of a note as recall indexes it: a section, or part of a long one.
type Passage struct {
	Part    int    // 0, 1, … within the note
	Line    int    // 1-based line of the file at which it begins
	Heading string // headings above it, outermost first: "Garden › Roses"
	Text    string // at most MaxPassage bytes, never only white space
}

// Passages splits a note at its headings, and sections that are too long at paragraphs, lines, words or, at last,
// characters. Front matter stands first; a heading with nothing below it is a passage by itself. cut says that there was more than is kept.
func Passages(n Note) (list []Passage, cut bool) {
	front, body, err := splitFront(n.Text)
	if err == nil && front != "" {
		if _, _, err = parseFront(front); err != nil { // text like any other
			front, body = "", strings.TrimPrefix(n.Text, byteOrderMark)
		}
	}
	p := passages{line: 1}
	if front != "" {
		p.line++
		p.add(section{text: front})
	}
	p.line = 1 + strings.Count(n.Text[:len(n.Text)-len(body)], "\n")
	for s := range sections(body) {
		p.bare(s.level)
		p.above[s.level] = s.heading
		clear(p.above[s.level+1:])
		p.add(s)
		p.last = s
	}
	p.bare(0)
	return p.list, p.cut || n.Cut
}

// passages gathers those of a note.
type passages struct {
	list  []Passage
	cut   bool
	line  int       // of the file, with which the sections begin
	above [7]string // headings
	last  section
}

func (p *passages) add(s section) {
	for piece, at := range pieces(s.text) {
		p.put(Passage{Line: p.line + s.line + at, Heading: trail(p.above[1:]), Text: piece})
	}
}

// bare adds the heading of the last section when neither text nor a heading below it follows, which is of this level.
func (p *passages) bare(level int) {
	if s := p.last; s.heading != "" && level <= s.level && strings.TrimSpace(s.text) == "" {
		p.put(Passage{Line: p.line + s.line - 1, Heading: trail(p.above[1:s.level]), Text: s.heading})
	}
}

func (p *passages) put(x Passage) {
	if len(p.list) == maxPassages {
		p.cut = true
		return
	}
	x.Part = len(p.list)
	p.list = append(p.list, x)
}

func trail(headings []string) string {
	var out []string
	for _, h := range headings {
		if h != "" {
			out = append(out, h)
		}
	}
	return strings.Join(out, " › ")
}

// section is what follows a heading.
type section struct {
	level   int // 1–6; 0 before the first heading
	heading string
	line    int // lines before text
	text    string
}

// sections yields the sections of a body in order. A # within fenced code is no heading. A heading
// without text of its own still is a section.
func sections(body string) iter.Seq[section] {
	return func(yield func(section) bool) {
		var s section
		begin, at, line, fence := 0, 0, 0, ""
		for text := range strings.Lines(body) {
			level, heading := 0, ""
			if fence = fenced(text, fence); fence == "" {
				level, heading = headingOf(text)
			}
			if level > 0 {
				s.text = body[begin:at]
				if (s.level > 0 || strings.TrimSpace(s.text) != "") && !yield(s) {
					return
				}
				begin = at + len(text)
				s = section{level: level, heading: heading, line: line + 1}
			}
			at += len(text)
			line++
		}
		s.text = body[begin:]
		if s.level > 0 || strings.TrimSpace(s.text) != "" {
			yield(s)
		}
	}
}

// fenced returns the fence that is open after a line, "" for none. As in CommonMark a fence ends with at least as many of its
// marks and nothing behind them, and what stands behind the backquotes of one that begins holds none.
func fenced(line, open string) string {
	t := strings.TrimSpace(line)
	if len(t) < 3 || t[0] != '`' && t[0] != '~' {
		return open
	}
	run := t[:len(t)-len(strings.TrimLeft(t, t[:1]))]
	switch {
	case len(run) < 3:
	case open == "" && (t[0] == '~' || !strings.Contains(t[len(run):], "`")):
		return run
	case open != "" && open[0] == t[0] && len(run) >= len(open) && run == t:
		return ""
	}
	return open
}

// headingOf reads an ATX heading; level 0 for none.
func headingOf(line string) (level int, heading string) {
	t := strings.TrimRight(line, " \t\r\n")
	for level < len(t) && t[level] == '#' {
		level++
	}
	if level == 0 || level > 6 || (len(t) > level && t[level] != ' ' && t[level] != '\t') {
		return 0, ""
	}
	heading = strings.TrimSpace(strings.TrimRight(strings.TrimSpace(t[level:]), "#"))
	return level, clip(heading, maxHeading)
}

// clip cuts s to n bytes at a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// pieces yields the parts of a section's text with the lines before each.
func pieces(text string) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		line := 0
		for text != "" {
			n := len(text)
			if n > MaxPassage {
				n = breakAt(text)
			}
			piece := text[:n]
			blank := len(piece) - len(strings.TrimLeft(piece, " \t\r\n"))
			if t := strings.TrimSpace(piece); t != "" && !yield(t, line+strings.Count(piece[:blank], "\n")) {
				return
			}
			line += strings.Count(piece, "\n")
			text = text[n:]
		}
	}
}

// breakAt says where a text that is too long is best cut: after a paragraph, a line, a sentence, a word, a
// character, the first of these that leaves a third of a passage.
func breakAt(text string) int {
	head := clip(text, MaxPassage)
	for _, mark := range []string{"\n\n", "\n", ". ", "。", " "} {
		if at := strings.LastIndex(head, mark); at >= MaxPassage/3 {
			return at + len(mark)
		}
	}
	if head == "" { // no character begins where one should
		return min(len(text), MaxPassage)
	}
	return len(head)
}
