package handlers

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/memory"
	"ash/views/components"
	"ash/views/layouts"
	"ash/views/pages"
)

const (
	maxAbout     = 12  // names a new fact may be given by hand
	mostReceipts = 500 // that are counted
	repliesShown = 5
)

// MemoryBook changes facts at the person's word. base is the fact's Updated as the page showed it: CodeConflict
// when it has changed since. Its place is package memory.
type MemoryBook interface {
	// Remember keeps a new fact; told says that the person asked for it in so many words.
	Remember(ctx context.Context, f agent.Fact, told bool) (memory.Kept, error)
	// Correct keeps a fact that takes the place of another, with what f leaves open from that one.
	Correct(ctx context.Context, id agent.ID, base time.Time, f agent.Fact) (agent.Fact, error)
	// Edit changes details without changing what the fact says.
	Edit(ctx context.Context, id agent.ID, base time.Time, d memory.Detail) (agent.Fact, error)
	Pin(ctx context.Context, id agent.ID, pinned bool) (agent.Fact, error)
	// Retire makes a fact history without a successor, Revive takes that back.
	Retire(ctx context.Context, id agent.ID) (agent.Fact, error)
	Revive(ctx context.Context, id agent.ID) (agent.Fact, error)
}

// New answers GET /memory/new.
func (h *Memory) New(c echo.Context) error {
	return h.newForm(c, http.StatusOK, pages.MemoryNew{Kind: agent.FactKind(c.QueryParam("kind"))})
}

func (h *Memory) newForm(c echo.Context, status int, page pages.MemoryNew) error {
	var err error
	if page.Page, err = h.plain(c, "Remember", layouts.Memory); err != nil {
		return err
	}
	return render(c, status, page.Show())
}

// Remember answers POST /memory/new. What cannot be kept stays in the form.
func (h *Memory) Remember(c echo.Context) error {
	words, kind, err := factForm(c)
	if err != nil {
		return err
	}
	about, err := line(c, "about", 400)
	if err != nil {
		return err
	}
	f := agent.Fact{
		Kind: kind, Owner: h.Owner, Text: words, Said: h.Now(), Confidence: 1, Importance: 0.5, Source: agent.Provenance{Kind: agent.SourcePerson},
	}
	for name := range strings.SplitSeq(about, ",") {
		if name = strings.TrimSpace(name); name != "" && len(f.Entities) < maxAbout {
			f.Entities = append(f.Entities, agent.Entity{Name: name})
		}
	}
	var kept memory.Kept
	if err = h.keepable(words, about); err == nil {
		kept, err = h.Book.Remember(c.Request().Context(), f, true)
	}
	if code := agent.CodeOf(err); code == agent.CodeInvalid || code == agent.CodeConflict {
		return h.newForm(c, http.StatusUnprocessableEntity, pages.MemoryNew{Text: h.Redact(words), Kind: kind, About: h.Redact(about), Problem: agent.PublicOf(err)})
	}
	if err != nil {
		return err
	}
	done := "kept"
	if kept.Known {
		done = "known"
	}
	return see(c, components.FactPath(kept.Fact.ID)+"?done="+done)
}

// keepable refuses what holds a secret: it belongs into the vault, and memory is read by every model.
func (h *Memory) keepable(texts ...string) error {
	for _, text := range texts {
		if h.Redact(text) != text {
			return errSecret()
		}
	}
	return nil
}

// factForm reads the wording and the kind of a fact.
func factForm(c echo.Context) (string, agent.FactKind, error) {
	words, err := text(c, "text")
	if err != nil {
		return "", "", err
	}
	word, err := line(c, "kind", 20)
	if err != nil {
		return "", "", err
	}
	switch kind := agent.FactKind(word); kind {
	case agent.FactCore, agent.FactPlain, agent.FactPattern:
		return strings.TrimSpace(words), kind, nil
	}
	return "", "", agent.Errorf(agent.CodeInvalid, "There is no such kind of fact.")
}

// Fact answers GET /memory/facts/{fact}.
func (h *Memory) Fact(c echo.Context) error {
	page, err := h.factPage(c)
	if err != nil {
		return err
	}
	if done := factDone(c.QueryParam("done")); done != "" {
		page.Notices = append(page.Notices, components.Notice{Kind: components.NoticeOK, Text: done})
	}
	return render(c, http.StatusOK, page.Show())
}

func factDone(what string) string {
	switch what {
	case "kept":
		return "Remembered."
	case "known":
		return "This is remembered already: here it is."
	case "revived":
		return "It holds again."
	case "corrected":
		return "Corrected. The wording before it is history now."
	case "retired":
		return "No longer recalled. It stays here as history."
	case "same":
		return "Nothing was changed: the wording is as it was."
	case "reused":
		return "Saved. The wording stays as it was."
	case "expires":
		return "Set. From that day on it is history."
	case "stays":
		return "Set. It does not expire."
	}
	return ""
}

func (h *Memory) factPage(c echo.Context) (pages.MemoryFact, error) {
	ctx := c.Request().Context()
	id, err := param(c, "fact")
	if err != nil {
		return pages.MemoryFact{}, err
	}
	f, err := h.Facts.Fact(ctx, id)
	if err != nil {
		return pages.MemoryFact{}, forgottenSince(err)
	}
	frame, err := h.plain(c, "A memory", layouts.Memory)
	if err != nil {
		return pages.MemoryFact{}, err
	}
	p := h.presentMemory(c)
	page := pages.MemoryFact{
		Page: frame, ID: f.ID, Text: visible(f.Text), Seen: seenOf(f), Current: f.Status == agent.FactCurrent, Retired: f.Status == agent.FactRetired, Past: p.past(f), Word: factWord(f.Kind),
		Pinned: f.Pinned, About: abouts(f.Entities), Sources: strangers(f.Labels), Private: private(f.Labels), Kind: f.Kind,
	}
	if !f.Expires.IsZero() {
		page.Expires = f.Expires.In(h.Zone).Format(time.DateOnly)
		page.Until = p.until(f)
	}
	if page.Source, err = p.source(f.Source); err != nil {
		return page, err
	}
	chain, err := h.Facts.FactChain(ctx, id)
	if err != nil {
		return page, err
	}
	for _, x := range chain {
		page.Chain = append(page.Chain, pages.ChainLink{
			ID: x.ID, Text: visible(x.Text), When: "said " + x.Said.In(h.Zone).Format("2 January 2006"), Past: p.past(x), Here: x.ID == f.ID,
		})
	}
	used, err := h.Facts.UsedIn(ctx, agent.MemoryFact, string(id), mostReceipts+1)
	if err != nil {
		return page, err
	}
	page.Entries = h.entries(f, len(used))
	page.Used, err = h.usedIn(c, used)
	return page, err
}

// forgottenSince says of something that is not there why that may be.
func forgottenSince(err error) error {
	if agent.CodeOf(err) != agent.CodeNotFound {
		return err
	}
	return agent.Wrap(agent.CodeNotFound, err, "This is not remembered any more. If it was forgotten only now, the Memory page can take that back.")
}

// entries are the details of a fact, for people.
func (h *Memory) entries(f agent.Fact, receipts int) []pages.Fact {
	date := func(t time.Time) string { return t.In(h.Zone).Format("2 January 2006") }
	out := []pages.Fact{{Name: "Said", Value: date(f.Said)}}
	add := func(name, value string) { out = append(out, pages.Fact{Name: name, Value: value}) }
	if !f.From.IsZero() {
		add("True from", date(f.From))
	}
	if !f.Until.IsZero() {
		add("True until", date(f.Until))
	}
	if !f.Expires.IsZero() {
		add("Not recalled from", date(f.Expires))
	}
	switch about := abouts(f.Entities); {
	case f.Subject != "":
		add("About", visible(f.Subject))
	case len(about) > 0:
		names := make([]string, len(about))
		for i, a := range about {
			names[i] = a.Name
		}
		add("About", strings.Join(names, ", "))
	default:
		add("About", "you")
	}
	if receipts > mostReceipts {
		add("Used", "in more than "+components.Plural(mostReceipts, "reply", "replies"))
	} else {
		add("Used", "in "+components.Plural(receipts, "reply", "replies"))
	}
	add("How sure", percent(f.Confidence))
	add("Importance", percent(f.Importance))
	add("Kept", f.Created.In(h.Zone).Format("2 January 2006, 15:04"))
	if !f.Updated.Equal(f.Created) {
		add("Changed", f.Updated.In(h.Zone).Format("2 January 2006, 15:04"))
	}
	add("Id", string(f.ID))
	return out
}

// usedIn leads to the newest replies that were given a fact.
func (h *Memory) usedIn(c echo.Context, replies []agent.ID) ([]pages.Reply, error) {
	p := h.presentMemory(c)
	var out []pages.Reply
	for _, id := range replies[:min(len(replies), repliesShown)] {
		m, err := h.Reader.Message(c.Request().Context(), id)
		if agent.CodeOf(err) == agent.CodeNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		title, err := p.title(m.Thread)
		if err != nil {
			return nil, err
		}
		if title != "" {
			out = append(out, pages.Reply{Title: title, URL: messageURL(m.Thread, m.ID), When: m.Created.In(h.Zone).Format("2 January 2006, 15:04")})
		}
	}
	return out, nil
}

func percent(share float64) string { return components.Count(int(share*100+.5)) + " %" }

// seenOf and seen carry a fact's state through a form.
func seenOf(f agent.Fact) string { return f.Updated.UTC().Format(time.RFC3339Nano) }

func seen(c echo.Context) (time.Time, error) {
	s, err := line(c, "seen", 64)
	if err != nil {
		return time.Time{}, err
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return t, agent.Wrap(agent.CodeInvalid, err, "The form arrived damaged. Reload the page and send it again.")
	}
	return t, nil
}

// Correct answers POST /memory/facts/{fact}/correct. Whoever saves second gets both wordings and decides.
func (h *Memory) Correct(c echo.Context) error {
	id, err := param(c, "fact")
	if err != nil {
		return err
	}
	words, kind, err := factForm(c)
	if err != nil {
		return err
	}
	at, err := seen(c)
	if err != nil {
		return err
	}
	if was, err := h.Facts.Fact(c.Request().Context(), id); err == nil && was.Text == words && was.Status == agent.FactCurrent {
		return h.reuse(c, was, at, kind)
	}
	var kept agent.Fact
	if err = h.keepable(words); err == nil {
		kept, err = h.Book.Correct(c.Request().Context(), id, at, agent.Fact{
			Text: words, Kind: kind, Said: h.Now(), Confidence: 1, Source: agent.Provenance{Kind: agent.SourcePerson},
		})
	}
	switch agent.CodeOf(err) {
	case agent.CodeConflict:
		return h.uncorrected(c, http.StatusConflict, words, "")
	case agent.CodeInvalid:
		return h.uncorrected(c, http.StatusUnprocessableEntity, words, agent.PublicOf(err))
	}
	if err != nil {
		return err
	}
	return see(c, components.FactPath(kept.ID)+"?done=corrected")
}

// reuse changes what a fact is used for. Its wording is as it was, and so is where that came from.
func (h *Memory) reuse(c echo.Context, was agent.Fact, seen time.Time, kind agent.FactKind) error {
	if was.Kind == kind {
		return see(c, components.FactPath(was.ID)+"?done=same")
	}
	_, err := h.Book.Edit(c.Request().Context(), was.ID, seen, memory.Detail{Kind: &kind})
	if agent.CodeOf(err) == agent.CodeConflict {
		return h.uncorrected(c, http.StatusConflict, was.Text, "")
	}
	if err != nil {
		return err
	}
	return see(c, components.FactPath(was.ID)+"?done=reused")
}

// uncorrected shows a fact with the wording that could not take its place, and why; "" when the fact changed meanwhile.
func (h *Memory) uncorrected(c echo.Context, status int, words, problem string) error {
	page, err := h.factPage(c)
	if err != nil {
		return err
	}
	page.Mine, page.Problem = h.Redact(words), problem // what was a secret does not go back into a page
	return render(c, status, page.Show())
}

// Retire answers POST /memory/facts/{fact}/retire.
func (h *Memory) Retire(c echo.Context) error {
	id, err := param(c, "fact")
	if err != nil {
		return err
	}
	if _, err := h.Book.Retire(c.Request().Context(), id); err != nil && !h.stands(c, id, agent.FactRetired) {
		return err
	}
	return see(c, components.FactPath(id)+"?done=retired")
}

// Revive answers POST /memory/facts/{fact}/revive.
func (h *Memory) Revive(c echo.Context) error {
	id, err := param(c, "fact")
	if err != nil {
		return err
	}
	if _, err := h.Book.Revive(c.Request().Context(), id); err != nil && !h.stands(c, id, agent.FactCurrent) {
		return err
	}
	return see(c, components.FactPath(id)+"?done=revived")
}

// stands reports whether a fact is as a form wants it: what was pressed twice, or in two tabs, was done the first time.
func (h *Memory) stands(c echo.Context, id agent.ID, status agent.FactStatus) bool {
	f, err := h.Facts.Fact(c.Request().Context(), id)
	return err == nil && f.Status == status
}

// Pin answers POST /memory/facts/{fact}/pin.
func (h *Memory) Pin(c echo.Context) error {
	id, err := param(c, "fact")
	if err != nil {
		return err
	}
	word, err := line(c, "pinned", 1)
	if err != nil {
		return err
	}
	back, err := text(c, "back")
	if err != nil {
		return err
	}
	if _, err := h.Book.Pin(c.Request().Context(), id, word == "1"); err != nil {
		return err
	}
	if back != "/memory" && !strings.HasPrefix(back, "/memory?") && !strings.HasPrefix(back, "/memory/") {
		back = components.FactPath(id)
	}
	return see(c, back)
}

// Expire answers POST /memory/facts/{fact}/expire.
func (h *Memory) Expire(c echo.Context) error {
	id, err := param(c, "fact")
	if err != nil {
		return err
	}
	at, err := seen(c)
	if err != nil {
		return err
	}
	word, err := line(c, "expires", 10)
	if err != nil {
		return err
	}
	end, err := h.day(word)
	if err != nil {
		return err
	}
	if _, err := h.Book.Edit(c.Request().Context(), id, at, memory.Detail{Expires: &end}); err != nil {
		return err
	}
	done := "expires"
	if end.IsZero() {
		done = "stays"
	}
	return see(c, components.FactPath(id)+"?done="+done)
}
