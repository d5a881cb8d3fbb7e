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
// characters. Front matter that can be read is left out. cut says that there was more than is kept.
func Passages(n Note) (list []Passage, cut bool) {
	body, line := n.Text, 1
	if front, rest, ok := splitFront(n.Text); ok {
		if _, _, err := parseFront(front); err == nil {
			line += strings.Count(n.Text[:len(n.Text)-len(rest)], "\n")
			body = rest
		}
	}
	var above [7]string
	for s := range sections(body) {
		above[s.level] = s.heading
		clear(above[s.level+1:])
		for piece, at := range pieces(s.text) {
			if len(list) == maxPassages {
				return list, true
			}
			list = append(list, Passage{Part: len(list), Line: line + s.line + at, Heading: trail(above[1:]), Text: piece})
		}
	}
	return list, n.Cut
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

// fenced returns the fence that is open after a line, "" for none.
func fenced(line, open string) string {
	t := strings.TrimLeft(line, " \t")
	for _, mark := range []string{"```", "~~~"} {
		if strings.HasPrefix(t, mark) && (open == "" || open == mark) {
			if open == "" {
				return mark
			}
			return ""
		}
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
