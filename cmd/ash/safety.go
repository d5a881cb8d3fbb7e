package main

import (
	"context"
	"slices"
	"time"

	"ash/agent"
	"ash/agent/audit"
)

// safety is the audit of the running Ash: its reports are kept for the Safety page.
type safety struct {
	app     *app
	address string
	looks   looking[audit.Report]
}

// newSafety makes it. address is where the pages are, "" when there are none.
func (a *app) newSafety(address string) *safety {
	s := &safety{app: a, address: address}
	a.closing = append(a.closing, s.looks.close)
	return s
}

// alone is a look that asks nobody on the network.
func (s *safety) alone(ctx context.Context, each func(done, total int)) (audit.Report, error) {
	return s.look(ctx, nil, each)
}

// asking is a look that has the parts of this program compared with the database of known flaws.
func (s *safety) asking(ctx context.Context, each func(done, total int)) (audit.Report, error) {
	return s.look(ctx, askFlaws, each)
}

// look runs the checks and keeps the report.
func (s *safety) look(ctx context.Context, ask flawAsker, each func(done, total int)) (audit.Report, error) {
	report := s.app.auditor(s.address, ask).Run(ctx, each)
	if err := ctx.Err(); err != nil {
		return report, err
	}
	return report, s.app.store.AddAuditReport(context.WithoutCancel(ctx), report)
}

// Audit implements handlers.ControlAudit: it looks, or joins the look under way. One that asks for known flaws joins none, which might not.
func (s *safety) Audit(ctx context.Context, flaws bool) (audit.Report, error) {
	if flaws {
		return s.asking(ctx, nil)
	}
	return s.looks.wait(ctx, s.alone)
}

// Begin starts a look in the background, unless one is under way. flaws has it ask the database of known flaws.
func (s *safety) Begin(flaws bool) {
	if flaws {
		s.looks.begin(s.asking)
		return
	}
	s.looks.begin(s.alone)
}

// Progress says how far the look under way is, and why the last one failed.
func (s *safety) Progress() (running bool, done, total int, err error) { return s.looks.state() }

// Reports returns the reports that are kept, the newest first.
func (s *safety) Reports(ctx context.Context) ([]audit.Report, error) {
	return s.app.store.AuditReports(ctx)
}

// Report returns one of them.
func (s *safety) Report(ctx context.Context, id agent.ID) (audit.Report, error) {
	return s.app.store.AuditReport(ctx, id)
}

// Fix does what a finding of a kept report offers, and notes it in the report.
func (s *safety) Fix(ctx context.Context, report agent.ID, finding string) (audit.Finding, error) {
	r, err := s.app.store.AuditReport(ctx, report)
	if err != nil {
		return audit.Finding{}, err
	}
	i := slices.IndexFunc(r.Findings, func(f audit.Finding) bool { return f.ID == finding && f.Fix != nil })
	if i < 0 {
		return audit.Finding{}, agent.Errorf(agent.CodeNotFound, "That finding is not in the report, or Ash cannot set it right by itself. Look again.")
	}
	f := r.Findings[i]
	if !f.Fixed.IsZero() {
		return f, nil
	}
	if err := s.app.auditor(s.address, nil).Fix(ctx, f); err != nil {
		return f, err
	}
	f.Fixed = time.Now().UTC()
	s.app.log.InfoContext(ctx, "the audit set something right", "act", string(f.Fix.Act), "check", f.Check)
	return f, s.app.store.ChangeAuditReport(context.WithoutCancel(ctx), report, func(r *audit.Report) {
		for i := range r.Findings {
			if r.Findings[i].ID == finding {
				r.Findings[i].Fixed = f.Fixed
			}
		}
	})
}
