package handlers

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/views/components"
	"ash/views/layouts"
	"ash/views/pages"
)

// SizeReader knows how much room memory takes.
type SizeReader interface {
	// MemoryRoom returns the sizes from a time on, a day's each, the oldest first, at least one.
	MemoryRoom(ctx context.Context, from time.Time) ([]agent.MemorySizes, error)
}

// growthSpan is how far back the chart looks, and how wide its steps are, in days.
type growthSpan struct{ days, step int }

// Growth answers GET /memory/growth: counts, sizes and how they came. ?span=3m|3y, else a year.
func (h *Memory) Growth(c echo.Context) error {
	ctx := c.Request().Context()
	page := pages.MemoryGrowth{Span: c.QueryParam("span")}
	span, ok := map[string]growthSpan{"": {364, 7}, "3m": {91, 7}, "3y": {1092, 28}}[page.Span]
	if !ok {
		return agent.Errorf(agent.CodeInvalid, "The chart looks back three months, a year or three years.")
	}
	var err error
	if page.Page, err = h.plain(c, "How memory grew", layouts.Memory); err != nil {
		return err
	}
	totals, err := h.Totals.MemoryTotals(ctx, h.Owner)
	if err != nil {
		return err
	}
	end := h.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
	begin := end.AddDate(0, 0, -span.days)
	moved, err := h.Totals.MemoryDays(ctx, h.Owner, begin)
	if err != nil {
		return err
	}
	page.Counts, page.Chart = totalsCounts(totals), growth(begin, span, totals, moved)
	if h.Sizes != nil {
		list, err := h.Sizes.MemoryRoom(ctx, begin)
		if err != nil {
			return err
		}
		h.sizes(&page, list, begin, span)
	}
	return render(c, http.StatusOK, page.Show())
}

// chartKinds are the kinds of a chart, the lowest first, with what holds of each now.
func chartKinds(t agent.MemoryTotals) (kinds []agent.FactKind, names []string, now []int64) {
	return []agent.FactKind{agent.FactCore, agent.FactPlain, agent.FactPattern}, []string{"about you", "facts", "patterns"},
		[]int64{int64(t.Core), int64(t.Plain), int64(t.Patterns)}
}

// growth counts back from what holds now.
func growth(begin time.Time, span growthSpan, totals agent.MemoryTotals, days []agent.MemoryDay) components.Growth {
	kinds, names, holding := chartKinds(totals)
	steps := make([]components.GrowthStep, span.days/span.step)
	came := make([][]int64, len(steps)) // by kind, less what ended
	for i := range steps {
		steps[i].Begins, came[i] = begin.AddDate(0, 0, i*span.step), make([]int64, len(kinds))
	}
	learned, ended := 0, 0
	for _, d := range days {
		i := int(d.Day.Sub(begin).Hours()/24) / span.step
		if i < 0 || i >= len(steps) {
			continue
		}
		steps[i].Learned += d.Learned
		steps[i].Ended += d.Ended
		learned, ended = learned+d.Learned, ended+d.Ended
		for k, kind := range kinds {
			if kind == d.Kind {
				came[i][k] += int64(d.Learned - d.Ended)
			}
		}
	}
	for i := len(steps) - 1; i >= 0; i-- {
		steps[i].Amounts = make([]int64, len(kinds))
		for k := range kinds {
			steps[i].Amounts[k] = max(holding[k], 0)
			holding[k] -= came[i][k]
		}
	}
	return components.Growth{
		Title: "Facts that held", Kinds: names, Steps: begun(steps), Moves: true,
		Label: components.Plural(totals.Current, "fact holds", "facts hold") + " now. In this time " + components.Count(learned) + " were learned, " +
			components.Count(ended) + " replaced or let go.",
	}
}

// fewestSteps are shown of a chart, however young what it shows is.
const fewestSteps = 12

// begun leaves out the time before anything was remembered.
func begun(steps []components.GrowthStep) []components.GrowthStep {
	i := slices.IndexFunc(steps, func(s components.GrowthStep) bool {
		return s.Learned+s.Ended > 0 || slices.ContainsFunc(s.Amounts, func(n int64) bool { return n > 0 })
	})
	if i < 0 {
		i = len(steps)
	}
	return steps[max(min(i-1, len(steps)-fewestSteps), 0):]
}

// sizes fills in how much room memory takes: now, and how that came.
func (h *Memory) sizes(page *pages.MemoryGrowth, list []agent.MemorySizes, begin time.Time, span growthSpan) {
	if len(list) == 0 {
		return
	}
	now := list[len(list)-1]
	page.Taken = waited(h.Now().Sub(now.Taken))
	row := func(name, value string) { page.Sizes = append(page.Sizes, pages.Fact{Name: name, Value: value}) }
	counted := func(n int, one, many string, bytes int64) string {
		return components.Plural(n, one, many) + " · " + components.Bytes(bytes)
	}
	row("Database", components.Bytes(now.Store))
	row("of it the index of words", components.Bytes(now.Words))
	row("of it the index of meaning", counted(now.Vectors, "item", "items", now.Meaning))
	if h.Meaning != nil {
		if state := h.Meaning(); state != "" {
			row("Found by meaning", state)
		}
	}
	row("Notes, as files", counted(now.Notes, "note", "notes", now.Noted))
	row("Messages that can be recalled", components.Count(now.Messages))
	if len(list) < 2 {
		return
	}
	page.Room = components.Growth{
		Title: "Room on disk", Kinds: []string{"conversations and facts", "index of words", "index of meaning", "notes"}, Size: true,
		Label: components.Bytes(now.Store+now.Noted) + " now.",
	}
	// From the first day that is known; a step shows its last day, one without any the day before it.
	at := 0
	for day := begin; at < len(list); day = day.AddDate(0, 0, span.step) {
		next := day.AddDate(0, 0, span.step)
		if !list[0].Taken.Before(next) {
			continue
		}
		for at < len(list) && list[at].Taken.Before(next) {
			at++
		}
		s := list[at-1]
		page.Room.Steps = append(page.Room.Steps, components.GrowthStep{
			Begins: day, Amounts: []int64{max(s.Store-s.Words-s.Meaning, 0), s.Words, s.Meaning, s.Noted},
		})
	}
}

func totalsCounts(t agent.MemoryTotals) []pages.Fact {
	row := func(name string, n int) pages.Fact { return pages.Fact{Name: name, Value: components.Count(n)} }
	return []pages.Fact{
		row("Facts that hold", t.Current), row("of them about you", t.Core), row("of them patterns", t.Patterns), row("of them pinned", t.Pinned),
		row("of them from others' words", t.Untrusted), row("Replaced", t.Superseded), row("No longer true", t.Retired),
		row("People, places, projects, things", t.Entities), row("Conversations", t.Episodes), row("Proposals waiting", t.Proposals),
		row("Forgotten", t.Tombstones), {Name: "Text of all facts", Value: components.Bytes(int64(t.Bytes))},
	}
}
