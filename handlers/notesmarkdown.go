package handlers

import (
	"net/url"
	"path"
	"strings"

	"ash/agent"
	"ash/agent/memory/notes"
)

// maxPreview is how much of a note is rendered, in bytes: a page of more is slower than anybody reads.
const maxPreview = 256 << 10

// notePreview renders a note: without its front matter, with wiki links as links.
func (f *Frame) notePreview(source string) string {
	body := notes.Body(source)
	if short := agent.Clip(body, maxPreview); len(short) < len(body) {
		body = short + "\n\n*The preview ends here: the note goes on.*\n"
	}
	return f.Markdown.HTML("preview", linked(body))
}

// linked turns wiki links into Markdown links, but for those in code. What is embedded is linked too: a note within a note
// would have to end somewhere, and files beside the notes are not shown.
func linked(s string) string {
	return notes.Linked(s, func(l notes.Link) string {
		shown := l.Shown
		if shown == "" {
			shown = l.Target
			if l.Heading != "" {
				shown = strings.TrimPrefix(shown+" › "+l.Heading, " › ")
			}
		}
		if ext := path.Ext(l.Target); l.Target == "" || l.Embed && ext != "" && !strings.EqualFold(ext, ".md") {
			return literal(shown)
		}
		return "[" + literal(shown) + "](/memory/notes/link?" + url.Values{"to": {l.Target}}.Encode() + ")"
	})
}

// literal keeps the text of a link from being read as Markdown.
func literal(s string) string {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "<", `\<`, "!", `\!`, "[", `\[`, "]", `\]`, "~", `\~`, "$", `\$`, "&", `\&`).Replace(s)
}
