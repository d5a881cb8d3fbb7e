package webfetch

import (
	"io"
	"slices"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Bounds on a tree.
const (
	maxNodes      = 150_000
	maxDepth      = 120 // deeper elements become siblings
	maxAttributes = 24
)

// builder makes a tree of markup with one node a token, and so in linear time and space. html.Parse follows the
// standard to the letter, by which a few kilobytes of unclosed formatting make millions of nodes, and gives up on deep nesting.
// What matters for reading is kept of the standard: elements without end, end tags that may be left out, and end tags that match nothing.
type builder struct {
	doc, head, body *html.Node
	open            []*html.Node // below body
	nodes           int
}

// parseTree reads markup. cut says that it was larger than maxNodes and the rest was left out.
func parseTree(r io.Reader) (doc *html.Node, cut bool) {
	b := &builder{doc: &html.Node{Type: html.DocumentNode}}
	root := element(atom.Html)
	b.head, b.body = element(atom.Head), element(atom.Body)
	b.doc.AppendChild(root)
	root.AppendChild(b.head)
	root.AppendChild(b.body)
	z := html.NewTokenizer(r)
	for b.nodes < maxNodes {
		switch z.Next() {
		case html.ErrorToken:
			return b.doc, false
		case html.TextToken:
			b.add(&html.Node{Type: html.TextNode, Data: z.Token().Data})
		case html.StartTagToken, html.SelfClosingTagToken:
			b.start(z.Token(), root)
		case html.EndTagToken:
			name, _ := z.TagName()
			b.end(string(name))
		}
	}
	return b.doc, true
}

func element(a atom.Atom) *html.Node {
	return &html.Node{Type: html.ElementNode, DataAtom: a, Data: a.String()}
}

// top is where the next node goes.
func (b *builder) top() *html.Node {
	if len(b.open) == 0 {
		return b.body
	}
	return b.open[len(b.open)-1]
}

func (b *builder) add(n *html.Node) {
	b.nodes++
	b.top().AppendChild(n)
}

// start opens an element.
func (b *builder) start(t html.Token, root *html.Node) {
	switch t.DataAtom {
	case atom.Html:
		root.Attr = attributes(t.Attr)
		return
	case atom.Head, atom.Body, atom.Frameset:
		return
	case atom.Meta, atom.Base, atom.Link:
		b.nodes++
		b.head.AppendChild(&html.Node{Type: html.ElementNode, DataAtom: t.DataAtom, Data: t.Data, Attr: attributes(t.Attr)})
		return
	case atom.Title:
		if find(b.head, atom.Title) == nil && !b.within(atom.Svg) {
			n := element(atom.Title)
			b.nodes++
			b.head.AppendChild(n)
			b.open = append(b.open, n)
			return
		}
	}
	for _, r := range implied {
		if slices.Contains(r.by, t.DataAtom) {
			b.close(r.closes, r.within)
		}
	}
	n := &html.Node{Type: html.ElementNode, DataAtom: t.DataAtom, Data: t.Data, Attr: attributes(t.Attr)}
	b.add(n)
	if len(b.open) < maxDepth && !slices.Contains(void, t.DataAtom) && (t.Type != html.SelfClosingTagToken || t.DataAtom != 0) {
		b.open = append(b.open, n)
	}
}

// within reports whether an element of that name is open.
func (b *builder) within(a atom.Atom) bool {
	return slices.ContainsFunc(b.open, func(n *html.Node) bool { return n.DataAtom == a })
}

// end closes the innermost element of that name; what is open inside it is closed with it. An end tag in a cell closes nothing around the table.
func (b *builder) end(name string) {
	a := atom.Lookup([]byte(name))
	if a == atom.Br {
		b.add(element(atom.Br))
		return
	}
	structure := slices.Contains(tables, a)
	for i := len(b.open) - 1; i >= 0; i-- {
		if b.open[i].Data == name {
			b.open = b.open[:i]
			return
		}
		if !structure && slices.Contains(tables, b.open[i].DataAtom) {
			return
		}
	}
}

// close ends the innermost open element of those named, unless one of within stands between.
func (b *builder) close(names, within []atom.Atom) {
	for i := len(b.open) - 1; i >= 0; i-- {
		switch a := b.open[i].DataAtom; {
		case slices.Contains(names, a):
			b.open = b.open[:i]
			return
		case slices.Contains(within, a):
			return
		}
	}
}

// attributes keeps the first few.
func attributes(all []html.Attribute) []html.Attribute {
	return all[:min(len(all), maxAttributes):min(len(all), maxAttributes)]
}

var (
	void   = []atom.Atom{atom.Area, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Keygen, atom.Param, atom.Source, atom.Track, atom.Wbr}
	tables = []atom.Atom{atom.Table, atom.Caption, atom.Tbody, atom.Thead, atom.Tfoot, atom.Tr, atom.Td, atom.Th}
	scope  = []atom.Atom{atom.Table, atom.Caption, atom.Td, atom.Th, atom.Button, atom.Object, atom.Template}
	blocks = []atom.Atom{atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Details, atom.Dialog, atom.Dd, atom.Div, atom.Dl, atom.Dt, atom.Fieldset,
		atom.Figcaption, atom.Figure, atom.Footer, atom.Form, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Header, atom.Hr, atom.Li, atom.Main,
		atom.Menu, atom.Nav, atom.Ol, atom.P, atom.Pre, atom.Section, atom.Summary, atom.Table, atom.Ul}
	headings = []atom.Atom{atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6}
)

// implied are the end tags that a start tag stands for.
var implied = []struct{ by, closes, within []atom.Atom }{
	{blocks, []atom.Atom{atom.P}, scope},
	{headings, headings, append([]atom.Atom{atom.Div, atom.Section, atom.Article}, scope...)},
	{[]atom.Atom{atom.Li}, []atom.Atom{atom.Li}, append([]atom.Atom{atom.Ul, atom.Ol, atom.Menu}, scope...)},
	{[]atom.Atom{atom.Dt, atom.Dd}, []atom.Atom{atom.Dt, atom.Dd}, append([]atom.Atom{atom.Dl}, scope...)},
	{[]atom.Atom{atom.A}, []atom.Atom{atom.A}, scope},
	{[]atom.Atom{atom.Option, atom.Optgroup}, []atom.Atom{atom.Option}, []atom.Atom{atom.Select, atom.Datalist}},
	{[]atom.Atom{atom.Td, atom.Th}, []atom.Atom{atom.Td, atom.Th, atom.Caption}, []atom.Atom{atom.Table, atom.Tr}},
	{[]atom.Atom{atom.Tr}, []atom.Atom{atom.Tr, atom.Caption}, []atom.Atom{atom.Table}},
	{[]atom.Atom{atom.Tbody, atom.Thead, atom.Tfoot}, []atom.Atom{atom.Tbody, atom.Thead, atom.Tfoot, atom.Caption}, []atom.Atom{atom.Table}},
}
