package web

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/handlers"
)

// Admission is what the settings say of who may come in. It is asked for with every request.
type Admission struct {
	// Names are further names of this machine, in lower case and without port.
	Names []string
	// Certified are those of the certificate that the person named. They are answered to; nothing that is said under them is believed for it.
	Certified []string
	// AskHere makes this machine's own browser sign in as well.
	AskHere bool
	// Logins are those of the tailnet that come in when tailscale serve says so; nil: it is not believed at all.
	Logins []string
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

// maxHeaders bounds how many header lines a request has. Browsers send about twenty.
const maxHeaders = 100

// admit refuses names that are not this machine's (DNS rebinding: a page on another name that resolves to
// this machine), and headers beyond counting. It lets nobody in: gate does.
func (s *Server) admit(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if fromSocket(r) {
			return next(c)
		}
		lines := 0
		for _, values := range r.Header {
			lines += len(values)
		}
		if lines > maxHeaders {
			return &handlers.StatusError{Status: http.StatusRequestHeaderFieldsTooLarge, Public: "The request has too many headers."}
		}
		now := s.admission()
		if host := hostOf(r.Host); !knownHost(r, host, now.Names) && !slices.Contains(now.Certified, host) {
			return agent.Errorf(agent.CodeDenied, "Ash does not answer to the name %q. Open it as http://localhost with its port; other names are added under Settings → Doors.", clip(host, 80))
		}
		return next(c)
	}
}

// knownHost reports whether host is this machine: a loopback name, the very address that the connection reached, or
// one of names. An address as such cannot be rebound, but who came for another one is not meant for us.
func knownHost(r *http.Request, host string, names []string) bool {
	if loopbackName(host) || slices.Contains(names, host) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	local, err := netip.ParseAddrPort(at.String())
	return err == nil && local.Addr().Unmap().WithZone("") == ip.Unmap().WithZone("")
}

// here reports whether a request is made by a browser on this machine, with nothing in between (threats.md 1): the peer is a
// loopback address, the Host a loopback name, and no header shows a proxy or Tailscale. No browser speaks HTTP/1.0, but
// proxies that add no header do.
func here(r *http.Request) bool {
	return loopbackPeer(r.RemoteAddr) && loopbackName(hostOf(r.Host)) && !forwarded(r.Header) && r.ProtoAtLeast(1, 1)
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

func loopbackPeer(remote string) bool {
	ap, err := netip.ParseAddrPort(remote)
	return err == nil && ap.Addr().Unmap().IsLoopback()
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
var forwarding = []string{"Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "Cf-Ray", "Client-Ip", "X-Original-Host", "X-Proxyuser-Ip"}

// forwarded reports whether a proxy or Tailscale shows itself.
func forwarded(h http.Header) bool {
	for name := range h {
		if strings.HasPrefix(name, "X-Forwarded") || strings.HasPrefix(name, "Tailscale-") || slices.Contains(forwarding, name) {
			return true
		}
	}
	return false
}

// encrypted reports whether the browser speaks HTTPS: to us, or to a proxy on this machine that says so. What is decided by it
// is the browser's own safety alone.
func encrypted(r *http.Request) bool {
	return r.TLS != nil || loopbackPeer(r.RemoteAddr) && strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// tailnets are the addresses that Tailscale gives out (https://tailscale.com/kb/1033/ip-and-dns-addresses).
var tailnets = [...]netip.Prefix{netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("fd7a:115c:a1e0::/48")}

// tailnetName ends the names that tailscale serve answers to.
const tailnetName = ".ts.net"

// tailscaleLogin returns who tailscale serve says is there, and from which address; "" for nobody, and for who is not let in.
//
// It counts only from a loopback peer and when the settings have logins (threats.md 3), under a name that tailscale serve
// has, and where nothing but tailscale serve speaks: it forwards for exactly one address, which is one of a tailnet. It takes
// headers of these names away from what it forwards, so that nobody else can send them through it.
func tailscaleLogin(r *http.Request, a Admission) (string, netip.Addr) {
	host := hostOf(r.Host)
	if len(a.Logins) == 0 || !loopbackPeer(r.RemoteAddr) || !strings.HasSuffix(host, tailnetName) || !slices.Contains(a.Names, host) {
		return "", netip.Addr{}
	}
	h := r.Header
	login, client := h.Values("Tailscale-User-Login"), h.Values("X-Forwarded-For")
	if len(login) != 1 || len(client) != 1 || h.Get("Tailscale-Funnel-Request") != "" || h.Get("Forwarded") != "" || h.Get("Via") != "" {
		return "", netip.Addr{}
	}
	addr, err := netip.ParseAddr(client[0])
	if err != nil || !slices.ContainsFunc(tailnets[:], func(p netip.Prefix) bool { return p.Contains(addr.Unmap()) }) {
		return "", netip.Addr{}
	}
	for _, l := range a.Logins {
		if strings.EqualFold(l, login[0]) {
			return l, addr
		}
	}
	return "", netip.Addr{}
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
