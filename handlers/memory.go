package handlers

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/memory"
	"ash/views/components"
	"ash/views/layouts"
	"ash/views/pages"
)

const (
	memoryPage      = 40  // facts, episodes, runs on a page
	foundPage       = 20  // results of a search on a page
	mostFound       = 200 // results of a search that can be paged through
	waitingAbove    = 3   // proposals above the list of everything
	memoryNames     = 50  // offered by the field About
	memoryQuerySize = 400 // bytes of a search
)

// Memory is the Memory page: what Ash remembers, and how it is corrected and forgotten. All parts are
// required but Sizes.
type Memory struct {
	*Frame
	Owner     agent.ID
	Facts     FactReader
	Entities  EntityReader
	Names     EntityBook
	Totals    MemoryReader
	Recall    Recaller
	Records   MemoryRecords
	Book      MemoryBook
	Decider   Decider
	Forgetter Forgetter
	Redact    func(string) string // takes out what is a secret
	Sizes     SizeReader          // nil: not shown
	// Meaning says how finding by meaning stands: by which model, how much is done, what is wrong. "" when it is off; nil: not shown.
	Meaning func() string
}

// FactReader reads facts.
type FactReader interface {
	// Fact returns one fact, whatever its status; CodeNotFound once it is forgotten.
	Fact(ctx context.Context, id agent.ID) (agent.Fact, error)
	// FactList returns facts by id, in the order of ids, whatever their status; those that are gone are left out.
	FactList(ctx context.Context, ids []agent.ID) ([]agent.Fact, error)
	// Facts returns a page of facts, the latest said first; next is "" on the last one.
	Facts(ctx context.Context, f agent.FactFilter) (page []agent.Fact, next string, err error)
	// FactChain returns a fact with all that led to it and all that took its place, the oldest first.
	FactChain(ctx context.Context, id agent.ID) ([]agent.Fact, error)
	// UsedIn returns the replies that were given a memory, the newest first, at most limit.
	UsedIn(ctx context.Context, kind agent.MemoryKind, ref string, limit int) ([]agent.ID, error)
}

// EntityReader reads who and what facts are about.
type EntityReader interface {
	Entity(ctx context.Context, id agent.ID) (agent.Entity, error)
	// Entities returns a page of entities, those with most current facts first.
	Entities(ctx context.Context, f agent.EntityFilter) (page []agent.Entity, next string, err error)
	// EntityLinks returns the limit entities that current facts mention most often together with one, the strongest
	// first, and the links among all of them, that one included.
	EntityLinks(ctx context.Context, id agent.ID, limit int) (neighbours []agent.Entity, links []agent.EntityLink, err error)
}

// MemoryReader reads what is neither fact nor entity.
type MemoryReader interface {
	MemoryTotals(ctx context.Context, owner agent.ID) (agent.MemoryTotals, error)
	// MemoryDays returns the days from a time on at which something of a kind was learned or ended, the oldest first.
	MemoryDays(ctx context.Context, owner agent.ID, from time.Time) ([]agent.MemoryDay, error)
	// Episodes returns a page of episodes, those that ended last first.
	Episodes(ctx context.Context, after string, limit int) (page []agent.Episode, next string, err error)
}

// MemoryRecords reads what was done, and what waits for the person's word.
type MemoryRecords interface {
	MemoryRun(ctx context.Context, id agent.ID) (agent.MemoryRun, error)
	// MemoryRuns returns a page of runs, the newest first. kind "" is any.
	MemoryRuns(ctx context.Context, kind agent.RunKind, after string, limit int) (page []agent.MemoryRun, next string, err error)
	// ProposedBy counts, by run, what runs proposed and nobody has decided yet.
	ProposedBy(ctx context.Context, runs []agent.ID) (map[agent.ID]int, error)
	// Proposals returns a page of proposals, the newest first.
	Proposals(ctx context.Context, after string, limit int) (page []agent.Proposal, next string, err error)
}

// Decider does what the person decides of proposals and runs. Its place is package memory.
type Decider interface {
	// Decide does what was proposed, or drops it. CodeConflict when it was decided before, or no longer fits what is
	// remembered.
	Decide(ctx context.Context, id agent.ID, v memory.Verdict) ([]agent.MemoryChange, error)
	// Undo takes back all a run changed. CodeConflict when something of it changed since, or it was undone before.
	Undo(ctx context.Context, run agent.ID) ([]agent.MemoryChange, error)
}

// Recaller searches all that is remembered, best first.
type Recaller interface {
	Recall(ctx context.Context, query string, k int) ([]agent.Recollection, error)
}

// Show answers GET /memory: by kind (?tab=), narrowed down, or as the answer to a question (?q=).
func (h *Memory) Show(c echo.Context) error {
	ctx := c.Request().Context()
	frame, err := h.plain(c, "Memory", layouts.Memory)
	if err != nil {
		return err
	}
	page := pages.Memory{Page: frame, Tab: pages.MemoryTab(c.QueryParam("tab")), Later: c.QueryParam("after") != ""}
	if page.Tab == pages.TabNotes {
		return c.Redirect(http.StatusSeeOther, "/memory/notes")
	}
	if !slices.Contains([]pages.MemoryTab{pages.TabAll, pages.TabCore, pages.TabFacts, pages.TabEpisodes, pages.TabPatterns, pages.TabWaiting}, page.Tab) {
		return agent.Errorf(agent.CodeNotFound, "There is no such kind of memory.")
	}
	if page.Query, err = memoryQuery(c); err != nil {
		return err
	}
	totals, err := h.Totals.MemoryTotals(ctx, h.Owner)
	if err != nil {
		return err
	}
	page.Line = totalsLine(totals)
	if c.QueryParam("done") == "gone" {
		page.Notices = append(page.Notices, components.Notice{Kind: components.NoticeOK, Text: "It was forgotten already."})
	}
	page.Counts = map[pages.MemoryTab]int{pages.TabWaiting: totals.Proposals}
	if page.Forgotten, err = h.forgotten(c); err != nil {
		return err
	}
	if err := h.fill(c, &page, totals); err != nil {
		return err
	}
	return render(c, http.StatusOK, page.Show())
}

// fill finds what the page lists.
func (h *Memory) fill(c echo.Context, page *pages.Memory, totals agent.MemoryTotals) error {
	if page.Tab == pages.TabWaiting {
		return h.waitingTab(c, page)
	}
	filter, shown, err := h.filter(c, page.Tab)
	page.Filter = shown
	if agent.CodeOf(err) == agent.CodeNotFound {
		page.Problem = agent.PublicOf(err)
		return nil
	}
	if err != nil {
		return err
	}
	if page.Names, err = h.names(c); err != nil {
		return err
	}
	switch {
	case page.Query != "":
		return h.search(c, page, filter)
	case page.Tab == pages.TabEpisodes:
		return h.episodes(c, page)
	}
	if page.Tab == pages.TabAll && !page.Later && shown == (pages.MemoryFilter{}) {
		list, _, err := h.Records.Proposals(c.Request().Context(), "", waitingAbove)
		if err != nil {
			return err
		}
		if page.Proposals, err = h.proposals(h.presentMemory(c), list, components.PlaceChat); err != nil {
			return err
		}
		page.Waiting = max(totals.Proposals-len(list), 0)
	}
	list, next, err := h.Facts.Facts(c.Request().Context(), filter)
	if err != nil {
		return err
	}
	p := h.presentMemory(c)
	p.back = c.Request().URL.RequestURI()
	if page.Months, err = p.months(list); err != nil {
		return err
	}
	page.Next = further(c, next)
	return nil
}

// waitingTab is the tab of proposals.
func (h *Memory) waitingTab(c echo.Context, page *pages.Memory) error {
	list, next, err := h.Records.Proposals(c.Request().Context(), c.QueryParam("after"), memoryPage)
	if err != nil {
		return err
	}
	page.Proposals, err = h.proposals(h.presentMemory(c), list, components.PlaceChat)
	page.Next = further(c, next)
	return err
}

// episodes is the tab of conversations, by the month they ended in.
func (h *Memory) episodes(c echo.Context, page *pages.Memory) error {
	list, next, err := h.Totals.Episodes(c.Request().Context(), c.QueryParam("after"), memoryPage)
	if err != nil {
		return err
	}
	p := h.presentMemory(c)
	for _, e := range list {
		card, err := p.episode(e)
		if err != nil {
			return err
		}
		page.Months = intoMonth(page.Months, e.Ended.In(h.Zone), card)
	}
	page.Next = further(c, next)
	return nil
}

// search answers a question. A page is what stands after the ones shown before.
func (h *Memory) search(c echo.Context, page *pages.Memory, filter agent.FactFilter) error {
	ctx := c.Request().Context()
	skip := 0
	if after := c.QueryParam("after"); after != "" {
		n, err := strconv.Atoi(after)
		if err != nil || n < 0 || n > mostFound {
			return agent.Errorf(agent.CodeInvalid, "This page of results does not exist. Search again.")
		}
		skip = n
	}
	narrow := page.Filter != (pages.MemoryFilter{}) || page.Tab != pages.TabAll
	k := min(skip+foundPage+1, mostFound)
	if narrow {
		k = mostFound // what is left out must not leave the page empty
	}
	found, err := h.Recall.Recall(ctx, page.Query, k)
	if err != nil {
		return err
	}
	p := h.presentMemory(c)
	p.words, p.back = soughtWords(page.Query), c.Request().URL.RequestURI()
	facts, err := h.factsIn(ctx, found)
	if err != nil {
		return err
	}
	var fits []foundMemory
	for _, r := range found {
		x := foundMemory{r, facts[agent.ID(r.Ref)]}
		if x.fits(page.Tab, filter, narrow) {
			fits = append(fits, x)
		}
	}
	for _, x := range fits[min(skip, len(fits)):min(skip+foundPage, len(fits))] {
		card, err := p.found(x)
		if err != nil {
			return err
		}
		page.Found = append(page.Found, card)
	}
	if len(fits) > skip+foundPage && skip+foundPage < mostFound {
		page.Next = further(c, strconv.Itoa(skip+foundPage))
	}
	return nil
}

// foundMemory is something recalled, with the fact it is, if it is one.
type foundMemory struct {
	agent.Recollection
	fact *agent.Fact
}

// factsIn reads the facts among what was recalled, in one go.
func (h *Memory) factsIn(ctx context.Context, found []agent.Recollection) (map[agent.ID]*agent.Fact, error) {
	var ids []agent.ID
	for _, r := range found {
		if r.Kind == agent.MemoryFact {
			ids = append(ids, agent.ID(r.Ref))
		}
	}
	list, err := h.Facts.FactList(ctx, ids)
	out := make(map[agent.ID]*agent.Fact, len(list))
	for i := range list {
		out[list[i].ID] = &list[i]
	}
	return out, err
}

// fits reports whether something recalled belongs on the page. A fact that went meanwhile does not.
func (x foundMemory) fits(tab pages.MemoryTab, f agent.FactFilter, narrow bool) bool {
	if x.Kind == agent.MemoryFact {
		return x.fact != nil && tab != pages.TabEpisodes && selects(f, *x.fact)
	}
	ofTab := tab == pages.TabAll || tab == pages.TabEpisodes && x.Kind != agent.MemoryNote
	timed := (f.From.IsZero() || !x.Time.Before(f.From)) && (f.To.IsZero() || x.Time.Before(f.To))
	facts := f.Entity != "" || f.Source != "" || f.Pinned
	return ofTab && !(narrow && (facts || !timed))
}

// selects reports whether a filter takes a fact.
func selects(f agent.FactFilter, x agent.Fact) bool {
	switch {
	case len(f.Kinds) > 0 && !slices.Contains(f.Kinds, x.Kind),
		len(f.Statuses) > 0 && !slices.Contains(f.Statuses, x.Status),
		f.Source != "" && x.Source.Kind != f.Source,
		f.Pinned && !x.Pinned,
		!f.From.IsZero() && x.Said.Before(f.From),
		!f.To.IsZero() && !x.Said.Before(f.To):
		return false
	}
	return f.Entity == "" || slices.ContainsFunc(x.Entities, func(e agent.Entity) bool { return e.ID == f.Entity })
}

// names are offered by the field About.
func (h *Memory) names(c echo.Context) ([]string, error) {
	list, _, err := h.Entities.Entities(c.Request().Context(), agent.EntityFilter{Owner: h.Owner, Limit: memoryNames})
	out := make([]string, 0, len(list))
	for _, e := range list {
		out = append(out, e.Name)
	}
	return out, err
}

// further is the address of the next page of the same list; "" when there is none.
func further(c echo.Context, next string) string {
	if next == "" {
		return ""
	}
	q := url.Values{}
	for k, v := range c.QueryParams() {
		if len(v) > 0 && v[0] != "" {
			q[k] = v[:1]
		}
	}
	q.Set("after", next)
	return c.Request().URL.Path + "?" + q.Encode()
}

// question reads ?q=.
func memoryQuery(c echo.Context) (string, error) {
	q, err := clean(c.QueryParam("q"))
	return agent.Clip(onOneLine(q), memoryQuerySize), err
}
