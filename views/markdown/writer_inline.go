package markdown

import (
	"bytes"
	"strconv"

	"github.com/yuin/goldmark/ast"
)

func (w *writer) inlines(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.inline(c)
	}
}

func (w *writer) inline(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		w.textNode(n)
	case *ast.String:
		w.text(n.Value)
	case *ast.CodeSpan:
		w.codeSpan(n)
	case *ast.Emphasis:
		if n.Level == 2 {
			w.wrap(n, "strong")
		} else {
			w.wrap(n, "em")
		}
	case *ast.Link:
		w.link(n)
	case *ast.Image:
		w.image(n)
	case *ast.AutoLink:
		w.autoLink(n)
	case *inline:
		w.own(n)
	default: // a delimiter or bracket that came to nothing is text by now; should one remain, its children are shown
		w.inlines(n)
	}
}

func (w *writer) own(n *inline) {
	switch n.kind {
	case kindStrike:
		w.wrap(n, "del")
	case kindMathSpan:
		w.formula("inline", n.value)
	case kindMathBig:
		w.formula("block", n.value)
	case kindBreak:
		w.str("<br>")
	case kindDone:
		w.str(`<input type="checkbox" checked="" disabled="">`)
	case kindUndone:
		w.str(`<input type="checkbox" disabled="">`)
	case kindCite:
		w.cite(n.note)
	}
}

func (w *writer) wrap(n ast.Node, tag string) {
	w.str("<" + tag + ">")
	w.inlines(n)
	w.str("</" + tag + ">")
}

func (w *writer) textNode(n *ast.Text) {
	value := n.Segment.Value(w.source)
	if n.IsRaw() {
		w.text(value)
	} else {
		w.buf = appendText(w.buf, value)
	}
	switch {
	case n.HardLineBreak():
		w.str("<br>\n")
	case n.SoftLineBreak():
		w.str("\n")
	}
}

func (w *writer) codeSpan(n ast.Node) {
	w.str("<code>")
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		t, ok := c.(*ast.Text)
		if !ok {
			continue
		}
		value := t.Segment.Value(w.source)
		if w.inCell { // a bar in a cell is escaped even in code
			value = bytes.ReplaceAll(value, []byte(`\|`), []byte("|"))
		}
		if s, ok := bytes.CutSuffix(value, []byte("\n")); ok {
			w.text(s)
			w.str(" ")
		} else {
			w.text(value)
		}
	}
	w.str("</code>")
}

// anchor opens a link, if the address is one a link may have, and says whether it did.
func (w *writer) anchor(address, title string) bool {
	if w.inLink || !safeAddress(address) {
		return false
	}
	w.str("<a")
	w.attr("href", address)
	if title != "" {
		w.attr("title", title)
	}
	w.str(` rel="noopener noreferrer" target="_blank">`)
	w.inLink = true
	return true
}

func (w *writer) closeAnchor() {
	w.str("</a>")
	w.inLink = false
}

func (w *writer) link(n *ast.Link) {
	if w.anchor(resolveAddress(n.Destination), resolveText(n.Title)) {
		w.inlines(n)
		w.closeAnchor()
		return
	}
	w.inlines(n)
}

func (w *writer) autoLink(n *ast.AutoLink) {
	label := n.Label(w.source)
	address := string(label)
	switch {
	case n.AutoLinkType == ast.AutoLinkEmail:
		address = "mailto:" + address
	case len(label) > 4 && bytes.EqualFold(label[:4], []byte("www.")):
		address = "https://" + address
	}
	if w.anchor(encodeAddress(address), "") {
		w.text(label)
		w.closeAnchor()
		return
	}
	w.text(label)
}

// image writes what stands for an image. One from elsewhere is not loaded: asking for it would tell its host who reads
// what, and when. The button holds its address for the page's script; within a link, and for other addresses, the text stands alone.
func (w *writer) image(n *ast.Image) {
	alt := plainText(n, w.source)
	address := resolveAddress(n.Destination)
	host := remoteHost(address)
	if host == "" || w.inLink {
		w.text(alt)
		return
	}
	w.str(`<button type="button" class="remote-image"`)
	w.attr("data-src", address)
	w.attr("data-alt", string(alt))
	w.attr("title", "Load this image from "+host)
	w.str("><span>")
	if len(alt) == 0 {
		alt = []byte("Image")
	}
	w.text(alt)
	w.str("</span> <small>")
	w.text([]byte(host))
	w.str("</small></button>")
}

// plainText is the text below n without its markup.
func plainText(n ast.Node, source []byte) []byte {
	var out []byte
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			value := c.Segment.Value(source)
			if c.IsRaw() {
				out = append(out, value...)
			} else {
				out = append(out, resolveText(value)...)
			}
			if c.SoftLineBreak() || c.HardLineBreak() {
				out = append(out, ' ')
			}
		case *ast.AutoLink:
			out = append(out, c.Label(source)...)
		case *inline:
			out = append(out, c.value...)
			out = append(out, plainText(c, source)...)
		default:
			out = append(out, plainText(c, source)...)
		}
	}
	return out
}

// cite writes a footnote's reference: within a link its number alone.
func (w *writer) cite(n *note) {
	w.doc.cite(n)
	number := strconv.Itoa(n.number)
	if w.inLink {
		w.str("<sup>" + number + "</sup>")
		return
	}
	w.str(`<sup class="cite"`)
	w.id(w.doc.citeID(n.number, n.cites))
	w.str(`><a`)
	w.attr("href", "#"+w.doc.noteID(n.number))
	w.str(` role="doc-noteref">` + number + `</a></sup>`)
}
