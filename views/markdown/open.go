package markdown

import (
	"bytes"
	"strings"
)

// openBlock is the block that is still arriving, as the page has it: body, then tail, which closes body's elements. Text that
// arrives is added at the end of body as it is; that is cheap and nearly right, and made right when the block is rendered again: when
// it has grown by half, and when it ends.
type openBlock struct {
	id       string
	shown    bool
	body     []byte
	tail     string
	target   string // id of the element body ends in; "" if text cannot be added there
	upto     int    // bytes of the source that are shown
	rendered int    // bytes of the source at the last rendering
	dirty    bool   // something was added that is more than text
	plain    bool   // past a bound: shown as it is, for good
	head     int    // tables: bytes of the header and the delimiter row
	rows     bool   // tables: body ends in the rows, which are added one by one
	list     openList

	// The patch of the current Append that puts the whole element on the page, and where in its HTML the element begins. What
	// follows it is folded into it.
	whole     int // index in patches plus one; 0 if there is none
	wholeFrom int
}

// is says whether the page has the block as html.
func (o *openBlock) is(html string) bool {
	n := len(o.body)
	return len(html) == n+len(o.tail) && html[:n] == string(o.body) && html[n:] == o.tail
}

// Below eagerBlock bytes a block with markup in what was added is rendered again at an eighth more rather than a half: what a few
// hundred bytes cost is bounded, and bold text should not stay in asterisks for long.
const (
	eagerBlock  = 4 << 10
	smallGrowth = 24
)

// smallBlock bounds how much of a block is kept from the page because it may turn out to be nothing or something else, in bytes.
const smallBlock = 2 << 10

// due says whether an element whose source grew from a size to another should be rendered again.
func due(from, to int, eager bool) bool {
	if eager && to < eagerBlock {
		return to-from >= max(smallGrowth, from/8)
	}
	return to-from >= max(2*smallGrowth, from/2)
}

// show brings the page up to what has arrived of the open block.
func (s *Stream) show() {
	o := &s.open
	switch s.cut.kind {
	case kindNone, kindNote, kindHidden:
		return
	case kindMath:
		if len(s.src) < smallBlock {
			return // a formula is shown whole
		}
	}
	end := s.visible()
	if end <= o.upto || !o.shown && s.held(end) {
		return
	}
	defer s.fold()
	switch {
	case o.plain:
		s.addText(end, false)
	case len(s.src) > maxBlock && s.cut.kind != kindFence || s.cut.kind == kindRest:
		s.renderOpen(end)
	case s.cut.kind == kindList:
		s.showList(end)
	case !o.shown || o.head > 0 && o.rendered < o.head:
		s.renderOpen(end)
	case o.rows:
		s.showRows(end)
	case s.cut.kind == kindFence:
		s.showCode(end)
	default:
		s.showText(end)
	}
}

// renderOpen renders the open block up to end, anew or for the first time.
func (s *Stream) renderOpen(end int) {
	o := &s.open
	r := s.render(s.cut.kind, string(s.src[:end]), o.id, o.id+"-t")
	if r.html == "" && !o.shown {
		return
	}
	o.set(r, 0)
	o.upto, o.rendered, o.dirty, o.plain = end, end, false, r.plain
	if o.rows = r.rows && o.head > 0; r.rows && !o.rows {
		o.target = "" // found late: shown when the block is rendered again
	}
	o.list = openList{}
	s.patchOpen()
}

// patchOpen puts the whole open block on the page.
func (s *Stream) patchOpen() {
	o := &s.open
	if o.shown {
		s.patch(o.id, Replace, string(o.body)+o.tail)
		o.whole, o.wholeFrom = len(s.patches), 0
		return
	}
	o.shown = true
	s.patch(s.prefix, Append, string(o.body)+o.tail)
	o.whole = len(s.patches)
	o.wholeFrom = len(s.patches[o.whole-1].html) - len(o.body) - len(o.tail)
}

// fold makes one patch of the one that put the whole open block on the page and those that changed it since.
func (s *Stream) fold() {
	o := &s.open
	if o.whole > 0 && o.whole < len(s.patches) {
		s.patches = s.patches[:o.whole]
		last := &s.patches[o.whole-1]
		last.html = append(append(last.html[:o.wholeFrom], o.body...), o.tail...)
	}
	o.whole = 0
}

// set puts a rendering at a place in body.
func (o *openBlock) set(r rendering, at int) {
	n := len(r.html)
	if r.tail != "" {
		n = r.tailAt
	}
	o.body = append(o.body[:at], r.html[:n]...)
	o.tail, o.target = r.html[n:], r.tail
}

// addText adds the source up to end as text. With trim the indentation and quote marks at the beginning of lines are left out.
func (s *Stream) addText(end int, trim bool) {
	o := &s.open
	if o.target == "" {
		return
	}
	text := s.src[o.upto:end]
	if trim {
		text = trimLines(text, o.upto == 0 || s.src[o.upto-1] == '\n')
	}
	n := len(o.body)
	o.body = appendEscaped(o.body, text)
	o.upto = end
	if len(o.body) > n {
		s.patch(o.target, Append, string(o.body[n:]))
	}
}

// showText shows more of a paragraph, heading, quote or indented code.
func (s *Stream) showText(end int) {
	o := &s.open
	o.dirty = o.dirty || o.target == "" || hasMarkup(s.src[o.upto:end])
	if o.dirty && due(o.rendered, end, true) {
		s.renderOpen(end)
		return
	}
	s.addText(end, true)
}

// showCode shows more of a block of code: plain, and coloured when it has grown by half.
func (s *Stream) showCode(end int) {
	o := &s.open
	if len(s.src) > maxCode || end <= maxOpenHighlight && due(o.rendered, end, false) && s.fenceLanguage() {
		s.renderOpen(end)
		return
	}
	s.addText(end, false)
}

func (s *Stream) fenceLanguage() bool {
	info, _, _ := strings.Cut(strings.TrimLeft(string(s.src[:min(len(s.src), 100)]), " `~"), "\n")
	lang, _, _ := strings.Cut(strings.TrimSpace(info), " ")
	return lang != "" && knownLanguage(cleanLanguage(lang))
}

// showRows adds the rows of a table that are complete.
func (s *Stream) showRows(end int) {
	o := &s.open
	html := s.renderRows(string(s.src[:o.head]), string(s.src[o.upto:end]))
	o.upto = end
	if html == "" {
		return
	}
	o.body = append(o.body, html...)
	s.patch(o.target, Append, html)
}

// visible returns how much of src can be shown: not what the next characters may turn into something else.
func (s *Stream) visible() int {
	last := s.src[s.line:]
	if s.cut.kind == kindFence {
		if len(last) == 0 || s.cut.lines < 2 || mayCloseFence(last, s.cut.marker) {
			return s.line
		}
		return len(s.src)
	}
	if s.open.plain || s.cut.kind == kindRest {
		return len(s.src)
	}
	end := len(s.src)
	switch {
	case !s.decided || s.open.head > 0:
		end = s.line
	case s.cut.kind == kindParagraph && s.cut.lines == 2 && len(last) < smallBlock && len(bytes.Trim(last, "|:- \t")) == 0:
		end = s.line // may turn the line before into a table
	}
	if s.open.head > 0 {
		return end
	}
	if from := max(s.open.upto, end-maxHeld); from < end {
		end = from + visibleText(s.src[from:end])
	}
	return end
}

func mayCloseFence(l []byte, marker byte) bool {
	return len(l) <= maxHeld && len(bytes.Trim(l, " \t"+string(rune(marker)))) == 0
}

// maxHeld bounds how much text is held back, in bytes.
const maxHeld = 300

// visibleText returns how much of s can be shown. Held back at its end are spaces, the beginning of a link or image, of an
// emphasis, of a code span and of a tag.
func visibleText(s []byte) int {
	n := len(bytes.TrimRight(s, " \t\n*_`~!<$\\"))
	if i := bytes.LastIndexByte(s[:n], '<'); i >= 0 {
		if _, size, open := modelTag(string(s[i:])); size == 0 && open {
			n = i
		}
	}
	if i := bytes.LastIndexByte(s[:n], '['); i >= 0 && openLink(s[i:n]) {
		n = i
		if n > 0 && s[n-1] == '!' {
			n--
		}
	}
	return len(bytes.TrimRight(s[:n], " \t\n"))
}

// openLink says whether s, which begins with a bracket, may be the beginning of a link.
func openLink(s []byte) bool {
	_, after, closed := bytes.Cut(s, []byte("]"))
	if !closed || len(after) == 0 {
		return true
	}
	return after[0] == '(' && bytes.IndexByte(after, ')') < 0 && bytes.IndexByte(after, '\n') < 0
}

// held says whether a block is not to be shown yet, because it may turn out to be nothing to show or something else entirely.
func (s *Stream) held(end int) bool {
	if end == 0 || end > smallBlock {
		return end == 0
	}
	text := s.src[:end]
	switch s.cut.kind {
	case kindParagraph:
		text = bytes.TrimLeft(text, " ")
		return text[0] == '|' && s.cut.lines == 1 || text[0] == '[' && mayDefine(text)
	case kindHeading:
		return len(bytes.Trim(text, "# \t")) == 0
	case kindQuote:
		return len(bytes.Trim(text, "> \t\n")) == 0
	}
	return false
}

// mayDefine says whether a paragraph that begins with a bracket may be a link definition, which shows nothing.
func mayDefine(text []byte) bool {
	_, after, closed := bytes.Cut(text, []byte("]"))
	return !closed || len(after) == 0 || after[0] == ':'
}

// hasMarkup says whether text may be more than it looks. It may be wrong: that only delays a rendering to the block's end.
func hasMarkup(text []byte) bool {
	return bytes.ContainsAny(text, "\\`*_[]<&$~#\n") || bytes.Contains(text, []byte("://")) || bytes.Contains(text, []byte("www."))
}

// trimLines takes indentation and quote marks off the beginning of lines.
func trimLines(text []byte, atStart bool) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		if atStart {
			text = bytes.TrimLeft(text, " \t>")
		}
		l, rest, more := bytes.Cut(text, []byte("\n"))
		out = append(out, l...)
		if more {
			out = append(out, '\n')
		}
		text, atStart = rest, true
	}
	return out
}
