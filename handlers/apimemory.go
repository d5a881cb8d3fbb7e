package handlers

import (
	"context"
	"net/http"
	"reflect"
	"slices"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/access"
	"ash/agent/memory"
)

const (
	apiPage     = 50   // memories on a page, when nobody says
	apiPageMost = 200  // at most
	apiHits     = 10   // results of a search, when nobody says
	apiHitsMost = 100  // at most
	apiQuestion = 1000 // bytes of a search
)

func listParams() []apiParam {
	return []apiParam{
		{name: "kind", in: "query", kind: kindFact, about: "Only memories of this kind."},
		{name: "status", in: "query", kind: kindStatus, about: "Only memories of this status; current when it is left out, all for history too."},
		{name: "entity", in: "query", kind: kindText, about: "Only memories about somebody or something: a name or an alias, in any case, or an id."},
		{name: "since", in: "query", kind: kindDay, about: "Said at or after this time. A day is its beginning in UTC."},
		{name: "until", in: "query", kind: kindDay, about: "Said before this time."},
		{name: "limit", in: "query", kind: kindLimit, about: "How many, 1 to 200; 50 when it is left out."},
		{name: "after", in: "query", kind: kindText, about: "next of the page before."},
	}
}

func searchParams() []apiParam {
	return []apiParam{
		{name: "q", in: "query", kind: kindText, required: true, about: "What to look for, in any words and language; at most 1,000 bytes."},
		{name: "k", in: "query", kind: kindHits, about: "How many, 1 to 100; 10 when it is left out."},
	}
}

// idParam is the id in the address.
func idParam() apiParam {
	return apiParam{name: "id", in: "path", kind: kindID, required: true}
}

// reading are the scopes that let a caller read memory.
func reading() []access.Scope { return []access.Scope{access.ScopeRead, access.ScopeMemory} }

func (h *API) readRoutes() []APIRoute {
	return []APIRoute{
		{
			Method: http.MethodGet, Path: "/memories", Handle: h.List,
			name: "listMemories", summary: "List memories", about: "The latest said first, a page at a time.",
			scopes: reading(), params: listParams(), fails: []int{422},
			answers: []apiAnswer{{status: 200, about: "A page.", body: reflect.TypeFor[APIMemories]()}},
		},
		{
			Method: http.MethodGet, Path: "/memories/search", Handle: h.Search,
			name: "searchMemories", summary: "Search all that is remembered",
			about:  "Memories, passages of conversations, what conversations were about, and notes, best first. No model is asked.",
			scopes: reading(), params: searchParams(), fails: []int{422},
			answers: []apiAnswer{{status: 200, about: "What was found.", body: reflect.TypeFor[APIHits]()}},
		},
		{
			Method: http.MethodGet, Path: "/memories/{id}", Handle: h.Show,
			name: "showMemory", summary: "One memory, with its history",
			scopes: reading(), params: []apiParam{idParam()}, fails: []int{404, 422},
			answers: []apiAnswer{{status: 200, about: "The memory.", body: reflect.TypeFor[APIMemoryFull](), headers: []string{"ETag"}}},
		},
	}
}

// List answers GET /memories.
func (h *API) List(c echo.Context) error {
	q, err := readQuery(c, listParams())
	if err != nil {
		return err
	}
	f, err := h.factFilter(q)
	if err != nil {
		return err
	}
	out := APIMemories{Memories: []APIMemory{}}
	if name := q.text("entity"); name != "" {
		if f.Entity, err = h.entity(c.Request().Context(), name); err != nil {
			return err
		}
		if f.Entity == "" { // nothing is known of it
			return answer(c, http.StatusOK, out)
		}
	}
	page, next, err := h.Facts.Facts(c.Request().Context(), f)
	if err != nil {
		return err
	}
	for _, x := range page {
		out.Memories = append(out.Memories, apiMemory(x))
	}
	out.Next = next
	return answer(c, http.StatusOK, out)
}

// factFilter reads what a list is narrowed to, but for the entity.
func (h *API) factFilter(q query) (agent.FactFilter, error) {
	f := agent.FactFilter{Owner: h.Owner, After: q.text("after"), Statuses: []agent.FactStatus{agent.FactCurrent}}
	if kind := agent.FactKind(q.text("kind")); kind != "" {
		if !slices.Contains(factKinds(), kind) {
			return f, agent.Errorf(agent.CodeInvalid, "kind is core, fact or pattern.")
		}
		f.Kinds = []agent.FactKind{kind}
	}
	switch status := q.text("status"); status {
	case "", string(agent.FactCurrent):
	case "all":
		f.Statuses = nil
	case string(agent.FactSuperseded), string(agent.FactRetired):
		f.Statuses = []agent.FactStatus{agent.FactStatus(status)}
	default:
		return f, agent.Errorf(agent.CodeInvalid, "status is current, superseded, retired or all.")
	}
	var err error
	if f.From, err = q.moment("since"); err != nil {
		return f, err
	}
	if f.To, err = q.moment("until"); err != nil {
		return f, err
	}
	f.Limit, err = q.number("limit", apiPage, apiPageMost)
	return f, err
}

func factKinds() []agent.FactKind {
	return []agent.FactKind{agent.FactCore, agent.FactPlain, agent.FactPattern}
}

// entity finds whom a list asks for, by id, name or alias; "" when nobody has that name.
func (h *API) entity(ctx context.Context, name string) (agent.ID, error) {
	if id, err := agent.ParseID(name); err == nil {
		e, err := h.Entities.Entity(ctx, id)
		if agent.CodeOf(err) == agent.CodeNotFound {
			return "", nil
		}
		return e.ID, err
	}
	is := func(s string) bool { return memory.FoldName(s) == memory.FoldName(name) }
	for f := (agent.EntityFilter{Owner: h.Owner, Name: name, Limit: apiPageMost}); ; {
		page, next, err := h.Entities.Entities(ctx, f)
		if err != nil {
			return "", err
		}
		for _, e := range page {
			if is(e.Name) || slices.ContainsFunc(e.Aliases, is) {
				return e.ID, nil
			}
		}
		if next == "" {
			return "", nil
		}
		f.After = next
	}
}

// Search answers GET /memories/search.
func (h *API) Search(c echo.Context) error {
	q, err := readQuery(c, searchParams())
	if err != nil {
		return err
	}
	words := onOneLine(q.text("q"))
	if words == "" || len(words) > apiQuestion {
		return agent.Errorf(agent.CodeInvalid, "q says what to look for, in at most %d bytes.", apiQuestion)
	}
	k, err := q.number("k", apiHits, apiHitsMost)
	if err != nil {
		return err
	}
	found, err := h.Recall.Recall(c.Request().Context(), words, k)
	if err != nil {
		return err
	}
	out := APIHits{Hits: make([]APIHit, 0, len(found))}
	for _, r := range found {
		out.Hits = append(out.Hits, apiHit(r))
	}
	return answer(c, http.StatusOK, out)
}

// Show answers GET /memories/{id}.
func (h *API) Show(c echo.Context) error {
	if _, err := readQuery(c, nil); err != nil {
		return err
	}
	f, err := h.fact(c)
	if err != nil {
		return err
	}
	chain, err := h.Facts.FactChain(c.Request().Context(), f.ID)
	if err != nil {
		return err
	}
	out := APIMemoryFull{APIMemory: apiMemory(f), History: make([]APIMemory, 0, len(chain))}
	for _, x := range chain {
		out.History = append(out.History, apiMemory(x))
	}
	c.Response().Header().Set("ETag", tagOf(f))
	return answer(c, http.StatusOK, out)
}

// fact reads the memory in the address. One of another owner does not exist.
func (h *API) fact(c echo.Context) (agent.Fact, error) {
	id, err := param(c, "id")
	if err != nil {
		return agent.Fact{}, err
	}
	return h.owned(c.Request().Context(), id)
}

func (h *API) owned(ctx context.Context, id agent.ID) (agent.Fact, error) {
	f, err := h.Facts.Fact(ctx, id)
	if err == nil && f.Owner != h.Owner {
		return agent.Fact{}, agent.Errorf(agent.CodeNotFound, "That does not exist, or no longer does.")
	}
	return f, err
}
