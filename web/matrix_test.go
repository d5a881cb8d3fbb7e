package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	token "ash/agent/access"
	"ash/handlers"
	"ash/store"
	"ash/web/webtest"
)

// This file holds the doors against every route there is. The routes are not listed here: they are taken from the server as it is built,
// so that a new one is covered by being there. A handler that is reached counts as accepted, whatever it would have answered.

// matrix is a server with all routes of Ash, each with a handler that only notes that it was reached.
type matrix struct {
	t       *testing.T
	server  *Server
	doors   *token.Doors
	tokens  *token.Tokens
	reached atomic.Int64
	kinds   map[string]kind // of "METHOD /path", for what stands in the table
	local   string          // base address on loopback
	remote  string          // base address of this machine's own on a network
}

// openMatrix serves all routes on a loopback address, and on one that other machines could reach.
func openMatrix(t *testing.T) *matrix {
	t.Helper()
	home := t.TempDir()
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(home, "ash.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	m := &matrix{t: t, doors: token.NewDoors(db, token.DoorOptions{}), tokens: token.New(db, token.Options{}), kinds: map[string]kind{}}
	cfg := Config{Home: home, Log: slog.New(slog.DiscardHandler), Doors: m.doors, Admission: func() Admission { return Admission{Names: []string{"ash.home"}} }}
	cfg.Routes = wholeHouse()
	cfg.Routes.API = handlers.NewAPI(handlers.APIParts{Tokens: m.tokens})
	note := func(c echo.Context) error {
		m.reached.Add(1)
		return c.String(http.StatusOK, "reached")
	}
	if m.server, err = build(cfg, func(s *Server, r Routes) []route {
		table := s.table(r)
		for i := range table {
			m.kinds[table[i].method+" "+table[i].path] = table[i].kind
			table[i].handle = note
		}
		return table
	}); err != nil {
		t.Fatal(err)
	}
	m.local = webtest.Serve(t, m.server)
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", netip.AddrPortFrom(networkAddress(t), 0).String())
	if err != nil {
		t.Fatal(err)
	}
	door, err := m.server.Open(l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = door.Close() })
	m.remote = "http://" + l.Addr().String()
	return m
}

// wholeHouse has every part that has routes. Their methods are named, never run.
func wholeHouse() Routes {
	never := func(echo.Context) error { return errors.New("a handler ran") }
	return Routes{
		Problem: func(c echo.Context, p handlers.Problem) error { return c.String(p.Status, p.Public) },
		Chat:    &handlers.Chat{}, Messages: &handlers.Messages{}, Threads: &handlers.Threads{}, Attachments: &handlers.Attachments{}, Search: &handlers.Search{},
		Identity: &handlers.Identity{}, Settings: &handlers.Settings{}, Models: &handlers.Models{}, Setup: &handlers.Setup{}, Tools: &handlers.Tools{},
		Memory: &handlers.Memory{}, Notes: &handlers.Notes{}, Later: &handlers.Later{}, SignIn: &handlers.SignIn{}, Doors: &handlers.Doors{},
		Thread: never, House: never, Inbox: never, Assets: http.NotFoundHandler(), Control: handlers.Control{}.Register,
	}
}

// networkAddress returns an address of this machine that is not a loopback one.
func networkAddress(t *testing.T) netip.Addr {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() && !p.Addr().IsLoopback() && !p.Addr().IsLinkLocalUnicast() {
			return p.Addr()
		}
	}
	const missing = "this needs a network interface with an IPv4 address besides loopback: ip link add ash0 type dummy && ip address add 198.18.0.1/32 dev ash0 && ip link set ash0 up"
	if strings.Contains(os.Getenv("ASH_TEST_REQUIRE"), "network") {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return netip.Addr{}
}

// request is one attempt.
type request struct {
	method, path string
	host         string
	headers      map[string]string
	body         func() (media string, r io.Reader)
	refused      int   // what it must be answered with; 0: any refusal
	length       int64 // that the request says it has; 0: as long as it is
}

// try makes an attempt over a connection of its own kind, and returns the status and whether a handler was reached.
func (m *matrix) try(base string, q request) (status int, reached bool) {
	m.t.Helper()
	var body io.Reader
	media := ""
	if q.body != nil {
		media, body = q.body()
	}
	ctx, cancel := context.WithTimeout(m.t.Context(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, q.method, base+q.path, body)
	if err != nil {
		m.t.Fatal(err)
	}
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	if q.length > 0 {
		r.ContentLength = q.length
	}
	if q.host != "" {
		r.Host = q.host
	}
	for k, v := range q.headers {
		r.Header.Set(k, v)
	}
	before := m.reached.Load()
	res, err := noRedirect.Do(r)
	if err != nil { // a body that is refused before it was read whole may break the connection
		return 0, m.reached.Load() != before
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	return res.StatusCode, m.reached.Load() != before
}

var noRedirect = &http.Client{
	Transport:     &http.Transport{},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// point is one route as the server has it.
type point struct{ method, path, pattern string }

// points are all routes that are registered, those of the control socket and what stands for "no such route" included, with ids in
// the place of parameters; and addresses at which there is nothing.
func (m *matrix) points() []point {
	var out []point
	for _, r := range m.server.echo.Routes() {
		method := r.Method
		if method == echo.RouteNotFound {
			method = http.MethodGet
		}
		parts := strings.Split(r.Path, "/")
		for i, p := range parts {
			if strings.HasPrefix(p, ":") {
				parts[i] = string(agent.NewID())
			}
		}
		out = append(out, point{method, strings.ReplaceAll(strings.Join(parts, "/"), "*", "nowhere"), r.Path})
	}
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"} {
		out = append(out, point{method, "/nowhere", "/*"}, point{method, "/chat", "/chat"})
	}
	slices.SortFunc(out, func(a, b point) int { return strings.Compare(a.pattern+a.method, b.pattern+b.method) })
	return slices.Compact(out)
}

// public reports whether strangers may reach a point: sign-in, pairing, health, static files, the certificate to trust. Nothing else is on this list.
func public(p point) bool {
	if p.method == "GET" && slices.Contains([]string{"/healthz", "/readyz", "/static/*", "/trust", "/trust/ash.crt"}, p.pattern) {
		return true
	}
	return (p.method == "GET" || p.method == "POST") && slices.Contains([]string{"/sign-in", "/pair", "/pair/:link", "/pair/wait"}, p.pattern)
}

func form(fields url.Values) func() (string, io.Reader) {
	return func() (string, io.Reader) {
		return "application/x-www-form-urlencoded", strings.NewReader(fields.Encode())
	}
}

func TestNoRouteLetsAStrangerIn(t *testing.T) {
	m := openMatrix(t)
	addr, _ := url.Parse(m.remote)
	// Each way to come as a stranger, with everything right that a stranger can get right.
	tried := 0
	for name, w := range map[string]struct {
		base    string
		host    string
		headers map[string]string
	}{
		"a network peer":                     {base: m.remote},
		"a network peer, loopback Host":      {base: m.remote, host: "localhost"},
		"a network peer, known Host":         {base: m.remote, host: "ash.home"},
		"a network peer, forwarded as local": {base: m.remote, headers: map[string]string{"X-Forwarded-For": "127.0.0.1", "X-Real-Ip": "127.0.0.1"}},
		"a network peer, made-up cookie":     {base: m.remote, headers: map[string]string{"Cookie": m.server.sessions.name + "-device=MTIz"}},
		"loopback, X-Forwarded-For":          {base: m.local, headers: map[string]string{"X-Forwarded-For": "127.0.0.1"}},
		"loopback, Forwarded":                {base: m.local, headers: map[string]string{"Forwarded": "for=127.0.0.1;host=localhost"}},
		"loopback, Via":                      {base: m.local, headers: map[string]string{"Via": "1.1 x"}},
		"loopback, tailscale serve":          {base: m.local, headers: map[string]string{"Tailscale-User-Login": "me@example.com", "X-Forwarded-For": "100.64.0.1"}},
		"loopback, known Host":               {base: m.local, host: "ash.home"},
		"loopback, the network's Host":       {base: m.local, host: addr.Host},
	} {
		for _, p := range m.points() {
			for _, accept := range []string{"text/html", "text/event-stream", "application/json"} {
				q := request{method: p.method, path: p.path, host: w.host, headers: map[string]string{"Accept": accept}}
				for k, v := range w.headers {
					q.headers[k] = v
				}
				if p.method != http.MethodGet && p.method != http.MethodHead {
					q.body = form(url.Values{"_csrf": {"x"}})
				}
				status, reached := m.try(w.base, q)
				tried++
				switch {
				case public(p):
				case reached, status < 300:
					t.Errorf("%s: %s %s is let in (%d)", name, p.method, p.pattern, status)
				case status == http.StatusSeeOther && (accept != "text/html" || q.body != nil):
					t.Errorf("%s: %s %s leads somewhere (%d)", name, p.method, p.pattern, status)
				case status != http.StatusSeeOther && status != http.StatusUnauthorized && status != http.StatusForbidden && status != http.StatusTooManyRequests:
					t.Errorf("%s: %s %s tells %d", name, p.method, p.pattern, status)
				}
			}
		}
	}
	t.Logf("%d attempts at %d routes", tried, len(m.points()))
}

// TestStrangersLearnNothing compares what strangers are answered at addresses where there is something and where there is not.
func TestStrangersLearnNothing(t *testing.T) {
	m := openMatrix(t)
	answer := func(method, path, accept string) string {
		r, err := http.NewRequestWithContext(t.Context(), method, m.remote+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", accept)
		res, err := noRedirect.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		body, _ := io.ReadAll(res.Body)
		h := res.Header.Clone()
		for _, vary := range []string{"Date", "X-Request-Id", "Content-Length"} {
			h.Del(vary)
		}
		h.Set("Location", strings.ReplaceAll(h.Get("Location"), url.QueryEscape(path), "PATH"))
		return fmt.Sprint(res.StatusCode, h, string(body))
	}
	for _, method := range []string{"GET", "POST", "DELETE"} {
		for _, accept := range []string{"text/html", "*/*", "text/event-stream"} {
			want := answer(method, "/nowhere-at-all", accept)
			for _, path := range []string{"/chat", "/chat/" + string(agent.NewID()), "/settings/doors", "/events", "/control/status", "/control/nothing", "/attachments/x/y", "/a/b/c"} {
				if got := answer(method, path, accept); got != want {
					t.Errorf("%s %s (%s) is answered\n%s\nand what is not there\n%s", method, path, accept, got, want)
				}
			}
		}
	}
}
