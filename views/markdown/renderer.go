package markdown

import (
	"sync"

	"github.com/yuin/goldmark/parser"
)

// Renderer renders Markdown. It is safe for concurrent use; the zero value is not usable, see [New].
type Renderer struct {
	parser func() parser.Parser
	code   *highlighter
}

// New returns a Renderer. It costs microseconds: the parser and each language's lexer are built when first needed.
func New() *Renderer {
	return &Renderer{parser: sync.OnceValue(newParser), code: newHighlighter()}
}

// HTML renders a whole message. The prefix begins the id of every element made, so that two messages on one page never
// clash: a letter followed by letters, digits and hyphens, short because it is repeated (see [Renderer.Stream]).
func (r *Renderer) HTML(prefix, source string) string {
	s := r.Stream(prefix)
	s.quiet = true
	s.Append(source)
	s.Close()
	return s.HTML()
}

// Stream begins a message that will arrive in pieces, to be shown in the element whose id is prefix. That element is the
// caller's, and empty at first.
func (r *Renderer) Stream(prefix string) *Stream {
	return &Stream{r: r, prefix: prefix, doc: newDocument(prefix)}
}
