package webfetch

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"unicode"

	"codeberg.org/readeck/go-readability"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"ash/agent"
)

// Bounds on reading a page.
const (
	maxMarkup   = 6 << 20  // bytes of HTML that are looked at
	maxElements = 30_000   // more are not searched for the main content, which costs more than linear time
	maxWeight   = 50 << 20 // bytes of text, each counted once for every element around it: the same
	maxTitle    = 1000     // bytes
	minArticle  = 200      // characters: less is not the main content
	minShare    = 0.25     // of the page's text without links and frame: less is not the main content
)

// writer makes Markdown of pages. It is safe for concurrent use.
type writer struct {
	markdown *converter.Converter
}

func newWriter() *writer {
	// Escapes are noise to a model, and cost the square of the brackets on a page.
	return &writer{markdown: converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled), converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(commonmark.WithLinkEmptyHrefBehavior(commonmark.LinkBehaviorSkip)),
		strikethrough.NewStrikethroughPlugin(),
		table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal)),
	))}
}

// read makes Markdown of the main content of a page, or of all of it when no part stands out.
func (w *writer) read(ctx context.Context, markup string, address *url.URL) page {
	p := page{cut: len(markup) > maxMarkup}
	doc, cut := parseTree(strings.NewReader(markup[:min(len(markup), maxMarkup)]))
	p.cut = p.cut || cut
	prune(doc, address)
	p.title = title(doc)
	count, weight := measure(doc, 0)
	if ctx.Err() != nil {
		return page{failed: ctx.Err()}
	}
	body := find(doc, atom.Body)
	if count <= maxElements && weight <= maxWeight {
		parser := readability.NewParser()
		parser.KeepClasses = true // the language of code is one
		article, err := parser.ParseDocument(doc, address)
		if err == nil {
			if article.Title != "" {
				p.title = article.Title
			}
			if t := article.PublishedTime; t != nil {
				p.published = *t
			} else if t := article.ModifiedTime; t != nil {
				p.published = *t
			}
		}
		if err == nil && article.Node != nil && stands(article.Node, body) {
			body = article.Node
		}
	}
	if ctx.Err() != nil {
		return page{failed: ctx.Err()}
	}
	text, err := w.markdown.ConvertNode(body)
	if err != nil {
		return page{failed: fmt.Errorf("writing Markdown: %w", err)}
	}
	p.text = string(text)
	return p
}

// stands reports whether article is enough of the page to stand for it.
func stands(article, body *html.Node) bool {
	found := letters(article, false)
	return found >= minArticle && float64(found) >= minShare*float64(letters(body, true))
}

// letters counts the characters below n that are not blank; without those of links and of a page's frame if inner is set.
func letters(n *html.Node, inner bool) int {
	if inner {
		switch n.DataAtom {
		case atom.A, atom.Nav, atom.Header, atom.Footer, atom.Aside, atom.Form, atom.Script:
			return 0
		}
	}
	count := 0
	if n.Type == html.TextNode {
		for _, r := range n.Data {
			if !unicode.IsSpace(r) {
				count++
			}
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		count += letters(c, inner)
	}
	return count
}

// measure counts the elements below n, and the bytes of text with each of them counted depth times.
func measure(n *html.Node, depth int) (elements, weight int) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.Type {
		case html.TextNode:
			weight += depth * len(c.Data)
		case html.ElementNode:
			e, w := measure(c, depth+1)
			elements, weight = elements+1+e, weight+w
		}
	}
	return elements, weight
}

// title is what the page calls itself. It is cut in the tree as well: much is done with it.
func title(doc *html.Node) string {
	t := find(doc, atom.Title)
	if t == nil || t.FirstChild == nil {
		return ""
	}
	t.FirstChild.Data = agent.Clip(t.FirstChild.Data, maxTitle)
	return t.FirstChild.Data
}
