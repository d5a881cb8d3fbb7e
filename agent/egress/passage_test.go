package egress

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ash/agent"
)

// open starts a passage of g to hosts.
func open(t *testing.T, g *Guarded, hosts ...string) *Passage {
	t.Helper()
	p, err := g.Open(t.Context(), t.TempDir(), hosts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// through is a client as a command in the sandbox has it: everything goes to the proxy on the socket.
func through(p *Passage) *http.Client {
	return &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: "ash-proxy"}),
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", p.Socket())
		},
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true,
	}}
}

// say sends bytes to the proxy and returns what it answers until it closes or pauses.
func say(t *testing.T, p *Passage, text string) string {
	t.Helper()
	conn, err := net.Dial("unix", p.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	answer, _ := io.ReadAll(conn)
	return string(answer)
}

func portOf(s *httptest.Server) string {
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	return port
}

func TestPassageLetsThroughWhatWasApproved(t *testing.T) {
	hello := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "hello "+r.Host+" "+r.URL.Path+" "+r.Header.Get("Proxy-Authorization")+r.Header.Get("X-Forwarded-For"))
	}
	plain, secure := httptest.NewServer(http.HandlerFunc(hello)), httptest.NewTLSServer(http.HandlerFunc(hello))
	defer plain.Close()
	defer secure.Close()
	g := New(Options{AllowTest: only(plain, secure), Resolver: &names{answers: map[string][][]string{"site.test": {{"127.0.0.1"}}, "other.test": {{"127.0.0.1"}}}}})
	p := open(t, g, "site.test:"+portOf(plain), "site.test:"+portOf(secure))
	c := through(p)
	if text, err := get(t, c, at(plain, "site.test")+"/plain"); err != nil || text != "hello site.test:"+portOf(plain)+" /plain " {
		t.Errorf("plain: %q, %v", text, err)
	}
	if text, err := get(t, c, strings.Replace(at(secure, "site.test"), "http:", "https:", 1)+"/tls"); err != nil || !strings.Contains(text, "/tls") {
		t.Errorf("tunnel: %q, %v", text, err)
	}
	if text, err := get(t, c, at(plain, "other.test")); err != nil || !strings.Contains(text, "other.test:"+portOf(plain)+" was refused: this command may reach only site.test") {
		t.Errorf("a host that is not on the list: %q, %v", text, err)
	}
	if _, err := get(t, c, strings.Replace(at(secure, "other.test"), "http:", "https:", 1)); err == nil {
		t.Error("a tunnel to a host that is not on the list was opened")
	}
	if got := p.Reached(); !slices.Equal(got, slices.Sorted(slices.Values([]string{"site.test:" + portOf(plain), "site.test:" + portOf(secure)}))) {
		t.Errorf("reached %v", got)
	}
	if got := p.Refused(); len(got) != 2 {
		t.Errorf("refused %v", got)
	}
	if sent, received := p.Bytes(); sent < 200 || received < 200 {
		t.Errorf("%d bytes sent, %d received", sent, received)
	}
	info, err := os.Stat(p.Socket())
	if err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("the socket: %v, %v", info, err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p.Socket()); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
	if _, err := get(t, c, at(plain, "site.test")); err == nil {
		t.Error("a closed passage answers")
	}
	if err := p.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

// TestPassageKeepsRule10 holds that approving a host opens no way to what is not public, whatever the name leads to.
func TestPassageKeepsRule10(t *testing.T) {
	victim := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "internal") }))
	defer victim.Close()
	port := portOf(victim)
	r := &names{answers: map[string][][]string{"evil.test": {{"127.0.0.1"}}, "both.test": {{"93.184.216.34", "127.0.0.1"}}, "meta.test": {{"169.254.169.254"}}, "localhost": {{"127.0.0.1"}}}}
	g := New(Options{Resolver: r, Allow: []string{victim.Listener.Addr().String(), "localhost:" + port}})
	p := open(t, g, "*", "*:"+port, "127.0.0.1:"+port, "localhost:"+port)
	for _, target := range []string{"127.0.0.1:" + port, "[::1]:" + port, "[::ffff:127.0.0.1]:" + port, "localhost:" + port, "evil.test:" + port, "both.test:" + port,
		"169.254.169.254:80", "meta.test:80", "10.0.0.1:443", "100.100.1.1:443", "[fe80::1]:443", "[64:ff9b::7f00:1]:443", "0.0.0.0:" + port} {
		if answer := say(t, p, "CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\n\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 403 ") || !strings.Contains(answer, "was refused") {
			t.Errorf("CONNECT %s: %q", target, answer)
		}
		if answer := say(t, p, "GET http://"+target+"/ HTTP/1.1\r\nHost: example.org\r\n\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 403 ") || strings.Contains(answer, "internal") {
			t.Errorf("GET %s: %q", target, answer)
		}
	}
	if len(p.Reached()) != 0 || !slices.Contains(p.Refused(), "127.0.0.1:"+port) {
		t.Errorf("reached %v, refused %v", p.Reached(), p.Refused())
	}
}

func TestPassageRefusesOddRequests(t *testing.T) {
	p := open(t, New(Options{}), "example.org", "*")
	for name, request := range map[string]string{
		"no proxy request":     "GET /path HTTP/1.1\r\nHost: example.org\r\n\r\n",
		"https in the line":    "GET https://example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n",
		"file":                 "GET file:///etc/passwd HTTP/1.1\r\nHost: example.org\r\n\r\n",
		"gopher":               "GET gopher://example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n",
		"everything":           "OPTIONS * HTTP/1.1\r\nHost: example.org\r\n\r\n",
		"connect without port": "CONNECT example.org HTTP/1.1\r\nHost: example.org\r\n\r\n",
		"connect to a path":    "CONNECT /example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\n",
		"connect to a URL":     "CONNECT http://example.org:443/ HTTP/1.1\r\nHost: example.org\r\n\r\n",
		"userinfo":             "CONNECT example.org@127.0.0.1:443 HTTP/1.1\r\nHost: example.org\r\n\r\n",
		"number":               "CONNECT 2130706433:443 HTTP/1.1\r\nHost: example.org\r\n\r\n",
		"hex":                  "CONNECT 0x7f.1:443 HTTP/1.1\r\nHost: example.org\r\n\r\n",
		"zone":                 "CONNECT [fe80::1%25lo]:443 HTTP/1.1\r\nHost: example.org\r\n\r\n",
		"port 0":               "CONNECT example.org:0 HTTP/1.1\r\nHost: example.org\r\n\r\n",
		"port 65536":           "CONNECT example.org:65536 HTTP/1.1\r\nHost: example.org\r\n\r\n",
		"empty port":           "GET http://example.org:/ HTTP/1.1\r\nHost: example.org\r\n\r\n",
		"no host":              "GET http:///x HTTP/1.1\r\nHost: example.org\r\n\r\n",
		"opaque":               "GET http:example.org HTTP/1.1\r\nHost: example.org\r\n\r\n",
		"bad line":             "GET http://exa mple.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n",
		"two lengths":          "POST http://example.org/ HTTP/1.1\r\nHost: example.org\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"two hosts":            "GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\nHost: evil.test\r\n\r\n",
		"socks":                "\x05\x01\x00",
		"tls":                  "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03\r\n\r\n",
		"a long header":        "GET http://example.org/ HTTP/1.1\r\nX: " + strings.Repeat("a", 200<<10) + "\r\n\r\n",
		"port 22":              "CONNECT example.org:22 HTTP/1.1\r\nHost: example.org\r\n\r\n",
	} {
		answer := say(t, p, request)
		if strings.HasPrefix(answer, "HTTP/1.1 2") || strings.HasPrefix(answer, "HTTP/1.1 502") {
			t.Errorf("%s: %q", name, agent.Clip(answer, 200))
		}
	}
	if len(p.Reached()) != 0 {
		t.Errorf("reached %v", p.Reached())
	}
}

// TestHostHeaderDoesNotDecide holds that the request line alone decides where a request goes, and what the server hears as Host.
func TestHostHeaderDoesNotDecide(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "host="+r.Host) }))
	defer s.Close()
	g := New(Options{AllowTest: only(s), Resolver: &names{answers: map[string][][]string{"good.test": {{"127.0.0.1"}}, "evil.test": {{"127.0.0.1"}}}}})
	p := open(t, g, "good.test:"+portOf(s))
	if answer := say(t, p, "GET http://good.test:"+portOf(s)+"/ HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n"); !strings.Contains(answer, "host=good.test:"+portOf(s)) {
		t.Errorf("a foreign Host header: %q", answer)
	}
	if answer := say(t, p, "GET http://evil.test:"+portOf(s)+"/ HTTP/1.1\r\nHost: good.test:"+portOf(s)+"\r\n\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 403") {
		t.Errorf("a friendly Host header over a foreign URL: %q", answer)
	}
	// A second request on the same connection is judged by itself.
	two := "GET http://good.test:" + portOf(s) + "/ HTTP/1.1\r\nHost: good.test\r\n\r\nGET http://evil.test:" + portOf(s) + "/ HTTP/1.1\r\nHost: good.test\r\n\r\n"
	if answer := say(t, p, two); strings.Count(answer, "host=") != 1 || !strings.Contains(answer, "403") {
		t.Errorf("two requests: %q", answer)
	}
}

func TestRedirectThroughThePassageIsTheClientsAndJudgedAgain(t *testing.T) {
	victim := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "internal") }))
	defer victim.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, victim.URL, http.StatusFound) }))
	defer s.Close()
	g := New(Options{AllowTest: only(s), Resolver: &names{answers: map[string][][]string{"good.test": {{"127.0.0.1"}}}}})
	p := open(t, g, "*:"+portOf(s), "*:"+portOf(victim))
	if text, err := get(t, through(p), at(s, "good.test")); err != nil || !strings.Contains(text, "was refused") {
		t.Errorf("%q, %v", text, err)
	}
}

// tight returns a Guarded whose passages have small bounds.
func tight(o Options, b bounds) *Guarded {
	g := New(o)
	g.passage = b
	return g
}

func TestPassageBounds(t *testing.T) {
	big := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 32<<10)); err != nil {
				return
			}
		}
	}))
	defer big.Close()
	silent := raw(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	allow := only(big, silent)
	usual := bounds{connections: 8, bytes: 1 << 30, idle: 10 * time.Second, life: time.Minute, names: 100}

	t.Run("bytes", func(t *testing.T) {
		b := usual
		b.bytes = 1 << 20
		p := open(t, tight(Options{AllowTest: allow}, b), "127.0.0.1:"+portOf(big))
		text, _ := get(t, through(p), big.URL)
		if len(text) > 2<<20 {
			t.Errorf("%d bytes came through a passage for 1 MB", len(text))
		}
		if text, err := get(t, through(p), big.URL); err != nil || !strings.Contains(text, "all it may") {
			t.Errorf("afterwards: %q, %v", agent.Clip(text, 100), err)
		}
		// The same holds in a tunnel.
		p = open(t, tight(Options{AllowTest: allow}, b), "127.0.0.1:"+portOf(big))
		n := 0
		conn, err := net.Dial("unix", p.Socket())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		target := big.Listener.Addr().String()
		_, _ = io.WriteString(conn, "CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n")
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		m, err := io.Copy(io.Discard, conn)
		if n += int(m); n > 2<<20 || err != nil {
			t.Errorf("%d bytes came through a tunnel for 1 MB, %v", n, err)
		}
	})
	t.Run("silence", func(t *testing.T) {
		b := usual
		b.idle = 100 * time.Millisecond
		p := open(t, tight(Options{AllowTest: allow}, b), "127.0.0.1:"+portOf(silent))
		target := silent.Listener.Addr().String()
		conn, err := net.Dial("unix", p.Socket())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, "CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\n\r\n")
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		if text, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 200") {
			t.Errorf("a silent tunnel: %q, %v", text, err)
		}
	})
	t.Run("connections", func(t *testing.T) {
		p := open(t, tight(Options{AllowTest: allow}, usual), "127.0.0.1:"+portOf(silent))
		target := silent.Listener.Addr().String()
		var mu sync.Mutex
		open := 0
		for range 30 {
			conn, err := net.Dial("unix", p.Socket())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			go func() {
				_, _ = io.WriteString(conn, "CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\n\r\n")
				if line, err := bufio.NewReader(conn).ReadString('\n'); err == nil && strings.Contains(line, "200") {
					mu.Lock()
					open++
					mu.Unlock()
				}
			}()
		}
		time.Sleep(300 * time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		if open != 8 {
			t.Errorf("%d tunnels are open at once, want 8", open)
		}
	})
	t.Run("life", func(t *testing.T) {
		b := usual
		b.life = 50 * time.Millisecond
		p := open(t, tight(Options{}, b), "*")
		time.Sleep(200 * time.Millisecond)
		if _, err := os.Stat(p.Socket()); !os.IsNotExist(err) {
			t.Errorf("a passage outlives its time: %v", err)
		}
	})
	t.Run("context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p, err := New(Options{}).Open(ctx, t.TempDir(), []string{"*"})
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if _, err := net.Dial("unix", p.Socket()); err == nil {
			t.Error("a passage outlives its context")
		}
	})
	t.Run("close ends tunnels", func(t *testing.T) {
		p := open(t, tight(Options{AllowTest: allow}, usual), "127.0.0.1:"+portOf(silent))
		target := silent.Listener.Addr().String()
		conn, err := net.Dial("unix", p.Socket())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, "CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\n\r\n")
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
			t.Fatalf("%q, %v", line, err)
		}
		start := time.Now()
		_ = p.Close()
		if d := time.Since(start); d > time.Second {
			t.Errorf("closing took %v", d)
		}
		_ = conn.SetDeadline(time.Now().Add(time.Second))
		if _, err := io.Copy(io.Discard, conn); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Error("the tunnel is still open")
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	g := New(Options{})
	if _, err := g.Open(t.Context(), t.TempDir(), []string{"http://example.org"}); agent.CodeOf(err) != agent.CodeInvalid {
		t.Errorf("a URL as host: %v", err)
	}
	if _, err := g.Open(t.Context(), filepath.Join(t.TempDir(), "missing"), nil); agent.CodeOf(err) != agent.CodeUnavailable {
		t.Errorf("a missing folder: %v", err)
	}
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 120))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Open(t.Context(), long, nil); agent.CodeOf(err) != agent.CodeUnavailable {
		t.Errorf("a long path: %v", err)
	}
}

// FuzzRequest holds that whatever bytes a command sends, what is dialled is on the list and on an allowed port.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\n", "GET http://www.example.org:8080/ HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://example.org@evil.test/ HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT EXAMPLE.ORG.:80 HTTP/1.1\r\n\r\n", "CONNECT example.org\x00.evil.test:443 HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://[::1]:80/ HTTP/1.1\r\nHost: x\r\n\r\n", "GET http://example.org%2eevil.test/ HTTP/1.0\r\n\r\n", "CONNECT 127.0.0.1:443 HTTP/1.1\r\nHost: x\r\n\r\n"} {
		f.Add([]byte(s))
	}
	list, err := parseHosts([]string{"example.org", "*.example.org"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, request []byte) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(request)))
		if err != nil {
			return
		}
		host, port, err := target(r)
		if err != nil {
			var e *agent.Error
			if !errors.As(err, &e) {
				t.Errorf("%q: %v is no agent.Error", request, err)
			}
			return
		}
		again, portAgain, ok := splitTarget(joinTarget(host, port))
		if !ok || again != host || portAgain != port {
			t.Errorf("%q: %q and %d are dialled as something else", request, host, port)
		}
		if !list.permits(host, port) {
			return
		}
		if (host != "example.org" && !strings.HasSuffix(host, ".example.org")) || (port != 80 && port != 443) {
			t.Errorf("%q leads to %s:%d", request, host, port)
		}
		if _, err := netip.ParseAddr(host); err == nil {
			t.Errorf("%q leads to an address", request)
		}
	})
}
