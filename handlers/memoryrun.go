package handlers

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/views/components"
	"ash/views/layouts"
	"ash/views/pages"
)

// RunList answers GET /memory/runs.
func (h *Memory) RunList(c echo.Context) error {
	frame, err := h.plain(c, "What Ash learned", layouts.Memory)
	if err != nil {
		return err
	}
	page := pages.MemoryRuns{Page: frame, Kind: c.QueryParam("kind")}
	if !offered(pages.RunKinds(), page.Kind) {
		return agent.Errorf(agent.CodeInvalid, "There is no such kind of run.")
	}
	list, next, err := h.Records.MemoryRuns(c.Request().Context(), agent.RunKind(page.Kind), c.QueryParam("after"), memoryPage)
	if err != nil {
		return err
	}
	ids := make([]agent.ID, len(list))
	for i, r := range list {
		ids[i] = r.ID
	}
	waiting, err := h.Records.ProposedBy(c.Request().Context(), ids)
	if err != nil {
		return err
	}
	p := h.presentMemory(c)
	for _, r := range list {
		shown, err := p.run(r, waiting[r.ID])
		if err != nil {
			return err
		}
		page.Items = append(page.Items, shown)
	}
	page.Next = further(c, next)
	return render(c, http.StatusOK, page.Show())
}

// Run answers GET /memory/runs/{run}: its diff.
func (h *Memory) Run(c echo.Context) error {
	ctx := c.Request().Context()
	id, err := param(c, "run")
	if err != nil {
		return err
	}
	r, err := h.Records.MemoryRun(ctx, id)
	if err != nil {
		return err
	}
	waiting, err := h.Records.ProposedBy(ctx, []agent.ID{id})
	if err != nil {
		return err
	}
	shown, err := h.presentMemory(c).run(r, waiting[id])
	if err != nil {
		return err
	}
	for _, ch := range r.Changes {
		x := pages.RunChange{Fact: ch.Fact, Word: changeWord(ch), Lines: changeLines(ch)}
		_, err := h.Facts.Fact(ctx, ch.Fact)
		if err != nil && agent.CodeOf(err) != agent.CodeNotFound {
			return err
		}
		x.There = err == nil
		shown.Changes = append(shown.Changes, x)
	}
	frame, err := h.plain(c, shown.Title, layouts.Memory)
	if err != nil {
		return err
	}
	page := pages.MemoryRunPage{Page: frame, MemoryRun: shown}
	if c.QueryParam("undone") == "1" {
		page.Notices = append(page.Notices, components.Notice{Kind: components.NoticeOK, Text: "Undone. Memory is as it was before this run."})
	}
	return render(c, http.StatusOK, page.Show())
}

// UndoRun answers POST /memory/runs/{run}/undo.
func (h *Memory) UndoRun(c echo.Context) error {
	id, err := param(c, "run")
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if _, err := h.Decider.Undo(ctx, id); err != nil {
		r, e := h.Records.MemoryRun(ctx, id)
		if e != nil || r.Undone.IsZero() { // else it was pressed twice
			return err
		}
	}
	return see(c, "/memory/runs/"+string(id)+"?undone=1")
}

// run presents a run without its diff. waiting is how much it proposed that nobody has decided.
func (p *memoryPresenter) run(r agent.MemoryRun, waiting int) (pages.MemoryRun, error) {
	out := pages.MemoryRun{
		ID: r.ID, Title: "Tidied up", When: r.Created.In(p.Zone), Sum: changeSum(r.Changes), CSRF: p.token,
		Undoable: r.Undone.IsZero() && len(r.Changes) > 0,
	}
	if waiting > 0 {
		out.Proposed = components.Plural(waiting, "proposal waits", "proposals wait")
	}
	if r.Model.Name != "" {
		out.Model = r.Model.String()
	}
	if r.Usage.Cost > 0 {
		out.Cost = components.Money(r.Usage.Cost)
	}
	if r.Failure != nil {
		out.Problem = r.Failure.Public
	}
	if !r.Undone.IsZero() {
		out.Undone = r.Undone.In(p.Zone).Format("2 Jan 2006, 15:04")
	}
	if r.Kind == agent.RunLearn {
		out.Title = "Learned from a conversation"
		title, err := p.title(r.Thread)
		if err != nil {
			return out, err
		}
		if title != "" {
			out.Title, out.URL = "Learned from “"+title+"”", chatPath(r.Thread)
		}
	}
	return out, nil
}

func changeWord(ch agent.MemoryChange) string {
	switch {
	case ch.Before == nil && ch.After != nil && len(ch.After.Supersedes) > 0:
		return "new, in the place of another"
	case ch.Before == nil:
		return "new"
	case ch.After == nil:
		return "removed"
	case ch.Before.Status != ch.After.Status && ch.After.Status == agent.FactSuperseded:
		return "replaced"
	case ch.Before.Status != ch.After.Status && ch.After.Status == agent.FactRetired:
		return "let go"
	}
	return "changed"
}

func changeSum(all []agent.MemoryChange) string {
	counts := map[string]int{}
	var order []string
	for _, ch := range all {
		w, _, _ := strings.Cut(changeWord(ch), ",")
		if counts[w] == 0 {
			order = append(order, w)
		}
		counts[w]++
	}
	if len(order) == 0 {
		return "nothing changed"
	}
	for i, w := range order {
		order[i] = components.Count(counts[w]) + " " + w
	}
	return strings.Join(order, ", ")
}

// changeLines is a fact before and after, as a diff.
func changeLines(ch agent.MemoryChange) []components.DiffLine {
	var out []components.DiffLine
	held := func(f *agent.Fact) bool { return f != nil && f.Status == agent.FactCurrent }
	if held(ch.Before) && held(ch.After) && ch.Before.Text == ch.After.Text {
		return []components.DiffLine{{Op: components.DiffSame, Text: visible(ch.After.Text), Old: 1, New: 1}, {Op: components.DiffGap, Text: "only details changed, not the wording"}}
	}
	if held(ch.Before) {
		out = append(out, components.DiffLine{Op: components.DiffRemoved, Text: visible(ch.Before.Text), Old: 1})
	}
	if held(ch.After) {
		out = append(out, components.DiffLine{Op: components.DiffAdded, Text: visible(ch.After.Text), New: 1})
	}
	if len(out) == 0 {
		for _, f := range []*agent.Fact{ch.After, ch.Before} {
			if f != nil {
				return []components.DiffLine{{Op: components.DiffSame, Text: visible(f.Text), Old: 1, New: 1}}
			}
		}
	}
	return out
}
