package views_test

import (
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/a-h/templ"

	"ash/agent"
	"ash/views/components"
)

func render(t *testing.T, c templ.Component) string {
	t.Helper()
	var b strings.Builder
	if err := c.Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func parse(t *testing.T, html string) *goquery.Document {
	t.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(html))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestPagesKeepThePolicy: what the content policy would refuse is not in any page.
func TestPagesKeepThePolicy(t *testing.T) {
	for name, c := range fixtures() {
		t.Run(name, func(t *testing.T) {
			doc := parse(t, render(t, c))
			if n := doc.Find("[style], style, script:not([src]), iframe, object, embed, base").Length(); n > 0 {
				t.Errorf("%d elements the policy refuses", n)
			}
			doc.Find("*").Each(func(_ int, s *goquery.Selection) {
				for _, a := range s.Nodes[0].Attr {
					if strings.HasPrefix(a.Key, "on") || strings.HasPrefix(a.Key, "hx-on") || strings.HasPrefix(strings.TrimSpace(a.Val), "js:") || strings.HasPrefix(a.Val, "javascript:") {
						t.Errorf("%s=%q needs a script in the page", a.Key, a.Val)
					}
				}
			})
			doc.Find("link[href], script[src], img[src]").Each(func(_ int, s *goquery.Selection) {
				u := s.AttrOr("href", s.AttrOr("src", ""))
				if !strings.HasPrefix(u, "/") || strings.HasPrefix(u, "//") {
					t.Errorf("%s is loaded from elsewhere", u)
				}
			})
		})
	}
}

// TestPagesCanBeUsed: landmarks, names, unique ids, forms that work without JavaScript.
func TestPagesCanBeUsed(t *testing.T) {
	for name, c := range fixtures() {
		t.Run(name, func(t *testing.T) {
			doc := parse(t, render(t, c))
			if doc.Find("main#main").Length() != 1 || doc.Find("h1").Length() != 1 && doc.Find("main h2").Length() == 0 {
				t.Error("wants one main landmark with a heading")
			}
			if doc.Find(`a.skip[href="#main"]`).Length() != 1 {
				t.Error("wants a link past the navigation")
			}
			seen := map[string]bool{}
			doc.Find("body [id]").Each(func(_ int, s *goquery.Selection) {
				id := s.AttrOr("id", "")
				if seen[id] {
					t.Errorf("id %q stands twice", id)
				}
				seen[id] = true
			})
			doc.Find("use").Each(func(_ int, s *goquery.Selection) {
				if ref := strings.TrimPrefix(s.AttrOr("href", ""), "#"); !seen[ref] {
					t.Errorf("icon %q is not in the sprite", ref)
				}
			})
			doc.Find("button, a[href], input:not([type=hidden]), select, textarea").Each(func(_ int, s *goquery.Selection) { named(t, doc, s) })
			doc.Find("form").Each(func(_ int, s *goquery.Selection) { workable(t, s) })
		})
	}
}

// named reports a control nobody can tell the purpose of.
func named(t *testing.T, doc *goquery.Document, s *goquery.Selection) {
	t.Helper()
	if s.AttrOr("aria-label", "") != "" || strings.TrimSpace(s.Text()) != "" && !s.Is("select, textarea") || s.Closest("noscript, template, .prose, [hidden]").Length() > 0 {
		return
	}
	if id := s.AttrOr("id", ""); id != "" && doc.Find(`label[for="`+id+`"]`).Length() > 0 || s.Closest("label").Length() > 0 || s.Find("img[alt]").Length() > 0 {
		return
	}
	html, _ := goquery.OuterHtml(s)
	t.Errorf("has no name: %s", html)
}

// workable reports a form that needs JavaScript, or that posts without a token.
func workable(t *testing.T, s *goquery.Selection) {
	t.Helper()
	action, ok := s.Attr("action")
	if !ok || action == "" {
		if s.Closest("template").Length() == 0 {
			t.Error("a form without an action")
		}
		return
	}
	if s.AttrOr("method", "get") == "post" && s.Find(`input[name="_csrf"]`).Length() != 1 {
		t.Errorf("the form for %s has no token", action)
	}
	for _, name := range []string{"form", "action", "method", "id"} {
		if s.Find(`[name="`+name+`"]`).Not("noscript *").Length() > 0 {
			t.Errorf("a field called %q hides the form's own property", name)
		}
	}
}

func TestStreamFragments(t *testing.T) {
	open := reply(2, "", now)
	open.State = agent.MessageOpen
	waiting := user(3, "wait", now)
	waiting.State = agent.MessageQueued
	short := components.Short(open.ID)
	tests := map[string]struct {
		c    templ.Component
		want []string
	}{
		"patch":        {components.StreamPatch("b-x", components.SwapAppend, "<p>a</p>"), []string{"<hx-partial hx-target=#b-x hx-swap=beforeend><p>a</p></hx-partial>"}},
		"open answer":  {components.StreamUpsert(open), []string{"<hx-upsert hx-target=#messages key=data-at>", `id="b-` + short + `"`, `id="k-` + short + `"`, `id="s-` + short + `"`, `id="a-` + short + `"`, `aria-live="polite"`}},
		"queued":       {components.StreamUpsert(waiting), []string{"<hx-upsert hx-target=#queued key=data-at>"}},
		"joined":       {components.StreamJoined(user(3, "wait", now)), []string{"hx-swap=delete", "<hx-upsert hx-target=#messages"}},
		"closed":       {components.StreamClosed(reply(2, "x", now)), []string{"hx-target=#s-" + short, "hx-target=#a-" + short, "data-copy"}},
		"call":         {components.StreamCall(open.ID, call(9, agent.CallStarted)), []string{"<hx-upsert hx-target=#x-" + short + ">", `id="o-`}},
		"turn":         {components.StreamTurn(components.Turn{Thread: thread, Running: true}), []string{"hx-target=#composer-action", "data-stop"}},
		"thread":       {components.StreamThread(components.ThreadRow{ID: id(4), Updated: now}, ""), []string{"key=data-at sort=desc", `id="t-`}},
		"thread gone":  {components.StreamThreadGone(id(4)), []string{"hx-target=#t-" + string(id(4)) + " hx-swap=delete"}},
		"notice":       {components.ErrorFragment(components.Failed(agent.Failure{Public: "No."})), []string{"hx-target=#notices hx-swap=beforeend", `role="alert"`, "No."}},
		"conversation": {components.StreamConversation(components.Conversation{Thread: thread}), []string{"hx-target=#conversation hx-swap=outerHTML", `id="messages"`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := render(t, tt.c)
			for _, w := range tt.want {
				if !strings.Contains(got, w) {
					t.Errorf("lacks %s in\n%s", w, got)
				}
			}
		})
	}
	if got := string(components.AppendPatch(nil, "b-x", components.SwapAppend, "<p>a</p>")); got != tests["patch"].want[0] {
		t.Errorf("AppendPatch wrote %s", got)
	}
}

func TestTextIsEscaped(t *testing.T) {
	evil := `<img src=x onerror=alert(1)>"'`
	m := user(1, evil, now)
	m.Files = []components.File{{Name: evil, Size: 1, URL: "javascript:alert(1)"}}
	c := call(2, agent.CallFailed)
	c.Title, c.Target, c.Arguments, c.Why, c.Output, c.Sources = evil, evil, evil, evil, evil, []string{evil}
	a := reply(3, "", now)
	a.Calls, a.Model = []components.Call{c}, evil
	page := chat([]components.Message{m, a})
	page.Head.Title, page.List.Rows[0].Title, page.List.Rows[0].Snippet = evil, evil, evil
	doc := parse(t, render(t, page.Show()))
	if n := doc.Find(`[onerror], img[src="x"], [href^="javascript:"]`).Length(); n > 0 {
		t.Errorf("%d pieces of a stranger's markup in the page", n)
	}
}

func TestFormats(t *testing.T) {
	tests := []struct{ name, got, want string }{
		{"count", components.Count(1234567), "1,234,567"},
		{"small count", components.Count(-12), "-12"},
		{"negative count", components.Count(-1234), "-1,234"},
		{"no money", components.Money(0), "$0"},
		{"a trace of money", components.Money(12), "<$0.001"},
		{"cents", components.Money(11_000), "$0.011"},
		{"dollars", components.Money(1_240_000), "$1.24"},
		{"an instant", components.Seconds(time.Millisecond), "<0.1 s"},
		{"seconds", components.Seconds(3210 * time.Millisecond), "3.2 s"},
		{"half a minute", components.Seconds(31 * time.Second), "31 s"},
		{"minutes", components.Seconds(200 * time.Second), "3 min 20 s"},
		{"hours", components.Seconds(90 * time.Minute), "1 h 30 min"},
		{"bytes", components.Bytes(812), "812 B"},
		{"kilobytes", components.Bytes(13_900), "14 KB"},
		{"megabytes", components.Bytes(3_200_000), "3.2 MB"},
		{"many megabytes", components.Bytes(24_900_000), "25 MB"},
		{"short id", components.Short("0195a7b1-0000-7000-8000-00000000aaaa"), "00000000aaaa"},
		{"no id", components.Short(""), ""},
		{"today", components.DayLabel(now.Add(-time.Hour), now), "Today"},
		{"yesterday", components.DayLabel(now.Add(-10*time.Hour), now), "Yesterday"},
		{"this week", components.DayLabel(now.Add(-72*time.Hour), now), "Monday"},
		{"this year", components.DayLabel(now.Add(-30*24*time.Hour), now), "Tuesday, 12 January"},
		{"long ago", components.DayLabel(now.Add(-400*24*time.Hour), now), "7 January 2026"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.got != tt.want {
				t.Errorf("got %q, want %q", tt.got, tt.want)
			}
		})
	}
}

// BenchmarkAppendPatch is what every streamed piece of an answer passes through.
func BenchmarkAppendPatch(b *testing.B) {
	buf := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		buf = components.AppendPatch(buf[:0], "b-00000000aaaa-3", components.SwapAppend, "a few words of an answer")
	}
}

func BenchmarkArticle(b *testing.B) {
	m := reply(2, answer, now)
	for b.Loop() {
		var out strings.Builder
		if err := components.Article(m).Render(b.Context(), &out); err != nil {
			b.Fatal(err)
		}
	}
}
