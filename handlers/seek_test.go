package handlers_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"ash/agent"
	"ash/agent/llm/llmtest"
)

// monologue stores n messages of the person below the thread's head, none of them answered.
func (h *house) monologue(thread agent.ID, n int) []agent.ID {
	h.t.Helper()
	ctx := context.Background()
	ids := make([]agent.ID, n)
	for i := range ids {
		posted, err := h.store.Post(ctx, agent.NewMessage{Thread: thread, Parts: []agent.Part{agent.Text{Text: fmt.Sprint("thought ", i)}}})
		h.must(err)
		_, err = h.store.EndTurn(ctx, posted.Turn, agent.TurnDone)
		h.must(err)
		ids[i] = posted.Message.ID
	}
	return ids
}

func TestHitFarBack(t *testing.T) {
	h := open(t)
	id := h.empty()
	said := h.monologue(id, 300)
	base := "/chat/" + string(id)
	at := func(i int) string { return base + "?at=" + string(said[i]) }
	article := func(i int) string { return "#m-" + string(said[i]) }

	h.browser.Get(at(290)).Is(200).Has(article(290)).Has(article(299)).Lacks("#notices .toast")
	h.browser.Get(at(100)).Is(200).Has(article(100)).Has(article(299)).Lacks("#notices .toast")

	p := h.browser.Get(at(50)).Is(200).Has(article(50)).Has(article(69)).Has(article(30)).Lacks(article(70)).Lacks(article(29)).Lacks(".status .ending")
	if n := p.Find("#messages article").Length(); n != 40 {
		t.Errorf("%d messages around the hit, want 40", n)
	}
	if to := p.Attr("#notices .toast:not([data-leaves]) a", "href"); to != base {
		t.Errorf("the way to the end leads to %q", to)
	}
	p.Has("#earlier a[hx-get='" + base + "?before=" + string(said[30]) + "']")
	h.browser.Get(at(0)).Is(200).Has(article(0)).Has(article(19)).Lacks(article(20)).Lacks("#earlier a")
}

func TestHitInAnotherVariant(t *testing.T) {
	h := open(t, llmtest.Reply{Text: []string{"fine"}, Repeat: true})
	id := h.begin("frist")
	base := "/chat/" + string(id)
	old := strings.TrimPrefix(h.browser.Get(base).Attr("article.me", "id"), "m-")
	h.browser.HTMX().Post(base+"/messages/"+old+"/edit", url.Values{"text": {"first"}}).Is(204)
	h.rest(id)

	p := h.browser.Get(base + "?at=" + old).Is(200).Lacks("#m-" + old).Has("#notices .toast:not([data-leaves]) form:not([hx-post]):not([data-undo])")
	form := "#notices .toast form"
	to := h.browser.Post(p.Attr(form, "action"), url.Values{p.Attr(form+" [name=message]", "name"): {p.Attr(form+" [name=message]", "value")}}).Leads()
	if to != base+"?at="+old+"#m-"+old {
		t.Fatalf("the variant is shown at %s", to)
	}
	page, _, _ := strings.Cut(to, "#")
	h.browser.Get(page).Is(200).Has("#m-" + old).Lacks("#notices .toast")

	foreign := string(h.thread(h.begin("elsewhere")).Head)
	for _, at := range []string{foreign, string(agent.NewID())} {
		h.browser.Get(base + "?at=" + at).Is(200).Has("#notices .toast").Lacks("#notices form").Says("not in this conversation")
	}
	h.browser.Get(base + "?at=nonsense").Is(200).Lacks("#notices .toast")
}
