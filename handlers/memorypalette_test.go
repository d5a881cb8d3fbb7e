package handlers_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/memory/notes"
	"ash/handlers"
)

// search is the palette over the house's memory; without memory it finds conversations only.
func (m *mind) search(frame *handlers.Frame) *handlers.Search {
	if m == nil {
		return &handlers.Search{Frame: frame}
	}
	return &handlers.Search{Frame: frame, Memories: finder{m}}
}

type finder struct{ *mind }

func (f finder) FindFacts(ctx context.Context, query string, limit int) ([]agent.Fact, error) {
	for more := true; more; {
		var err error
		if more, err = f.store.CatchUp(ctx, 100); err != nil {
			return nil, err
		}
	}
	return f.store.FactsBeginning(ctx, f.owner, query, limit)
}

func (f finder) FindEntities(ctx context.Context, query string, limit int) ([]agent.Entity, error) {
	list, _, err := f.store.Entities(ctx, agent.EntityFilter{Owner: f.owner, Name: query, Limit: limit})
	return list, err
}

func (f finder) FindNotes(ctx context.Context, query string, limit int) ([]handlers.NoteTitle, error) {
	rows, err := f.store.NotesTitled(ctx, query, limit)
	var out []handlers.NoteTitle
	for _, r := range rows {
		out = append(out, handlers.NoteTitle{Path: r.Path, Title: r.Title, Modified: r.Modified})
	}
	return out, err
}

// The palette finds memories while their words are typed, people and notes by name, and leads to each.
func TestPaletteFindsMemories(t *testing.T) {
	h, thread := remembering(t)
	f := h.hazelnuts(thread)
	old := h.mind.keep(agent.Fact{Text: "Ferdinand keeps hazelnut bushes.", Said: time.Now()})
	_, err := h.mind.book.Retire(context.Background(), old.ID)
	h.must(err)
	_, err = h.mind.notes.Save(context.Background(), notes.Draft{Path: "garden/Öfen & Co.md", Text: "# Öfen 100% <b>heiß</b>\n\nx"})
	h.must(err)
	_, err = h.mind.notes.Scan(context.Background())
	h.must(err)
	for query, want := range map[string]string{
		"haz": "/memory/facts/" + string(f.ID), "allergic hazelnut": "/memory/facts/" + string(f.ID), "HAZELN": "/memory/facts/" + string(f.ID),
		"fer": "/memory/entities/" + string(f.Entities[0].ID), "öfen": "/memory/notes/file?path=", "garden": "/memory/notes/file?path=", "100%": "/memory/notes/file?path=",
		"remember": "/memory/new", "people": "/memory/entities",
	} {
		p := h.browser.HTMX().Get("/palette?q=" + url.QueryEscape(query)).Is(200)
		if p.Find(`a.item[href^="`+want+`"]`).Length() != 1 {
			t.Errorf("%q does not find %s:\n%s", query, want, p.Body)
		}
		if p.Find(`a[href="/memory/facts/`+string(old.ID)+`"]`).Length() != 0 {
			t.Errorf("%q finds what no longer holds", query)
		}
		p.Lacks(".item b")
	}
	h.browser.HTMX().Get("/palette?q=100_").Is(200).Lacks(`a[href^="/memory/notes/file"]`)
	h.browser.HTMX().Get("/palette?q=").Is(200).Lacks(`a[href^="/memory/facts/"]`)
	for _, hostile := range []string{`"`, `*`, `AND`, `NEAR(`, `haz" OR "x`, `-`, `^haz`, `body:haz`, "\x00", strings.Repeat("haz ", 80)} {
		h.browser.HTMX().Get("/palette?q=" + url.QueryEscape(hostile)).Is(200)
	}
}

// A message and a conversation offer to be forgotten, with what was learned from them.
func TestForgettingIsOfferedInTheConversation(t *testing.T) {
	h, thread := remembering(t)
	f := h.hazelnuts(thread)
	said := string(f.Source.Message)
	p := h.browser.Get("/chat/" + string(thread)).Has(`article.me .actions a[href="/memory/forget?message=` + said + `"]`).
		Has(`article.ash .actions a[href^="/memory/forget?message="]`).Has(`.thread-menu a[href="/memory/forget?thread=` + string(thread) + `"]`)
	for _, what := range []string{"message=" + said, "thread=" + string(thread)} {
		h.browser.Get("/memory/forget?" + what).Is(200).Has(`.traces input[name=trace][value="fact:` + string(f.ID) + `"][checked]`).Has(`a[href^="/chat/` + string(thread) + `"]`)
	}
	if p.Find(`.actions a[aria-label=""]`).Length() > 0 {
		t.Error("an action has no name")
	}
}
