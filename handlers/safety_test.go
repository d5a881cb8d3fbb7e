package handlers_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/audit"
)

// inspection is an auditor whose looks end when the test says so.
type inspection struct {
	begun   int
	flaws   bool // the last look was to ask for known flaws
	running bool
	failed  error
	reports []audit.Report
	refuse  error
}

func (i *inspection) Begin(flaws bool) { i.begun, i.running, i.flaws = i.begun+1, true, flaws }
func (i *inspection) Progress() (bool, int, int, error) {
	return i.running, 3, 12, i.failed
}
func (i *inspection) Reports(context.Context) ([]audit.Report, error) { return i.reports, nil }
func (i *inspection) Fix(_ context.Context, report agent.ID, finding string) (audit.Finding, error) {
	if i.refuse != nil {
		return audit.Finding{}, i.refuse
	}
	for _, r := range i.reports {
		for n := range r.Findings {
			if r.ID == report && r.Findings[n].ID == finding {
				r.Findings[n].Fixed = time.Now()
				return r.Findings[n], nil
			}
		}
	}
	return audit.Finding{}, agent.Errorf(agent.CodeNotFound, "That finding is not in the report.")
}

func TestSafetyPage(t *testing.T) {
	h := open(t)
	h.browser.Get("/settings/safety").Is(200).Says("Nobody has looked yet").Has("nav.sections a[aria-current=page][href='/settings/safety']")
	h.browser.HTMX().Post("/settings/safety", nil).Is(200).Has("#report[hx-get='/settings/safety/state']").Says("3 of 12")
	if h.auditor.begun != 1 || h.auditor.flaws {
		t.Errorf("%d looks were begun; the network was to be asked: %v", h.auditor.begun, h.auditor.flaws)
	}
	h.auditor.running = false
	h.browser.Get("/settings/safety").Is(200).Has("form.look-again input[type=checkbox][name=flaws][value='1']:not([checked])").Says("osv.dev")
	if h.browser.Post("/settings/safety", url.Values{"flaws": {"1"}}).Is(303); !h.auditor.flaws {
		t.Error("known flaws are not looked up when the person asks for it")
	}
	h.auditor.running = false
	newest, older := agent.NewID(), agent.NewID()
	h.auditor.reports = []audit.Report{
		{ID: newest, At: time.Date(2026, 5, 4, 8, 30, 0, 0, time.UTC), Checks: []audit.Looked{{Check: "Open doors", Note: "127.0.0.1:8080"}, {Check: "Secrets in files", Failed: "3 files were not read."}}, Findings: []audit.Finding{
			{ID: "aa", Check: "Secrets in files", Severity: audit.High, Text: "A secret lies in <plain> text in a note.", Place: "notes/a.md:3", Link: "/memory/notes/file?path=a.md", Remedy: "Take it out."},
			{ID: "bb", Check: "Permissions", Severity: audit.Low, Text: "x.log: others may read it.", Place: "/h/logs/x.log", Fix: &audit.Fix{Act: audit.ActClose, Target: "/h/logs/x.log", Words: "Close x.log to others (mode 0600)"}},
			{ID: "cc", Check: "Sign-in", Severity: audit.Low, Text: "A token was never used.", Fix: &audit.Fix{Act: audit.ActRevoke, Target: "t", Words: "Revoke the token x", Ask: true}},
		}},
		{ID: older, At: time.Date(2026, 4, 1, 8, 0, 0, 0, time.UTC)},
	}
	h.browser.Get("/settings/safety").Is(200).Says("One thing needs you.").Says("A secret lies in &lt;plain&gt; text").
		Has(".look.bad a[href='/memory/notes/file?path=a.md']").Has("#f-bb form button").Has("#f-cc form[hx-confirm]").Lacks("#f-bb form[hx-confirm]").Lacks("#f-aa form").
		Says("3 files were not read.").Has(".reports a[href='/settings/safety?report=" + string(older) + "']")
	h.browser.Get("/settings/safety?report=" + string(older)).Is(200).Says("an earlier report").Says("Nothing was found.")
	h.browser.Get("/settings/safety?report=" + string(agent.NewID())).Is(404)

	form := url.Values{"report": {string(newest)}, "finding": {"bb"}}
	h.browser.HTMX().Post("/settings/safety/fix", form).Is(200).Says("Done: Close x.log to others (mode 0600).").Lacks("#f-bb form")
	h.browser.Post("/settings/safety/fix", url.Values{"report": {string(newest)}, "finding": {"cc"}}).Is(200).Says("Revoke the token x?").Has("input[name=finding][value=cc]") // it asks first
	h.browser.Post("/settings/safety/fix", url.Values{"report": {string(newest)}, "finding": {"cc"}, "sure": {"1"}}).Is(303)
	h.auditor.refuse = agent.Errorf(agent.CodeConflict, "It is no longer as it was found.")
	h.browser.HTMX().Post("/settings/safety/fix", form).Is(422).Has("#f-bb [role=alert]").Says("no longer as it was found")
	h.browser.Post("/settings/safety/fix", form).Is(409)
}
