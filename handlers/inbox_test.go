package handlers_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/llm/llmtest"
)

// inboxDifference: #inbox must become what a reload shows.
func (s *screen) sameInbox() {
	s.t.Helper()
	s.settle()
	fresh := s.h.reload(s.path)
	strip := func(html string) string { return strings.Join(strings.Fields(html), " ") }
	got, want := strip(seen(s.doc.Find("#inbox"))), strip(seen(fresh.Find("#inbox")))
	if got != want {
		s.t.Errorf("the inbox is\n%s\nwant\n%s", got, want)
	}
	for _, place := range s.lost {
		if place != "#thread-list" { // this page shows none
			s.t.Errorf("a fragment without a place: %s", place)
		}
	}
}

func TestInboxIsLive(t *testing.T) {
	b := shellBench()
	h := openWith(t, plan{configured: true, tools: b},
		llmtest.Reply{Calls: []llmtest.Call{shell("a", "first")}}, llmtest.Reply{Calls: []llmtest.Call{shell("b", "second")}}, llmtest.Reply{Text: []string{"Well."}, Repeat: true})
	h.browser.Get("/inbox").Is(200).Says("Nothing waits for you")
	one := h.begin("one")
	s := h.watch("/inbox")
	other := h.watch("/tools")
	if n := s.doc.Find("#inbox > li").Length(); n != 1 {
		t.Fatalf("%d entries, want 1", n)
	}
	before, _ := s.doc.Find("#inbox > li section").Attr("id")
	two := h.begin("two")
	s.until("the second entry", func() bool { return s.doc.Find("#inbox > li").Length() == 2 })
	s.says("#badge-rail", "2")
	other.says("#badge-rail", "2")
	other.says("#badge-tab", "2")
	s.says("#announce", "Run a command")
	s.sameInbox()
	if after, _ := s.doc.Find("#inbox > li section").First().Attr("id"); after != before {
		t.Error("what waits longest does not stand first")
	}

	// Decided in the inbox: the entry leaves with the answer; decided in the conversation: by the stream.
	form := s.doc.Find("#inbox > li form").First()
	path, _ := form.Attr("action")
	binding, _ := form.Find("input[name=binding]").Attr("value")
	place, _ := form.Find("input[name=place]").Attr("value")
	values := url.Values{"decision": {"approve"}, "binding": {binding}, "place": {place}}
	h.browser.HTMX().Post(path, values).Is(200).Has("hx-partial[hx-swap=delete]")
	s.until("one entry", func() bool { return s.doc.Find("#inbox > li").Length() == 1 })
	h.browser.HTMX().Post(path, values).Is(409).Has("li section.call").Lacks("section.call.pending")
	if to := h.browser.Post(path, values); to.Status != 409 {
		t.Errorf("without JavaScript: status %d", to.Status)
	}
	p := h.browser.Get("/chat/" + string(two))
	h.browser.HTMX().Post(p.Attr("section.call form", "action"), url.Values{"decision": {"deny"}, "binding": {p.Attr("section.call input[name=binding]", "value")}}).Is(200)
	s.lacks("#inbox > li")
	s.until("an empty badge", func() bool { return strings.TrimSpace(s.doc.Find("#badge-rail").Text()) == "" })
	s.sameInbox()
	h.rest(one)
}

func TestBadgeFallsWhileTheApprovedCommandStillRuns(t *testing.T) {
	b := shellBench()
	b.hold = make(chan struct{})
	h, id := asks(t, b, shell("a", "slow"))
	s := h.watch("/inbox")
	form := s.doc.Find("#inbox form").First()
	path, _ := form.Attr("action")
	binding, _ := form.Find("input[name=binding]").Attr("value")
	h.browser.HTMX().Post(path, url.Values{"decision": {"approve"}, "binding": {binding}}).Is(200)
	s.until("an empty badge", func() bool { return strings.TrimSpace(s.doc.Find("#badge-rail").Text()) == "" })
	close(b.hold)
	h.rest(id)
}

func TestInboxStreamTakesOnlyWhatItGaveOut(t *testing.T) {
	b := shellBench()
	h, _ := asks(t, b, shell("a", "one"))
	h.watch("/inbox")
	s := &screen{t: t, h: h, path: "/inbox", named: map[string][]string{}}
	s.doc = h.reload("/inbox")
	s.connect("/inbox/events?since=&shown="+url.QueryEscape(`x" onload=1.00,000000000000.12,`+strings.Repeat("a", 4000)), "")
	t.Cleanup(func() { s.leave() })
	h.begin("again")
	s.settle()
	if html, _ := s.doc.Html(); strings.Contains(html, "onload=1") {
		t.Error("the stream repeats what the address says")
	}
}

// A helper's calls stand in a lane inside the card of the call that began it, and are decided there.
func TestHelperLane(t *testing.T) {
	b := shellBench()
	b.hold = make(chan struct{})
	b.effects["sub_agent"] = agent.Effect{Kind: agent.EffectDelegate, Title: "Ask a helper"}
	task := llmtest.Call{ID: "h", Name: "sub_agent", Arguments: []string{`{"command":"compare them"}`}}
	h := openWith(t, plan{configured: true, tools: b}, llmtest.Reply{Calls: []llmtest.Call{task}},
		llmtest.Reply{Calls: []llmtest.Call{shell("inner", "ls")}}, llmtest.Text("Compared."), llmtest.Reply{Text: []string{"Well then."}, Repeat: true})
	id := h.begin("go")
	base := "/chat/" + string(id)
	s := h.watch(base)
	p := h.browser.Get(base)
	h.browser.HTMX().Post(p.Attr("section.call form", "action"), url.Values{"decision": {"approve"}, "binding": {p.Attr("section.call input[name=binding]", "value")}}).Is(200)
	s.has("section.call.started .lane")
	tail, err := h.store.Tail(context.Background(), id)
	h.must(err)
	parent := tail.Head.Calls[0]

	// The helper asks for a command of its own.
	helper, err := h.engine.Delegate(context.Background(), agent.Delegation{Parent: parent, Title: "Compare", Task: "compare them"})
	h.must(err)
	h.rest(helper.ID)
	h.engine.Publisher.Publish(agent.Envelope{Thread: id, Correlation: parent.ID, Path: "ash › tools › sub_agent", Event: agent.ToolProgress{Call: parent.ID, Text: "shell …\n"}})
	s.has(".lane section.call.pending")
	s.says(".lane", "Compare")
	s.same()
	h.browser.Get("/inbox").Says("helper “Compare”").Says("go")
	if n := h.browser.Get("/chat").Find("#thread-list .row").Length(); n != 1 {
		t.Errorf("%d rows in the list, want the conversation alone", n)
	}

	form := s.doc.Find(".lane section.call form").First()
	path, _ := form.Attr("action")
	values := url.Values{"decision": {"deny"}, "place": {"lane"}, "reason": {"no"}}
	binding, _ := form.Find("input[name=binding]").Attr("value")
	values.Set("binding", binding)
	h.browser.HTMX().Post(path, values).Is(200).Has(".lane section.call.denied")
	h.rest(helper.ID)
	values.Set("decision", "approve")
	h.browser.HTMX().Post(path, values).Is(409).Has(".lane section.call.denied")
	close(b.hold)
	s.lacks("section.call.started")
	h.rest(id)
	s.same()
	h.browser.Get(base).Has(".lane section.call.denied").Says("Compared.")
}

func TestLiveOutputIsBounded(t *testing.T) {
	b := shellBench()
	b.hold = make(chan struct{})
	h, id := asks(t, b, shell("a", "yes"))
	base := "/chat/" + string(id)
	s := h.watch(base)
	p := h.browser.Get(base)
	h.browser.HTMX().Post(p.Attr("section.call form", "action"), url.Values{"decision": {"approve"}, "binding": {p.Attr("section.call input[name=binding]", "value")}}).Is(200)
	s.says("section.call.started .output", "begun")
	tail, err := h.store.Tail(context.Background(), id)
	h.must(err)
	for range 40 {
		h.publish(id, agent.ToolProgress{Call: tail.Head.Calls[0].ID, Text: strings.Repeat("<y>\n", 1024)})
		time.Sleep(3 * time.Millisecond) // a page that falls behind is shown the whole conversation anew
	}
	s.says("section.call.started .output", "more comes when it ends")
	s.settle()
	if n := len(s.doc.Find("section.call.started .output").Text()); n > 70<<10 {
		t.Errorf("%d bytes of live output on the page", n)
	}
	close(b.hold)
	s.has("section.call.finished")
	h.rest(id)
	s.same()
}
