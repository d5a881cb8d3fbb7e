package handlers_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/memory"
	"ash/views/components"
)

// propose puts a fact before the person.
func (m *mind) propose(text string) agent.ID {
	m.t.Helper()
	kept, err := m.book.Propose(context.Background(), []agent.Proposal{{Action: agent.ActionKeep, Why: "You said so.", Fact: agent.Fact{Text: text, Owner: m.owner, Said: time.Now()}}})
	m.must(err)
	if len(kept) != 1 {
		m.t.Fatalf("%q was not proposed", text)
	}
	return kept[0].ID
}

// What Ash would remember comes into the inbox, counts on every page's badge, and leaves when it is decided, wherever that is.
func TestProposalsAreLive(t *testing.T) {
	h, _ := remembering(t)
	inbox, other := h.watch("/inbox"), h.watch("/memory")
	one := h.mind.propose("Ferdinand plays chess.")
	inbox.has("#proposals > #" + components.ProposalID(one))
	inbox.says("#badge-rail", "1")
	other.says("#badge-rail", "1")
	inbox.says("#announce", "Ferdinand plays chess.")
	two := h.mind.propose("Ferdinand moved to Graz.")
	inbox.has("#" + components.ProposalID(two))
	other.says("#badge-tab", "2")
	inbox.alike("#proposals")

	h.browser.HTMX().Post("/memory/proposals/"+string(one), url.Values{"decision": {"approve"}, "place": {"inbox"}}).Is(200).
		Has("hx-partial[hx-swap=delete]").Lacks(".mem")
	inbox.lacks("#" + components.ProposalID(one))
	other.says("#badge-rail", "1")
	// Forgotten with the conversation it came from, and taken back.
	gone, err := h.mind.book.Forget(context.Background(), memory.Target{Fact: h.mind.keep(agent.Fact{Text: "Ferdinand moved to Graz!", Said: time.Now()}).ID}, nil)
	h.must(err)
	inbox.lacks("#proposals > li")
	inbox.until("an empty badge", func() bool { return strings.TrimSpace(inbox.doc.Find("#badge-rail").Text()) == "" })
	h.must(h.mind.book.Restore(context.Background(), gone.ID))
	inbox.has("#proposals > li")
	inbox.alike("#proposals")

	// On the Memory page the memory that is kept stands where it was proposed.
	p := h.browser.HTMX().Post("/memory/proposals/"+string(two), url.Values{"decision": {"edit"}, "text": {"Ferdinand moved to Linz."}}).Is(200)
	if got := p.Text("hx-partial[hx-target='#" + components.ProposalID(two) + "'] .mem:not(.pending) .mem-text"); !strings.Contains(got, "Linz") {
		t.Errorf("in its place stands %q", got)
	}
	p.Has("hx-partial[hx-target='#mem-waiting']")
	inbox.lacks("#proposals > li")
	if len(inbox.lost) > 0 {
		t.Errorf("fragments without a place: %v", inbox.lost)
	}
}

func TestInboxShowsSomeProposalsAndCountsTheRest(t *testing.T) {
	h, _ := remembering(t)
	for i := range 22 {
		h.mind.propose("Jar " + strings.Repeat("i", i+1) + " holds cumin.")
	}
	s := h.watch("/inbox")
	if n := s.doc.Find("#proposals > li").Length(); n != 20 {
		t.Fatalf("%d proposals on the page, want 20", n)
	}
	s.says("#proposals-more", "2 more wait")
	if n := strings.TrimSpace(s.doc.Find("#badge-rail").Text()); !strings.HasPrefix(n, "22") {
		t.Errorf("the badge says %q", n)
	}
	first := s.doc.Find("#proposals > li form").First().AttrOr("action", "")
	h.browser.HTMX().Post(first, url.Values{"decision": {"dismiss"}, "place": {"inbox"}}).Is(200)
	s.says("#proposals-more", "1 more waits")
	if n := s.doc.Find("#proposals > li").Length(); n != 20 {
		t.Errorf("%d proposals after one was decided, want the next one to come up", n)
	}
}
