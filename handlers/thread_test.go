package handlers_test

import (
	"bytes"
	"image"
	"image/png"
	"net/url"
	"strings"
	"testing"

	"ash/agent"
	"ash/agent/llm/llmtest"
)

func TestRenamePinArchiveDelete(t *testing.T) {
	h := open(t, llmtest.Text("fine"))
	id := h.begin("hello")
	base, row := "/chat/"+string(id), "#t-"+string(id)

	h.browser.Get(base + "/menu").Is(200).Has("main .thread-menu")
	h.browser.HTMX().Get(base + "/menu").Is(200).Lacks("main").Has(".thread-menu")
	h.browser.Post(base+"/title", url.Values{"title": {"  My \n title "}}).Is(303)
	if got := h.thread(id); got.Title != "My title" || got.TitleSource != agent.TitlePerson {
		t.Errorf("named %q by %q", got.Title, got.TitleSource)
	}
	h.browser.Post(base+"/title", url.Values{"title": {" "}}).Is(422)
	h.browser.Post(base+"/title", url.Values{"title": {strings.Repeat("ä", 201)}}).Is(422).Says("at most 200")
	h.browser.HTMX().Post(base+"/pin", url.Values{"pinned": {"1"}}).Is(204)
	if !h.thread(id).Pinned {
		t.Error("not pinned")
	}
	h.browser.HTMX().Post(base+"/pin", url.Values{"pinned": {"maybe"}}).Is(422)
	h.browser.HTMX().Post(base+"/model", url.Values{"model": {"test/other"}}).Is(204)
	h.browser.Get(base).Has(`#model option[value="test/other"][selected]`)

	h.browser.HTMX().Post(base+"/archive", url.Values{"archived": {"1"}}).Is(200).
		Has(`.toast form[action="` + base + `/archive"] input[value="0"]`)
	h.browser.Get("/chat").Lacks(row)
	h.browser.Get("/chat?archived=1").Has(row)
	h.browser.Post(base+"/archive", url.Values{"archived": {"0"}}).Is(303)
	h.browser.Get("/chat").Has(row)

	here := h.browser.HTMX().With("HX-Current-URL", h.base+base)
	if to := here.Post(base+"/delete", nil).Is(200).Header.Get("HX-Redirect"); to != "/chat?deleted="+string(id) {
		t.Errorf("deleting the open conversation leads to %q", to)
	}
	h.browser.Get(base).Is(404)
	h.browser.Get("/chat?deleted=" + string(id)).Lacks(row).Has(`#notices .toast form[action="` + base + `/restore"]`)
	if to := h.browser.Post(base+"/restore", nil).Leads(); to != base {
		t.Errorf("restoring leads to %q", to)
	}
	h.browser.HTMX().Post(base+"/delete", nil).Is(200).Has(".toast").Has("hx-partial")
	h.browser.Post(base+"/restore", nil).Is(303)
	h.browser.Get(base).Is(200)
}

func TestExport(t *testing.T) {
	h := open(t, llmtest.Text("an **answer**"))
	id := h.begin("a question")
	h.browser.Post("/chat/"+string(id)+"/title", url.Values{"title": {`a/b "c" ü`}})
	p := h.browser.Get("/chat/" + string(id) + "/export").Is(200).Says("a question").Says("an **answer**").Says("(test/test-model)")
	if d := p.Header.Get("Content-Disposition"); !strings.HasPrefix(d, "attachment;") || strings.Contains(d, "/") {
		t.Errorf("disposition %q", d)
	}
}

func TestAttachments(t *testing.T) {
	h := open(t, llmtest.Text("seen"))
	chip := h.browser.Upload("/attachments", "file", "../notes.html", []byte("<script>alert(1)</script> notes")).Is(200).Has("li.chip")
	named := chip.Attr("input[name=attachment]", "value")
	if !strings.HasSuffix(named, "/notes.html") {
		t.Errorf("the chip names %q", named)
	}
	got := h.browser.Get("/attachments/" + named).Is(200)
	if d := got.Header.Get("Content-Disposition"); !strings.HasPrefix(d, "attachment;") {
		t.Errorf("a text is shown: %q", d)
	}
	if m := got.Header.Get("Content-Type"); strings.Contains(m, "html") || got.Header.Get("X-Content-Type-Options") != "nosniff" ||
		!strings.Contains(got.Header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("a script could run: %v", got.Header)
	}
	var picture bytes.Buffer
	h.must(png.Encode(&picture, image.NewRGBA(image.Rect(0, 0, 4, 4))))
	image := h.browser.Upload("/attachments", "file", "a b%2f.png", picture.Bytes()).Is(200).Attr("li img", "src")
	if d := h.browser.Get(image).Is(200).Header; !strings.HasPrefix(d.Get("Content-Disposition"), "inline") || d.Get("Content-Type") != "image/png" {
		t.Errorf("a picture comes as %v", d)
	}
	h.browser.Upload("/attachments", "file", "empty.txt", nil).Is(422).Has("li.chip.bad").Says("empty")
	h.browser.Upload("/attachments", "file", "big.txt", bytes.Repeat([]byte("a"), 27<<20)).Is(413)
	h.browser.Upload("/attachments", "other", "a.txt", []byte("a")).Is(422)

	to := h.browser.Post("/chat", url.Values{"text": {""}, "attachment": {named}}).Leads()
	h.rest(agent.ID(strings.TrimPrefix(to, "/chat/")))
	h.browser.Get(to).Has("article.me").Says("notes.html")
	h.browser.Post("/chat", url.Values{"text": {"x"}, "attachment": {strings.Repeat("a", 64) + "/x"}}).Is(404)
	many := make([]string, 21)
	for i := range many {
		many[i] = named
	}
	h.browser.Post("/chat", url.Values{"text": {"x"}, "attachment": many}).Is(422).Says("At most 20")

	without := h.browser.Upload(to+"/messages", "files", "plain.txt", []byte("sent without script")).Leads()
	h.rest(agent.ID(strings.TrimPrefix(to, "/chat/")))
	h.browser.Get(without).Says("plain.txt")
}
