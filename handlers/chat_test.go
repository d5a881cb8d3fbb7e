package handlers_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/llm/llmtest"
)

func TestFirstConversation(t *testing.T) {
	h := open(t, llmtest.Text("Good ", "**morning**."))
	h.browser.Get("/chat").Has("#thread-list").Has("#composer").Has("#stream")
	id := h.begin("hello <b>there</b>")
	p := h.browser.Get("/chat/" + string(id)).Is(200).
		Has("#messages article.me").Has("#messages article.ash strong").
		Lacks("#messages b").Has("#thread-list #t-" + string(id) + " a[aria-current=page]")
	if got := p.Text("#messages article.me .bubble"); got != "hello <b>there</b>" {
		t.Errorf("the person's words became %q", got)
	}
	if stream := p.Attr("#stream", "hx-sse:connect"); !strings.HasPrefix(stream, "/chat/"+string(id)+"/events?since=") || strings.HasSuffix(stream, "=") {
		t.Errorf("stream at %q", stream)
	}
}

func TestPostAnswersWithTheBubble(t *testing.T) {
	h := open(t, llmtest.Text("one"), llmtest.Text("two"))
	id := h.begin("first")
	form := url.Values{"text": {"second"}, "form": {"f-1"}}
	path := "/chat/" + string(id) + "/messages"
	first := h.browser.HTMX().Post(path, form).Is(200).Has("hx-upsert article.me").Has("#composer-action.running")
	h.rest(id)
	again := h.browser.HTMX().Post(path, form).Is(200).Lacks("#composer-action")
	if a, b := first.Attr("article", "id"), again.Attr("article", "id"); a != b || a == "" {
		t.Errorf("the same form twice became %q and %q", a, b)
	}
	if to := h.browser.Post(path, form).Leads(); to != "/chat/"+string(id)+"#"+first.Attr("article", "id") {
		t.Errorf("without script the form leads to %q", to)
	}
	if n := h.browser.Get("/chat/" + string(id)).Find("#messages article.me").Length(); n != 2 {
		t.Errorf("%d messages of the person, want 2", n)
	}
}

func TestBeginningTwiceIsOneConversation(t *testing.T) {
	h := open(t, llmtest.Text("one"))
	form := url.Values{"text": {"hello"}, "form": {"double-1"}, "model": {"test/other"}}
	first, second := h.browser.Post("/chat", form).Leads(), h.browser.Post("/chat", form).Leads()
	if first != second {
		t.Errorf("a form sent twice began %s and %s", first, second)
	}
	if n := h.browser.Get("/chat").Find("#thread-list .row").Length(); n != 1 {
		t.Errorf("%d conversations in the list", n)
	}
	id := agent.ID(strings.TrimPrefix(first, "/chat/"))
	h.rest(id)
	if got := h.thread(id).Model; got != "test/other" {
		t.Errorf("the chosen model is %q", got)
	}
	if p := h.browser.HTMX().Post("/chat", url.Values{"text": {"x"}}).Is(200); !strings.HasPrefix(p.Header.Get("HX-Redirect"), "/chat/") {
		t.Errorf("htmx is sent to %q", p.Header.Get("HX-Redirect"))
	}
}

func TestBadMessages(t *testing.T) {
	h := open(t, llmtest.Reply{Text: []string{"fine"}, Repeat: true})
	id := h.begin("hello")
	path := "/chat/" + string(id) + "/messages"
	for _, tc := range []struct {
		name, text string
		want       int
		says       string
	}{
		{"empty", "", 422, "message is empty"},
		{"blank", " \r\n\t ", 422, "message is empty"},
		{"only NUL", "\x00\x00", 422, "message is empty"},
		{"broken UTF-8", "caf\xe9", 422, "UTF-8"},
		{"over a megabyte", strings.Repeat("a", 1<<20+1), 422, "too long"},
		{"ten megabytes", strings.Repeat("a", 10<<20), 422, "too long"},
		{"thirty megabytes", strings.Repeat("a", 30<<20), 413, "too large"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if len(tc.text) < 2<<20 {
				h.browser.Post(path, url.Values{"text": {tc.text}}).Is(tc.want).Says(tc.says)
			}
			h.browser.HTMX().Post(path, url.Values{"text": {tc.text}}).Is(tc.want).Has("hx-partial .toast[role=alert]")
		})
	}
	h.browser.Post(path, url.Values{"text": {"a\x00b\r\nc"}}).Is(303)
	tail := h.rest(id)
	asked, err := h.store.Message(context.Background(), tail.Head.Parent)
	h.must(err)
	if got := asked.Text(); got != "ab\nc" {
		t.Errorf("stored %q", got)
	}
	if n := h.browser.Get("/chat/" + string(id)).Find("article.me").Length(); n != 2 {
		t.Errorf("%d messages, want 2: refused ones were stored", n)
	}
}

func TestUnknownAndForeignIDs(t *testing.T) {
	h := open(t, llmtest.Reply{Text: []string{"fine"}, Repeat: true})
	mine, other := h.begin("mine"), h.begin("other")
	foreign := string(h.thread(other).Head)
	for _, path := range []string{
		"/chat/x", "/chat/" + string(agent.NewID()), "/chat/..%2f..%2fetc", "/chat/" + strings.ToUpper(string(mine)),
		"/chat/" + string(mine) + "/messages/" + foreign + "/text",
		"/chat/" + string(mine) + "/messages/" + foreign + "/edit",
		"/chat/" + string(mine) + "/messages/x/text",
		"/chat/" + string(mine) + "?before=x",
		"/attachments/x/y", "/attachments/" + strings.Repeat("a", 64) + "/y",
		"/identity/passwords", "/identity/soul/versions/x", "/settings/nothing",
	} {
		h.browser.Get(path).Is(404).Has("main .lone")
		h.browser.HTMX().Get(path).Is(404).Has("hx-partial .toast").Lacks("html main")
		if p := h.browser.With("Accept", "application/json").Get(path).Is(404); !strings.Contains(p.Body, `"code":"not_found"`) {
			t.Errorf("%s as JSON: %s", path, p.Body)
		}
	}
	for _, path := range []string{
		"/chat/" + string(mine) + "/messages/" + foreign + "/edit",
		"/chat/" + string(mine) + "/messages/" + foreign + "/regenerate",
		"/chat/" + string(agent.NewID()) + "/messages",
		"/chat/" + string(agent.NewID()) + "/stop",
		"/chat/" + string(agent.NewID()) + "/delete",
		"/chat/" + string(mine) + "/calls/" + string(agent.NewID()) + "/decide",
	} {
		h.browser.Post(path, url.Values{"text": {"x"}, "decision": {"approve"}}).Is(404)
	}
}

func TestEditRegenerateAndVariants(t *testing.T) {
	h := open(t, llmtest.Text("one"), llmtest.Text("two"), llmtest.Text("three"))
	id := h.begin("frist")
	base := "/chat/" + string(id)
	asked := strings.TrimPrefix(h.browser.Get(base).Attr("article.me", "id"), "m-")

	h.browser.Get(base + "/messages/" + asked + "/edit").Is(200).Has("main form.edit textarea")
	edit := h.browser.HTMX().Get(base + "/messages/" + asked + "/edit").Is(200).Lacks("main")
	if got := edit.Text("textarea"); got != "frist" {
		t.Errorf("the form begins with %q", got)
	}
	h.browser.HTMX().Post(base+"/messages/"+asked+"/edit", url.Values{"text": {""}}).Is(422)
	h.browser.HTMX().Post(base+"/messages/"+asked+"/edit", url.Values{"text": {"first"}, "form": {"e-1"}}).Is(204)
	h.rest(id)
	p := h.browser.Get(base).Has("article.me .variants")
	if got := p.Text("article.me .bubble"); got != "first" {
		t.Errorf("after editing the page shows %q", got)
	}
	answer := strings.TrimPrefix(p.Attr("article.ash", "id"), "m-")
	h.browser.Get(base + "/messages/" + answer + "/edit").Is(422)
	if to := h.browser.Post(base+"/messages/"+answer+"/regenerate", nil).Leads(); to != base {
		t.Errorf("regenerate leads to %s", to)
	}
	h.rest(id)
	if got := h.browser.Get(base).Text("article.ash .prose"); got != "three" {
		t.Errorf("the new answer is %q", got)
	}
	h.browser.Post(base+"/head", url.Values{"message": {asked}}).Is(303)
	if got := h.browser.Get(base).Text("article.me .bubble"); got != "frist" {
		t.Errorf("the first variant is %q", got)
	}
	h.browser.Post(base+"/head", url.Values{"message": {"x"}}).Is(404)
	h.browser.Post(base+"/messages/"+asked+"/continue", nil).Is(409).Says("moved on")
	if got := h.browser.Get(base + "/messages/" + asked + "/text").Is(200).Body; got != "frist" {
		t.Errorf("copied %q", got)
	}
}

func TestStopKeepsWhatWasSaid(t *testing.T) {
	h := open(t, llmtest.Reply{Text: []string{"begun"}, Load: llmtest.Load{Tokens: 100_000, Rate: 200}}, llmtest.Text(" and ended"))
	to := h.browser.Post("/chat", url.Values{"text": {"go on"}}).Leads()
	id := agent.ID(strings.TrimPrefix(to, "/chat/"))
	h.browser.Get(to).Has("#composer-action.running .stop")
	for len(h.model.Chats()) == 0 { // stopped before it, the turn would leave its endless reply to the next one
		time.Sleep(time.Millisecond)
	}
	h.browser.HTMX().Post(to+"/messages", url.Values{"text": {"later"}}).Is(200).Has("article.waits")
	h.browser.Get(to).Has("#queued article")
	h.browser.HTMX().Post(to+"/stop", nil).Is(204)
	h.rest(id)
	h.browser.Get(to).Lacks("#queued article")
}

func TestEarlierMessages(t *testing.T) {
	h := open(t, llmtest.Reply{Text: []string{"fine"}, Repeat: true})
	id := h.begin("needle 0")
	base := "/chat/" + string(id)
	for i := 1; i < 30; i++ {
		h.browser.Post(base+"/messages", url.Values{"text": {fmt.Sprintf("message %d", i)}}).Is(303)
		h.rest(id)
	}
	p := h.browser.Get(base).Is(200)
	if n := p.Find("#messages article").Length(); n != 40 {
		t.Fatalf("%d messages on the first page, want 40", n)
	}
	more := p.Attr("#earlier a", "hx-get")
	earlier := h.browser.HTMX().Get(more).Is(200).Lacks("#earlier a").Has("hx-partial article")
	if n := earlier.Find("article").Length(); n != 20 {
		t.Errorf("%d earlier messages, want 20", n)
	}
	h.browser.Get(more).Is(200).Has("main #messages article")
	h.browser.HTMX().With("HX-History-Restore-Request", "true").Get(base).Is(200).Has("main")

	hit := h.browser.Get("/search?q=needle").Is(200).Attr(".hit a[href*='?at=']", "href")
	page, anchor, _ := strings.Cut(hit, "#")
	h.browser.Get(page).Is(200).Has("#" + anchor).Lacks("#notices .toast")
	h.browser.Get(base + "?at=" + string(agent.NewID())).Is(200).Has("#notices .toast")
}

func TestConversationListAndSearch(t *testing.T) {
	h := open(t, llmtest.Reply{Text: []string{"Grüße aus dem Süden"}, Repeat: true})
	id := h.begin("wetter in köln")
	h.begin("something else")
	rows := h.browser.HTMX().Get("/search?q=köln").Is(200).Lacks("main").Has("#thread-list .hit mark")
	if n := rows.Find(".hit").Length(); n == 0 {
		t.Error("nothing found")
	}
	h.browser.HTMX().Get("/search?q=").Is(200).Has("#thread-list #t-" + string(id))
	h.browser.Get("/search?q=" + url.QueryEscape("\"*) OR NEAR(")).Is(200)
	h.browser.Get("/search?q=%ff").Is(422)
	h.browser.Get("/search?q=" + strings.Repeat("a", 5000)).Is(200)
	h.browser.HTMX().Get("/palette?q=").Is(200).Has(`a[href="/settings/models"]`).Has(`a[href="/chat/` + string(id) + `"]`)
	h.browser.HTMX().Get("/palette?q=dark+theme").Is(200).Has(`form[action="/settings/theme"] button[value=dark]`).Lacks(`a[href="/memory"]`)
	h.browser.HTMX().Get("/palette?q=zzzz").Is(200).Says("Nothing found")
}
