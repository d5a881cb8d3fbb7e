package markdown

import "strings"

// kind is what a top-level block is, as far as cutting needs to know.
type kind uint8

const (
	kindNone kind = iota
	kindParagraph
	kindHeading
	kindRule
	kindFence
	kindIndented
	kindQuote
	kindList
	kindNote
	kindMath
	kindHidden // model markup: dropped
	kindRest   // everything past maxSource
)

// cutter cuts a message into top-level blocks, a line at a time, by the rules of CommonMark as far as they concern the top level. It
// only ever looks back, so it never reads a line twice. Where the rules ask for what is inside a block (does this quote end in a
// paragraph, so that the next line continues it?), it keeps the lines together and leaves the rest to the parser, which sees each
// block whole: a block may thus render to more than one element.
type cutter struct {
	kind    kind
	marker  byte   // list: its bullet or delimiter; fence: its character
	ordered bool   // list
	content int    // list: where the content of the current item begins; what is indented as far belongs to it
	run     int    // fence: its length
	tag     string // math and hidden: what ends it; note: its label
	size    int    // note: bytes before its text
	blank   bool   // the line before was blank
	lines   int    // lines begun
	setext  bool   // the current line underlines a heading
}

// breaksBefore says whether a line that begins so ends the open block before it.
func (c *cutter) breaksBefore(l line) bool {
	switch c.kind {
	case kindParagraph:
		return l.class == lineBlank || l.interrupts()
	case kindMath:
		return l.class == lineBlank
	case kindQuote:
		return l.class == lineBlank || l.class != lineQuote && l.interrupts() || l.rule()
	case kindIndented:
		return l.class != lineBlank && l.class != lineIndented
	case kindNote:
		if l.class == lineBlank || l.indent >= 4 {
			return false
		}
		return c.blank || l.interrupts()
	case kindList:
		return c.breaksList(l)
	default:
		return false
	}
}

func (c *cutter) breaksList(l line) bool {
	if l.class == lineBlank || l.indent >= c.content {
		return false
	}
	if c.continues(l) {
		return false
	}
	return c.blank || l.interrupts() || l.rule()
}

// continues says whether the line is a further item of the open list.
func (c *cutter) continues(l line) bool {
	switch l.class {
	case lineBullet, lineOrdered:
		return l.marker == c.marker && (l.class == lineOrdered) == c.ordered
	case lineSetext2:
		return l.run == 1 && c.marker == '-'
	default:
		return false
	}
}

// interrupts says whether the line begins a block even under a paragraph.
func (l line) interrupts() bool {
	switch l.class {
	case lineFence, lineHeading, lineRule, lineQuote, lineNote, lineMath, lineModel:
		return true
	case lineBullet:
		return !l.empty
	case lineOrdered:
		return l.first && !l.empty
	default:
		return false
	}
}

// rule says whether the line is a thematic break where it does not underline a paragraph.
func (l line) rule() bool {
	return l.class == lineRule || l.class == lineSetext2 && l.run >= 3
}

// begin opens the block that starts with this line, which is not blank.
func (c *cutter) begin(l line) {
	*c = cutter{kind: kindParagraph, marker: l.marker, content: l.content, run: l.run, tag: l.tag, size: l.size}
	switch l.class {
	case lineIndented:
		c.kind = kindIndented
	case lineFence:
		c.kind = kindFence
	case lineHeading:
		c.kind = kindHeading
	case lineQuote:
		c.kind = kindQuote
	case lineBullet:
		c.kind = kindList
	case lineOrdered:
		c.kind, c.ordered = kindList, true
	case lineNote:
		c.kind = kindNote
	case lineMath:
		c.kind = kindMath
	case lineModel:
		c.kind = kindHidden
	case lineRule:
		c.kind = kindRule
	case lineSetext2:
		if l.run >= 3 {
			c.kind = kindRule
		} else if l.run == 1 {
			c.kind = kindList
		}
	}
}

// beginLine takes note of a line that belongs to the open block.
func (c *cutter) beginLine(l line) {
	c.lines++
	c.blank = l.class == lineBlank
	c.setext = c.lines > 1 && (l.class == lineSetext || l.class == lineSetext2)
	if c.kind == kindList && l.indent < c.content && c.continues(l) {
		c.content = l.content
	}
}

// endLine says whether the block ends with the line that is now complete.
func (c *cutter) endLine(text string) bool {
	switch c.kind {
	case kindHeading, kindRule:
		return true
	case kindParagraph:
		return c.setext
	case kindFence:
		return c.lines > 1 && closesFence(text, c.marker, c.run)
	case kindMath:
		return c.endMathLine(text)
	default:
		return false
	}
}

func (c *cutter) endMathLine(text string) bool {
	if c.lines > 1 {
		return strings.Contains(text, c.tag)
	}
	i, _ := indentation(text)
	_, after, closed := strings.Cut(text[i+2:], c.tag)
	if closed && strings.TrimSpace(after) != "" {
		c.kind = kindParagraph // text that begins with a formula
		return false
	}
	return closed
}

func closesFence(text string, marker byte, run int) bool {
	i, col := indentation(text)
	n := runLength(text[i:], marker)
	return col < 4 && n >= run && strings.TrimSpace(text[i+n:]) == ""
}
