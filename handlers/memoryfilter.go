package handlers

import (
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/views/pages"
)

// filter reads what the list is narrowed to, with the form as it was. CodeNotFound when nothing is known of the name
// it asks for.
func (h *Memory) filter(c echo.Context, tab pages.MemoryTab) (agent.FactFilter, pages.MemoryFilter, error) {
	shown := pages.MemoryFilter{
		Entity: onOneLine(c.QueryParam("entity")), Source: c.QueryParam("source"), Status: c.QueryParam("status"),
		From: c.QueryParam("from"), Until: c.QueryParam("until"),
	}
	f := agent.FactFilter{Owner: h.Owner, Source: agent.SourceKind(shown.Source), After: c.QueryParam("after"), Limit: memoryPage}
	switch tab {
	case pages.TabCore:
		f.Kinds = []agent.FactKind{agent.FactCore}
	case pages.TabFacts:
		f.Kinds = []agent.FactKind{agent.FactPlain}
	case pages.TabPatterns:
		f.Kinds = []agent.FactKind{agent.FactPattern}
	}
	var err error
	if f.Statuses, f.Pinned, err = statuses(shown.Status); err != nil {
		return f, shown, err
	}
	if !offered(pages.MemorySources(), shown.Source) {
		return f, shown, agent.Errorf(agent.CodeInvalid, "There is no such source.")
	}
	if f.From, err = h.day(shown.From); err != nil {
		return f, shown, err
	}
	if f.To, err = h.day(shown.Until); err != nil {
		return f, shown, err
	}
	if !f.To.IsZero() {
		f.To = f.To.AddDate(0, 0, 1) // the day itself counts
	}
	f.Entity, shown.Entity, err = h.entityNamed(c, shown.Entity)
	return f, shown, err
}

func statuses(word string) (list []agent.FactStatus, pinned bool, err error) {
	switch word {
	case "", "current":
		return []agent.FactStatus{agent.FactCurrent}, false, nil
	case "pinned":
		return []agent.FactStatus{agent.FactCurrent}, true, nil
	case "superseded", "retired":
		return []agent.FactStatus{agent.FactStatus(word)}, false, nil
	case "all":
		return nil, false, nil
	}
	return nil, false, agent.Errorf(agent.CodeInvalid, "There is no such status.")
}

// day reads the start of a day of the person's zone, from a date field.
func (f *Frame) day(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.ParseInLocation(time.DateOnly, s, f.Zone)
	if err != nil || t.Year() < 1 {
		return time.Time{}, agent.Wrap(agent.CodeInvalid, err, "A date is written like 2026-05-31.")
	}
	return t, nil
}

// entityNamed finds an entity by name, or by id as links have it.
func (h *Memory) entityNamed(c echo.Context, name string) (agent.ID, string, error) {
	if name == "" {
		return "", "", nil
	}
	ctx := c.Request().Context()
	if id, err := agent.ParseID(name); err == nil {
		e, err := h.Entities.Entity(ctx, id)
		return e.ID, e.Name, err
	}
	list, _, err := h.Entities.Entities(ctx, agent.EntityFilter{Owner: h.Owner, Name: name, Limit: memoryNames})
	if err != nil {
		return "", name, err
	}
	for _, e := range list {
		if strings.EqualFold(e.Name, name) {
			return e.ID, e.Name, nil
		}
	}
	if len(list) > 0 { // an alias, or the beginning of a name
		return list[0].ID, list[0].Name, nil
	}
	return "", name, agent.Errorf(agent.CodeNotFound, "Ash knows nothing about “%s”", agent.Clip(name, 120))
}

func offered(all []pages.Choice, value string) bool {
	for _, c := range all {
		if c.Value == value {
			return true
		}
	}
	return false
}

func onOneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
