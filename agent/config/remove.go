package config

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// remove takes out a key, or a whole provider or catalog entry. Comments that
// belong to a key stay, as lines of their own; those within a section that goes, go with it.
func (e *editor) remove(p place) {
	path, index, found := e.doc.locate(p)
	if !found {
		return
	}
	gone := make(map[int]bool) // headers
	for i, h := range e.doc.headers {
		if i > 0 && p.field == nil && startsWith(h.path, path) && h.index == index {
			gone[i] = true
			e.cutBlock(span{h.line.start, e.lastKeyEnd(i)})
		}
	}
	if p.section.shape == listed && p.field == nil {
		return // an entry in a list of inline tables is left to the person
	}
	var done []span
	for _, it := range e.doc.items {
		inside := func(s span) bool { return s.start <= it.key.start && it.value.end <= s.end }
		if gone[it.header] || it.index != index || !startsWith(it.path, path) || slices.ContainsFunc(done, inside) {
			continue
		}
		done = append(done, span{it.key.start, it.value.end})
		if it.parent >= 0 {
			e.cutInline(it)
		} else {
			e.cutLine(it)
		}
	}
}

func startsWith(path, prefix []string) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}

// cutBlock takes out whole lines, and one of two blank lines that would meet.
func (e *editor) cutBlock(s span) {
	data := e.doc.data
	above := e.blankLine(s.start - 1)
	if s.start == 0 {
		above = true
	}
	if above && s.end < len(data) && e.blankLine(s.end) {
		s.end = e.doc.lineEnd(s.end)
	}
	e.cut(s, "")
}

// blankLine reports whether the line that holds offset has nothing on it.
func (e *editor) blankLine(offset int) bool {
	if offset < 0 {
		return false
	}
	line := e.doc.lineAround(offset)
	return len(bytes.TrimSpace(e.doc.data[line.start:line.end])) == 0
}

// cutLine takes out a key on lines of its own.
func (e *editor) cutLine(it item) {
	line := span{e.doc.lineAround(it.key.start).start, e.doc.lineEnd(it.value.end)}
	indent := e.indent(it.key.start)
	var kept strings.Builder
	for _, c := range e.commentsOf(it, line.end) {
		kept.WriteString(indent + c + e.eol)
	}
	text := kept.String()
	if text != "" && e.doc.data[line.end-1] != '\n' {
		text = strings.TrimSuffix(text, e.eol) // the last line of the file had no end
	}
	e.cut(line, text)
}

// commentsOf returns the comments within the value of an item and after it on its last line.
func (e *editor) commentsOf(it item, lineEnd int) []string {
	var comments []string
	if it.kind == unstable.Array {
		comments = parseList(e.doc.data[it.value.start:it.value.end]).comments()
	}
	if after := strings.TrimSpace(string(e.doc.data[it.value.end:lineEnd])); after != "" {
		comments = append(comments, after)
	}
	return comments
}

// cutInline takes a key out of an inline table, with the comma that belongs to it.
func (e *editor) cutInline(it item) {
	data := e.doc.data
	s := span{it.key.start, it.value.end}
	rest := bytes.TrimLeft(data[s.end:], " \t\r\n")
	if bytes.HasPrefix(rest, []byte(",")) {
		s.end = len(data) - len(bytes.TrimLeft(rest[1:], " \t"))
		e.cut(s, "")
		return
	}
	before := bytes.TrimRight(data[:s.start], " \t\r\n")
	if bytes.HasSuffix(before, []byte(",")) {
		s.start = len(before) - 1
	}
	e.cut(s, "")
}

// list is a TOML list of texts, with its comments.
type list struct {
	items []listItem
	tail  []string // comments before the closing bracket
	lines bool     // it stretches over several lines
	inner string   // what items are indented with then
}

type listItem struct {
	value string
	raw   string   // as written, with its quotes
	lead  []string // comments on the lines above
	trail string   // comment on the same line
}

// parseList reads a list that is known to be valid. What is not a text in it is left out.
func parseList(raw []byte) list {
	const key = "x="
	data := append([]byte(key), raw...)
	var p unstable.Parser
	p.KeepComments = true
	p.Reset(data)
	if !p.NextExpression() {
		return list{}
	}
	l := list{lines: bytes.IndexByte(raw, '\n') >= 0, inner: "  "}
	last := len(key) // where the last item ended, or the list began
	for it := p.Expression().Value().Children(); it.Next(); {
		n := it.Node()
		switch n.Kind {
		case unstable.String:
			s := spanOf(n.Raw)
			l.indentLike(data[:s.start])
			l.items = append(l.items, listItem{value: string(n.Data), raw: string(data[s.start:s.end]), lead: l.tail})
			l.tail, last = nil, s.end
		case unstable.Comment:
			l.addComment(n, bytes.IndexByte(data[last:n.Raw.Offset], '\n') < 0)
			// The comments that follow at once hang below the first.
			for more := n.Children(); more.Next(); {
				l.addComment(more.Node(), false)
			}
		}
	}
	return l
}

func (l *list) addComment(n *unstable.Node, sameLine bool) {
	text := strings.TrimRight(string(n.Data), "\r")
	if last := len(l.items) - 1; sameLine && last >= 0 && l.items[last].trail == "" {
		l.items[last].trail = text
		return
	}
	l.tail = append(l.tail, text)
}

// indentLike takes the indentation from the first item that begins a line.
func (l *list) indentLike(before []byte) {
	if len(l.items) > 0 {
		return
	}
	i := bytes.LastIndexByte(before, '\n')
	if blanks := before[i+1:]; i >= 0 && len(bytes.TrimLeft(blanks, " \t")) == 0 {
		l.inner = string(blanks)
	}
}

func (l list) comments() []string {
	var all []string
	for _, it := range l.items {
		all = append(all, it.lead...)
		if it.trail != "" {
			all = append(all, it.trail)
		}
	}
	return append(all, l.tail...)
}

// rewriteList returns the list at s with other items: those that stay keep how they are written
// and their comments; the comments of those that go move to the end.
func (e *editor) rewriteList(s span, items []string) string {
	old := parseList(e.doc.data[s.start:s.end])
	if !old.lines {
		return (&field{Key: Key{Type: TypeList}}).literal(items)
	}
	var b strings.Builder
	b.WriteString("[" + e.eol)
	line := func(parts ...string) { b.WriteString(old.inner + strings.Join(parts, "") + e.eol) }
	for _, value := range items {
		it := listItem{raw: quote(value)}
		if i := slices.IndexFunc(old.items, func(o listItem) bool { return o.value == value }); i >= 0 {
			it = old.items[i]
			old.items = slices.Delete(old.items, i, i+1)
		}
		for _, c := range it.lead {
			line(c)
		}
		if it.trail != "" {
			it.trail = " " + it.trail
		}
		line(it.raw, ",", it.trail)
	}
	for _, c := range old.comments() {
		line(c)
	}
	b.WriteString(e.indent(s.start) + "]")
	return b.String()
}
