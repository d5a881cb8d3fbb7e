package markdown

import (
	"bytes"
	"strconv"

	"github.com/yuin/goldmark/ast"
)

// writer writes the HTML of one parsed block. Everything it takes from the message goes through one of the escaping functions.
type writer struct {
	buf    []byte
	source []byte
	doc    *document
	code   *highlighter

	tail     string // id for the element that text still to come would be appended to; "" for none
	tailAt   int    // where in buf that text would go; -1 if there is no such element
	tailRows bool   // that element holds a table's rows

	inLink bool
	inCell bool
}

func (w *writer) str(s string)     { w.buf = append(w.buf, s...) }
func (w *writer) text(s []byte)    { w.buf = appendEscaped(w.buf, s) }
func (w *writer) attr(n, s string) { w.str(" " + n + `="`); w.buf = appendAttr(w.buf, s); w.str(`"`) }
func (w *writer) open(tag, id string) {
	w.str("<" + tag)
	w.id(id)
	w.str(">")
}

func (w *writer) id(id string) {
	if id != "" {
		w.attr("id", id)
	}
}

// blocks writes the children of n. last says that n ends the message so far.
func (w *writer) blocks(n ast.Node, last bool) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.block(c, "", last && c.NextSibling() == nil)
	}
}

// block writes one block with the given id. last says that it ends the message so far, so that it may get the tail.
func (w *writer) block(n ast.Node, id string, last bool) {
	switch n := n.(type) {
	case *ast.Paragraph:
		w.leaf(n, "p", id, last)
	case *ast.TextBlock:
		w.inlines(n)
		if last && w.tail != "" {
			w.tailAt = len(w.buf)
		}
	case *ast.Heading:
		w.leaf(n, "h"+strconv.Itoa(n.Level), id, last && id != "")
	case *ast.ThematicBreak:
		w.open("hr", id)
	case *ast.Blockquote:

		w.open("blockquote", id)
		w.blocks(n, last)
		w.str("</blockquote>")

	case *ast.List:
		w.list(n, id, last)
	case *ast.FencedCodeBlock:
		w.figure(n, string(n.Language(w.source)), id, last)
	case *ast.CodeBlock:
		w.figure(n, "", id, last)
	case *mathBlock:
		w.open("p", id)
		w.formula("block", n.formula(w.source))
		w.str("</p>")
	case *tableNode:
		w.table(n, id, last)
	}
}

// leaf writes an element that holds text. When it is the block itself its own id serves as the tail.
func (w *writer) leaf(n ast.Node, tag, id string, last bool) {
	if last && w.tail != "" && id == "" {
		id = w.tail
	} else if last && w.tail != "" {
		w.tail = id
	}
	w.open(tag, id)
	w.inlines(n)
	if last && w.tail != "" {
		w.tailAt = len(w.buf)
	}
	w.str("</" + tag + ">")
}

func (w *writer) list(n *ast.List, id string, last bool) {
	tag := "ul"
	if n.IsOrdered() {
		tag = "ol"
	}
	w.str("<" + tag)
	w.id(id)
	if n.IsOrdered() && n.Start != 1 {
		w.attr("start", strconv.Itoa(n.Start))
	}
	w.str(">")
	w.items(n, last)
	w.str("</" + tag + ">")
}

func (w *writer) items(n *ast.List, last bool) {

	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		end := last && c.NextSibling() == nil
		w.str("<li")
		if isTask(c) {
			w.attr("class", "task")
		}
		if t, ok := c.LastChild().(*ast.TextBlock); end && w.tail != "" && (ok && t != nil || c.LastChild() == nil) {
			w.id(w.tail)
		}
		w.str(">")
		w.blocks(c, end)
		if c.LastChild() == nil && end && w.tail != "" {
			w.tailAt = len(w.buf)
		}
		w.str("</li>")
	}

}

func isTask(item ast.Node) bool {
	if item.FirstChild() == nil || item.FirstChild().FirstChild() == nil {
		return false
	}
	k := item.FirstChild().FirstChild().Kind()
	return k == kindDone || k == kindUndone
}

// figure writes a block of code. The page's script finds the button's code by its closest figure.
func (w *writer) figure(n ast.Node, lang, id string, last bool) {
	lang = cleanLanguage(lang)
	w.str(`<figure class="code"`)
	w.id(id)
	w.str(`><figcaption><span>`)
	w.text([]byte(lang))
	w.str(`</span><button type="button" class="copy" data-copy="">Copy</button></figcaption><pre tabindex="0"><code`)
	tail := last && w.tail != ""
	if tail {
		w.id(w.tail)
	}
	w.str(">")
	lines := n.Lines()
	code := lines.Value(w.source)
	if tail {
		if k := lines.Len(); k > 0 && lines.At(k-1).Stop == len(w.source) {
			code = bytes.TrimSuffix(code, []byte("\n")) // the writer's own: the rest of the line is yet to come
		}
		if len(code) > maxOpenHighlight {
			lang = ""
		}
	}
	w.buf = w.code.append(w.buf, lang, code)
	if tail {
		w.tailAt = len(w.buf)
	}
	w.str(`</code></pre></figure>`)
}

// table writes a table in a container of its own, so that a wide one scrolls there and not the page.
func (w *writer) table(n *tableNode, id string, last bool) {
	w.str(`<div class="table" tabindex="0"`)
	w.id(id)
	w.str(`><table><thead>`)
	w.row(n.FirstChild(), "th")
	w.str("</thead><tbody")
	tail := last && w.tail != "" && id != ""
	if tail {
		w.id(w.tail)
	}
	w.str(">")
	w.rows(n)
	if tail {
		w.tailAt, w.tailRows = len(w.buf), true
	}
	w.str("</tbody></table></div>")
}

// rows writes the rows below the header.
func (w *writer) rows(n ast.Node) {
	for c := n.FirstChild().NextSibling(); c != nil; c = c.NextSibling() {
		w.row(c, "td")
	}
}

func (w *writer) row(n ast.Node, tag string) {
	w.inCell = true
	w.str("<tr>")
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.str("<" + tag)
		if a := c.(*tableNode).align; a != "" {
			w.attr("class", string(a))
		}
		w.str(">")
		w.inlines(c)
		w.str("</" + tag + ">")
	}
	w.str("</tr>")
	w.inCell = false
}

func (w *writer) formula(mode string, source []byte) {
	w.str(`<span class="math"`)
	w.attr("data-math", mode)
	w.str(">")
	w.text(bytes.TrimSpace(source))
	w.str("</span>")
}
