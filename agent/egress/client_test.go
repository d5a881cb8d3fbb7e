package egress

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"ash/agent"
)

// get reads a URL to its end.
func get(t *testing.T, c *http.Client, url string) (string, error) {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func TestRedirectsAreChecked(t *testing.T) {
	secret := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("internal")) })
	page := serve(t, func(w http.ResponseWriter, r *http.Request) {
		to := r.URL.Query().Get("to")
		if to == "far" {
			to = "/" + strings.Repeat("x", maxURL)
		}
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	})
	r := &names{answers: map[string][][]string{
		"page.test":   {{"127.0.0.1"}},
		"both.test":   {{"93.184.216.34", "127.0.0.1"}},
		"rebind.test": {{"10.1.2.3"}},
	}}
	c := New(Options{Resolver: r, AllowTest: only(page)}).Client(Limits{})
	for to, want := range map[string]struct {
		code agent.Code
		word string
	}{
		"http://169.254.169.254/latest/meta-data/": {agent.CodeDenied, "metadata"},
		"http://[::1]/":                 {agent.CodeDenied, "this machine"},
		"http://[::ffff:127.0.0.1]:22/": {agent.CodeDenied, "this machine"},
		secret.URL:                      {agent.CodeDenied, "this machine"},
		"http://both.test/":             {agent.CodeDenied, "public addresses and also"},
		"http://rebind.test/":           {agent.CodeDenied, "10.1.2.3"},
		"//rebind.test/":                {agent.CodeDenied, "10.1.2.3"},
		"file:///etc/passwd":            {agent.CodeDenied, `not "file"`},
		"gopher://page.test:70/1":       {agent.CodeDenied, `not "gopher"`},
		"ftp://page.test/":              {agent.CodeDenied, `not "ftp"`},
		"data:text/html,hi":             {agent.CodeDenied, `not "data"`},
		"javascript:alert(1)":           {agent.CodeDenied, `not "javascript"`},
		"http://127.1/":                 {agent.CodeDenied, "127.1"},
		"http://0x7f000001/":            {agent.CodeDenied, "0x7f000001"},
		"http://nowhere.test/":          {agent.CodeUnavailable, "nowhere.test"},
		"far":                           {agent.CodeDenied, "longer"},
	} {
		_, err := get(t, c, at(page, "page.test")+"/?to="+strings.NewReplacer("%", "%25", "&", "%26", "#", "%23").Replace(to))
		t.Run(agent.Clip(to, 60), func(t *testing.T) { wantCode(t, err, want.code, want.word) })
	}
	// A loop ends after as many as are allowed.
	loop := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/again", http.StatusFound) })
	_, err := get(t, New(Options{AllowTest: only(loop)}).Client(Limits{Redirects: 3}), loop.URL)
	wantCode(t, err, agent.CodeExhausted, "more than 3 times")
	_, err = get(t, New(Options{AllowTest: only(loop)}).Client(Limits{Redirects: -1}), loop.URL)
	wantCode(t, err, agent.CodeDenied, "not followed")
}

func TestFirstRequestIsChecked(t *testing.T) {
	c := New(Options{}).Client(Limits{})
	for _, url := range []string{"file:///etc/passwd", "gopher://x.test/", "unix:///run/docker.sock", "http://127.0.0.1/", "http://localhost/", "https://[::1]/", "http://169.254.169.254/", "http://2130706433/"} {
		if _, err := get(t, c, url); err == nil {
			t.Errorf("%s was fetched", url)
		} else if code := agent.CodeOf(err); code != agent.CodeDenied && code != agent.CodeInvalid {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestRedirectToAConfiguredEndpointIsRefused(t *testing.T) {
	searx := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/search", http.StatusFound)
			return
		}
		_, _ = w.Write([]byte("results"))
	})
	page := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, searx.URL, http.StatusFound) })
	c := New(Options{Allow: []string{searx.Listener.Addr().String()}, AllowTest: only(page)}).Client(Limits{})
	if text, err := get(t, c, searx.URL+"/old"); err != nil || text != "results" {
		t.Errorf("the endpoint itself: %q, %v", text, err)
	}
	_, err := get(t, c, page.URL)
	wantCode(t, err, agent.CodeDenied, "its own tool only")
}

func TestCredentialsStayWithTheirOrigin(t *testing.T) {
	var second http.Header
	other := serve(t, func(w http.ResponseWriter, r *http.Request) { second = r.Header.Clone() })
	var third http.Header
	var first *httptest.Server
	first = serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, strings.Replace(other.URL, "http://", "http://user:pass@", 1)+"/landing", http.StatusFound)
		case "/round":
			http.Redirect(w, r, first.URL+"/here", http.StatusTemporaryRedirect)
		case "/here":
			third = r.Header.Clone()
		}
	})
	c := New(Options{AllowTest: only(first, other)}).Client(Limits{})
	request := func(method, path string, body io.Reader) error {
		r, err := http.NewRequest(method, first.URL+path, body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Subscription-Token", "sesame")
		r.Header.Set("Authorization", "Bearer sesame")
		r.Header.Set("Cookie", "a=sesame")
		r.Header.Set("User-Agent", "Ash")
		resp, err := c.Do(r)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	if err := request(http.MethodGet, "/away", nil); err != nil {
		t.Fatal(err)
	}
	if s := fmt.Sprint(second); strings.Contains(s, "sesame") || second.Get("Authorization") != "" || second.Get("Referer") != "" || second.Get("User-Agent") != "Ash" {
		t.Errorf("another origin got %v", second)
	}
	if err := request(http.MethodGet, "/round", nil); err != nil || third.Get("X-Subscription-Token") != "sesame" {
		t.Errorf("the same origin got %v, %v", third, err)
	}
	third = nil
	moved := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, first.URL+"/here", http.StatusTemporaryRedirect)
	})
	c = New(Options{AllowTest: only(first, moved)}).Client(Limits{})
	if _, err := c.Post(moved.URL, "text/plain", strings.NewReader("private")); agent.CodeOf(err) != agent.CodeDenied || third != nil {
		t.Errorf("a body went along to another origin: %v", err)
	}
}

func TestNothingFromTheEnvironment(t *testing.T) {
	proxy := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("from the proxy")) })
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	cookies := 0
	page := serve(t, func(w http.ResponseWriter, r *http.Request) {
		cookies += len(r.Cookies())
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		_, _ = w.Write([]byte("from the page"))
	})
	r := &names{answers: map[string][][]string{"page.test": {{"127.0.0.1"}}}}
	c := New(Options{Resolver: r, AllowTest: only(page, proxy)}).Client(Limits{})
	for range 2 {
		if text, err := get(t, c, at(page, "page.test")); err != nil || text != "from the page" {
			t.Errorf("%q, %v", text, err)
		}
	}
	if cookies != 0 {
		t.Error("a cookie came back")
	}
}

// packed returns n zero bytes in an encoding.
func packed(t testing.TB, encoding string, n int64) []byte {
	var b bytes.Buffer
	var w io.WriteCloser
	switch encoding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "zlib":
		w = zlib.NewWriter(&b)
	case "flate":
		w, _ = flate.NewWriter(&b, 9)
	}
	if _, err := io.CopyN(w, zeros{}, n); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestBodies(t *testing.T) {
	const limit = 1 << 20
	bombs := map[string][]byte{}
	for _, e := range []string{"gzip", "zlib", "flate"} {
		bombs[e] = packed(t, e, 8<<20)
	}
	empty := packed(t, "gzip", 0)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		send := func(encoding string, body []byte) {
			if encoding != "" {
				w.Header().Set("Content-Encoding", encoding)
			}
			_, _ = w.Write(body)
		}
		switch r.URL.Path {
		case "/gzip-bomb":
			send("gzip", bombs["gzip"])
		case "/zlib-bomb":
			send("deflate", bombs["zlib"])
		case "/flate-bomb":
			send("deflate", bombs["flate"])
		case "/brotli-bomb":
			send("br", []byte{0x5b, 0xff, 0xff, 0xff, 0x03, 0x00})
		case "/twice":
			send("gzip, gzip", empty)
		case "/endless-members":
			w.Header().Set("Content-Encoding", "gzip")
			for r.Context().Err() == nil {
				if _, err := w.Write(bytes.Repeat(empty, 1000)); err != nil {
					return
				}
			}
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		case "/exact":
			send("", make([]byte, limit))
		case "/gzip":
			send("gzip", packed(t, "gzip", limit))
		case "/damaged":
			send("gzip", []byte("this is not gzip at all, whatever its header says"))
		case "/short":
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("short"))
		case "/nothing":
			w.Header().Set("Content-Encoding", "gzip")
		case "/moved":
			w.Header().Set("Content-Encoding", "br")
			w.Header().Set("Location", "/exact")
			w.WriteHeader(http.StatusMovedPermanently)
			_, _ = w.Write([]byte("nobody reads this"))
		}
	})
	c := New(Options{AllowTest: only(s)}).Client(Limits{Body: limit})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for path, want := range map[string]agent.Code{
		"/gzip-bomb": agent.CodeExhausted, "/zlib-bomb": agent.CodeExhausted, "/flate-bomb": agent.CodeExhausted, "/brotli-bomb": agent.CodeUnavailable, "/twice": agent.CodeUnavailable,
		"/endless-members": agent.CodeExhausted, "/endless": agent.CodeExhausted, "/damaged": agent.CodeUnavailable, "/short": agent.CodeUnavailable,
		"/exact": "", "/gzip": "", "/nothing": "", "/moved": "",
	} {
		text, err := get(t, c, s.URL+path)
		if code := agent.CodeOf(err); code != want {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
		if len(text) > limit {
			t.Errorf("%s: %d bytes were read", path, len(text))
		}
		if (path == "/exact" || path == "/gzip" || path == "/moved") && len(text) != limit {
			t.Errorf("%s: only %d bytes were read", path, len(text))
		}
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
		t.Errorf("%d MB were allocated for %d KB answers", used>>20, limit>>10)
	}
}

func TestHeadersAreBounded(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/long":
			w.Header().Set("X-Long", strings.Repeat("a", 1<<20))
		case "/many":
			for i := range 20000 {
				w.Header().Add("X-Many", fmt.Sprint(i, strings.Repeat("b", 40)))
			}
		}
	})
	c := New(Options{AllowTest: only(s)}).Client(Limits{})
	for _, path := range []string{"/long", "/many"} {
		_, err := get(t, c, s.URL+path)
		wantCode(t, err, agent.CodeExhausted, "64 KB")
	}
}

// raw serves bytes that net/http would not send.
func raw(t *testing.T, talk func(net.Conn)) *httptest.Server {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer func() { _ = conn.Close() }(); talk(conn) }()
		}
	}()
	t.Cleanup(func() { _ = l.Close() })
	return &httptest.Server{Listener: l, URL: "http://" + l.Addr().String()}
}

func TestSlowServersAreGivenUp(t *testing.T) {
	drip := func(conn net.Conn, text string) {
		for _, b := range []byte(text) {
			if _, err := conn.Write([]byte{b}); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	header := raw(t, func(conn net.Conn) { drip(conn, "HTTP/1.1 200 OK\r\n"+strings.Repeat("X-A: b\r\n", 1000)) })
	body := raw(t, func(conn net.Conn) {
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
		drip(conn, strings.Repeat("a", 100000))
	})
	silent := raw(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	informed := raw(t, func(conn net.Conn) {
		for {
			if _, err := io.WriteString(conn, "HTTP/1.1 103 Early Hints\r\nX-Pad: "+strings.Repeat("a", 4096)+"\r\n\r\n"); err != nil {
				return
			}
		}
	})
	g := New(Options{AllowTest: only(header, body, silent, informed)})
	start := time.Now()
	for name, s := range map[string]*httptest.Server{"header": header, "body": body, "silent": silent, "endless 103": informed} {
		c := g.Client(Limits{Time: 400 * time.Millisecond, Answer: 200 * time.Millisecond})
		_, err := get(t, c, s.URL)
		var timeout net.Error
		if agent.CodeOf(err) != agent.CodeUnavailable && agent.CodeOf(err) != agent.CodeExhausted && (!errors.As(err, &timeout) || !timeout.Timeout()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("four slow servers took %v", d)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, silent.URL, nil)
	if _, err := g.Client(Limits{}).Do(r); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a deadline of the caller: %v", err)
	}
}

func TestFaultsInWords(t *testing.T) {
	garbage := raw(t, func(conn net.Conn) { _, _ = io.WriteString(conn, "SSH-2.0-OpenSSH_9.2\r\n") })
	closed := raw(t, func(net.Conn) {})
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	c := New(Options{AllowTest: only(garbage, closed, secure)}).Client(Limits{})
	for url, word := range map[string]string{
		garbage.URL: "broke off", closed.URL: "broke off", secure.URL: "nobody known has signed",
		strings.Replace(garbage.URL, "http:", "https:", 1): "does not speak TLS",
	} {
		_, err := get(t, c, url)
		wantCode(t, err, agent.CodeUnavailable, word)
	}
}
