package offline

import (
	"iter"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ash/agent"
)

// maxQuote bounds one quotation, in bytes.
const maxQuote = 2000

// escape takes the meaning from every mark of Markdown and HTML, so that s shows as it is. s is one line.
func escape(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case strings.ContainsRune("\\`*_{}[]<>()#|~&!$:", r):
			b.WriteByte('\\')
		case i == 0 && (r == '+' || r == '-' || r == '='), r == '.' && digits(s[:i]):
			b.WriteByte('\\') // would begin a list, a rule or a heading
		case unicode.IsControl(r):
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// blockquote writes text as a quotation, bounded and escaped.
func blockquote(b *strings.Builder, text string) {
	cut := agent.Clip(text, maxQuote)
	for line := range strings.SplitSeq(strings.TrimRight(strings.ReplaceAll(cut, "\r\n", "\n"), "\n"), "\n") {
		line = escape(strings.TrimSpace(line))
		if line == "" {
			b.WriteString(">\n")
			continue
		}
		// Two spaces keep the line breaks of the original.
		b.WriteString("> " + line + "  \n")
	}
	if cut != text {
		b.WriteString("> …\n")
	}
	b.WriteByte('\n')
}

// snippet writes the parts of search hit number n as one quoted line below its list item, matches in bold.
func snippet(b *strings.Builder, n int, parts []agent.SnippetPart) {
	b.WriteString(strings.Repeat(" ", len(strconv.Itoa(n))+2) + "> ")
	for _, p := range parts {
		text := strings.Join(strings.FieldsFunc(p.Text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
		before, after := edge(p.Text)
		if p.Match && text != "" {
			text = before + "**" + escape(text) + "**" + after
		} else {
			text = before + escape(text) + after
		}
		b.WriteString(text)
	}
	b.WriteString("\n")
}

// edge returns the space to keep around a part.
func edge(s string) (before, after string) {
	if s == "" {
		return "", ""
	}
	if r, _ := utf8.DecodeRuneInString(s); unicode.IsSpace(r) {
		before = " "
	}
	if r, _ := utf8.DecodeLastRuneInString(s); unicode.IsSpace(r) && strings.TrimSpace(s) != "" {
		after = " "
	}
	return before, after
}

// maxPiece bounds a piece where a text has no spaces, in bytes.
const maxPiece = 24

// pieces cuts text into the pieces it is streamed in: words with the space behind them.
func pieces(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for text != "" {
			n := strings.IndexFunc(text, unicode.IsSpace)
			switch {
			case n < 0:
				n = len(text)
			default:
				_, size := utf8.DecodeRuneInString(text[n:])
				n += size
			}
			piece := agent.Clip(text[:n], maxPiece)
			if piece == "" {
				piece = text[:n]
			}
			if !yield(piece) {
				return
			}
			text = text[len(piece):]
		}
	}
}
