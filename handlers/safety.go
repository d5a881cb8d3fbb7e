package handlers

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/audit"
	"ash/views/pages"
)

// Auditor looks whether Ash is safe, remembers what it found, and sets right what it can.
type Auditor interface {
	// Begin starts a look in the background, unless one is under way. flaws has it ask the database of known flaws on the network, which is
	// told what Ash is made of; else nobody is asked.
	Begin(flaws bool)
	// Progress says how far the look under way is, and why the last one failed.
	Progress() (running bool, done, total int, err error)
	// Reports returns the reports that are kept, the newest first.
	Reports(ctx context.Context) ([]audit.Report, error)
	// Fix does what a finding of a kept report offers. CodeNotFound for one that offers nothing, CodeConflict when it is no longer as it was found.
	Fix(ctx context.Context, report agent.ID, finding string) (audit.Finding, error)
}

// Safety is Settings → Safety.
type Safety struct {
	*Frame
	Auditor Auditor
}

// Show answers GET /settings/safety?report=.
func (h *Safety) Show(c echo.Context) error {
	page, err := h.page(c, agent.ID(c.QueryParam("report")))
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, page.Show())
}

// Begin answers POST /settings/safety: another look.
func (h *Safety) Begin(c echo.Context) error {
	h.Auditor.Begin(c.FormValue("flaws") != "")
	if !ByHTMX(c) {
		return see(c, "/settings/safety")
	}
	return h.State(c)
}

// State answers GET /settings/safety/state: how far the look is, or what it found.
func (h *Safety) State(c echo.Context) error {
	page, err := h.page(c, "")
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, page.Part())
}

// Fix answers POST /settings/safety/fix: one finding is set right.
func (h *Safety) Fix(c echo.Context) error {
	report, err := line(c, "report", 64)
	if err != nil {
		return err
	}
	finding, err := line(c, "finding", 64)
	if err != nil {
		return err
	}
	if yes, err := h.sureOf(c, agent.ID(report), finding); err != nil || !yes {
		return err
	}
	_, problem := h.Auditor.Fix(c.Request().Context(), agent.ID(report), finding)
	if problem != nil && (!ByHTMX(c) || agent.CodeOf(problem) == agent.CodeInternal) {
		return problem
	}
	if !ByHTMX(c) {
		return see(c, "/settings/safety?report="+report+"#f-"+finding)
	}
	page, err := h.page(c, agent.ID(report))
	if err != nil {
		return err
	}
	if problem != nil {
		page.Problem, page.ProblemI = agent.PublicOf(problem), finding
		return render(c, http.StatusUnprocessableEntity, page.Part(), pages.Announced(page.Problem))
	}
	return render(c, http.StatusOK, page.Part())
}

// sureOf asks once more about what cannot be taken back. What is not there any more is for Fix to refuse.
func (h *Safety) sureOf(c echo.Context, report agent.ID, finding string) (bool, error) {
	if ByHTMX(c) {
		return true, nil
	}
	list, err := h.Auditor.Reports(c.Request().Context())
	if err != nil {
		return false, err
	}
	for _, r := range list {
		for _, f := range r.Findings {
			if r.ID == report && f.ID == finding && f.Fixed.IsZero() && f.Fix != nil && f.Fix.Ask {
				return h.sure(c, pages.Sure{Question: f.Fix.Words + "?", Means: "This cannot be taken back.", Yes: "Yes", Back: "/settings/safety"})
			}
		}
	}
	return true, nil
}

// page presents the report of that id, the newest for "". CodeNotFound when it is not kept.
func (h *Safety) page(c echo.Context, id agent.ID) (pages.Safety, error) {
	frame, err := h.settings(c, "safety", "Safety")
	if err != nil {
		return pages.Safety{}, err
	}
	out := pages.Safety{SettingsFrame: frame, Look: pages.Look{Path: "/settings/safety", Button: "Look again", Flaws: true, CSRF: Token(c)}}
	var failed error
	out.Look.Running, out.Look.Done, out.Look.Total, failed = h.Auditor.Progress()
	if failed != nil && !out.Look.Running {
		out.Look.Problem = agent.PublicOf(failed)
	}
	list, err := h.Auditor.Reports(c.Request().Context())
	if err != nil {
		return out, err
	}
	shown := -1
	for i, r := range list {
		if r.ID == id || id == "" && i == 0 {
			shown = i
		}
	}
	switch {
	case shown < 0 && id != "":
		return out, agent.Errorf(agent.CodeNotFound, "That report is no longer kept.")
	case shown < 0:
		out.Look.Button = "Look now"
		return out, nil
	}
	for i, r := range list {
		out.Reports = append(out.Reports, pages.SafetyReport{ID: r.ID, When: r.At.In(h.Zone).Format("2 January 2006, 15:04"), Words: tally(r), Shown: i == shown})
	}
	out.Past = shown > 0
	h.present(list[shown], &out)
	return out, nil
}

// present puts a report on the page.
func (h *Safety) present(r audit.Report, out *pages.Safety) {
	out.Report, out.Verdict = r.ID, safetyWords(r)
	out.Look.When = lookedWords(r.At.In(h.Zone), r.Took)
	if out.Worst = string(r.Worst()); r.Count(r.Worst()) == 0 {
		out.Worst = "ok"
	}
	for _, c := range r.Checks {
		if c.Failed != "" {
			out.Unseen = append(out.Unseen, pages.SafetyLook{Check: c.Check, Words: c.Failed})
			continue
		}
		words := "nothing found"
		if c.Found > 0 {
			words = fmt.Sprintf("%d found", c.Found)
		}
		if c.Note != "" {
			words += " · " + c.Note
		}
		out.Seen = append(out.Seen, pages.SafetyLook{Check: c.Check, Words: words + " · " + max(c.Took.Round(time.Millisecond), time.Millisecond).String()})
	}
	for _, s := range audit.Severities() {
		g := pages.SafetyGroup{Severity: string(s), Title: severityTitle(s)}
		for _, f := range r.Findings {
			if f.Severity != s {
				continue
			}
			shown := pages.SafetyFinding{
				ID: f.ID, Check: f.Check, Severity: string(f.Severity), Text: f.Text, Place: f.Place, More: f.More, Link: f.Link, Remedy: f.Remedy, Fixed: !f.Fixed.IsZero(),
			}
			if f.Fix != nil {
				shown.Fix, shown.Ask = f.Fix.Words, f.Fix.Ask
			}
			g.Findings = append(g.Findings, shown)
		}
		if len(g.Findings) > 0 {
			out.Groups = append(out.Groups, g)
		}
	}
}

func severityTitle(s audit.Severity) string {
	switch s {
	case audit.Critical:
		return "At once"
	case audit.High:
		return "Soon"
	case audit.Medium:
		return "When you can"
	case audit.Low:
		return "Tidy up"
	}
	return "Good to know"
}

func safetyWords(r audit.Report) string {
	switch worst := r.Worst(); {
	case r.Count(worst) == 0 && r.Failed() == 0:
		return "Nothing was found."
	case worst.Rank() <= audit.High.Rank():
		n := r.Count(audit.Critical) + r.Count(audit.High)
		if n == 1 {
			return "One thing needs you."
		}
		return fmt.Sprintf("%d things need you.", n)
	case worst == audit.Info:
		return "Nothing that needs you."
	}
	return "Nothing urgent. " + tally(r) + "."
}

// tally counts the findings that are not fixed.
func tally(r audit.Report) string {
	var parts []string
	for _, s := range audit.Severities() {
		if n := r.Count(s); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}
