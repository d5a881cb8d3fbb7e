package markdown

import (
	"bytes"
	"strings"
)

// Swap says what a [Patch] does to its target.
type Swap uint8

const (
	// Append adds the HTML at the end of the target's content ("beforeend").
	Append Swap = iota
	// Replace puts the HTML in the target's place ("outerHTML"). It may be empty: then the target goes.
	Replace
)

// String returns the name htmx has for the swap.
func (s Swap) String() string {
	if s == Replace {
		return "outerHTML"
	}
	return "beforeend"
}

// Patch is one change to the page.
type Patch struct {
	Target string // id of an element; the stream's prefix or an id that begins with it
	Swap   Swap
	// HTML may begin or end with spaces and line ends that count, and may be rows of a table.
	HTML string
}

// Stream renders a message that is still arriving. Applied in order, the patches build in the container what [Stream.HTML]
// returns at each point, and after [Stream.Close] what [Renderer.HTML] returns for the whole text. A Stream is not safe for
// concurrent use.
type Stream struct {
	r      *Renderer
	prefix string
	doc    *document
	quiet  bool // no patches: the whole message is here

	in      input
	src     []byte // the open block, or the line that may begin one
	line    int    // where in src the current line begins
	scan    int    // up to where src holds no line end
	decided bool   // what the current line begins is known
	past    int    // bytes before src
	cut     cutter

	blocks  []block
	size    int // bytes of the blocks' HTML
	next    int // number of the next block
	open    openBlock
	patches []pending
	closed  bool
}

// pending is a patch that may still grow.
type pending struct {
	target string
	swap   Swap
	html   []byte
}

// block is a finished block.
type block struct {
	id     string
	kind   kind
	html   string
	source string // kept while a later definition could change the block
	misses []uint64
	cites  bool
}

// Append takes more of the text and returns what to change on the page, often a single patch. The text may be cut
// anywhere, within a character too. After Close it does nothing.
func (s *Stream) Append(text string) []Patch {
	if s.closed {
		return nil
	}
	s.src = s.in.push(s.src, text)
	s.advance()
	if !s.quiet {
		s.show()
	}
	return s.take()
}

// Close ends the text: the open block is finished, and blocks that a later definition or a footnote changes are replaced.
func (s *Stream) Close() []Patch {
	if s.closed {
		return nil
	}
	s.src = s.in.flush(s.src)
	if n := len(s.src); n > 0 && s.src[n-1] != '\n' {
		s.src = append(s.src, '\n')
	}
	s.advance()
	if s.cut.kind != kindNone {
		s.finish(len(s.src))
	}
	s.closed, s.doc.closing = true, true
	for i := range s.blocks {
		b := &s.blocks[i]
		if b.source == "" || !s.doc.concerns(b) {
			continue
		}
		if html := s.render(b.kind, b.source, b.id, "").html; html != b.html {
			s.replace(b, html)
		}
	}
	if notes := s.footnotes(); notes != "" {
		s.add(block{html: notes})
	}
	s.src = nil
	return s.take()
}

// HTML returns what the container holds once all patches so far are applied.
func (s *Stream) HTML() string {
	var out strings.Builder
	out.Grow(s.size + len(s.open.body) + len(s.open.tail))
	for i := range s.blocks {
		out.WriteString(s.blocks[i].html)
	}
	out.Write(s.open.body)
	out.WriteString(s.open.tail)
	return out.String()
}

// take returns the patches made since the last time.
func (s *Stream) take() []Patch {
	if len(s.patches) == 0 {
		return nil
	}
	out := make([]Patch, len(s.patches))
	for i, p := range s.patches {
		out[i] = Patch{p.target, p.swap, string(p.html)}
	}
	s.patches = nil
	return out
}

// patch adds a change to the page; additions to one element become one.
func (s *Stream) patch(target string, swap Swap, html string) {
	if s.quiet {
		return
	}
	if n := len(s.patches); n > 0 && swap == Append {
		if last := &s.patches[n-1]; last.swap == Append && last.target == target {
			last.html = append(last.html, html...)
			return
		}
	}
	s.patches = append(s.patches, pending{target, swap, []byte(html)})
}

// add adds a finished block that is not on the page yet.
func (s *Stream) add(b block) {
	if b.html == "" {
		return
	}
	s.blocks = append(s.blocks, b)
	s.size += len(b.html)
	s.patch(s.prefix, Append, b.html)
}

// replace changes a finished block that is on the page.
func (s *Stream) replace(b *block, html string) {
	s.size += len(html) - len(b.html)
	b.html = html
	s.patch(b.id, Replace, html)
}

// finish ends the open block after n bytes of src.
func (s *Stream) finish(n int) {
	source := string(bytes.TrimRight(s.src[:n], "\n"))
	switch s.cut.kind {
	case kindHidden:
	case kindNote:
		s.doc.defineNote(s.cut.tag, noteBody(source, s.cut.size))
	default:
		s.complete(source)
	}
	line, scan := s.line-n, max(s.scan-n, 0)
	s.drop(n)
	s.line, s.scan = line, scan
	s.cut, s.open = cutter{}, openBlock{}
}

func (s *Stream) complete(source string) {
	r := s.render(s.cut.kind, source, s.open.id, "")
	s.doc.define(r.scope.refs)
	b := block{id: s.open.id, kind: s.cut.kind, html: r.html, misses: r.scope.misses, cites: r.scope.cites}
	if b.cites || len(b.misses) > 0 {
		b.source = source
	}
	if !s.open.shown {
		s.add(b)
		return
	}
	if b.html != "" {
		s.blocks = append(s.blocks, b)
		s.size += len(b.html)
	}
	if !s.open.is(b.html) {
		s.patch(b.id, Replace, b.html)
	}
}

// drop takes n bytes off src; what follows begins a line.
func (s *Stream) drop(n int) {
	s.src = s.src[n:]
	s.past += n
	s.line, s.scan, s.decided = 0, 0, false
}
