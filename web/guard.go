package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent"
)

// sameOrigin refuses requests that another site made in the person's browser:
// everything but plain links for reading, everything at all for changing.
// The token check in guardForms stands behind it, since browsers leave out
// Sec-Fetch-Site on plain HTTP to names that are not localhost.
func sameOrigin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if fromSocket(r) {
			return next(c)
		}
		site := r.Header.Get("Sec-Fetch-Site")
		foreign := site != "" && site != "same-origin" && site != "none"
		if foreign && (!safe(r.Method) || !navigation(r)) {
			return errForeign()
		}
		if origin := r.Header.Get("Origin"); origin != "" && !ownOrigin(r, origin) {
			return errForeign()
		}
		return next(c)
	}
}

func errForeign() error {
	return agent.Errorf(agent.CodeDenied, "Another site asked your browser to do this, so Ash did not. Open Ash itself and do it there.")
}

// ownOrigin compares scheme, name and port. An Origin "null" (a sandboxed or
// local page) is foreign.
func ownOrigin(r *http.Request, origin string) bool {
	u, err := url.Parse(origin)
	if err != nil {
		return false
	}
	scheme := "http"
	if encrypted(r) {
		scheme = "https"
	}
	return u.Scheme == scheme && strings.EqualFold(u.Host, r.Host)
}

// navigation reports whether the browser is opening a page for the person, in
// a window of its own.
func navigation(r *http.Request) bool {
	dest := r.Header.Get("Sec-Fetch-Dest")
	return r.Header.Get("Sec-Fetch-Mode") == "navigate" && (dest == "document" || dest == "")
}

// safe reports whether a method only reads (RFC 9110, 9.2.1).
func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}
