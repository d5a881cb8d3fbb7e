package handlers

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/audit"
)

// ControlAudit looks whether Ash is safe, and sets right what it can.
type ControlAudit interface {
	// Audit looks. flaws has it ask the database of known flaws, which is told what Ash is made of; else nobody is asked.
	Audit(ctx context.Context, flaws bool) (audit.Report, error)
	// Fix does what a finding of a kept report offers. CodeNotFound for one that offers nothing, CodeConflict when it is no longer as it was found.
	Fix(ctx context.Context, report agent.ID, finding string) (audit.Finding, error)
}

// The wire forms of the audit.
type (
	// ControlAuditLook says how to look.
	ControlAuditLook struct {
		Flaws bool `json:"flaws,omitempty"` // look up the known flaws of what Ash is made of, on the network
	}
	// ControlFix names a finding.
	ControlFix struct {
		Report  agent.ID `json:"report"`
		Finding string   `json:"finding"`
	}
)

// audit adds the routes of the audit to g.
func (h Control) audit(g *echo.Group) {
	if h.Audit != nil {
		g.POST("/audit", h.auditNow)
		g.POST("/audit/fix", h.auditFix)
	}
}

func (h Control) auditNow(c echo.Context) error {
	var in ControlAuditLook
	if err := readControl(c, &in); err != nil {
		return err
	}
	if err := http.NewResponseController(c.Response()).SetWriteDeadline(time.Time{}); err != nil {
		return err // a large home takes its time
	}
	report, err := h.Audit.Audit(c.Request().Context(), in.Flaws)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, report)
}

func (h Control) auditFix(c echo.Context) error {
	var in ControlFix
	if err := readControl(c, &in); err != nil {
		return err
	}
	done, err := h.Audit.Fix(c.Request().Context(), in.Report, in.Finding)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, done)
}
