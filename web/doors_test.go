package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	token "ash/agent/access"
	"ash/handlers"
	"ash/store"
	"ash/web/webtest"
)

// guarded is the test server with real doors.
type guarded struct {
	t      *testing.T
	server *Server
	doors  *token.Doors
	local  string
	mu     sync.Mutex
	says   Admission
	now    time.Time
}

func openGuarded(t *testing.T) *guarded {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "ash.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	g := &guarded{t: t, now: time.Now(), says: Admission{Names: []string{"ash.home", "box.tail1.ts.net"}}}
	g.doors = token.NewDoors(db, token.DoorOptions{Now: func() time.Time { g.mu.Lock(); defer g.mu.Unlock(); return g.now }})
	g.server = newServer(t, t.TempDir(), func(c *Config) {
		c.Doors = g.doors
		c.Admission = func() Admission { g.mu.Lock(); defer g.mu.Unlock(); return g.says }
	})
	// What handlers do, in small: a route that signs in, and one that says who is there.
	g.server.public["POST /in"] = true
	stack := []echo.MiddlewareFunc{g.server.sessions.open, guardForms}
	g.server.echo.POST("/in", func(c echo.Context) error {
		_, secret, err := g.doors.SignIn(c.Request().Context(), []byte(matrixPassphrase), token.Arrival{Name: "phone", Former: g.server.sessions.Former(c)})
		if err != nil {
			return err
		}
		return g.server.sessions.Keep(c, secret)
	}, stack...)
	g.server.echo.GET("/who", func(c echo.Context) error {
		v := handlers.VisitorOf(c)
		return c.String(200, fmt.Sprintf("%s|%s|%s|%v", v.Device.Name, v.Login, v.From, v.Here))
	}, stack...)
	g.server.public["GET /form"] = true
	g.server.echo.GET("/form", func(c echo.Context) error {
		return c.HTML(200, fmt.Sprintf("<input name=_csrf value=%q>", handlers.Token(c)))
	}, stack...)
	g.local = webtest.Serve(t, g.server)
	if err := g.doors.SetPassphrase(t.Context(), token.Change{New: []byte(matrixPassphrase)}); err != nil {
		t.Fatal(err)
	}
	return g
}

// network opens a door on a real address of the network.
func (g *guarded) network() (base string, d *Door) {
	g.t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(g.t.Context(), "tcp", netip.AddrPortFrom(networkAddress(g.t), 0).String())
	if err != nil {
		g.t.Fatal(err)
	}
	if d, err = g.server.Open(l); err != nil {
		g.t.Fatal(err)
	}
	return "http://" + l.Addr().String(), d
}

func (g *guarded) pass(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now = g.now.Add(d)
}

func (g *guarded) admit(a Admission) {
	g.mu.Lock()
	g.says = a
	g.mu.Unlock()
	g.server.Reconsider()
}

// stream opens a stream, and returns what ends when it does.
func (g *guarded) stream(url string, header http.Header) (ended <-chan string) {
	g.t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(g.t.Context()), "GET", url, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	res, err := noRedirect.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	lines := bufio.NewScanner(res.Body)
	if res.StatusCode != 200 || !lines.Scan() {
		g.t.Fatalf("the stream does not begin: %d", res.StatusCode)
	}
	out := make(chan string, 1)
	go func() {
		last := ""
		for lines.Scan() {
			if lines.Text() != "" {
				last = lines.Text()
			}
		}
		_ = res.Body.Close()
		out <- last
	}()
	return out
}

func (g *guarded) ends(what string, ended <-chan string) {
	g.t.Helper()
	select {
	case <-ended:
	case <-time.After(2 * time.Second):
		g.t.Fatalf("%s: the stream stays open", what)
	}
}

// signIn signs a browser in, and returns its cookie.
func (g *guarded) signIn(base string) (*webtest.Browser, http.Header) {
	g.t.Helper()
	b := webtest.Open(g.t, base)
	b.Get("/form").Is(200)
	cookies := (&http.Response{Header: b.Post("/in", nil).Is(200).Header}).Cookies()
	if len(cookies) != 1 {
		g.t.Fatalf("signing in set %d cookies", len(cookies))
	}
	c := cookies[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.Secure || !strings.HasSuffix(c.Name, devicePart) {
		g.t.Errorf("cookie %+v", c)
	}
	return b, http.Header{"Cookie": {c.Name + "=" + c.Value}}
}

func TestSignedOutAtOnce(t *testing.T) {
	g := openGuarded(t)
	base, _ := g.network()
	b, cookie := g.signIn(base)
	b.Get("/who").Is(200).Says("phone||" + networkAddress(t).String() + "|false")
	list, err := g.doors.Devices(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	ended := g.stream(base+"/stream", cookie)
	other := g.stream(g.local+"/stream", nil)
	if err := g.doors.SignOut(t.Context(), list[0].ID); err != nil {
		t.Fatal(err)
	}
	g.ends("signed out", ended)
	b.Get("/who").Is(303)
	b.With("Accept", "text/event-stream").Get("/stream").Is(401)
	select {
	case <-other:
		t.Error("the stream of another browser ended, too")
	default:
	}
}

func TestStreamsKnowWhyTheyEnd(t *testing.T) {
	g := openGuarded(t)
	causes := make(chan error, 1)
	g.server.echo.GET("/why", func(c echo.Context) error {
		c.Response().WriteHeader(200)
		_, _ = c.Response().Write([]byte("data: 0\n\n"))
		c.Response().Flush()
		<-c.Request().Context().Done()
		causes <- context.Cause(c.Request().Context())
		return nil
	}, g.server.sessions.open, g.server.streaming)
	ended := g.stream(g.local+"/why", nil)
	g.admit(Admission{AskHere: true})
	g.ends("sign-in is asked for here, too", ended)
	if got := <-causes; !errors.Is(got, handlers.ErrSignedOut) {
		t.Errorf("it ended for %v", got)
	}
	webtest.Open(t, g.local).Get("/page").Is(303)
	webtest.Open(t, g.local).Get("/healthz").Is(200)
	g.admit(Admission{})
	webtest.Open(t, g.local).Get("/page").Is(200)
}

func TestClosingADoorEndsWhatCameThroughIt(t *testing.T) {
	g := openGuarded(t)
	base, door := g.network()
	b, cookie := g.signIn(base)
	ended, other := g.stream(base+"/stream", cookie), g.stream(g.local+"/stream", nil)
	if err := door.Close(); err != nil {
		t.Fatal(err)
	}
	g.ends("the door was closed", ended)
	if _, err := net.DialTimeout("tcp", strings.TrimPrefix(base, "http://"), time.Second); err == nil {
		t.Error("it is still open")
	}
	_ = b
	select {
	case <-other:
		t.Error("a stream of another door ended")
	default:
	}
	if err := door.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

func TestSignInBringsNewTokens(t *testing.T) {
	g := openGuarded(t)
	base, _ := g.network()
	b := webtest.Open(t, base)
	b.Get("/form")
	before := b.Token()
	first := b.Post("/in", nil).Is(200).Header.Get("Set-Cookie")
	b.Get("/form")
	after := b.Token()
	if after == before || after == "" {
		t.Errorf("the token of before the sign-in counts after it: %q, %q", before, after)
	}
	b.With("X-CSRF-Token", before).Do("POST", "/page", "", nil).Is(403)
	b.With("X-CSRF-Token", after).Do("POST", "/page", "", nil).Is(200)
	if second := b.Post("/in", nil).Is(200).Header.Get("Set-Cookie"); second == first {
		t.Error("signing in again keeps the session")
	}
	if list, err := g.doors.Devices(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("one browser is %d devices, %v", len(list), err)
	}
}

func TestSessionsAreRenewedNowAndThen(t *testing.T) {
	g := openGuarded(t)
	base, _ := g.network()
	b, old := g.signIn(base)
	if got := b.Get("/who").Is(200).Header.Get("Set-Cookie"); got != "" {
		t.Errorf("renewed at once: %s", got)
	}
	g.pass(8 * 24 * time.Hour)
	if got := b.HTMX().Get("/who").Is(200).Header.Get("Set-Cookie"); got != "" {
		t.Errorf("renewed beside a page: %s", got)
	}
	if got := b.Get("/who").Is(200).Header.Get("Set-Cookie"); !strings.Contains(got, devicePart) {
		t.Errorf("not renewed after a week: %q", got)
	}
	b.Get("/who").Is(200)
	g.pass(time.Hour)
	webtest.Open(t, base).With("Cookie", old.Get("Cookie")).Get("/who").Is(303)
}

func TestDamagedDeviceCookies(t *testing.T) {
	g := openGuarded(t)
	base, _ := g.network()
	_, cookie := g.signIn(base)
	name, value, _ := strings.Cut(cookie.Get("Cookie"), "=")
	for _, v := range []string{"", "x", value[:len(value)-2], value + "A", strings.Repeat("A", 5000), string(token.NewSecret())} {
		webtest.Open(t, base).With("Cookie", name+"="+v).Get("/who").Is(303)
	}
	// A value of one of our cookies is none of another.
	webtest.Open(t, base).With("Cookie", g.server.sessions.name+claimPart+"="+value).Get("/who").Is(303)
	webtest.Open(t, base).With("Cookie", cookie.Get("Cookie")).Get("/who").Is(200)
}

func TestTailscaleIsBelievedOnlyWhereItSpeaks(t *testing.T) {
	g := openGuarded(t)
	on := Admission{Names: []string{"ash.home", "box.tail1.ts.net"}, Logins: []string{"me@example.com"}}
	right := map[string]string{"Host": "box.tail1.ts.net", "Tailscale-User-Login": "me@example.com", "X-Forwarded-For": "100.101.102.103", "X-Forwarded-Proto": "https"}
	try := func(base string, change map[string]string) int {
		b := webtest.Open(t, base)
		for k, v := range right {
			b = b.With(k, v)
		}
		for k, v := range change {
			b = b.With(k, v)
		}
		return b.Get("/who").Status
	}
	if got := try(g.local, nil); got != 303 {
		t.Errorf("switched off it lets in: %d", got)
	}
	g.admit(on)
	if got := try(g.local, nil); got != 200 {
		t.Errorf("switched on it lets nobody in: %d", got)
	}
	for name, change := range map[string]map[string]string{
		"another login":       {"Tailscale-User-Login": "you@example.com"},
		"no login":            {"Tailscale-User-Login": ""},
		"funnel":              {"Tailscale-Funnel-Request": "?1"},
		"another proxy, too":  {"Via": "1.1 nginx"},
		"two hops":            {"X-Forwarded-For": "203.0.113.9, 100.101.102.103"},
		"not of a tailnet":    {"X-Forwarded-For": "203.0.113.9"},
		"no address":          {"X-Forwarded-For": ""},
		"another known name":  {"Host": "ash.home"},
		"the machine's own":   {"Host": "localhost"},
		"another ts.net name": {"Host": "evil.tail2.ts.net"},
	} {
		if got := try(g.local, change); got != 303 && got != 403 {
			t.Errorf("%s is let in: %d", name, got)
		}
	}
	base, _ := g.network()
	if got := try(base, nil); got != 303 {
		t.Errorf("a network peer is believed: %d", got)
	}
}

func TestHTTPSThroughAProxy(t *testing.T) {
	g := openGuarded(t)
	b := webtest.Open(t, g.local).With("Host", "ash.home").With("X-Forwarded-For", "192.0.2.9").With("X-Forwarded-Proto", "https")
	page := b.Get("/form").Is(200)
	cookie := page.Header.Get("Set-Cookie")
	if !strings.HasPrefix(cookie, "__Host-") || !strings.Contains(cookie, "Secure") {
		t.Errorf("over HTTPS the cookie is %s", cookie)
	}
	pair, _, _ := strings.Cut(cookie, ";")
	b = b.With("Cookie", pair).With("X-CSRF-Token", b.Token())
	b.With("Origin", "https://ash.home").Do("POST", "/in", "", nil).Is(200)
	b.With("Origin", "http://ash.home").Do("POST", "/in", "", nil).Is(403)
}

func TestHeadersAreCounted(t *testing.T) {
	b := webtest.Open(t, serve(t))
	for i := range maxHeaders + 1 {
		b = b.With(fmt.Sprintf("X-H-%d", i), "x")
	}
	b.Get("/page").Is(431)
}

func TestAProxyThatHidesIsNotThisMachine(t *testing.T) {
	g := openGuarded(t)
	c, err := net.Dial("tcp", strings.TrimPrefix(g.local, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_, _ = fmt.Fprint(c, "GET /page HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil || !strings.Contains(line, "303") {
		t.Errorf("HTTP/1.0 is answered %q, %v", line, err)
	}
}
