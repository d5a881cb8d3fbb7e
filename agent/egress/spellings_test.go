package egress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/egress/egresstest"
)

// ground is what the attacks of one test share.
type ground struct {
	house    *egresstest.House
	names    *egresstest.Names
	stranger *httptest.Server // a page that sends its reader to ?to=
	guard    *Guarded
	passage  *Passage
	endpoint *http.Client // of a server that the person configured: the stranger's page
	page     *http.Client
}

func newGround(t *testing.T) *ground {
	t.Helper()
	g := &ground{house: egresstest.NewHouse(t)}
	answers := egresstest.Lies()
	maps.Copy(answers, egresstest.Twice())
	g.names = egresstest.NewNames(t, answers)
	g.stranger = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Location"] = []string{r.URL.Query().Get("to")}
		status := http.StatusFound
		if r.URL.Path == "/keep" {
			status = http.StatusTemporaryRedirect
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(g.stranger.Close)
	own := netip.MustParseAddrPort(g.stranger.Listener.Addr().String())
	public := netip.MustParseAddr(egresstest.Stranger)
	g.guard = New(Options{Resolver: g.names.Resolver(), AllowTest: func(a netip.AddrPort) bool { return a == own || a.Addr() == public }})
	g.page = g.guard.Client(Limits{Time: 2 * time.Second})
	g.endpoint = New(Options{Resolver: g.names.Resolver(), Allow: []string{own.String()}}).Client(Limits{Time: 2 * time.Second})
	g.passage = open(t, g.guard, "*", g.house.At("*"))
	return g
}

// ways are all that a page, a link, a redirect, a model or a command can make Ash connect with.
func (g *ground) ways() map[string]func(ctx context.Context, host string) error {
	ask := func(c *http.Client, method, url, body string) func(context.Context, string) error {
		return func(ctx context.Context, host string) error {
			to := strings.ReplaceAll(url, "HOST", g.house.At(host))
			if before, after, found := strings.Cut(url, "?to="); found { // what the page says in its header is not the client's to escape
				to = before + "?to=" + escaped(strings.ReplaceAll(after, "HOST", g.house.At(host)))
			}
			r, err := http.NewRequestWithContext(ctx, method, to, strings.NewReader(body))
			if err != nil {
				return agent.Wrap(agent.CodeInvalid, err, "no URL")
			}
			resp, err := c.Do(r)
			if err != nil {
				return err
			}
			defer func() { _ = resp.Body.Close() }()
			text, err := io.ReadAll(resp.Body)
			return fmt.Errorf("answered %d %.20q %w", resp.StatusCode, text, err)
		}
	}
	say := func(format string) func(context.Context, string) error {
		return func(ctx context.Context, host string) error {
			return proxied(ctx, g.passage, strings.ReplaceAll(format, "HOST", g.house.At(host)))
		}
	}
	return map[string]func(context.Context, string) error{
		"dial": func(ctx context.Context, host string) error {
			c, err := g.guard.DialContext(ctx, "tcp", g.house.At(host))
			if err == nil {
				_ = c.Close()
				return fmt.Errorf("connected")
			}
			return err
		},
		"get":             ask(g.page, http.MethodGet, "http://HOST/", ""),
		"https":           ask(g.page, http.MethodGet, "https://HOST/", ""),
		"post":            ask(g.page, http.MethodPost, "http://HOST/", "text"),
		"redirect":        ask(g.page, http.MethodGet, g.stranger.URL+"/?to=http://HOST/", ""),
		"no scheme":       ask(g.page, http.MethodGet, g.stranger.URL+"/?to=//HOST/", ""),
		"kept":            ask(g.page, http.MethodPost, g.stranger.URL+"/keep?to=http://HOST/", "text"),
		"chain":           ask(g.page, http.MethodGet, g.stranger.URL+"/?to="+g.stranger.URL+"/keep?to=http://HOST/", ""),
		"endpoint":        ask(g.endpoint, http.MethodGet, g.stranger.URL+"/?to=http://HOST/", ""),
		"endpoint chain":  ask(g.endpoint, http.MethodGet, g.stranger.URL+"/?to="+g.stranger.URL+"/keep?to=http://HOST/", ""),
		"tunnel":          say("CONNECT HOST HTTP/1.1\r\nHost: public.test\r\n\r\n"),
		"proxy":           say("GET http://HOST/ HTTP/1.1\r\nHost: public.test\r\nConnection: close\r\n\r\n"),
		"proxy with host": say("GET http://public.test/ HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n"),
		"proxy by path":   say("GET / HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n"),
	}
}

func escaped(s string) string {
	var out strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&out, "%%%02x", c)
	}
	return out.String()
}

// proxied says something to the proxy and returns its refusal as an error.
func proxied(ctx context.Context, p *Passage, text string) error {
	conn, err := net.Dial("unix", p.Socket())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, text); err != nil {
		return err
	}
	limit, bounded := ctx.Deadline()
	if !bounded {
		limit = time.Now().Add(5 * time.Second)
	}
	_ = conn.SetReadDeadline(limit)
	line, err := bufio.NewReader(conn).ReadString('\n')
	return fmt.Errorf("answered %q %w", line, err)
}

// TestNoSpellingGetsIn: no way of writing a private address, by no way in, makes one connection; and no one is told "not reachable", which would mean that it was tried.
func TestNoSpellingGetsIn(t *testing.T) {
	g := newGround(t)
	hosts := slices.Concat(egresstest.Spellings(), slices.Sorted(maps.Keys(egresstest.Lies())))
	tried := 0
	for way, do := range g.ways() {
		for _, host := range hosts {
			tried++
			err := do(t.Context(), host)
			if n := g.house.Hits(); n != 0 {
				t.Fatalf("%s: %q got in (%d connections): %v", way, host, n, err)
			}
			if err == nil {
				t.Errorf("%s: %q: no error", way, host)
			}
			if way == "dial" && agent.CodeOf(err) != agent.CodeDenied && agent.CodeOf(err) != agent.CodeInvalid && !strings.Contains(err.Error(), "no host named") {
				t.Errorf("%s: %q was tried: %v", way, host, err)
			}
		}
	}
	if len(hosts) < 200 {
		t.Errorf("only %d spellings", len(hosts))
	}
	t.Logf("%d spellings by %d ways, %d attempts: %d connections", len(hosts), len(g.ways()), tried, g.house.Hits())
}

// TestNoAnswerThatChangesGetsIn: a name server that says something else each time does not lead in, on new connections, in redirects, in a tunnel.
func TestNoAnswerThatChangesGetsIn(t *testing.T) {
	g := newGround(t)
	tried := 0
	for way, do := range g.ways() {
		names := egresstest.NewNames(t, func() map[string][]string {
			a := egresstest.Lies()
			maps.Copy(a, egresstest.Twice())
			return a
		}())
		g.guard.resolver = names.Resolver()
		for host := range egresstest.Twice() {
			for range 4 {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond) // nobody answers at the stranger's
				err := do(ctx, host)
				cancel()
				tried++
				if n := g.house.Hits(); n != 0 {
					t.Fatalf("%s: %s got in: %v", way, host, err)
				}
			}
		}
	}
	t.Logf("%d attempts: %d connections", tried, g.house.Hits())
}

// TestTheHouseCanBeEntered: with the check taken away the same ways lead in, so the tests above can fail.
func TestTheHouseCanBeEntered(t *testing.T) {
	g := newGround(t)
	g.guard.allowTest = func(netip.AddrPort) bool { return true }
	for way, do := range g.ways() {
		before, entered := g.house.Hits(), 0
		for _, host := range []string{"127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "127.0.0.1.", "localhost", "four.lie.test", "six.lie.test", "alias3.lie.test", "public.test@127.0.0.1"} {
			_ = do(t.Context(), host)
			if now := g.house.Hits(); now > before {
				before, entered = now, entered+1
			}
		}
		// The person's own endpoint knows no exception; content is not sent on; a proxy goes where the URL says.
		closed := strings.HasPrefix(way, "endpoint") || way == "kept" || way == "proxy with host" || way == "proxy by path"
		if (entered == 0) != closed {
			t.Errorf("%s: %d entered", way, entered)
		}
	}
}
