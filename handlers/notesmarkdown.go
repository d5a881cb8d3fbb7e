package handlers

import (
	"net/url"
	"regexp"
	"strings"
)

// wikiLink is [[target]], [[target#heading]] or [[target|shown]].
var wikiLink = regexp.MustCompile(`\[\[([^\[\]|\n]{1,400})(?:\|([^\[\]\n]{1,400}))?\]\]`)

// notePreview renders a note: without its front matter, with wiki links as links.
func (f *Frame) notePreview(source string) string {
	return f.Markdown.HTML("preview", linked(withoutFront(source)))
}

// withoutFront cuts the front matter off: what stands between two lines of three dashes at the beginning.
func withoutFront(s string) string {
	rest, ok := strings.CutPrefix(s, "---\n")
	if !ok {
		return s
	}
	for at := 0; at < len(rest); {
		line, _, _ := strings.Cut(rest[at:], "\n")
		at = min(at+len(line)+1, len(rest))
		if strings.TrimRight(line, " \t") == "---" || strings.TrimRight(line, " \t") == "..." {
			return rest[at:]
		}
	}
	return s
}

// linked turns wiki links into Markdown links, but for those in fenced code.
func linked(s string) string {
	if !strings.Contains(s, "[[") {
		return s
	}
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(s) {
		bare := strings.TrimLeft(line, " ")
		switch {
		case fence != "":
			if strings.HasPrefix(bare, fence) {
				fence = ""
			}
		case strings.HasPrefix(bare, "```"), strings.HasPrefix(bare, "~~~"):
			fence = bare[:3]
		default:
			line = wikiLink.ReplaceAllStringFunc(line, func(m string) string {
				parts := wikiLink.FindStringSubmatch(m)
				target, _, _ := strings.Cut(parts[1], "#")
				shown := parts[2]
				if shown == "" {
					shown = parts[1]
				}
				return "[" + literal(shown) + "](/memory/notes/link?" + url.Values{"to": {strings.TrimSpace(target)}}.Encode() + ")"
			})
		}
		b.WriteString(line)
	}
	return b.String()
}

// literal keeps the text of a link from being read as Markdown.
func literal(s string) string {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "<", `\<`, "!", `\!`).Replace(s)
}
