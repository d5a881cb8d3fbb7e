package web

import (
	"github.com/labstack/echo/v4"
)

// policy is the Content-Security-Policy of every response. Nothing is loaded
// from another host and no inline script or style is run.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; " +
	"connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// permissions is the Permissions-Policy: nothing of the device is used but what a person pastes, copies and picks.
const permissions = "accelerometer=(), autoplay=(), browsing-topics=(), camera=(), display-capture=(), encrypted-media=(), fullscreen=(), geolocation=(), gyroscope=(), " +
	"hid=(), identity-credentials-get=(), idle-detection=(), local-fonts=(), magnetometer=(), microphone=(), midi=(), payment=(), picture-in-picture=(), " +
	"publickey-credentials-get=(), screen-wake-lock=(), serial=(), usb=(), xr-spatial-tracking=()"

// insist is how long a browser remembers that a name is reached by TLS only: a month, so that who gives the certificate up is not shut out for
// long. Of names below it nothing is said.
const insist = "max-age=2592000"

// protect sets the headers that keep pages private and inert. Handlers of
// public files replace Cache-Control.
func (s *Server) protect(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		// Not "no-referrer": with it a browser sends "Origin: null" from our own forms (Fetch standard, 3.1).
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", permissions)
		h.Set("X-Permitted-Cross-Domain-Policies", "none")
		h.Set("X-Robots-Tag", "noindex, nofollow")
		h.Set("Cache-Control", "no-store")
		if state := c.Request().TLS; state != nil && s.certified(state.ServerName) {
			h.Set("Strict-Transport-Security", insist)
		}
		return next(c)
	}
}
