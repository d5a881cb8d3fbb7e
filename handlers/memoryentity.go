package handlers

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/views/components"
	"ash/views/layouts"
	"ash/views/pages"
)

// EntityList answers GET /memory/entities.
func (h *Memory) EntityList(c echo.Context) error {
	frame, err := h.plain(c, "People and things", layouts.Memory)
	if err != nil {
		return err
	}
	name, err := clean(c.QueryParam("name"))
	if err != nil {
		return err
	}
	page := pages.MemoryEntities{Page: frame, Name: agent.Clip(onOneLine(name), 120), Kind: c.QueryParam("kind")}
	if !offered(pages.EntityKinds(), page.Kind) {
		return agent.Errorf(agent.CodeInvalid, "There is no such kind.")
	}
	list, next, err := h.Entities.Entities(c.Request().Context(), agent.EntityFilter{
		Owner: h.Owner, Kind: agent.EntityKind(page.Kind), Name: page.Name, After: c.QueryParam("after"), Limit: memoryPage,
	})
	if err != nil {
		return err
	}
	for _, e := range list {
		page.Items = append(page.Items, entityRow(e))
	}
	page.Next = further(c, next)
	return render(c, http.StatusOK, page.Show())
}

func entityRow(e agent.Entity) pages.EntityRow {
	kind := "" // nobody said what it is
	switch e.Kind {
	case agent.EntityPerson:
		kind = "Person"
	case agent.EntityPlace:
		kind = "Place"
	case agent.EntityProject:
		kind = "Project"
	}
	return pages.EntityRow{
		About: components.About{ID: e.ID, Name: visible(e.Name)}, Kind: kind, Aliases: visible(strings.Join(e.Aliases, ", ")), Facts: e.Facts,
	}
}

// Entity answers GET /memory/entities/{entity}: all that is known, with ?status=all history too.
func (h *Memory) Entity(c echo.Context) error {
	ctx := c.Request().Context()
	id, err := param(c, "entity")
	if err != nil {
		return err
	}
	e, err := h.Entities.Entity(ctx, id)
	if err != nil {
		return err
	}
	frame, err := h.plain(c, visible(e.Name), layouts.Memory)
	if err != nil {
		return err
	}
	page := pages.MemoryEntity{Page: frame, EntityRow: entityRow(e), Past: c.QueryParam("status") == "all", Later: c.QueryParam("after") != ""}
	near, links, err := h.Entities.EntityLinks(ctx, id, components.MaxGraphNodes)
	if err != nil {
		return err
	}
	page.Graph = graphOf(e, near, links)
	f := agent.FactFilter{Owner: h.Owner, Entity: id, After: c.QueryParam("after"), Limit: memoryPage}
	if !page.Past {
		f.Statuses = []agent.FactStatus{agent.FactCurrent}
	}
	list, next, err := h.Facts.Facts(ctx, f)
	if err != nil {
		return err
	}
	p := h.presentMemory(c)
	p.back = c.Request().URL.RequestURI()
	if page.Months, err = p.months(list); err != nil {
		return err
	}
	page.Next = further(c, next)
	if done := entityDone(c.QueryParam("done")); done != "" {
		page.Notices = append(page.Notices, components.Notice{Kind: components.NoticeOK, Text: done})
	}
	return render(c, http.StatusOK, page.Show())
}

// graphOf lays out an entity's neighbours.
func graphOf(e agent.Entity, near []agent.Entity, links []agent.EntityLink) components.Graph {
	g := components.Graph{Centre: visible(e.Name)}
	at := func(id agent.ID) int {
		return slices.IndexFunc(g.Nodes, func(n components.GraphNode) bool { return n.ID == id })
	}
	for _, n := range near[:min(len(near), components.MaxGraphNodes)] {
		if n.ID != e.ID && at(n.ID) < 0 {
			g.Nodes = append(g.Nodes, components.GraphNode{About: components.About{ID: n.ID, Name: visible(n.Name)}, Kind: n.Kind})
		}
	}
	for _, l := range links {
		a, b := at(l.A), at(l.B)
		switch {
		case l.A == e.ID && b >= 0:
			g.Nodes[b].Weight = l.Facts
		case l.B == e.ID && a >= 0:
			g.Nodes[a].Weight = l.Facts
		case a >= 0 && b >= 0:
			g.Ties = append(g.Ties, components.GraphTie{A: a, B: b, Weight: l.Facts})
		}
	}
	return g
}
