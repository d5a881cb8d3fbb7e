package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// mathParser parses $…$, $$…$$, \(…\) and \[…\] within a line.
type mathParser struct{}

// Trigger implements parser.InlineParser.
func (mathParser) Trigger() []byte { return []byte{'$', '\\'} }

// Parse implements parser.InlineParser.
func (mathParser) Parse(parent ast.Node, reader text.Reader, pc parser.Context) ast.Node {
	line, _ := reader.PeekLine()
	k, open := kindMathSpan, 2
	var size int
	switch {
	case bytes.HasPrefix(line, []byte(`\(`)):
		size = closedBy(line[2:], `\)`)
	case bytes.HasPrefix(line, []byte(`\[`)):
		k, size = kindMathBig, closedBy(line[2:], `\]`)
	case bytes.HasPrefix(line, []byte("$$")):
		k, size = kindMathBig, closedBy(line[2:], "$$")
	case line[0] == '$':
		open, size = 1, dollarMath(reader.PrecendingCharacter(), line[1:])
	default:
		return nil
	}
	used := pc.(*scope).in(parent)
	if size <= 0 || used.searched > maxSearched {
		used.searched += min(len(line), maxMath)
		return nil
	}
	n := newInline(k)
	n.value = bytes.TrimSpace(line[open : open+size])
	if len(n.value) == 0 {
		return nil
	}
	reader.Advance(open + size + open)
	return n
}

// maxMath bounds a formula within a line, in bytes.
const maxMath = 4096

func closedBy(s []byte, closer string) int {
	return bytes.Index(s[:min(len(s), maxMath)], []byte(closer))
}

// dollarMath returns the length of the formula that follows a dollar sign, 0 if it is money or a variable: the opening sign
// stands after a space or punctuation and before neither, the closing one not after a space nor before a letter or digit, as pandoc
// and GitHub have it.
func dollarMath(before rune, s []byte) int {
	if before < 0x80 && isAlnum(byte(before)) || before == '$' || before == '\\' {
		return 0
	}
	if len(s) == 0 || s[0] <= ' ' || s[0] == '$' {
		return 0
	}
	s = s[:min(len(s), maxMath)]
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '`':
			return 0 // code binds tighter
		case '$':
			if s[i-1] == ' ' || s[i-1] == '\t' || i+1 < len(s) && (isAlnum(s[i+1]) || s[i+1] == '$') {
				return 0
			}
			return i
		}
	}
	return 0
}

// mathBlock is a formula that has its lines to itself.
type mathBlock struct {
	ast.BaseBlock
	closer string
	open   bool // its end has not come
}

var kindMathBlock = ast.NewNodeKind("MathBlock")

// Kind implements ast.Node.
func (*mathBlock) Kind() ast.NodeKind { return kindMathBlock }

// IsRaw implements ast.Node.
func (*mathBlock) IsRaw() bool { return true }

// Dump implements ast.Node.
func (b *mathBlock) Dump(source []byte, level int) { ast.DumpHelper(b, source, level, nil, nil) }

// mathBlockParser parses formulas between $$ or \[ and \] that begin a line and end one. A formula holds no blank line: one that is
// not closed before it was a paragraph.
type mathBlockParser struct{}

// Trigger implements parser.BlockParser.
func (mathBlockParser) Trigger() []byte { return []byte{'$', '\\'} }

// Open implements parser.BlockParser.
func (mathBlockParser) Open(_ ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, segment := reader.PeekLine()
	at := pc.BlockOffset()
	if at < 0 || len(line) < at+2 {
		return nil, parser.NoChildren
	}
	b := &mathBlock{open: true}
	switch string(line[at : at+2]) {
	case "$$":
		b.closer = "$$"
	case `\[`:
		b.closer = `\]`
	default:
		return nil, parser.NoChildren
	}
	if _, after, closed := bytes.Cut(line[at+2:], []byte(b.closer)); closed {
		if len(bytes.TrimSpace(after)) > 0 {
			return nil, parser.NoChildren
		}
		b.open = false
	}
	b.Lines().Append(segment)
	reader.AdvanceToEOL()
	return b, parser.NoChildren
}

// Continue implements parser.BlockParser.
func (mathBlockParser) Continue(node ast.Node, reader text.Reader, _ parser.Context) parser.State {
	b := node.(*mathBlock)
	line, segment := reader.PeekLine()
	if !b.open || len(bytes.TrimSpace(line)) == 0 {
		return parser.Close
	}
	b.Lines().Append(segment)
	reader.AdvanceToEOL()
	if _, after, closed := bytes.Cut(line, []byte(b.closer)); closed {
		b.open = len(bytes.TrimSpace(after)) > 0
		return parser.Close
	}
	return parser.Continue | parser.NoChildren
}

// Close implements parser.BlockParser.
func (mathBlockParser) Close(node ast.Node, reader text.Reader, _ parser.Context) {
	b := node.(*mathBlock)
	if !b.open {
		return
	}
	p := ast.NewParagraph()
	lines := text.NewSegments()
	for i := range b.Lines().Len() {
		s := b.Lines().At(i)
		s = s.TrimLeftSpace(reader.Source())
		if i == b.Lines().Len()-1 {
			s = s.TrimRightSpace(reader.Source())
		}
		lines.Append(s)
	}
	p.SetLines(lines)
	b.Parent().ReplaceChild(b.Parent(), b, p)
}

// CanInterruptParagraph implements parser.BlockParser.
func (mathBlockParser) CanInterruptParagraph() bool { return true }

// CanAcceptIndentedLine implements parser.BlockParser.
func (mathBlockParser) CanAcceptIndentedLine() bool { return false }

// formula is the source between the marks.
func (b *mathBlock) formula(source []byte) []byte {
	s := bytes.TrimSpace(b.Lines().Value(source))
	s = bytes.TrimPrefix(s, []byte(b.closer))
	if b.closer == `\]` {
		s = bytes.TrimPrefix(s, []byte(`\[`))
	}
	return bytes.TrimSpace(bytes.TrimSuffix(s, []byte(b.closer)))
}
