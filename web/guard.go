package web

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent"
)

// CheckListen says whether Ash may listen on addr ("host:port"). Until there is
// sign-in, only a loopback address may be used: CodeDenied for anything else,
// CodeInvalid for what is no address.
func CheckListen(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return agent.Wrap(agent.CodeInvalid, err, "%q is not an address to listen on; write it like 127.0.0.1:8080.", addr)
	}
	if loopbackName(host) {
		return nil
	}
	return agent.Errorf(agent.CodeDenied,
		"Ash does not listen on %q: it has no sign-in yet, so everybody who reaches that address could use it. Use 127.0.0.1, ::1 or localhost.", addr)
}

// loopbackName reports whether host (without port) can only mean this machine.
func loopbackName(host string) bool {
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// hostOf returns the name in a Host header, without port and in lower case.
func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		hostport = host
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(hostport, "[]"), "."))
}

// forwarding are headers that a proxy adds, besides those with a prefix below.
// Their presence means the real peer is somebody else.
var forwarding = []string{"Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "Cf-Ray"}

// forwarded returns the name of a header by which a proxy or Tailscale shows
// itself, or "".
func forwarded(h http.Header) string {
	for name := range h {
		if strings.HasPrefix(name, "X-Forwarded") || strings.HasPrefix(name, "Tailscale-") || slices.Contains(forwarding, name) {
			return name
		}
	}
	return ""
}

type socketKey struct{}

// markSocket notes on the context of a connection that it came through the
// unix socket.
func markSocket(ctx context.Context, c net.Conn) context.Context {
	if c.LocalAddr().Network() == "unix" {
		return context.WithValue(ctx, socketKey{}, true)
	}
	return ctx
}

func fromSocket(r *http.Request) bool {
	yes, _ := r.Context().Value(socketKey{}).(bool)
	return yes
}

// admit lets in who may come in. names are further Host names the person gave
// this machine; they are known, yet not let in without sign-in.
func admit(names []string) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			if fromSocket(r) {
				return next(c)
			}
			host := hostOf(r.Host)
			known := slices.ContainsFunc(names, func(n string) bool { return hostOf(n) == host })
			if !loopbackName(host) && !known {
				return agent.Errorf(agent.CodeDenied, "Ash does not answer to the name %q. Open it as http://localhost with its port.", clip(host, 80))
			}
			if name := forwarded(r.Header); name != "" {
				return agent.Errorf(agent.CodeDenied, "This request came through a proxy (it has the header %s). Ash has no sign-in yet and lets in only a browser on its own machine.", name)
			}
			if known && !loopbackName(host) || !loopbackPeer(r.RemoteAddr) {
				return agent.Errorf(agent.CodeDenied, "Ash has no sign-in yet and lets in only a browser on its own machine, at localhost.")
			}
			return next(c)
		}
	}
}

func loopbackPeer(remote string) bool {
	ap, err := netip.ParseAddrPort(remote)
	return err == nil && ap.Addr().Unmap().IsLoopback()
}

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
	if r.TLS != nil {
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

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
