package web

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent"
	token "ash/agent/access" // access is the log of requests here
	"ash/handlers"
)

// Doors know which devices are signed in. Their place is package access.
type Doors interface {
	// Session returns the device of a secret; CodeDenied for unknown, expired and revoked ones alike.
	Session(ctx context.Context, secret token.Secret, from netip.Addr) (token.Device, error)
	// Rotate returns a new secret of the same device. The old one works on for requests under way.
	Rotate(ctx context.Context, secret token.Secret) (token.Secret, error)
	// Watch returns a channel that is closed when the device is signed out, at once when it is not signed in.
	Watch(ctx context.Context, device agent.ID) <-chan struct{}
}

// signIn is the page that everybody without a session is led to.
const signIn = "/sign-in"

// gate lets in who may come in: the browser of this machine itself, devices that are signed in, who tailscale serve names.
// Everybody else reaches the doors, health and the embedded files, and nothing that is not one of these tells whether it exists.
//
// It stands before every route and before what is no route, so that one that is forgotten is closed.
func (s *Server) gate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if fromSocket(r) {
			return next(c)
		}
		v, err := s.visitor(c)
		if err != nil {
			return err
		}
		handlers.SetVisitor(c, v)
		handlers.SetKeeper(c, s.sessions)
		if s.lets(v) {
			return next(c)
		}
		if s.public[r.Method+" "+c.Path()] || s.public[c.Path()] {
			return next(c)
		}
		return s.turnAway(c)
	}
}

// lets reports whether somebody may come in.
func (s *Server) lets(v handlers.Visitor) bool {
	return v.SignedIn() || v.Here && !s.admission().AskHere
}

// visitor finds out who a request comes from.
func (s *Server) visitor(c echo.Context) (handlers.Visitor, error) {
	r := c.Request()
	v := handlers.Visitor{Here: here(r), From: peer(r)}
	if login, from := tailscaleLogin(r, s.admission()); login != "" {
		v.Login, v.From = login, from
	}
	if s.doors == nil {
		return v, nil
	}
	var err error
	v.Device, err = s.sessions.device(c)
	return v, err
}

func peer(r *http.Request) netip.Addr {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap()
}

// turnAway answers who is not let in: a page leads to sign-in, everything else is told. The answer rests on the request alone,
// never on whether there is something at its address.
func (s *Server) turnAway(c echo.Context) error {
	r := c.Request()
	if r.Method != http.MethodGet && r.Method != http.MethodHead || !asksForPage(r) {
		return errNotSignedIn(c)
	}
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		return bounce(c)
	}
	to := signIn
	if back := handlers.LocalPath(r.URL.RequestURI()); back != "/" {
		to += "?back=" + url.QueryEscape(back)
	}
	return c.Redirect(http.StatusSeeOther, to)
}

func errNotSignedIn(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderWWWAuthenticate, `Ash realm="ash"`) // no scheme that a browser has a window for
	return &handlers.StatusError{Status: http.StatusUnauthorized, Public: "This device is not signed in. Open Ash, sign in, and do it again."}
}

// asksForPage reports whether a browser wants something to show in its window.
func asksForPage(r *http.Request) bool {
	if r.Header.Get("HX-Request") == "true" && r.Header.Get("HX-History-Restore-Request") != "true" && r.Header.Get("HX-Boosted") != "true" {
		return false
	}
	if dest := r.Header.Get("Sec-Fetch-Dest"); dest != "" && dest != "document" {
		return false
	}
	accept := r.Header.Get(echo.HeaderAccept)
	return accept == "" || strings.Contains(accept, "text/html") && !strings.Contains(accept, "text/event-stream")
}
