package webfetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"ash/agent"
	"ash/agent/tool"
)

// mediaType is the type a body is treated as: the claimed one, unless it says nothing.
func mediaType(claimed string, body []byte) string {
	media, _, err := mime.ParseMediaType(claimed)
	if bytes.HasPrefix(body, []byte("%PDF-")) {
		return "application/pdf"
	}
	if err != nil || media == "application/octet-stream" || media == "binary/octet-stream" || media == "application/x-download" {
		media, _, _ = mime.ParseMediaType(http.DetectContentType(body))
	}
	return media
}

// isText reports whether a media type other than HTML is shown as it is.
func isText(media string) bool {
	switch media {
	case "application/json", "application/xml", "application/javascript", "application/x-javascript", "application/ecmascript", "application/yaml", "application/x-yaml",
		"application/toml", "application/x-sh", "application/x-ndjson", "application/jsonlines", "application/sql", "application/x-tex", "application/graphql", "image/svg+xml":
		return true
	}
	return strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "+xml") || strings.HasSuffix(media, "+yaml")
}

// outcome makes text (or a picture) of an answer.
func (f *fetcher) outcome(ctx context.Context, got answer, a Arguments) (agent.ToolOutcome, error) {
	switch {
	case len(got.body) == 0:
		return agent.ToolOutcome{}, agent.Errorf(agent.CodeUnavailable, "%s sends an empty page.", got.url.Hostname())
	case got.media == "text/html" || got.media == "application/xhtml+xml":
		p, err := f.page(ctx, got)
		if err != nil {
			return agent.ToolOutcome{}, err
		}
		return f.piece(got, p, a)
	case isText(got.media):
		text := decode(got.body, got.header, got.cut)
		if strings.Count(text, "\x00") > 8+len(text)/100 {
			return agent.ToolOutcome{}, agent.Errorf(agent.CodeInvalid, "What %s sends is called text and is none.", got.url.Hostname())
		}
		return f.piece(got, page{text: text}, a)
	case got.media == "application/pdf":
		return f.pdf(ctx, got, a)
	case strings.HasPrefix(got.media, "image/"):
		return f.picture(ctx, got)
	}
	return agent.ToolOutcome{}, agent.Errorf(agent.CodeInvalid, "%s sends a file of type %q, %d bytes, which cannot be read as text.",
		got.url.Hostname(), agent.Clip(got.media, 80), len(got.body))
}

// page reads HTML, in bounded time. The work is bounded by size as well (see tree.go): what is left running when
// time is up ends soon.
func (f *fetcher) page(ctx context.Context, got answer) (page, error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	done := make(chan page, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- page{failed: fmt.Errorf("reading a page: %v", r)}
			}
		}()
		done <- f.writer.read(ctx, decode(got.body, got.header, got.cut), got.url)
	}()
	select {
	case p := <-done:
		if p.failed != nil {
			return page{}, agent.Wrap(agent.CodeUnavailable, p.failed, "The page at %s is built in a way that cannot be read.", got.url.Hostname())
		}
		return p, nil
	case <-ctx.Done():
		return page{}, agent.Errorf(agent.CodeExhausted, "The page at %s takes too long to read: it is very large or strangely built. Look for another source.", got.url.Hostname())
	}
}

// pdf returns the text of a PDF.
func (f *fetcher) pdf(ctx context.Context, got answer, a Arguments) (agent.ToolOutcome, error) {
	file, ok, err := f.document(ctx, got, "PDF")
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	text, isFile := file.(agent.File)
	if !ok || !isFile || strings.TrimSpace(text.Extract) == "" {
		return agent.ToolOutcome{}, agent.Errorf(agent.CodeInvalid, "The PDF at %s holds no text that can be read (it was probably scanned).", got.url.Hostname())
	}
	return f.piece(got, page{title: text.Attachment.Name, text: text.Extract, cut: text.Truncated}, a)
}

// picture returns a picture as a part.
func (f *fetcher) picture(ctx context.Context, got answer) (agent.ToolOutcome, error) {
	if len(got.body) > maxPicture {
		return agent.ToolOutcome{}, agent.Errorf(agent.CodeInvalid, "The picture at %s is too large to look at: more than %d MB.", got.url.Hostname(), maxPicture>>20)
	}
	part, ok, err := f.document(ctx, got, "picture")
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	image, isImage := part.(agent.Image)
	if !ok || !isImage {
		return agent.ToolOutcome{}, agent.Errorf(agent.CodeInvalid, "The picture at %s is of a kind that cannot be looked at (%s).", got.url.Hostname(), agent.Clip(got.media, 80))
	}
	out := tool.Text("A picture from " + clean(got.url.String()))
	out.Content = append(out.Content, image)
	return out, nil
}

// document stores what is no text. ok is false where nothing came of it.
func (f *fetcher) document(ctx context.Context, got answer, kind string) (part agent.Part, ok bool, err error) {
	switch {
	case f.documents == nil:
		return nil, false, agent.Errorf(agent.CodeInvalid, "At %s is a %s, which cannot be read here.", got.url.Hostname(), kind)
	case got.cut:
		return nil, false, agent.Errorf(agent.CodeExhausted, "The %s at %s is too large: more than %d MB.", kind, got.url.Hostname(), len(got.body)>>20)
	}
	name := path.Base(got.url.Path)
	if name == "." || name == "/" {
		name = got.url.Hostname()
	}
	part, err = f.documents.Put(ctx, name, bytes.NewReader(got.body))
	if err != nil {
		return nil, false, err
	}
	return part, part != nil, nil
}

// decode makes UTF-8 of a body: by what the server or the page says, else UTF-8 when it is that, else a guess.
func decode(body []byte, contentType string, cut bool) string {
	enc, name, certain := charset.DetermineEncoding(body, contentType)
	if !certain && valid(body, cut) {
		return string(body)
	}
	text, err := enc.NewDecoder().Bytes(body)
	if err != nil || name == "replacement" {
		return string(bytes.ToValidUTF8(body, []byte("\uFFFD")))
	}
	return strings.TrimPrefix(string(text), "\uFEFF")
}

// valid reports whether body is UTF-8, but for a character that was cut in two at its end.
func valid(body []byte, cut bool) bool {
	if cut && len(body) > utf8.UTFMax {
		for n := range utf8.UTFMax {
			if utf8.Valid(body[:len(body)-n]) {
				return true
			}
		}
		return false
	}
	return utf8.Valid(body)
}

// page is a text with what is known about it.
type page struct {
	title     string
	published time.Time
	text      string
	cut       bool // text is not all there is
	failed    error
}

// errBeyond is an offset past the end.
var errBeyond = errors.New("beyond the end")

// piece returns the part of a page that was asked for, under a header that says what it is.
func (f *fetcher) piece(got answer, p page, a Arguments) (agent.ToolOutcome, error) {
	text := strings.TrimSpace(clean(p.text))
	if text == "" {
		return agent.ToolOutcome{}, agent.Errorf(agent.CodeUnavailable, "The page at %s has no text: it is probably drawn by a script, which does not run here. Look for another source.", got.url.Hostname())
	}
	length := a.MaxLength
	if length <= 0 {
		length = defaultLength
	}
	w, err := cutWindow(text, a.Start, length)
	if err != nil {
		return agent.ToolOutcome{}, agent.Wrap(agent.CodeInvalid, err, "The page has %d characters: start must be less.", w.total)
	}
	var b strings.Builder
	if title := agent.FirstWords(clean(p.title), 300); title != "" {
		fmt.Fprintf(&b, "Title: %s\n", title)
	}
	fmt.Fprintf(&b, "URL: %s\n", clean(got.url.String()))
	if !p.published.IsZero() {
		fmt.Fprintf(&b, "Published: %s\n", p.published.Format(time.DateOnly))
	}
	if w.start > 0 || w.end < w.total {
		fmt.Fprintf(&b, "Characters %d to %d of %d.\n", w.start, w.end, w.total)
	}
	b.WriteString("\n" + w.text)
	switch {
	case w.end < w.total:
		fmt.Fprintf(&b, "\n\n[There is more: call web_fetch again with start=%d.]", w.end)
	case got.cut || p.cut:
		b.WriteString("\n\n[The page is longer than can be read; this is its beginning.]")
	}
	return tool.Text(b.String()), nil
}
