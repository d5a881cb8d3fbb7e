package handlers

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent/doctor"
	"ash/views/pages"
)

// Wellness looks whether all is well, and remembers what it found.
type Wellness interface {
	// Begin starts a look in the background, unless one is under way.
	Begin()
	Progress() (running bool, done, total int)
	// Last returns the newest report; false when there is none.
	Last(ctx context.Context) (doctor.Report, bool, error)
}

// Health is Settings → Health.
type Health struct {
	*Frame
	Doctor Wellness
}

// Show answers GET /settings/health.
func (h *Health) Show(c echo.Context) error {
	page, err := h.page(c)
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, page.Show())
}

// Begin answers POST /settings/health: another look.
func (h *Health) Begin(c echo.Context) error {
	h.Doctor.Begin()
	if !ByHTMX(c) {
		return see(c, "/settings/health")
	}
	return h.State(c)
}

// State answers GET /settings/health/state: how far the look is, or what it found.
func (h *Health) State(c echo.Context) error {
	page, err := h.page(c)
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, page.Part())
}

func (h *Health) page(c echo.Context) (pages.Health, error) {
	frame, err := h.settings(c, "health", "Health")
	if err != nil {
		return pages.Health{}, err
	}
	out := pages.Health{SettingsFrame: frame, Look: pages.Look{Path: "/settings/health", Button: "Look again", CSRF: Token(c)}}
	out.Look.Running, out.Look.Done, out.Look.Total = h.Doctor.Progress()
	report, found, err := h.Doctor.Last(c.Request().Context())
	if err != nil || !found {
		out.Look.Button = "Look now"
		return out, err
	}
	out.Worst = string(report.Worst())
	out.Verdict = verdictWords(report)
	out.Look.When = lookedWords(report.At.In(h.Zone), report.Took)
	for _, rank := range []doctor.Severity{doctor.Problem, doctor.Warning, doctor.Note, doctor.OK} {
		for _, f := range report.Findings {
			if f.Severity != rank {
				continue
			}
			shown := pages.HealthFinding{Check: f.Check, Severity: string(f.Severity), Text: f.Text, Details: f.Details, Fix: f.Fix, Command: f.Command, Link: f.Link, Page: healthPage(f.Link)}
			if shown.Page == "" {
				shown.Link = "" // not one of ours
			}
			if rank == doctor.OK {
				out.Well = append(out.Well, shown)
			} else {
				out.See = append(out.See, shown)
			}
		}
	}
	return out, nil
}

// healthPage names the page that a finding of the doctor leads to; "" for one that is none of Ash's.
func healthPage(link string) string {
	switch link {
	case doctor.PageDoors:
		return "Doors"
	case doctor.PageModels:
		return "Models"
	case doctor.PageSafety:
		return "Safety"
	case doctor.PageTools:
		return "Tools and sandbox"
	case doctor.PageVault:
		return "Vault"
	}
	return ""
}

func verdictWords(r doctor.Report) string {
	problems, warnings := r.Count(doctor.Problem), r.Count(doctor.Warning)
	switch {
	case problems == 1:
		return "One thing does not work."
	case problems > 1:
		return fmt.Sprintf("%d things do not work.", problems)
	case warnings == 1:
		return "Ash works. There is one thing to see to."
	case warnings > 1:
		return fmt.Sprintf("Ash works. There are %d things to see to.", warnings)
	}
	return "All is well."
}

// lookedWords says when a report was made and how long it took.
func lookedWords(at time.Time, took time.Duration) string {
	long := fmt.Sprintf("%.1fs", max(took, 100*time.Millisecond).Seconds())
	if took >= 10*time.Second {
		long = took.Round(time.Second).String()
	}
	return fmt.Sprintf("%s, in %s", at.Format("2 January 2006, 15:04"), long)
}
