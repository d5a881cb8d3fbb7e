package markdown

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// newParser builds the parser of one block. Raw HTML has no parser, so it stays text.
func newParser() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(parser.NewListParser(), 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(mathBlockParser{}, 750),
			util.Prioritized(parser.NewBlockquoteParser(), 800),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(taskParser{}, 50),
			util.Prioritized(bounded{parser.NewCodeSpanParser()}, 100),
			util.Prioritized(mathParser{}, 120),
			util.Prioritized(tagParser{}, 130),
			util.Prioritized(citeParser{}, 150),
			util.Prioritized(boundedLink{bounded{parser.NewLinkParser()}}, 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(bounded{parser.NewEmphasisParser()}, 500),
			util.Prioritized(bounded{strikeParser{}}, 500),
			util.Prioritized(bareLinkParser{}, 999),
		),
		parser.WithParagraphTransformers(
			util.Prioritized(tableTransformer{}, 50),
			util.Prioritized(parser.LinkReferenceParagraphTransformer, 100),
		),
	)
}

func linkLabel(label []byte) string { return util.ToLinkReference(label) }

// Bounds on the work in one run of text (a paragraph, a heading, a cell). Matching delimiters and finding the end of a link or a
// code span are quadratic in the worst case; past these the characters stay as they are. They are far beyond honest text: two
// thousand runs of delimiters are a thousand bold words in one paragraph.
const (
	maxDelimiters = 2000
	maxSearched   = 8 << 20 // bytes looked through in vain
)

type limits struct {
	of         ast.Node
	delimiters int
	searched   int
}

// in returns the counters of the run of text that n is.
func (s *scope) in(n ast.Node) *limits {
	if s.limits.of != n {
		s.limits = limits{of: n}
	}
	return &s.limits
}

// bounded keeps an inline parser within the bounds.
type bounded struct{ parser.InlineParser }

// Parse implements parser.InlineParser.
func (b bounded) Parse(parent ast.Node, reader text.Reader, pc parser.Context) ast.Node {
	used := pc.(*scope).in(parent)
	if used.delimiters > maxDelimiters || used.searched > maxSearched {
		return nil
	}
	_, at := reader.Position()
	n := b.InlineParser.Parse(parent, reader, pc)
	switch n.(type) {
	case *parser.Delimiter:
		used.delimiters++
	case nil, *ast.Text:
		if lines := parent.Lines(); lines.Len() > 0 {
			used.searched += lines.At(lines.Len()-1).Stop - at.Start
		}
	}
	return n
}

// boundedLink also tells the parser that a run of text is over.
type boundedLink struct{ bounded }

// CloseBlock implements parser.CloseBlocker.
func (b boundedLink) CloseBlock(parent ast.Node, reader text.Reader, pc parser.Context) {
	b.InlineParser.(parser.CloseBlocker).CloseBlock(parent, reader, pc)
}

// strikeParser parses ~~text~~. Single tildes stay: ~5 and ~/dir are common.
type strikeParser struct{}

// Trigger implements parser.InlineParser.
func (strikeParser) Trigger() []byte { return []byte{'~'} }

// Parse implements parser.InlineParser.
func (p strikeParser) Parse(_ ast.Node, reader text.Reader, pc parser.Context) ast.Node {
	before := reader.PrecendingCharacter()
	line, segment := reader.PeekLine()
	n := parser.ScanDelimiter(line, before, 2, p)
	if n == nil || n.OriginalLength > 2 || before == '~' {
		return nil
	}
	n.Segment = segment.WithStop(segment.Start + n.OriginalLength)
	reader.Advance(n.OriginalLength)
	pc.PushDelimiter(n)
	return n
}

// IsDelimiter implements parser.DelimiterProcessor.
func (strikeParser) IsDelimiter(c byte) bool { return c == '~' }

// CanOpenCloser implements parser.DelimiterProcessor.
func (strikeParser) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}

// OnMatch implements parser.DelimiterProcessor.
func (strikeParser) OnMatch(int) ast.Node { return newInline(kindStrike) }
