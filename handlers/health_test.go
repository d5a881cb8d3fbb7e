package handlers_test

import (
	"context"
	"testing"
	"time"

	"ash/agent/doctor"
)

// ward is a doctor whose looks end when the test says so.
type ward struct {
	begun   int
	running bool
	done    int
	report  *doctor.Report
}

func (w *ward) Begin()                     { w.begun, w.running = w.begun+1, true }
func (w *ward) Progress() (bool, int, int) { return w.running, w.done, 14 }
func (w *ward) Last(context.Context) (doctor.Report, bool, error) {
	if w.report == nil {
		return doctor.Report{}, false, nil
	}
	return *w.report, true, nil
}

func TestHealthPage(t *testing.T) {
	h := open(t)
	h.browser.Get("/settings/health").Is(200).Says("Nobody has looked yet").Says("Look now").Has("nav.sections a[aria-current=page][href='/settings/health']")
	if h.doctor.begun != 0 {
		t.Error("reading the page began a look")
	}
	h.browser.HTMX().Post("/settings/health", nil).Is(200).Lacks("main").Has("#report[hx-get='/settings/health/state']").Says("Looking")
	h.doctor.done = 5
	h.browser.HTMX().Get("/settings/health/state").Is(200).Has("progress[value='5'][max='14']").Says("5 of 14").Lacks("button.go")
	h.browser.Post("/settings/health", nil).Is(303) // without scripts: the page says how far it is
	h.browser.Get("/settings/health").Is(200).Has("noscript").Says("5 of 14")

	h.doctor.running = false
	h.doctor.report = &doctor.Report{At: time.Date(2026, 5, 4, 8, 30, 0, 0, time.UTC), Took: 1234 * time.Millisecond, Findings: []doctor.Finding{
		{Check: "Settings", Severity: doctor.OK, Text: "All keys are known."},
		{Check: "Clock", Severity: doctor.Warning, Text: "The clock is <b>slow</b> by 1m0s.", Fix: "Set the clock right.", Command: "timedatectl set-ntp true"},
		{Check: "Database", Severity: doctor.Problem, Text: "The database is damaged.", Details: []string{"page 4: btreeInitPage() returns error code 11"}},
	}}
	page := h.browser.HTMX().Get("/settings/health/state").Is(200).Says("One thing does not work.").Says("4 May 2026, 08:30, in 1.2s").
		Says("The clock is &lt;b&gt;slow&lt;/b&gt; by 1m0s.").Says("Set the clock right.").Says("page 4: btreeInitPage()").Lacks("progress").Lacks("#report[hx-get]")
	if first := page.Text(".looks li:first-child h3"); first != "Database Does not work" {
		t.Errorf("the worst is not first: %q", first)
	}
	page.Has(".look.warn figure [data-copy]").Has("details.well:not([open]) li")
	h.doctor.report.Findings = h.doctor.report.Findings[:1]
	h.browser.Get("/settings/health").Is(200).Says("All is well.").Has("details.well[open]")
}
