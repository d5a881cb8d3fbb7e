package handlers

import (
	"errors"
	"net/netip"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent/access"
)

// Visitor is who a request comes from.
type Visitor struct {
	Here   bool          // a browser on this machine itself: nothing stands between it and Ash
	Device access.Device // the device that is signed in; zero for none
	Login  string        // of the tailnet, as tailscale serve names it; "" for none
	From   netip.Addr    // the peer, or whom tailscale serve names
}

// SignedIn reports whether the visitor is known by more than the machine it sits at.
func (v Visitor) SignedIn() bool { return v.Device.ID != "" || v.Login != "" }

// Keeper keeps in the browser what proves who it is. Its place is package web.
type Keeper interface {
	// Keep signs the browser in: every later request brings the secret.
	Keep(c echo.Context, secret access.Secret) error
	// Drop makes the browser forget it.
	Drop(c echo.Context) error
	// Former returns the secret that the browser had up to now; "" for none.
	Former(c echo.Context) access.Secret
	// KeepClaim and Claim hold what a browser that is being paired collects its session with, and the check that it shows; "" for none.
	KeepClaim(c echo.Context, secret access.Secret, check string) error
	Claim(c echo.Context) (secret access.Secret, check string)
}

const (
	visitorKey = "ash.visitor"
	keeperKey  = "ash.keeper"
)

// SetVisitor leaves who a request comes from for the handlers.
func SetVisitor(c echo.Context, v Visitor) { c.Set(visitorKey, v) }

// VisitorOf returns who a request comes from.
func VisitorOf(c echo.Context) Visitor {
	v, _ := c.Get(visitorKey).(Visitor)
	return v
}

// SetKeeper leaves the browser's keeper for the handlers.
func SetKeeper(c echo.Context, k Keeper) { c.Set(keeperKey, k) }

// errNoKeeper is a route that signs in without having been registered as one.
var errNoKeeper = errors.New("handlers: this route cannot keep a session")

func keeperOf(c echo.Context) (Keeper, error) {
	k, ok := c.Get(keeperKey).(Keeper)
	if !ok {
		return nil, errNoKeeper
	}
	return k, nil
}

// arrival is a visitor as package access takes it.
func arrival(c echo.Context, name string) access.Arrival {
	v := VisitorOf(c)
	a := access.Arrival{From: v.From, Here: v.Here, Name: name, Agent: c.Request().UserAgent()}
	if k, err := keeperOf(c); err == nil {
		a.Former = k.Former(c)
	}
	return a
}

// ErrSignedOut is the cause with which the context of a stream ends when its device was signed out.
var ErrSignedOut = errors.New("the device was signed out")

// maxBack bounds the address that a sign-in leads back to, in bytes.
const maxBack = 2000

// LocalPath returns where a sign-in leads: path, if it is an address of ours and not a door itself, else "/".
func LocalPath(path string) string {
	bad := func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }
	switch {
	case len(path) > maxBack, !strings.HasPrefix(path, "/"), strings.HasPrefix(path, "//"), strings.ContainsFunc(path, bad):
		return "/"
	}
	for _, door := range []string{"/sign-in", "/pair", "/sign-out"} {
		if rest, ok := strings.CutPrefix(path, door); ok && (rest == "" || strings.ContainsAny(rest[:1], "/?#")) {
			return "/"
		}
	}
	return path
}
