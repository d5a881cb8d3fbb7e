package handlers

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent/doctor"
)

// ControlDoctor looks whether all is well.
type ControlDoctor interface {
	Examine(ctx context.Context, look ControlLook) (doctor.Report, error)
}

// ControlLook says how far a look goes.
type ControlLook struct {
	Full    bool `json:"full,omitempty"`    // the long checks, too
	Offline bool `json:"offline,omitempty"` // no server on the network is asked
}

// doctor adds the route of the doctor to g.
func (h Control) doctor(g *echo.Group) {
	if h.Doctor != nil {
		g.POST("/doctor", h.examine)
	}
}

func (h Control) examine(c echo.Context) error {
	var look ControlLook
	if err := readControl(c, &look); err != nil {
		return err
	}
	if err := http.NewResponseController(c.Response()).SetWriteDeadline(time.Time{}); err != nil {
		return err // a look at all of a large database takes its time
	}
	report, err := h.Doctor.Examine(c.Request().Context(), look)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, report)
}
