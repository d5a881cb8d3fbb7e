package handlers

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/memory"
	"ash/agent/memory/archive"
)

// ControlMemories is what ash memory reaches: the same book and the same rules as the pages. All parts are required.
type ControlMemories struct {
	Owner     agent.ID
	Facts     FactReader
	IDs       ControlIDs
	Entities  ControlEntities
	Threads   ControlReader
	Book      MemoryBook
	Forgetter Forgetter
	Archive   ControlArchive
	Index     ControlIndex
	Redact    func(string) string
}

// ControlIDs names facts by the beginnings of their ids.
type ControlIDs interface {
	// FactIDs returns the ids of an owner's facts that begin with prefix, at most limit.
	FactIDs(ctx context.Context, owner agent.ID, prefix string, limit int) ([]agent.ID, error)
	// ShortIDs returns for each id the beginning of it that no other fact has.
	ShortIDs(ctx context.Context, ids []agent.ID) ([]string, error)
}

// ControlEntities finds what facts are about.
type ControlEntities interface {
	// EntityNamed returns the entity with a name or alias. CodeNotFound.
	EntityNamed(ctx context.Context, owner agent.ID, name string) (agent.Entity, error)
}

// ControlArchive takes memory out and in.
type ControlArchive interface {
	// Export returns an archive of all that is remembered, as a zip of a size in bytes. forOthers leaves out what tells of forgotten things to one who guesses.
	Export(ctx context.Context, forOthers bool) (zip io.ReadCloser, size int64, err error)
	// Import takes in the archive that lies in the home under a name, and removes that file.
	Import(ctx context.Context, in ControlIntake) (archive.Taken, error)
}

// ControlIndex is the index that recall reads.
type ControlIndex interface {
	// Reindex makes it anew and tells how far it is.
	Reindex(ctx context.Context, tell func(ControlProgress)) error
	Stats(ctx context.Context) (ControlMemoryStats, error)
}

// The wire forms of ash memory.
type (
	// ControlFact is a fact in a list.
	ControlFact struct {
		archive.Fact
		Short string `json:"short"` // beginning of its id that no other has
	}
	// ControlFacts is a page of facts.
	ControlFacts struct {
		Facts []ControlFact `json:"facts"`
		Next  string        `json:"next,omitempty"`
	}
	// ControlNewFact is what the person wants remembered, or a fact's new wording.
	ControlNewFact struct {
		Text  string         `json:"text"`
		Kind  agent.FactKind `json:"kind,omitempty"`
		About []string       `json:"about,omitempty"`
	}
	// ControlKept is the fact it became.
	ControlKept struct {
		Fact  ControlFact `json:"fact"`
		Known bool        `json:"known,omitempty"` // it was remembered already
	}
	// ControlDetail is a fact with its history.
	ControlDetail struct {
		Fact  ControlFact   `json:"fact"`
		Chain []ControlFact `json:"chain"`           // all that led to it and all that took its place, the oldest first; itself too
		Title string        `json:"title,omitempty"` // of the conversation it came from
		Used  int           `json:"used"`            // replies that were given it, at most 100 are counted
	}
	// ControlTrace is one place that holds what is to be forgotten.
	ControlTrace struct {
		Kind   memory.TraceKind `json:"kind"`
		Ref    string           `json:"ref"`
		Text   string           `json:"text,omitempty"`
		Title  string           `json:"title,omitempty"` // of the conversation it stands in
		Time   time.Time        `json:"time,omitzero"`
		Ticked bool             `json:"forget"`           // goes with it
		Manual bool             `json:"manual,omitempty"` // the person has to change it
	}
	// ControlTraces is what forgetting would do.
	ControlTraces struct {
		Fact   ControlFact    `json:"fact"`
		Traces []ControlTrace `json:"traces"`
		More   bool           `json:"more,omitempty"`
		Plan   string         `json:"plan"` // names this very list
	}
	// ControlForget forgets what a list of traces showed.
	ControlForget struct {
		Plan string `json:"plan"`
	}
	// ControlForgotten says until when that can be taken back.
	ControlForgotten struct {
		Facts    int       `json:"facts"`
		Messages int       `json:"messages"`
		Due      time.Time `json:"due"`
	}
)

// register adds the routes of ash memory to g.
func (h *ControlMemories) register(g *echo.Group) {
	g.GET("/memories", h.list)
	g.POST("/memories", h.add)
	g.GET("/memories/:id", h.show)
	g.PUT("/memories/:id", h.edit)
	g.GET("/memories/:id/traces", h.traces)
	g.POST("/memories/:id/forget", h.forget)
	g.GET("/memory/export", h.export)
	g.POST("/memory/import", h.imports)
	g.POST("/memory/reindex", h.reindex)
	g.GET("/memory/stats", h.stats)
}

// list answers GET /memories?kind=&status=&entity=&limit=&after=.
func (h *ControlMemories) list(c echo.Context) error {
	ctx := c.Request().Context()
	f := agent.FactFilter{Owner: h.Owner, After: c.QueryParam("after"), Limit: 200}
	if n, err := strconv.Atoi(c.QueryParam("limit")); err == nil && n > 0 {
		f.Limit = min(n, f.Limit)
	}
	kinds, statuses := agent.FactKind(c.QueryParam("kind")), agent.FactStatus(c.QueryParam("status"))
	if kinds != "" {
		if !slices.Contains([]agent.FactKind{agent.FactCore, agent.FactPlain, agent.FactPattern}, kinds) {
			return agent.Errorf(agent.CodeInvalid, "There is no kind %q: core, fact or pattern.", kinds)
		}
		f.Kinds = []agent.FactKind{kinds}
	}
	if statuses != "" {
		if !slices.Contains([]agent.FactStatus{agent.FactCurrent, agent.FactSuperseded, agent.FactRetired}, statuses) {
			return agent.Errorf(agent.CodeInvalid, "There is no status %q: current, superseded, retired or all.", statuses)
		}
		f.Statuses = []agent.FactStatus{statuses}
	}
	if name := c.QueryParam("entity"); name != "" {
		e, err := h.Entities.EntityNamed(ctx, h.Owner, name)
		if agent.CodeOf(err) == agent.CodeNotFound {
			return agent.Wrap(agent.CodeNotFound, err, "Nothing is remembered about %q.", agent.Clip(name, 120))
		}
		if err != nil {
			return err
		}
		f.Entity = e.ID
	}
	page, next, err := h.Facts.Facts(ctx, f)
	if err != nil {
		return err
	}
	list, err := h.facts(ctx, page)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, ControlFacts{list, next})
}

func (h *ControlMemories) facts(ctx context.Context, list []agent.Fact) ([]ControlFact, error) {
	ids := make([]agent.ID, len(list))
	for i, f := range list {
		ids[i] = f.ID
	}
	short, err := h.IDs.ShortIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]ControlFact, len(list))
	for i, f := range list {
		out[i] = ControlFact{archive.FromFact(f), short[i]}
	}
	return out, nil
}

func (h *ControlMemories) fact(ctx context.Context, f agent.Fact) (ControlFact, error) {
	list, err := h.facts(ctx, []agent.Fact{f})
	if err != nil {
		return ControlFact{}, err
	}
	return list[0], nil
}

// named finds the fact that a beginning of an id names.
func (h *ControlMemories) named(c echo.Context) (agent.Fact, error) {
	ctx, prefix := c.Request().Context(), strings.ToLower(c.Param("id"))
	if len(prefix) < 4 || len(prefix) > 36 || strings.Trim(prefix, "0123456789abcdef-") != "" {
		return agent.Fact{}, agent.Errorf(agent.CodeNotFound, "%q is no id of a memory. Ids are in the first column of ash memory list; the beginning of one will do.", agent.Clip(visible(prefix), 60))
	}
	ids, err := h.IDs.FactIDs(ctx, h.Owner, prefix, 2)
	switch {
	case err != nil:
		return agent.Fact{}, err
	case len(ids) == 0:
		return agent.Fact{}, agent.Errorf(agent.CodeNotFound, "There is no memory %s: it was forgotten, or never was.", prefix)
	case len(ids) > 1:
		return agent.Fact{}, agent.Errorf(agent.CodeConflict, "Several memories begin with %s. Give more of the id.", prefix)
	}
	return h.Facts.Fact(ctx, ids[0])
}

// add answers POST /memories: the person says in so many words what is to be remembered.
func (h *ControlMemories) add(c echo.Context) error {
	var in ControlNewFact
	if err := readControl(c, &in); err != nil {
		return err
	}
	text, err := h.statement(in.Text)
	if err != nil {
		return err
	}
	f := agent.Fact{
		Kind: in.Kind, Owner: h.Owner, Text: text, Confidence: 1, Importance: 0.5, Source: agent.Provenance{Kind: agent.SourcePerson},
	}
	if !slices.Contains([]agent.FactKind{"", agent.FactCore, agent.FactPlain, agent.FactPattern}, f.Kind) {
		return agent.Errorf(agent.CodeInvalid, "There is no kind %q: core, fact or pattern.", f.Kind)
	}
	for _, name := range in.About {
		if h.Redact(name) != name {
			return errSecret()
		}
		f.Entities = append(f.Entities, agent.Entity{Name: strings.TrimSpace(name)})
	}
	kept, err := h.Book.Remember(c.Request().Context(), f, true)
	if err != nil {
		return err
	}
	shown, err := h.fact(c.Request().Context(), kept.Fact)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, ControlKept{shown, kept.Known})
}

// statement checks a wording as the pages do; its length and emptiness the book checks.
func (h *ControlMemories) statement(text string) (string, error) {
	text, err := clean(text)
	if err != nil {
		return "", err
	}
	text = strings.TrimSpace(text)
	switch {
	case strings.Contains(text, memory.Blank):
		return "", agent.Errorf(agent.CodeInvalid, "Something in it was forgotten at your wish. Leave that out.")
	case h.Redact(text) != text:
		return "", errSecret()
	}
	return text, nil
}

// edit answers PUT /memories/:id: another wording, the one before becomes history.
func (h *ControlMemories) edit(c echo.Context) error {
	var in ControlNewFact
	if err := readControl(c, &in); err != nil {
		return err
	}
	text, err := h.statement(in.Text)
	if err != nil {
		return err
	}
	if text == "" {
		return agent.Errorf(agent.CodeInvalid, "Give the new wording. To have it forgotten, use ash memory forget.")
	}
	old, err := h.named(c)
	if err != nil {
		return err
	}
	f, err := h.Book.Correct(c.Request().Context(), old.ID, old.Updated, agent.Fact{
		Text: text, Confidence: 1, Source: agent.Provenance{Kind: agent.SourcePerson},
	})
	if err != nil {
		return err
	}
	shown, err := h.fact(c.Request().Context(), f)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, ControlKept{Fact: shown})
}
