package markdown

import "strings"

// footnotes renders the section that ends a message with footnotes: those referred to in the order of their numbers, then those
// nobody refers to, so that nothing written is lost.
func (s *Stream) footnotes() string {
	if len(s.doc.defined) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString(`<section class="footnotes" role="doc-endnotes"`)
	out.WriteString(` id="` + string(appendAttr(nil, s.doc.prefix)) + `_n"><ol>`)
	for i := 0; i < len(s.doc.cited); i++ { // a footnote's text may refer to further ones
		s.footnote(&out, s.doc.cited[i])
	}
	for _, n := range s.doc.defined {
		if n.number == 0 {
			s.doc.cite(n)
			n.cites = 0
			s.footnote(&out, n)
		}
	}
	out.WriteString("</ol></section>")
	return out.String()
}

func (s *Stream) footnote(out *strings.Builder, n *note) {
	w := s.writer(n.body, "")
	w.str("<li")
	w.id(s.doc.noteID(n.number))
	w.str(">")
	if oversize(kindList, n.body) {
		w.text(w.source)
	} else {
		root, _ := s.parse(w)
		w.blocks(root, false)
	}
	if n.cites > 0 {
		w.str(` <a`)
		w.attr("href", "#"+s.doc.citeID(n.number, 1))
		w.str(` role="doc-backlink" aria-label="Back to the text">↩</a>`)
	}
	w.str("</li>")
	out.Write(w.buf)
}

// noteBody is a footnote's text without its label and indentation.
func noteBody(source string, size int) string {
	lines := strings.Split(source, "\n")
	lines[0] = strings.TrimLeft(lines[0][size:], " \t")
	for i, l := range lines[1:] {
		lines[i+1] = dedent(l, 4)
	}
	return strings.Join(lines, "\n")
}

// dedent takes up to n columns of indentation from a line.
func dedent(l string, n int) string {
	col := 0
	for i := range len(l) {
		switch {
		case col >= n || !isBlank(l[i]):
			return l[i:]
		case l[i] == '\t':
			col += 4 - col%4
		default:
			col++
		}
	}
	return ""
}
