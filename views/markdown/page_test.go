package markdown

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// page applies patches as a browser does.
type page struct {
	t    *testing.T
	root *html.Node
}

func newPage(t *testing.T, id string) *page {
	root := element("div")
	root.Attr = []html.Attribute{{Key: "id", Val: id}}
	return &page{t, root}
}

func (p *page) apply(patches []Patch) {
	for _, patch := range patches {
		n := find(p.root, patch.Target)
		if n == nil {
			p.t.Fatalf("no element %q for %v %q in\n%s", patch.Target, patch.Swap, patch.HTML, p.html())
		}
		switch patch.Swap {
		case Append:
			for _, c := range fragment(p.t, patch.HTML, n) {
				n.AppendChild(c)
			}
		case Replace:
			for _, c := range fragment(p.t, patch.HTML, n.Parent) {
				n.Parent.InsertBefore(c, n)
			}
			n.Parent.RemoveChild(n)
		}
	}
}

func (p *page) html() string { return inner(p.t, p.root) }

func element(name string) *html.Node {
	return &html.Node{Type: html.ElementNode, Data: name, DataAtom: atom.Lookup([]byte(name))}
}

func find(n *html.Node, id string) *html.Node {
	if attr(n, "id") == id {
		return n
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if f := find(c, id); f != nil {
			return f
		}
	}
	return nil
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func fragment(t *testing.T, source string, context *html.Node) []*html.Node {
	t.Helper()
	nodes, err := html.ParseFragment(strings.NewReader(source), context)
	if err != nil {
		t.Fatal(err)
	}
	return nodes
}

// parsed is source as a browser would give it back.
func parsed(t *testing.T, source string) string {
	t.Helper()
	root := element("div")
	for _, c := range fragment(t, source, root) {
		root.AppendChild(c)
	}
	return inner(t, root)
}

func inner(t *testing.T, n *html.Node) string {
	t.Helper()
	var out strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if err := html.Render(&out, c); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}
