package handlers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/feed"
	"ash/agent/llm/llmtest"
	"ash/handlers"
)

func formOf(text string) url.Values {
	return url.Values{"text": {text}, "form": {string(agent.NewID())}}
}

// rich is Markdown with everything that is cut, patched and replaced while it streams.
const rich = "# Plan\n\nFirst *this*, then **that** with `code` and [a link](https://example.org).\n\n" +
	"- one\n- two\n  - deeper\n- three\n\n1. first\n2. second\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | <b> |\n\n" +
	"```go\nfunc main() {\n\tprintln(\"hi\")\n}\n```\n\n> quoted\n> more\n\nA note[^1] and [a reference][r].\n\n$$x^2$$\n\n---\n\nLast line.\n\n[^1]: The note.\n\n[r]: https://example.com\n"

// pieces cuts a text into runs of n bytes at characters.
func pieces(text string, n int) []string {
	var out []string
	for len(text) > n {
		out = append(out, text[:n])
		text = text[n:]
	}
	return append(out, text)
}

func TestStreamedPageIsTheReloadedPage(t *testing.T) {
	for name, reply := range map[string]llmtest.Reply{
		"a word":           llmtest.Text("Yes."),
		"Markdown":         llmtest.Text(pieces(rich, 3)...),
		"in large pieces":  llmtest.Text(pieces(rich, 200)...),
		"all at once":      llmtest.Text(rich),
		"reasoning first":  {Thinking: pieces("Let me *think*.\n\n- a\n- b\n", 4), Text: pieces(rich, 9)},
		"many short words": {Text: []string{"Here: "}, Load: llmtest.Load{Tokens: 400}},
		"at a pace":        {Text: []string{"Here: "}, Load: llmtest.Load{Tokens: 60, Rate: 400}},
		"only reasoning":   {Thinking: []string{"hm"}},
		"hostile":          llmtest.Text("<script>alert(1)</script>", "</hx-partial><b>x", "</template>\n\n<hx-upsert hx-target=#messages>"),
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, llmtest.Text("before"), reply, llmtest.Text("after"))
			id := h.begin("one")
			s := h.watch("/chat/" + string(id))
			h.post(id, "two")
			s.has("#composer-action.running")
			s.rests()
			s.same()
			h.post(id, "three")
			s.says("#messages", "after")
			s.rests()
			s.same()
		})
	}
}

// Pages are opened while an answer is written, and one is in the middle of it when it is stopped.
func TestPagesOpenedInTheMiddle(t *testing.T) {
	words := pieces(rich, 5)
	h := open(t, llmtest.Broken(llmtest.StreamStall, len(words)+1, words...))
	to := h.browser.Post("/chat", formOf("tell me")).Leads()
	first := h.watch(to)
	first.says("#messages", "Last line.")
	second := h.watch(to)
	second.says("#messages", "Last line.")
	second.again()
	h.browser.HTMX().Post(to+"/stop", nil).Is(204)
	for _, s := range []*screen{first, second} {
		s.rests()
		s.says("#messages", "You stopped this answer.")
		s.same()
	}
}

func TestStreamTellsAttempts(t *testing.T) {
	h := open(t, llmtest.Text("before"), llmtest.Unauthorized(), llmtest.SlowHeaders(300*time.Millisecond, "from the other"))
	_, err := h.config.Edit(context.Background(), "", []config.Change{{Key: "models.order", Value: "test/test-model, test/other"}})
	h.must(err)
	id := h.begin("one")
	s := h.watch("/chat/" + string(id))
	h.post(id, "two")
	var told []string
	s.until("the end", func() bool {
		s.doc.Find(".attempt").Each(func(_ int, a *goquery.Selection) { told = append(told, strings.TrimSpace(a.Text())) })
		return strings.Contains(s.doc.Find("#messages").Text(), "from the other") && len(s.named["ash:turn"]) >= 2
	})
	s.rests()
	s.same()
	if all := strings.Join(told, "\n"); !strings.Contains(all, "Trying test/other instead") || !strings.Contains(all, "Asking test/test-model") {
		t.Errorf("the page was told of %q", told)
	}
}

func TestAnswerTakesAwayThatItIsAskedFor(t *testing.T) {
	h := open(t, llmtest.Text("before"), llmtest.Broken(llmtest.StreamStall, 2, "begun", " and waiting"))
	id := h.begin("one")
	s := h.watch("/chat/" + string(id))
	h.post(id, "two")
	s.until("the answer has begun", func() bool { return strings.Contains(s.doc.Find("#messages").Text(), "begun") })
	if left := s.doc.Find("#messages article:last-child .attempt").Text(); left != "" {
		t.Errorf("beside the answer it still says %q", left)
	}
}

func TestStreamTellsOfFailures(t *testing.T) {
	for name, reply := range map[string]llmtest.Reply{
		"no answer came":  llmtest.Unauthorized(),
		"it was cut off":  llmtest.Broken(llmtest.StreamCut, 3, "begun *and", " going*", " on"),
		"nothing is said": {Stop: "stop"},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, llmtest.Text("before"), reply, llmtest.Text("recovered"))
			id := h.begin("one")
			s := h.watch("/chat/" + string(id))
			h.post(id, "two")
			s.has("#messages article:last-child .ending")
			s.rests()
			s.same()
			action, _ := s.doc.Find("form.resume").Attr("action")
			h.browser.HTMX().Post(action, nil)
			s.says("#messages", "recovered")
			s.rests()
			s.same()
		})
	}
}

// A page that lags behind is told of an answer only when it has ended; what was cut off before it offers to go on no longer.
func TestPageThatWasAway(t *testing.T) {
	h := open(t, llmtest.Text("before"), llmtest.Broken(llmtest.StreamCut, 3, "begun *and", " going*", " on"), llmtest.Text("recovered"))
	id := h.begin("one")
	s := h.watch("/chat/" + string(id))
	h.post(id, "two")
	s.has("form.resume")
	s.rests()
	s.leave()
	meanwhile := h.watch("/chat/" + string(id))
	action, _ := s.doc.Find("form.resume").Attr("action")
	h.browser.HTMX().Post(action, nil)
	meanwhile.says("#messages", "recovered")
	meanwhile.rests()
	s.again()
	s.says("#messages", "recovered")
	s.rests()
	s.same()
}

func TestStreamTellsOfTheQueue(t *testing.T) {
	h := open(t, llmtest.Text("before"), llmtest.SlowHeaders(300*time.Millisecond, "first"), llmtest.Text("second"))
	id := h.begin("one")
	s := h.watch("/chat/" + string(id))
	other := h.watch("/chat/" + string(id))
	h.post(id, "two")
	s.has("#composer-action.running")
	h.post(id, "three")
	h.post(id, "four")
	for _, x := range []*screen{s, other} {
		x.until("two wait", func() bool { return x.doc.Find("#queued article.waits").Length() == 2 })
	}
	for _, x := range []*screen{s, other} {
		x.says("#messages", "second")
		x.lacks("#queued article")
		x.rests()
		x.same()
	}
}

func TestStreamTellsOfBranches(t *testing.T) {
	h := open(t, llmtest.Text("one"), llmtest.Text("two"), llmtest.Text("three"))
	id := h.begin("frist")
	base := "/chat/" + string(id)
	s := h.watch(base)
	regenerate, _ := s.doc.Find("article.ash .actions form").Attr("action")
	h.browser.HTMX().Post(regenerate, nil).Is(204)
	s.says("article.ash .prose", "two")
	s.rests()
	s.same()
	if n := s.doc.Find("#messages article.ash").Length(); n != 1 {
		t.Errorf("%d answers on the page", n)
	}
	previous, _ := s.doc.Find("article.ash .variants button:not([disabled])").Attr("value")
	h.browser.HTMX().Post(base+"/head", url.Values{"message": {previous}}).Is(204)
	s.says("article.ash .prose", "one")
	s.same()
	asked, _ := s.doc.Find("article.me").Attr("id")
	h.browser.HTMX().Post(base+"/messages/"+strings.TrimPrefix(asked, "m-")+"/edit", formOf("first")).Is(204)
	s.says("article.ash .prose", "three")
	s.says("article.me", "first")
	s.rests()
	s.same()
}

func TestStreamResumes(t *testing.T) {
	h := open(t, llmtest.Text("before"), llmtest.Text(pieces(rich, 7)...), llmtest.Reply{Text: []string{"while away "}, Load: llmtest.Load{Tokens: 80, Rate: 200}}, llmtest.Text("last"))
	id := h.begin("one")
	s := h.watch("/chat/" + string(id))
	h.post(id, "two")
	s.has("#composer-action.running")
	s.again() // in the middle of an answer
	s.rests()
	s.same()
	s.leave() // a whole turn is missed, and the middle of the next
	seen := s.last
	h.post(id, "three")
	h.rest(id)
	s.connect("/chat/"+string(id)+"/events?since=", seen)
	s.says("#messages", "while away")
	s.same()
	if s.doc.Find("#conversation").Length() != 1 || strings.Count(s.doc.Find("#messages").Text(), "while away") != 1 {
		t.Error("the page tells it twice")
	}
}

func TestStreamOfAnotherBoot(t *testing.T) {
	h := open(t, llmtest.Text("before"), llmtest.Text("meanwhile"), llmtest.Reply{Text: []string{"begun "}, Load: llmtest.Load{Tokens: 100, Rate: 300}})
	id := h.begin("one")
	s := h.watch("/chat/" + string(id))
	s.leave()
	h.post(id, "two")
	h.rest(id)
	h.post(id, "three")
	s.connect("/chat/"+string(id)+"/events?since=", "elsewhere-99")
	s.says("#messages", "meanwhile")
	s.rests()
	s.same()
	if n := s.doc.Find("article.ash").Length(); n != 3 {
		t.Errorf("%d answers on the page", n)
	}
}

// More happened than the feed remembers.
func TestStreamBeyondTheRing(t *testing.T) {
	h := open(t, llmtest.Text("before"), llmtest.Text("meanwhile"))
	id := h.begin("one")
	s := h.watch("/chat/" + string(id))
	s.settle()
	s.leave()
	h.post(id, "two")
	h.rest(id)
	for i := range 600 {
		h.publish(id, agent.ProgressEvent{Text: fmt.Sprint("step ", i)})
	}
	s.again()
	s.says("#messages", "meanwhile")
	s.same()
	if n := s.doc.Find("#notices .toast").Length(); n != 0 {
		t.Errorf("%d notices of what is long over", n)
	}
}

func TestStreamOfNothing(t *testing.T) {
	h := open(t)
	deleted := h.empty()
	h.browser.HTMX().Post("/chat/"+string(deleted)+"/delete", url.Values{"deleted": {"1"}})
	for _, path := range []string{"/chat/" + string(agent.NewID()) + "/events", "/chat/x/events", "/chat/" + string(deleted) + "/events"} {
		res, err := http.Get(h.base + path) // a test's
		h.must(err)
		h.must(res.Body.Close())
		if res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
}

func TestStreamTellsOfTheList(t *testing.T) {
	h := open(t, llmtest.Reply{Text: []string{"fine"}, Repeat: true})
	first, second := h.begin("first"), h.begin("second")
	s := h.watch("/chat/" + string(first))
	list := h.watch("/chat")
	settings := h.watch("/settings/about")
	row := func(id agent.ID) string { return "#t-" + string(id) }

	h.browser.HTMX().Post("/chat/"+string(second)+"/title", url.Values{"title": {"Renamed <b>"}})
	for _, x := range []*screen{s, list} {
		x.says(row(second), "Renamed <b>")
		if x.doc.Find(row(second)+" b b").Length() > 0 {
			t.Error("a name is taken for markup")
		}
	}
	h.browser.HTMX().Post("/chat/"+string(first)+"/title", url.Values{"title": {"Mine"}})
	s.says("#thread-head h1", "Mine")
	h.browser.HTMX().Post("/chat/"+string(second)+"/pin", url.Values{"pinned": {"1"}})
	list.until("the pinned one is first", func() bool { return list.doc.Find("#thread-list .row").First().Is(row(second)) })
	s.same()
	list.same()

	h.browser.HTMX().Post("/chat/"+string(second)+"/archive", url.Values{"archived": {"1"}})
	s.lacks(row(second))
	list.lacks(row(second))
	h.browser.HTMX().Post("/chat/"+string(second)+"/archive", url.Values{"archived": {"0"}})
	s.has(row(second))
	h.browser.HTMX().Post("/chat/"+string(second)+"/delete", url.Values{"deleted": {"1"}})
	s.lacks(row(second))
	h.browser.HTMX().Post("/chat/"+string(second)+"/restore", nil)
	s.has(row(second))

	third := h.begin("a third") // begun elsewhere
	s.says(row(third), "fine")
	list.says(row(third), "fine")
	list.until("the newest is below the pinned one", func() bool { return list.doc.Find("#thread-list .row").Eq(1).Is(row(third)) })
	s.same()
	list.same()
	settings.settle()
	if settings.last == "" {
		t.Error("a page without a conversation is told nothing")
	}
}

func TestStreamTellsOfErrors(t *testing.T) {
	h := open(t, llmtest.Text("fine"))
	id := h.begin("one")
	s := h.watch("/chat/" + string(id))
	h.publish(id, agent.ErrorEvent{Failure: agent.Failure{Code: agent.CodeExhausted, Public: "The disk is <full>."}})
	s.says("#notices .toast[role=alert]", "The disk is <full>.")
	h.publish(id, agent.ProgressEvent{Text: "Summarising the earlier part…"})
	s.says("#notices .toast[data-leaves]", "Summarising")
	other := h.begin("another")
	h.publish(other, agent.ErrorEvent{Failure: agent.Failure{Public: "not here"}})
	s.settle()
	if strings.Contains(s.doc.Find("#notices").Text(), "not here") {
		t.Error("the error of another conversation is shown here")
	}
	h.publish(id, agent.AssistantDelta{Message: agent.NewID(), Text: "of no reply"})
	h.publish(id, agent.MemoryEvent{Learned: true})
	h.publish(id, agent.AuditEvent{What: "x"})
	s.same()
}

func TestNamedEvents(t *testing.T) {
	h := open(t, llmtest.Text("before"), llmtest.Text("A **long** answer ", strings.Repeat("goes on ", 50)))
	id := h.begin("one")
	s := h.watch("/chat/" + string(id))
	h.post(id, "two")
	s.rests()
	if got := s.named["ash:turn"]; len(got) != 2 || got[0] != `{"running":true}` || got[1] != `{"running":false}` {
		t.Errorf("ash:turn: %v", got)
	}
	if len(s.named["ash:done"]) != 1 {
		t.Fatalf("ash:done: %v", s.named["ash:done"])
	}
	var done struct {
		Thread, Key, Title, Text string
		Asks                     bool
	}
	h.must(json.Unmarshal([]byte(s.named["ash:done"][0]), &done))
	if done.Thread != string(id) || done.Key == "" || done.Asks || !strings.HasPrefix(done.Text, "A **long** answer") || len(done.Text) > 200 {
		t.Errorf("ash:done: %+v", done)
	}
	h.must(h.engine.Close(context.Background()))
	h.engine.Publisher.(*feed.Feed).Close()
	s.until("the farewell", func() bool { return len(s.named["ash:bye"]) == 1 })
	if _, open := <-s.came; open {
		t.Error("the stream goes on after the farewell")
	}
}

// silent is a feed in which nothing happens.
type silent struct{}

func (silent) Last() agent.EventID { return agent.EventID{} }

func (silent) Subscribe(context.Context, agent.ID, agent.EventID) iter.Seq[agent.Batch] {
	return func(yield func(agent.Batch) bool) { yield(agent.Batch{}) }
}

func TestBeat(t *testing.T) {
	e := echo.New()
	streams := &handlers.Events{Frame: &handlers.Frame{Settings: func() config.Config { return config.Config{} }}, Feed: silent{}, Log: slog.New(slog.DiscardHandler)}
	e.GET("/events", streams.House)
	server := httptest.NewServer(e)
	defer server.Close()
	res, err := http.Get(server.URL + "/events") // a test's
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if want := "event: ash:beat\ndata: {}\n\nevent: ash:bye\ndata: {}\n\n"; err != nil || string(body) != want {
		t.Errorf("%q, %v", body, err)
	}
}
