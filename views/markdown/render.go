package markdown

import (
	"strconv"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Bounds past which text is shown plain, in one <pre>. They are far beyond what a model writes.
const (
	maxSource  = 1 << 20   // bytes of a message that are read as Markdown
	maxBlock   = 512 << 10 // bytes of one block
	maxCode    = 1 << 20   // bytes of one block of code
	maxNesting = 64        // blocks in one another
)

// rendering is a block's HTML and what there is to know about it.
type rendering struct {
	html   string
	tail   string // id of the element to which text that follows can be appended, "" if there is none
	tailAt int    // where in html that element's content ends
	rows   bool   // that element holds a table's rows
	plain  bool   // past a bound
	scope  *scope
}

// render renders one block. If tail is not "" the block is still open: its last element is found, and given that id if it has none.
func (s *Stream) render(k kind, source, id, tail string) rendering {
	w := s.writer(source, tail)
	if oversize(k, source) {
		w.open(`pre class="plain"`, id)
		w.text(w.source)
		w.tailAt = len(w.buf)
		w.str("</pre>")
		return rendering{html: string(w.buf), tail: id, tailAt: w.tailAt, plain: true, scope: newScope(s.doc)}
	}
	root, sc := s.parse(w)
	switch only, n := shown(root); n {
	case 0:
	case 1:
		w.block(only, id, true)
	default:
		w.open("div", id)
		w.blocks(root, true)
		w.str("</div>")
	}
	r := rendering{html: string(w.buf), tailAt: w.tailAt, scope: sc}
	if w.tailAt >= 0 {
		r.tail, r.rows = w.tail, w.tailRows
	}
	return r
}

// shown counts the blocks that show and returns the last: link definitions do not.
func shown(root ast.Node) (last ast.Node, count int) {
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() != ast.KindLinkReferenceDefinition {
			last = n
			count++
		}
	}
	return last, count
}

func (s *Stream) writer(source, tail string) *writer {
	buf := make([]byte, 0, len(source)+len(source)/2+64)
	return &writer{buf: buf, source: append([]byte(source), '\n'), doc: s.doc, code: s.r.code, tail: tail, tailAt: -1}
}

func (s *Stream) parse(w *writer) (ast.Node, *scope) {
	sc := newScope(s.doc)
	return s.r.parser().Parse(text.NewReader(w.source), parser.WithContext(sc)), sc
}

// renderRows renders rows of a table whose header and delimiter row are head.
func (s *Stream) renderRows(head, rows string) string {
	w := s.writer(head+rows, "")
	root, _ := s.parse(w)
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() == kindTable {
			w.rows(n)
		}
	}
	return string(w.buf)
}

// renderItem renders one item of a list by itself, to be shown until the whole list is rendered. With an id it is still open.
func (s *Stream) renderItem(source, id string) rendering {
	w := s.writer(source, id)
	r := rendering{tailAt: -1}
	if !oversize(kindList, source) {
		root, _ := s.parse(w)
		list, ok := root.FirstChild().(*ast.List)
		if ok && list.FirstChild() != nil && list == root.LastChild() && list.FirstChild() == list.LastChild() {
			w.item(list.FirstChild(), id)
			if r.html = string(w.buf); w.tailAt >= 0 {
				r.tail, r.tailAt = w.tail, w.tailAt
			}
			return r
		}
	}
	w.open("li", id)
	w.text([]byte(source))
	r.tail, r.tailAt = id, len(w.buf)
	w.str("</li>")
	r.html = string(w.buf)
	return r
}

func (w *writer) item(n ast.Node, id string) {
	w.str("<li")
	if isTask(n) {
		w.attr("class", "task")
	}
	w.id(id)
	w.str(">")
	if id != "" && n.LastChild() != nil && n.LastChild().Kind() != ast.KindTextBlock {
		w.tail = id + "t"
	}
	w.blocks(n, true)
	w.str("</li>")
}

// oversize says whether a block is past a bound.
func oversize(k kind, source string) bool {
	switch k {
	case kindRest:
		return true
	case kindFence:
		return len(source) > maxCode
	default:
		return len(source) > maxBlock || tooDeep(source)
	}
}

// tooDeep says whether the markers at the beginning of some line open more blocks than are followed. A marker counts for the
// indentation before it too, which stands for the blocks it is in.
func tooDeep(source string) bool {
	depth, marked := 0, true
	for i := 0; i < len(source); i++ {
		switch c := source[i]; {
		case c == '\n':
			depth, marked = 0, true
		case !marked:
		case c == '\t':
			depth += 4
		case c == ' ':
			depth++
		case c == '>' || (c == '-' || c == '*' || c == '+' || c == '.' || c == ')') && i+1 < len(source) && isBlank(source[i+1]):
			depth += 2
			if depth > 2*maxNesting {
				return true
			}
		case c < '0' || c > '9':
			marked = false
		}
	}
	return false
}

func (d *document) noteID(n int) string { return d.prefix + "_n" + strconv.Itoa(n) }

func (d *document) citeID(n, cite int) string {
	id := d.prefix + "_r" + strconv.Itoa(n)
	if cite > 1 {
		id += "-" + strconv.Itoa(cite)
	}
	return id
}
