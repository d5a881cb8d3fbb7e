package handlers_test

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/llm/llmtest"
	"ash/agent/memory"
	"ash/agent/memory/notes"
	"ash/handlers"
)

// mind is memory over the house's store: the real book and the real folder of notes, and a search that knows words only.
type mind struct {
	*house
	owner agent.ID
	book  *memory.Book
	notes *notes.Folder
	found []agent.Recollection // beside the facts
	asked []string
	told  func() // that proposals changed
}

func openMind(h *house, owner agent.ID) *mind {
	m := &mind{house: h, owner: owner}
	m.book = memory.New(h.store, memory.Options{Window: time.Hour, OnChange: func(t memory.Touched) {
		if t.Proposals {
			m.told()
		}
	}})
	var err error
	m.notes, err = notes.Open(context.Background(), filepath.Join(h.home, "notes"), h.store, h.store, notes.Options{Unwatched: true, Rescan: time.Hour})
	h.must(err)
	h.t.Cleanup(func() { h.must(m.notes.Close()) })
	return m
}

// pages wires the pages of memory the way cmd/ash does; nil without memory.
func (m *mind) pages(frame *handlers.Frame) (*handlers.Memory, *handlers.Notes) {
	if m == nil {
		return nil, nil
	}
	return &handlers.Memory{
		Frame: frame, Owner: m.owner, Facts: m.store, Entities: m.store, Names: m.store, Totals: m.store, Records: m.store,
		Recall: m, Book: m.book, Decider: m.book, Forgetter: m.book,
		Sizes: m, Redact: func(text string) string { return strings.ReplaceAll(text, "sk-never-kept", "[secret]") },
	}, &handlers.Notes{Frame: frame, Folder: m.notes, Beside: m.notes, Waiting: m.store.ProposalCount}
}

// MemoryRoom are those the store keeps, and those of this moment.
func (m *mind) MemoryRoom(ctx context.Context, from time.Time) ([]agent.MemorySizes, error) {
	if _, err := m.store.MeasureMemory(ctx, time.Now()); err != nil {
		return nil, err
	}
	return m.store.MemoryRoom(ctx, from)
}

// Recall finds the current facts that hold a word of the query, then whatever else the test laid out.
func (m *mind) Recall(ctx context.Context, query string, k int) ([]agent.Recollection, error) {
	m.asked = append(m.asked, query)
	all, _, err := m.store.Facts(ctx, agent.FactFilter{Owner: m.owner, Statuses: []agent.FactStatus{agent.FactCurrent}, Limit: 200})
	var out []agent.Recollection
	for _, f := range all {
		if slices.ContainsFunc(strings.Fields(query), func(w string) bool { return strings.Contains(strings.ToLower(f.Text), strings.ToLower(w)) }) {
			out = append(out, agent.Recollection{Kind: agent.MemoryFact, Ref: string(f.ID), Text: f.Text, Why: []string{"words: hazelnut", "said around it: nuts", "meaning"}})
		}
	}
	out = append(out, m.found...)
	return out[:min(len(out), k)], err
}

// remembering opens a house with memory, in which one conversation was had.
func remembering(t *testing.T) (*house, agent.ID) {
	t.Helper()
	h := openWith(t, plan{configured: true, memory: true}, llmtest.Reply{Text: []string{"Noted."}, Repeat: true})
	return h, h.begin("My neighbour Ferdinand is allergic to hazelnuts, please keep that in mind.")
}

func (m *mind) keep(f agent.Fact) agent.Fact {
	m.t.Helper()
	f.Owner = m.owner
	kept, err := m.book.Remember(context.Background(), f, true)
	m.must(err)
	return kept.Fact
}

// said is the first message of a thread.
func (h *house) said(thread agent.ID) agent.Message {
	h.t.Helper()
	all, err := h.store.ThreadMessages(context.Background(), thread)
	h.must(err)
	return all[0]
}

func (h *house) hazelnuts(thread agent.ID) agent.Fact {
	h.t.Helper()
	return h.mind.keep(agent.Fact{
		Text: "Ferdinand is allergic to hazelnuts.", Said: time.Now(), Confidence: .9, Importance: .5, Entities: []agent.Entity{{Name: "Ferdinand", Kind: agent.EntityPerson}},
		Source: agent.Provenance{Kind: agent.SourceMessage, Thread: thread, Message: h.said(thread).ID, Quote: "My neighbour Ferdinand is allergic to hazelnuts"},
	})
}

func TestMemoryIsToldFoundCorrected(t *testing.T) {
	h, thread := remembering(t)
	h.browser.Get("/memory").Says("Nothing is remembered yet").Has(`main a.btn.go[href="/memory/new"]`)
	to := h.browser.Post("/memory/new", url.Values{"text": {" The bins go out\r\non Tuesday. "}, "kind": {"core"}, "about": {"bins, House"}}).Leads()
	h.browser.Get(to).Is(200).Says("Remembered.").Says("You entered it").Has(`a[href^="/memory/entities/"]`).Says("About me")
	h.browser.Post("/memory/new", url.Values{"text": {"  "}, "kind": {"core"}}).Is(422).Has(`[role=alert]`)
	h.browser.Post("/memory/new", url.Values{"text": {"x"}, "kind": {"perhaps"}}).Is(422)

	h.browser.Post("/memory/new", url.Values{"text": {"My key is sk-never-kept."}, "kind": {"core"}}).Is(422).Says("Those are not kept in memory").Says("My key is [secret].")

	f := h.hazelnuts(thread)
	p := h.browser.Get("/memory").Is(200).Says("2 facts").Has(`.month .mem a[href="/memory/facts/` + string(f.ID) + `"]`)
	if months := p.Find(".month h2").Length(); months != 1 {
		t.Errorf("%d months, want this one", months)
	}
	for tab, want := range map[string]int{"core": 1, "facts": 1, "patterns": 0} {
		if got := h.browser.Get("/memory?tab=" + tab).Is(200).Find(".mem").Length(); got != want {
			t.Errorf("tab %s has %d, want %d", tab, got, want)
		}
	}
	h.browser.Get("/memory?tab=nothing").Is(404)

	p = h.browser.Get("/memory?q=hazelnut").Is(200).Says("matched: hazelnut + nuts, said around it + meaning").Lacks(".month")
	if got := p.Text(".mem mark"); got != "hazelnuts" {
		t.Errorf("marked %q", got)
	}
	page := h.browser.Get("/memory/facts/" + string(f.ID)).Is(200).Says("allergic to hazelnuts</blockquote>").Has(`a[href="/chat/` + string(thread) + `?at=` + string(f.Source.Message) + `#m-` + string(f.Source.Message) + `"]`)
	form := url.Values{"text": {"Ferdinand is allergic to walnuts."}, "kind": {"fact"}, "seen": {page.Attr("#edit input[name=seen]", "value")}}
	secret := url.Values{"text": {"It is sk-never-kept."}, "kind": {"fact"}, "seen": form["seen"]}
	if mine := h.browser.Post("/memory/facts/"+string(f.ID)+"/correct", secret).Is(422).Says("Those are not kept in memory").Lacks(".conflict").Text("#fact-text"); mine != "It is [secret]." {
		t.Errorf("the wording that was refused became %q", mine)
	}
	long := url.Values{"text": {strings.Repeat("漢", 1000)}, "kind": {"fact"}, "seen": form["seen"]}
	h.browser.Post("/memory/facts/"+string(f.ID)+"/correct", long).Is(422).Has("#fact-text").Has("#edit [role=alert]")
	now := h.browser.Post("/memory/facts/"+string(f.ID)+"/correct", form).Leads()
	h.browser.Get(now).Says("Corrected").Says("walnuts")
	if chain := h.browser.Get(now).Find(".chain li"); chain.Length() != 2 || !strings.Contains(chain.First().Text(), "hazelnuts") || !strings.Contains(chain.First().Text(), "replaced") {
		t.Errorf("the chain is %q", chain.Text())
	}
	h.browser.Get("/memory?q=hazelnut").Says("Nothing found for")
	h.browser.Get("/memory?status=superseded").Has(".mem.past").Says("hazelnuts")
	form.Set("text", "Ferdinand is allergic to peanuts.")
	if mine := h.browser.Post("/memory/facts/"+string(f.ID)+"/correct", form).Is(409).Says("became history").Text(".conflict textarea"); mine != "Ferdinand is allergic to peanuts." {
		t.Errorf("the wording that came too late became %q", mine)
	}
	h.browser.Get("/memory/facts/" + string(f.ID)).Says("never recalled as current").Lacks("#edit").Has(`a[href="/memory/forget?fact=` + string(f.ID) + `"]`)
	h.browser.Get("/memory/facts/" + string(agent.NewID())).Is(404).Says("not remembered any more").Has(`main a.btn.go[href="/memory"]`)
}

// A form that changes no word changes no source either.
func TestCorrectingNothing(t *testing.T) {
	h, thread := remembering(t)
	f := h.hazelnuts(thread)
	path := "/memory/facts/" + string(f.ID)
	form := url.Values{"text": {f.Text}, "kind": {"fact"}, "seen": {h.browser.Get(path).Attr("#edit input[name=seen]", "value")}}
	to := h.browser.Post(path+"/correct", form).Leads()
	h.browser.Get(to).Is(200).Says("Nothing was changed")
	form.Set("kind", "core")
	to = h.browser.Post(path+"/correct", form).Leads()
	h.browser.Get(to).Is(200).Says("stays as it was").Says("About me").Says("allergic to hazelnuts</blockquote>").Lacks(".chain")
	h.browser.Post(path+"/correct", url.Values{"text": {f.Text}, "kind": {"fact"}, "seen": form["seen"]}).Is(409)

	seen := func() string { return h.browser.Get(path).Attr("#edit input[name=seen]", "value") }
	h.browser.Post(path+"/expire", url.Values{"expires": {"2001-01-01"}, "seen": {seen()}}).Leads()
	h.browser.Get(path).Says("expired: not recalled")
}

func TestTwoPagesCorrectOneMemory(t *testing.T) {
	h, thread := remembering(t)
	f := h.hazelnuts(thread)
	path := "/memory/facts/" + string(f.ID)
	seen := h.browser.Get(path).Attr("#edit input[name=seen]", "value")
	h.browser.Post(path+"/expire", url.Values{"expires": {"2999-05-01"}, "seen": {seen}}).Leads()
	p := h.browser.Post(path+"/correct", url.Values{"text": {"Ferdinand eats <b>nothing</b> with nuts."}, "kind": {"fact"}, "seen": {seen}}).Is(409).Says("changed while you were editing")
	if mine := p.Text("#fact-text"); mine != "Ferdinand eats <b>nothing</b> with nuts." {
		t.Errorf("what was typed became %q", mine)
	}
	h.browser.Post(path+"/correct", url.Values{"text": {"x"}, "kind": {"fact"}, "seen": {"yesterday"}}).Is(422)
	h.browser.Post(path+"/correct", url.Values{"text": {"Ferdinand eats nothing with nuts."}, "kind": {"fact"}, "seen": {p.Attr("#edit input[name=seen]", "value")}}).Leads()
}

func TestPinExpireRetire(t *testing.T) {
	h, thread := remembering(t)
	f := h.hazelnuts(thread)
	path := "/memory/facts/" + string(f.ID)
	if to := h.browser.Post(path+"/pin", url.Values{"pinned": {"1"}, "back": {"/memory?tab=facts"}}).Leads(); to != "/memory?tab=facts" {
		t.Errorf("leads to %s", to)
	}
	for _, back := range []string{"https://elsewhere.example/", "//elsewhere.example", "/memory.example", ""} {
		if to := h.browser.Post(path+"/pin", url.Values{"pinned": {"1"}, "back": {back}}).Leads(); to != path {
			t.Errorf("back to %q leads to %s", back, to)
		}
	}
	h.browser.Get("/memory?status=pinned").Has(".mem .act.did")
	p := h.browser.Get(path)
	h.browser.Post(path+"/expire", url.Values{"expires": {"soon"}, "seen": {p.Attr("#edit input[name=seen]", "value")}}).Is(422)
	h.browser.Post(path+"/expire", url.Values{"expires": {"2999-05-01"}, "seen": {p.Attr("#edit input[name=seen]", "value")}}).Leads()
	h.browser.Get("/memory").Says("not recalled from 1 May 2999")
	p = h.browser.Get(path).Says("<dd>Ferdinand</dd>")
	if to := h.browser.Post(path+"/expire", url.Values{"expires": {""}, "seen": {p.Attr("#edit input[name=seen]", "value")}}).Leads(); to != path+"?done=stays" {
		t.Errorf("no end leads to %s", to)
	}
	h.browser.Post(path+"/retire", nil).Leads()
	h.browser.Post(path+"/retire", nil).Leads() // pressed twice
	h.browser.Get(path).Says("no longer true").Has(`form[action="` + path + `/revive"]`).Lacks("#edit")
	h.browser.Get("/memory").Lacks(".mem")
	h.browser.Get("/memory?status=retired").Has(".mem.past")
	h.browser.Post(path+"/revive", nil).Leads()
	h.browser.Post(path+"/revive", nil).Leads()
	h.browser.Get("/memory").Has(".mem:not(.past)")
	h.browser.Post("/memory/facts/"+string(agent.NewID())+"/retire", nil).Is(404)
}

func TestForgettingShowsWhatGoesAndCanBeTakenBack(t *testing.T) {
	h, thread := remembering(t)
	f := h.hazelnuts(thread)
	p := h.browser.Get("/memory/forget?fact=" + string(f.ID)).Is(200).Says("Nothing has happened yet").Says("goes in any case")
	said := p.Find(`input[name=trace][value="message:` + string(f.Source.Message) + `"]`)
	if said.Length() != 1 || said.AttrOr("checked", "no") == "no" {
		t.Fatalf("the message that says it is not ticked:\n%s", p.Text(".traces"))
	}
	if p.Find(`input[value="fact:`+string(f.ID)+`"]`).Length() != 0 {
		t.Error("the memory itself can be unticked")
	}
	// The message unticked: only the memory goes.
	if to := h.browser.Post("/memory/forget", url.Values{"fact": {string(f.ID)}}).Leads(); to != "/memory" {
		t.Errorf("leads to %s", to)
	}
	h.browser.Get("/memory/facts/" + string(f.ID)).Is(404)
	if m := h.said(thread); !strings.Contains(m.Text(), "hazelnuts") {
		t.Errorf("an unticked message was masked: %q", m.Text())
	}
	p = h.browser.Get("/memory").Says("Forgotten: 1 memory. Until").Lacks(".mem")
	h.browser.Post(p.Attr(`.gone form[action$="/undo"]`, "action"), nil).Leads()
	h.browser.Get("/memory").Lacks(".gone").Has(".mem")

	h.browser.Post("/memory/forget", url.Values{"fact": {string(f.ID)}, "trace": {"message:" + string(f.Source.Message)}}).Leads()
	p = h.browser.Get("/memory").Says("1 memory and 1 passage of a message")
	if shown := h.browser.Get("/chat/" + string(thread)).Text(".me .bubble"); strings.Contains(shown, "hazelnuts") {
		t.Errorf("the conversation still shows %q", shown)
	}
	undo := p.Attr(`.gone form[action$="/undo"]`, "action")
	h.browser.Post(p.Attr(`.gone form[action$="/finish"]`, "action"), nil).Leads()
	h.browser.Get("/memory").Lacks(".gone")
	h.browser.Post(undo, nil).Is(404).Says("gone for good")

	h.browser.Get("/memory/forget").Is(404)
	if to := h.browser.Post("/memory/forget", url.Values{"fact": {string(f.ID)}}).Leads(); to != "/memory?done=gone" { // pressed twice
		t.Errorf("the second press leads to %s", to)
	}
	h.browser.Get("/memory?done=gone").Says("forgotten already")
	h.browser.Get("/memory/forget?fact=" + string(f.ID)).Is(404).Says("not remembered any more")
	h.browser.Get("/memory/forget?fact=" + string(f.ID)).Is(404)
	h.browser.Get("/memory/forget?fact=" + string(f.ID) + "&thread=" + string(thread)).Is(422)
	h.browser.Get("/memory/forget?thread=" + string(thread)).Is(200).Says("The conversation")
	h.browser.Get("/memory/forget?message=" + string(h.said(thread).ID)).Is(200)
}

func TestProposalsWaitOnBothPages(t *testing.T) {
	h, thread := remembering(t)
	ctx := context.Background()
	stranger := agent.Labels{{Source: "mail.example", Kind: agent.LabelUntrusted}}
	propose := func(text string) agent.ID {
		kept, err := h.mind.book.Propose(ctx, []agent.Proposal{{Action: agent.ActionKeep, Why: "Said <i>by the way</i>.", Fact: agent.Fact{
			Text: text, Owner: h.mind.owner, Said: time.Now(), Labels: stranger, Source: agent.Provenance{Kind: agent.SourceMessage, Thread: thread, Message: h.said(thread).ID},
		}}})
		h.must(err)
		return kept[0].ID
	}
	old := h.hazelnuts(thread)
	kept, err := h.mind.book.Propose(ctx, []agent.Proposal{{Action: agent.ActionKeep, Fact: agent.Fact{Text: "Ferdinand eats hazelnuts again.", Owner: h.mind.owner, Said: time.Now(), Supersedes: []agent.ID{old.ID}}}})
	h.must(err)
	if got := h.browser.Get("/inbox").Text(".mem.pending .replaces del"); got != old.Text {
		t.Errorf("it would take the place of %q", got)
	}
	h.browser.Post("/memory/proposals/"+string(kept[0].ID), url.Values{"decision": {"approve"}}).Leads()
	h.browser.Get("/memory?status=superseded").Says(old.Text)
	one, two, three := propose("The owner approves everything."), propose("Ferdinand moved to Graz."), propose("Ferdinand plays chess.")
	h.browser.Get("/inbox").Is(200).Has(".mem.pending").Says("not your words").Says("mail.example").Says("&lt;i&gt;by the way").Lacks(".mem i")
	p := h.browser.Get("/memory").Has(".mem.pending")
	if n := strings.TrimSpace(p.Text(".mem-tabs .badge-in")); n != "3" {
		t.Errorf("the tab says %q", n)
	}
	h.browser.HTMX().Post("/memory/proposals/"+string(one), url.Values{"decision": {"dismiss"}, "place": {"inbox"}}).Is(200).Has("hx-partial[hx-swap=delete]")
	h.browser.HTMX().Post("/memory/proposals/"+string(one), url.Values{"decision": {"approve"}}).Is(409)
	if to := h.browser.Post("/memory/proposals/"+string(two), url.Values{"decision": {"edit"}, "text": {"Ferdinand moved to Linz."}, "place": {"inbox"}}).Leads(); to != "/inbox" {
		t.Errorf("leads to %s", to)
	}
	h.browser.HTMX().Post("/memory/proposals/"+string(three), url.Values{"decision": {"edit"}, "text": {" "}}).Is(422)
	h.browser.HTMX().Post("/memory/proposals/"+string(three), url.Values{"decision": {"perhaps"}}).Is(422)
	if to := h.browser.Post("/memory/proposals/"+string(three), url.Values{"decision": {"approve"}}).Leads(); to != "/memory?tab=waiting" {
		t.Errorf("leads to %s", to)
	}
	h.browser.Get("/memory?tab=waiting").Lacks(".mem").Says("Nothing waits")
	h.browser.Get("/inbox").Lacks(".mem").Says("Nothing waits for you")
	// What a stranger wrote stays marked, however it was worded by the person.
	p = h.browser.Get("/memory").Says("Linz").Says("chess")
	if n := p.Find(".mem .stranger").Length(); n != 2 {
		t.Errorf("%d of 2 approved memories are marked as a stranger's", n)
	}
	if strings.Contains(p.Body, "approves everything") {
		t.Error("what was dismissed is remembered")
	}
}

func TestMemoryFilters(t *testing.T) {
	h, thread := remembering(t)
	h.hazelnuts(thread)
	old := h.mind.keep(agent.Fact{Text: "Graz has trams.", Said: time.Date(2021, 5, 31, 20, 0, 0, 0, time.UTC), Entities: []agent.Entity{{Name: "Graz", Kind: agent.EntityPlace}}, Source: agent.Provenance{Kind: agent.SourceImport}})
	h.mind.found = []agent.Recollection{
		{Kind: agent.MemoryMessage, Ref: string(h.said(thread).ID), Thread: thread, Text: "allergic to hazelnuts", Time: time.Now(), Why: []string{"words"}},
		{Kind: agent.MemoryNote, Ref: "people/a b&c.md", Text: "trams", Time: time.Now()},
	}
	for query, want := range map[string]int{
		"": 2, "entity=Graz": 1, "entity=graz": 1, "entity=" + string(old.Entities[0].ID): 1, "source=import": 1, "source=note": 0, "from=2021-05-31&until=2021-05-31": 1,
		"until=2021-05-30": 0, "status=all": 2, "q=trams": 3, "q=trams&tab=facts": 1, "q=trams&tab=episodes": 1, "q=trams&entity=Graz": 1, "q=trams&source=message": 0, "q=trams&from=2022-01-01": 2,
	} {
		if got := h.browser.Get("/memory?" + query).Is(200).Find(".mem").Length(); got != want {
			t.Errorf("%q finds %d, want %d", query, got, want)
		}
	}
	h.browser.Get("/memory?entity=Zebra").Is(200).Says("Ash knows nothing about “Zebra”")
	h.browser.Get("/memory?q=trams").Has(`a[href="/memory/notes/file?path=people%2Fa+b%26c.md"]`).Has(`.mem a[href^="/chat/` + string(thread) + `?at="]`)
	for _, wrong := range []string{"source=perhaps", "status=perhaps", "from=soon", "until=31.5.2021", "q=trams&after=x", "q=trams&after=-1", "after=x"} {
		h.browser.Get("/memory?" + wrong).Is(422)
	}
	h.browser.Get("/memory?q=%FF%FE").Is(422)
}

func TestMemoryPages(t *testing.T) {
	h, _ := remembering(t)
	for i := range 45 {
		h.mind.keep(agent.Fact{Text: fmt.Sprintf("Jar number %d holds cumin.", i), Said: time.Date(2024, time.Month(1+i%12), 3, 0, 0, 0, 0, time.UTC), Source: agent.Provenance{Kind: agent.SourcePerson}})
	}
	seen := map[string]bool{}
	path, n := "/memory?tab=facts", 0
	for path != "" {
		p := h.browser.Get(path).Is(200)
		for _, node := range p.Find(".mem-text a").EachIter() {
			seen[node.AttrOr("href", "")] = true
		}
		path = p.Attr(".pager a", "href")
		n++
	}
	if len(seen) != 45 || n != 2 {
		t.Errorf("%d memories on %d pages, want 45 on 2", len(seen), n)
	}
	if got := h.browser.Get("/memory?tab=facts").Find(".month").Length(); got != 11 { // three each in the last quarter, four each before: forty are in eleven
		t.Errorf("%d months, want 11", got)
	}
	clear(seen)
	n = 0
	for path = "/memory?q=cumin"; path != ""; n++ {
		p := h.browser.Get(path).Is(200)
		for _, node := range p.Find(".mem-text a").EachIter() {
			seen[node.AttrOr("href", "")] = true
		}
		path = p.Attr(".pager a", "href")
	}
	if len(seen) != 45 || n != 3 {
		t.Errorf("%d results on %d pages, want 45 on 3", len(seen), n)
	}
}

func TestEntityPage(t *testing.T) {
	h, _ := remembering(t)
	names := func(list ...string) (out []agent.Entity) {
		for _, n := range list {
			out = append(out, agent.Entity{Name: n, Kind: agent.EntityPerson})
		}
		return out
	}
	f := h.mind.keep(agent.Fact{Text: "Ferdinand and Ida sing.", Said: time.Now(), Entities: names("Ferdinand", "Ida <x>")})
	h.mind.keep(agent.Fact{Text: "Ferdinand and Ida and Max row.", Said: time.Now(), Entities: names("Ferdinand", "Ida <x>", "Max")})
	id := string(f.Entities[0].ID)
	p := h.browser.Get("/memory/entities/" + id).Is(200).Has(`svg.graph a[href^="/memory/entities/"]`).Lacks("svg x").Says("Person · 2 facts")
	if n := p.Find("svg.graph a").Length(); n != 2 {
		t.Errorf("%d neighbours, want 2", n)
	}
	if got := p.Find(".links li").First().Text(); !strings.Contains(got, "Ida <x>") || !strings.Contains(got, "2 facts") {
		t.Errorf("the strongest link is %q", got)
	}
	if n := p.Find("svg.graph line").Length(); n != 3 {
		t.Errorf("%d lines, want both neighbours' and the one between them", n)
	}
	h.browser.Get("/memory/entities").Is(200).Says("Ferdinand")
	if n := h.browser.Get("/memory/entities?name=ma").Find(".entities li").Length(); n != 1 {
		t.Errorf("%d names begin with ma", n)
	}
	h.browser.Get("/memory/entities?kind=place").Says("Nobody and nothing")
	h.browser.Get("/memory/entities?kind=x").Is(422)
	h.browser.Get("/memory/entities/" + string(agent.NewID())).Is(404)
	h.browser.Get("/memory/entities/" + id + "?status=all").Is(200).Says("Only what holds now")
}

func TestRunsAreUndone(t *testing.T) {
	h, thread := remembering(t)
	ctx := context.Background()
	old := h.hazelnuts(thread)
	run := agent.MemoryRun{ID: agent.NewID(), Kind: agent.RunLearn, Thread: thread, Created: time.Now(), Model: agent.ModelRef{Provider: "test", Name: "tiny"}, Usage: agent.Usage{Cost: 2000}}
	after := old
	after.Status = agent.FactRetired
	_, err := h.mind.book.Apply(ctx, memory.Step{Run: &run, Changes: []agent.MemoryChange{{Fact: old.ID, Before: &old, After: &after}}})
	h.must(err)
	h.browser.Get("/memory").Lacks(".mem")
	_, err = h.mind.book.Propose(ctx, []agent.Proposal{{Action: agent.ActionKeep, Run: run.ID, Fact: agent.Fact{Text: "Ferdinand rows.", Owner: h.mind.owner, Said: time.Now()}}})
	h.must(err)
	path := h.browser.Get("/memory/runs").Is(200).Says("1 let go").Says("test/tiny").Says("1 proposal waits").Attr(".mem-runs a", "href")
	p := h.browser.Get(path).Is(200).Has(".lines .rem").Says("hazelnuts").Has(`a[href="/memory?tab=waiting"]`)
	if to := h.browser.Post(p.Attr(`form[action$="/undo"]`, "action"), nil).Leads(); to != path+"?undone=1" {
		t.Errorf("leads to %s", to)
	}
	h.browser.Get(path).Says("undone").Lacks(`form[action$="/undo"]`)
	h.browser.Get("/memory").Has(".mem")
	if to := h.browser.Post(path+"/undo", nil).Leads(); to != path+"?undone=1" { // pressed twice
		t.Errorf("the second press leads to %s", to)
	}
	h.browser.Get("/memory/runs?kind=consolidate").Lacks(".mem-runs a")
	h.browser.Get("/memory/runs?kind=x").Is(422)
	h.browser.Get("/memory/runs/" + string(agent.NewID())).Is(404)
}

func TestEpisodesTab(t *testing.T) {
	h, thread := remembering(t)
	ctx := context.Background()
	h.browser.Get("/memory?tab=episodes").Says("What you talked about")
	for i := range 3 {
		id := thread
		if i > 0 {
			id = h.empty()
		}
		h.must(h.store.SaveEpisode(ctx, agent.Episode{Thread: id, Through: h.said(thread).ID, Text: fmt.Sprintf("Talk %d about nuts.", i), Began: time.Now(), Ended: time.Now().AddDate(0, -i, 0)}))
	}
	p := h.browser.Get("/memory?tab=episodes").Is(200).Has(`.mem a[href="/chat/` + string(thread) + `"]`).Has(`.mem a[href="/memory/forget?thread=` + string(thread) + `"]`)
	if n := p.Find(".mem").Length(); n != 3 {
		t.Errorf("%d episodes", n)
	}
	page, next, err := h.store.Episodes(ctx, "", 2)
	if h.must(err); len(page) != 2 || next == "" {
		t.Fatalf("%d episodes, next %q", len(page), next)
	}
	rest, next, err := h.store.Episodes(ctx, next, 2)
	if h.must(err); len(rest) != 1 || next != "" || rest[0].Text != "Talk 2 about nuts." {
		t.Errorf("then %+v, next %q", rest, next)
	}
	h.browser.Get("/memory?tab=episodes&after=x!").Is(404)
}

func TestReceipts(t *testing.T) {
	h, thread := remembering(t)
	ctx := context.Background()
	f := h.hazelnuts(thread)
	receipts := &handlers.Receipts{Frame: h.pages, Facts: h.store, Episodes: h.store}
	given := []agent.Recollection{
		{Kind: agent.MemoryFact, Ref: string(f.ID), Why: []string{"words"}, Text: "stale text of the receipt"},
		{Kind: agent.MemoryMessage, Ref: string(h.said(thread).ID), Why: []string{"meaning"}},
		{Kind: agent.MemoryFact, Ref: string(agent.NewID())},
		{Kind: agent.MemoryEpisode, Ref: string(thread)},
		{Kind: agent.MemoryNote, Ref: "garden.md#3"},
	}
	r, err := receipts.Of(ctx, given)
	h.must(err)
	if len(r.Items) != 5 || r.Items[0].Text != f.Text || r.Items[0].Fact != f.ID || r.Items[1].Message == "" || r.Items[2].Text != "" || r.Items[3].Text != "" || r.Items[4].URL != "/memory/notes/file?path=garden.md" {
		t.Errorf("receipt %+v", r.Items)
	}
	_, err = h.mind.book.Correct(ctx, f.ID, time.Time{}, agent.Fact{Text: "Ferdinand is allergic to walnuts.", Said: time.Now(), Source: agent.Provenance{Kind: agent.SourcePerson}})
	h.must(err)
	if r, err = receipts.Of(ctx, given[:1]); err != nil || !strings.HasPrefix(r.Items[0].Past, "replaced") {
		t.Errorf("a corrected memory is shown as %+v, %v", r.Items, err)
	}
	_, err = h.mind.book.Forget(ctx, memory.Target{Fact: f.ID}, nil)
	h.must(err)
	if r, err = receipts.Of(ctx, given[:1]); err != nil || r.Items[0].Text != "" {
		t.Errorf("a forgotten memory is shown as %+v, %v", r.Items, err)
	}
}

// A name is put right, a kind is said, and two that are one become one: each shown before, none by accident.
func TestEntitiesAreRenamedAndMerged(t *testing.T) {
	h, _ := remembering(t)
	ferd := h.mind.keep(agent.Fact{Text: "Ferd rows.", Said: time.Now(), Entities: []agent.Entity{{Name: "Ferd"}}}).Entities[0]
	ferdinand := h.mind.keep(agent.Fact{Text: "Ferdinand sings.", Said: time.Now(), Entities: []agent.Entity{{Name: "Ferdinand"}}}).Entities[0]
	page := func(id agent.ID) string { return "/memory/entities/" + string(id) }
	edit := page(ferd.ID) + "/edit"
	h.browser.Get(page(ferd.ID)).Is(200).Has(`a[data-sheet][href="` + edit + `"]`)
	h.browser.HTMX().Get(edit).Is(200).Has(".name-form form").Lacks("main")
	p := h.browser.Get(edit).Is(200).Has("main .name-form form")
	form := func(name, kind, aliases string) url.Values {
		return url.Values{"name": {name}, "kind": {kind}, "aliases": {aliases}, "seen": {p.Attr(`input[name="seen"]`, "value")}}
	}
	for what, bad := range map[string]url.Values{
		"no name":       form("  ", "person", ""),
		"no kind":       form("Ferd", "wizard", ""),
		"endless":       form(strings.Repeat("x", 200), "person", ""),
		"a secret":      form("sk-never-kept", "person", ""),
		"another alias": form("Ferd", "person", "ferdinand"),
		"old page":      {"name": {"Ferd"}, "kind": {"person"}, "seen": {"thing\nFerdl"}},
	} {
		got := h.browser.Post(edit, bad).Is(422).Text(`[role="alert"]`)
		if got == "" {
			t.Errorf("%s: nothing is said", what)
		}
	}
	h.browser.Post(edit, form("Ferdi <b>", "person", "Fe\r\n fe \r\nF.")).Is(303)
	got, err := h.store.Entity(context.Background(), ferd.ID)
	h.must(err)
	if got.Name != "Ferdi <b>" || got.Kind != agent.EntityPerson || strings.Join(got.Aliases, ",") != "F.,Fe,Ferd" {
		t.Errorf("renamed to %+v", got)
	}
	h.browser.Get(page(ferd.ID) + "?done=renamed").Says("goes on to find it").Says("Person · also F., Fe, Ferd")

	// The name of somebody else asks whether they are one.
	p = h.browser.Get(edit)
	to := h.browser.Post(edit, form("Ferdinand", "person", "")).Is(303).Header.Get("Location")
	if !strings.HasPrefix(to, page(ferd.ID)+"/merge?with=") {
		t.Fatalf("a taken name leads to %s", to)
	}
	h.browser.Get(page(ferd.ID) + "/merge?with=nobody").Is(422).Says("Nobody and nothing is known by the name")
	h.browser.Get(page(ferd.ID) + "/merge?with=Ferd").Is(422).Says("is one already")
	h.browser.Get(page(ferd.ID) + "/merge?with=").Is(422)
	h.browser.Get(page(ferd.ID) + "/merge?with=FERDINAND").Is(200)
	ask := h.browser.Get(to).Is(200).Says("Are these one?").Says("cannot be taken back")
	if n := ask.Find(`form button[name="keep"]`).Length(); n != 2 {
		t.Errorf("%d names can be kept, want 2", n)
	}
	merge := url.Values{"with": {string(ferdinand.ID)}, "keep": {string(ferdinand.ID)}}
	h.browser.Post(page(ferd.ID)+"/merge", url.Values{"with": {string(ferdinand.ID)}, "keep": {string(agent.NewID())}}).Is(422)
	h.browser.Post(page(ferd.ID)+"/merge", merge).Is(303)
	h.browser.Post(page(ferd.ID)+"/merge", merge).Is(303) // pressed twice
	h.browser.Get(page(ferd.ID)).Is(404)
	h.browser.Get(page(ferdinand.ID)).Is(200).Says("Ferd rows.").Says("Ferdinand sings.").Says("2 facts").Says("Ferdi &lt;b&gt;")
}
