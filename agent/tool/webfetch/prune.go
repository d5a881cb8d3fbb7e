package webfetch

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Bounds on what the writer of Markdown makes of a tree.
const (
	maxCells   = 5_000 // of one table with its spans filled in; larger ones become lines
	maxQuoting = 8     // lists and quotations inside each other; deeper ones are written flat
	maxLink    = 2000  // bytes of a link's address
)

// unseen are elements of which a reader sees nothing, or nothing of use.
var unseen = []atom.Atom{atom.Style, atom.Template, atom.Svg, atom.Noscript, atom.Iframe, atom.Object, atom.Embed, atom.Canvas, atom.Audio, atom.Video,
	atom.Select, atom.Datalist, atom.Input, atom.Textarea, atom.Map, atom.Frameset, atom.Noframes, atom.Noembed}

// prune takes out what a reader does not see, makes links absolute, and keeps tables and lists within bounds.
func prune(doc *html.Node, page *url.URL) {
	p := &pruner{base: page}
	if b := find(doc, atom.Base); b != nil {
		if u, err := page.Parse(strings.TrimSpace(attr(b, "href"))); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
			p.base = u
		}
	}
	p.children(doc, 0, 0)
}

type pruner struct {
	base *url.URL
}

// children prunes below n. quoting counts the lists and quotations around it, tables the tables.
func (p *pruner) children(n *html.Node, quoting, tables int) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		switch {
		case c.Type != html.ElementNode:
		case hidden(c):
			n.RemoveChild(c)
		default:
			p.element(c, quoting, tables)
		}
		c = next
	}
}

func (p *pruner) element(n *html.Node, quoting, tables int) {
	switch n.DataAtom {
	case atom.A:
		p.link(n, "href")
	case atom.Img:
		p.image(n)
	case atom.Math:
		formula(n)
		return
	case atom.Ol:
		if i, err := strconv.Atoi(attr(n, "start")); err != nil || i < 0 || i > 1_000_000 {
			remove(n, "start")
		}
	case atom.Table:
		tables++
		if tables > 3 || cells(n) > maxCells {
			flatten(n)
		}
	case atom.Td, atom.Th:
		clamp(n, "colspan")
		clamp(n, "rowspan")
	}
	switch n.DataAtom {
	case atom.Ol, atom.Ul, atom.Menu, atom.Blockquote, atom.Dl:
		if quoting++; quoting > maxQuoting {
			rename(n, atom.Div)
		}
	case atom.Li:
		if quoting > maxQuoting {
			rename(n, atom.Div)
		}
	}
	remove(n, "title")
	p.children(n, quoting, tables)
}

// hidden reports whether a browser would show nothing of n. Metadata in JSON-LD stays, for title and date.
func hidden(n *html.Node) bool {
	if slices.Contains(unseen, n.DataAtom) {
		return true
	}
	if n.DataAtom == atom.Script {
		return attr(n, "type") != "application/ld+json" || n.FirstChild == nil || len(n.FirstChild.Data) > 64<<10
	}
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return true
		case "aria-hidden":
			return strings.EqualFold(a.Val, "true")
		case "style":
			if style := strings.ToLower(strings.Join(strings.Fields(a.Val), "")); strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden") {
				return true
			}
		}
	}
	return false
}

// link makes an address absolute, or takes it away when it leads nowhere a reader goes.
func (p *pruner) link(n *html.Node, key string) {
	raw := strings.TrimSpace(attr(n, key))
	u, err := p.base.Parse(raw)
	if err != nil || raw == "" || len(raw) > maxLink || (u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto") || (u.Scheme != "mailto" && u.Host == "") {
		remove(n, key)
		return
	}
	u.User = nil
	set(n, key, u.String())
}

// image keeps a picture that says what it shows; all others are taken out.
func (p *pruner) image(n *html.Node) {
	if attr(n, "src") == "" {
		set(n, "src", attr(n, "data-src"))
	}
	p.link(n, "src")
	if strings.TrimSpace(attr(n, "alt")) == "" || attr(n, "src") == "" {
		n.DataAtom, n.Data, n.Attr = atom.Wbr, "wbr", nil
	}
}

// formula puts the TeX that pages give along in the place of MathML.
func formula(n *html.Node) {
	text := attr(n, "alttext")
	for n.FirstChild != nil {
		n.RemoveChild(n.FirstChild)
	}
	rename(n, atom.Code)
	n.Attr = nil
	if text != "" {
		n.AppendChild(&html.Node{Type: html.TextNode, Data: text})
	}
}

// cells is how many cells the grid of a table has when every row is as long as the longest.
func cells(table *html.Node) int {
	rows, columns, spans := 0, 0, 0
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			switch c.DataAtom {
			case atom.Table:
				continue
			case atom.Tr:
				rows++
				width := 0
				for cell := c.FirstChild; cell != nil; cell = cell.NextSibling {
					if cell.DataAtom == atom.Td || cell.DataAtom == atom.Th {
						width += span(cell, "colspan")
						spans = max(spans, span(cell, "rowspan"))
					}
				}
				columns = max(columns, width)
			default:
				walk(c)
			}
		}
	}
	walk(table)
	return (rows + spans) * columns
}

// maxSpan is the most columns or rows a cell covers.
const maxSpan = 100

func span(n *html.Node, key string) int {
	i, err := strconv.Atoi(strings.TrimSpace(attr(n, key)))
	if err != nil || i < 1 {
		return 1
	}
	return min(i, maxSpan)
}

func clamp(n *html.Node, key string) {
	if attr(n, key) != "" {
		set(n, key, strconv.Itoa(span(n, key)))
	}
}

// flatten makes lines of a table that is too large for a grid. Tables inside it are left to prune.
func flatten(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.DataAtom {
		case atom.Table:
			continue
		case atom.Td, atom.Th:
			c.InsertBefore(&html.Node{Type: html.TextNode, Data: " "}, c.FirstChild)
			rename(c, atom.Span)
		case atom.Tr:
			flatten(c)
			rename(c, atom.P)
		case atom.Tbody, atom.Thead, atom.Tfoot, atom.Caption:
			flatten(c)
			rename(c, atom.Div)
		}
	}
	if n.DataAtom == atom.Table {
		rename(n, atom.Div)
	}
}

func rename(n *html.Node, a atom.Atom) { n.DataAtom, n.Data = a, a.String() }

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func set(n *html.Node, key, value string) {
	for i := range n.Attr {
		if n.Attr[i].Key == key {
			n.Attr[i].Val = value
			return
		}
	}
	n.Attr = append(n.Attr, html.Attribute{Key: key, Val: value})
}

func remove(n *html.Node, key string) {
	n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key })
}

// find returns the first element of that name.
func find(n *html.Node, a atom.Atom) *html.Node {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom == a {
			return c
		}
		if x := find(c, a); x != nil {
			return x
		}
	}
	return nil
}
