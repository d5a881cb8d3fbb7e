package handlers

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/access"
	"ash/agent/access/localca"
	"ash/views/pages"
)

// Trust is where a device gets the certificate of this Ash's own authority, and is told how to trust it. It is for strangers and without
// TLS: a device that does not trust it yet cannot get it otherwise. What it gives away is no secret.
type Trust struct {
	*Frame
	Authority func() []byte // in DER; nil: there is none
}

func (h *Trust) authority() ([]byte, error) {
	if der := h.Authority(); der != nil {
		return der, nil
	}
	return nil, agent.Errorf(agent.CodeNotFound, "This Ash has no certificate of its own.")
}

// Show answers GET /trust.
func (h *Trust) Show(c echo.Context) error {
	der, err := h.authority()
	if err != nil {
		return err
	}
	page := pages.Trust{Page: h.bare(c, "Trust this Ash"), Fingerprint: localca.Fingerprint(der), Host: c.Request().Host, System: systemOf(c.Request().UserAgent())}
	return render(c, http.StatusOK, page.Show())
}

// systemOf finds out what kind of device asks, as access names it.
func systemOf(userAgent string) string {
	name := access.AgentName(userAgent)
	if _, system, ok := strings.Cut(name, " on "); ok {
		return system
	}
	return name
}

// Certificate answers GET /trust/ash.crt. The media type makes phones offer to install it.
func (h *Trust) Certificate(c echo.Context) error {
	der, err := h.authority()
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderContentDisposition, `attachment; filename="ash.crt"`)
	return c.Blob(http.StatusOK, "application/x-x509-ca-cert", der)
}
