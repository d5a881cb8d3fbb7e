package markdown

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Inline nodes of our own. One type serves all, told apart by kind.
var (
	kindStrike   = ast.NewNodeKind("Strike")
	kindMathSpan = ast.NewNodeKind("MathSpan")
	kindMathBig  = ast.NewNodeKind("MathDisplay")
	kindBreak    = ast.NewNodeKind("Break")
	kindDropped  = ast.NewNodeKind("Dropped")
	kindCite     = ast.NewNodeKind("Cite")
	kindDone     = ast.NewNodeKind("TaskDone")
	kindUndone   = ast.NewNodeKind("TaskUndone")
)

type inline struct {
	ast.BaseInline
	kind  ast.NodeKind
	value []byte // maths: its source
	note  *note  // kindCite
}

func newInline(k ast.NodeKind) *inline { return &inline{kind: k} }

// Kind implements ast.Node.
func (n *inline) Kind() ast.NodeKind { return n.kind }

// Dump implements ast.Node.
func (n *inline) Dump(source []byte, level int) { ast.DumpHelper(n, source, level, nil, nil) }

// taskParser parses the box of a task list's item.
type taskParser struct{}

// Trigger implements parser.InlineParser.
func (taskParser) Trigger() []byte { return []byte{'['} }

// Parse implements parser.InlineParser.
func (taskParser) Parse(parent ast.Node, reader text.Reader, _ parser.Context) ast.Node {
	item := parent.Parent()
	if item == nil || item.Kind() != ast.KindListItem || item.FirstChild() != parent || parent.HasChildren() {
		return nil
	}
	line, _ := reader.PeekLine()
	if len(line) < 4 || line[2] != ']' || line[3] != ' ' && line[3] != '\t' && line[3] != '\n' {
		return nil
	}
	k := kindDone
	switch line[1] {
	case ' ':
		k = kindUndone
	case 'x', 'X':
	default:
		return nil
	}
	reader.Advance(3)
	return newInline(k)
}

// tagParser parses <br>, which models put into table cells, and drops model markup.
type tagParser struct{}

// Trigger implements parser.InlineParser.
func (tagParser) Trigger() []byte { return []byte{'<'} }

// Parse implements parser.InlineParser.
func (tagParser) Parse(_ ast.Node, reader text.Reader, _ parser.Context) ast.Node {
	line, _ := reader.PeekLine()
	for _, br := range [...]string{"<br>", "<br/>", "<br />"} {
		if len(line) >= len(br) && strings.EqualFold(string(line[:len(br)]), br) {
			reader.Advance(len(br))
			return newInline(kindBreak)
		}
	}
	end, n, _ := modelTag(string(line[:min(len(line), maxModelTag+1)]))
	if n == 0 {
		return nil
	}
	reader.Advance(n)
	if end != "" {
		dropUntil(reader, end)
	}
	return newInline(kindDropped)
}

// dropUntil skips what a model's element holds: up to its end, or the rest of the block.
func dropUntil(reader text.Reader, end string) {
	for {
		line, _ := reader.PeekLine()
		if line == nil {
			return
		}
		if i := indexFold(string(line), end); i >= 0 {
			reader.Advance(i + len(end))
			return
		}
		reader.AdvanceLine()
	}
}

// citeParser parses a footnote's reference, [^label], once all definitions are known.
type citeParser struct{}

// Trigger implements parser.InlineParser.
func (citeParser) Trigger() []byte { return []byte{'['} }

// Parse implements parser.InlineParser.
func (citeParser) Parse(_ ast.Node, reader text.Reader, pc parser.Context) ast.Node {
	line, _ := reader.PeekLine()
	if len(line) < 4 || line[1] != '^' {
		return nil
	}
	label, n, _ := noteLabel(string(line[:min(len(line), maxLabel+3)]))
	if label == "" {
		return nil
	}
	s := pc.(*scope)
	s.cites = true
	if !s.doc.closing || s.doc.notes[label] == nil {
		return nil
	}
	reader.Advance(n)
	c := newInline(kindCite)
	c.note = s.doc.notes[label]
	return c
}

// bareLinkParser links addresses that stand in the text: http://…, https://…, www.… and name@host.
type bareLinkParser struct{}

// Trigger implements parser.InlineParser; a space stands for the beginning of a line too.
func (bareLinkParser) Trigger() []byte { return []byte{' ', '*', '_', '~', '(', '"', '\''} }

// Parse implements parser.InlineParser.
func (bareLinkParser) Parse(parent ast.Node, reader text.Reader, pc parser.Context) ast.Node {
	if pc.IsInLinkLabel() {
		return nil
	}
	line, segment := reader.PeekLine()
	skip := 0
	switch line[0] {
	case ' ', '\t', '*', '_', '~', '(', '"', '\'':
		skip = 1
	}
	if c := reader.PrecendingCharacter(); skip == 0 && c != '\n' && c != ' ' {
		return nil
	}
	n, typ := bareLink(line[skip:])
	if n == 0 {
		return nil
	}
	if skip > 0 {
		ast.MergeOrAppendTextSegment(parent, segment.WithStop(segment.Start+skip))
	}
	reader.Advance(skip + n)
	start := segment.Start + skip
	return ast.NewAutoLink(typ, ast.NewTextSegment(text.NewSegment(start, start+n)))
}

// maxAddress bounds how far an address is followed, in bytes.
const maxAddress = 2048

// bareLink returns the length of the address s begins with, 0 if none.
func bareLink(s []byte) (int, ast.AutoLinkType) {
	if len(s) == 0 || s[0]|0x20 != 'h' && s[0]|0x20 != 'w' {
		return bareEmail(s), ast.AutoLinkEmail
	}
	for _, scheme := range [...]string{"https://", "http://", "www."} {
		if len(s) > len(scheme) && strings.EqualFold(string(s[:len(scheme)]), scheme) {
			n := trimAddress(s[:addressRun(s)])
			if n <= len(scheme) || !isAlnum(s[len(scheme)]) && s[len(scheme)] < 0x80 && s[len(scheme)] != '[' {
				return 0, 0
			}
			if scheme == "www." && bytes.IndexByte(s[len(scheme):n], '.') < 0 {
				return 0, 0
			}
			return n, ast.AutoLinkURL
		}
	}
	return bareEmail(s), ast.AutoLinkEmail
}

func addressRun(s []byte) int {
	for i, c := range s[:min(len(s), maxAddress)] {
		if c <= ' ' || c == '<' || c == '>' || c == '"' || c == '`' {
			return i
		}
	}
	return min(len(s), maxAddress)
}

// trimAddress takes off the punctuation that ends a sentence rather than an address, and brackets opened before it.
func trimAddress(s []byte) int {
	depth := bytes.Count(s, []byte("(")) - bytes.Count(s, []byte(")"))
	for n := len(s); n > 0; n-- {
		switch s[n-1] {
		case '?', '!', '.', ',', ':', ';', '*', '_', '~', '\'', ']', '|', '$', '\\':
		case ')':
			if depth >= 0 {
				return n
			}
			depth++
		default:
			for r, size := utf8.DecodeLastRune(s[:n]); r == utf8.RuneError && size == 1; r, size = utf8.DecodeLastRune(s[:n]) {
				n-- // the bound fell inside a character
			}
			return n
		}
	}
	return 0
}

// bareEmail is bounded by the limits of RFC 5321: 64 bytes before the @, 255 after.
func bareEmail(s []byte) int {
	at := 0
	for at < len(s) && at <= 64 && (isAlnum(s[at]) || bytes.IndexByte([]byte("._+-"), s[at]) >= 0) {
		at++
	}
	if at == 0 || at == len(s) || s[at] != '@' || !isAlnum(s[0]) {
		return 0
	}
	n := at + 1
	for n < len(s) && n-at <= 255 && (isAlnum(s[n]) || s[n] == '-' || s[n] == '.') {
		n++
	}
	for n > at+1 && !isAlnum(s[n-1]) {
		n--
	}
	if n < len(s) && s[n] == '_' {
		return 0
	}
	if dot := bytes.IndexByte(s[at:n], '.'); dot < 2 {
		return 0
	}
	return n
}

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
