package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/handlers"
	"ash/web/webtest"
)

// newServer is a real server with a few routes of each kind.
func newServer(t testing.TB, home string, change ...func(*Config)) *Server {
	t.Helper()
	cfg := Config{Home: home, Admission: func() Admission { return Admission{Names: []string{"ash.home"}} }, Log: slog.New(slog.DiscardHandler)}
	cfg.Routes.Problem = func(c echo.Context, p handlers.Problem) error {
		if err := c.Request().Context().Err(); err != nil {
			return err // as a template would
		}
		text := fmt.Sprintf("<p id=problem data-code=%s>%s</p>", p.Code, p.Public)
		if handlers.ByHTMX(c) {
			text = "<hx-partial>" + text + "</hx-partial>"
		}
		return c.HTML(p.Status, text)
	}
	cfg.Routes.Control = func(g *echo.Group) {
		g.GET("/ping", func(c echo.Context) error { return c.String(200, "pong") })
		g.POST("/ping", func(c echo.Context) error { return c.String(200, "pong") })
	}
	for _, f := range change {
		f(&cfg)
	}
	form := func(c echo.Context) error {
		return c.HTML(200, fmt.Sprintf("<form><input name=_csrf value=%q></form>%s", handlers.Token(c), strings.Repeat("<p>hello</p>", 200)))
	}
	s, err := build(cfg, func(*Server, Routes) []route {
		return []route{
			{"GET", "/page", page, form},
			{"POST", "/page", page, form},
			{"POST", "/upload", upload, func(c echo.Context) error {
				f, err := c.FormFile("file")
				if err != nil {
					return err
				}
				return c.String(200, fmt.Sprintf("%d bytes", f.Size))
			}},
			{"GET", "/fails/:code", page, func(c echo.Context) error {
				return agent.Wrap(agent.Code(c.Param("code")), errors.New("secret detail"), "A plain word.")
			}},
			{"GET", "/unknown", page, func(echo.Context) error { return errors.New("secret detail") }},
			{"GET", "/panics", page, func(echo.Context) error { panic("secret detail") }},
			{"GET", "/late", page, func(c echo.Context) error {
				_, bounded := c.Request().Context().Deadline()
				return c.String(200, fmt.Sprint(bounded))
			}},
			{"GET", "/stream", stream, func(c echo.Context) error {
				c.Response().WriteHeader(200)
				for i := 0; ; i++ {
					if _, err := fmt.Fprintf(c.Response(), "data: %d\n\n", i); err != nil {
						return err
					}
					c.Response().Flush()
					select {
					case <-c.Request().Context().Done():
						_, err := io.WriteString(c.Response(), "data: bye\n\n")
						return err
					case <-time.After(20 * time.Millisecond):
					}
				}
			}},
			{"GET", "/healthz", open, healthz},
			{"GET", "/readyz", open, (&Server{ready: cfg.Ready, admission: cfg.Admission}).readyz},
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func serve(t testing.TB) string { return webtest.Serve(t, newServer(t, t.TempDir())) }

func TestStatusOfEveryCode(t *testing.T) {
	b := webtest.Open(t, serve(t))
	for code, status := range map[agent.Code]int{
		agent.CodeInvalid: 422, agent.CodeNotFound: 404, agent.CodeConflict: 409, agent.CodeDenied: 403,
		agent.CodeLocked: 423, agent.CodeUnavailable: 503, agent.CodeExhausted: 507, agent.CodeInternal: 500,
	} {
		p := b.Get("/fails/" + string(code)).Is(status).Says("A plain word.")
		if p.Attr("#problem", "data-code") != string(code) {
			t.Errorf("%s became %s", code, p.Attr("#problem", "data-code"))
		}
	}
	for _, path := range []string{"/unknown", "/panics"} {
		if p := b.Get(path).Is(500).Says("Something went wrong"); strings.Contains(p.Body, "secret") {
			t.Errorf("%s tells the person internals: %s", path, p.Body)
		}
	}
	b.Get("/nowhere").Is(404).Says("no such page")
	b.Get("/page").Is(200)
	b.Post("/stream", nil).Is(404)
}

func TestBodies(t *testing.T) {
	b := webtest.Open(t, serve(t))
	b.Get("/page")
	b.Post("/page", url.Values{"text": {strings.Repeat("a", 900<<10)}}).Is(200)
	b.Post("/page", url.Values{"text": {strings.Repeat("a", 10<<20)}}).Is(413).Says("too large")
	b.Upload("/upload", "file", "big.bin", make([]byte, 25<<20)).Is(200).Says("26214400 bytes")
	b.Upload("/upload", "file", "bigger.bin", make([]byte, 26<<20)).Is(413).Says("too large")
	// Without a length the limit is found while reading.
	chunked := io.MultiReader(strings.NewReader("text="), strings.NewReader(strings.Repeat("a", 2<<20)))
	b.Do("POST", "/page", "application/x-www-form-urlencoded", chunked).Is(413).Says("too large")
	b.Do("POST", "/page", "multipart/form-data", strings.NewReader("x")).Is(422).Says("damaged")
	b.Do("POST", "/page", "application/x-www-form-urlencoded", strings.NewReader("a=%zz")).Is(422)
	b.With("X-Long", strings.Repeat("a", 100<<10)).Get("/page").Is(431)
	b.Get("/page").Is(200)
	if got := b.Get("/late").Is(200).Body; got != "true" {
		t.Error("a page may take for ever")
	}
}

func TestCompression(t *testing.T) {
	base := serve(t)
	get := func(path, accept string) *http.Response {
		t.Helper()
		req, _ := http.NewRequestWithContext(t.Context(), "GET", base+path, nil)
		req.Header.Set("Accept-Encoding", accept)
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = res.Body.Close() })
		return res
	}
	if res := get("/page", "gzip"); res.Header.Get("Content-Encoding") != "gzip" || res.Header.Get("Vary") == "" {
		t.Errorf("a page is not compressed: %v", res.Header)
	}
	if res := get("/page", "identity"); res.Header.Get("Content-Encoding") != "" {
		t.Error("compressed unasked")
	}
	if res := get("/late", "gzip"); res.Header.Get("Content-Encoding") != "" {
		t.Error("four bytes were compressed")
	}
	if res := get("/nowhere", "gzip"); res.StatusCode != 404 {
		t.Errorf("status %d behind compression", res.StatusCode)
	}
	res := get("/stream", "gzip")
	buf := make([]byte, 9)
	if _, err := io.ReadFull(res.Body, buf); err != nil || string(buf) != "data: 0\n\n" {
		t.Errorf("stream begins %q, %v", buf, err)
	}
}

func TestHealth(t *testing.T) {
	var down error
	var mu sync.Mutex
	s := newServer(t, t.TempDir(), func(c *Config) {
		c.Ready = func(context.Context) error { mu.Lock(); defer mu.Unlock(); return down }
	})
	b := webtest.Open(t, webtest.Serve(t, s))
	b.Get("/healthz").Is(200)
	b.Get("/readyz").Is(200)
	mu.Lock()
	down = agent.Wrap(agent.CodeUnavailable, errors.New("secret detail"), "The disk is full.")
	mu.Unlock()
	b.Get("/healthz").Is(200)
	if p := b.Get("/readyz").Is(503).Says("disk is full"); strings.Contains(p.Body, "secret") {
		t.Error("readyz tells internals")
	}
}

func TestSocketBelongsToTheCommandLine(t *testing.T) {
	s := newServer(t, t.TempDir())
	path := filepath.Join(t.TempDir(), "ash.sock")
	unix, err := net.Listen("unix", path)
	if err != nil {
		t.Skip("no unix sockets here:", err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, unix, tcp) }()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
	res, err := client.Post("http://ash/control/ping", "", nil)
	if err != nil || res.StatusCode != 200 {
		t.Errorf("over the socket: %v, %v", res, err)
	} else {
		_ = res.Body.Close()
	}
	client.CloseIdleConnections()
	webtest.Open(t, "http://"+tcp.Addr().String()).Get("/control/ping").Is(404)
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestStopOrder(t *testing.T) {
	var order []string
	var mu sync.Mutex
	note := func(s string) { mu.Lock(); order = append(order, s); mu.Unlock() }
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, t.TempDir(), func(c *Config) {
		c.Stopping = func(context.Context) error {
			if _, err := net.DialTimeout("tcp", l.Addr().String(), time.Second); err == nil {
				t.Error("still accepting while stopping")
			}
			note("stopping")
			time.Sleep(60 * time.Millisecond)
			return errors.New("told, not fatal")
		}
	})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	res, err := http.Get("http://" + l.Addr().String() + "/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	read := make(chan string, 1)
	go func() { b, _ := io.ReadAll(res.Body); note("stream ended"); read <- string(b) }()
	time.Sleep(50 * time.Millisecond)
	start := time.Now()
	stop()
	if err := <-done; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("stopping took %v", took)
	}
	if got := <-read; !strings.HasSuffix(got, "data: bye\n\n") {
		t.Errorf("the stream was cut instead of ended: …%q", got[max(0, len(got)-40):])
	}
	if got := strings.Join(order, ", "); got != "stopping, stream ended" {
		t.Errorf("order: %s", got)
	}
}

func TestServeTellsOfADeadListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := newServer(t, t.TempDir()).Serve(t.Context(), l); agent.CodeOf(err) != agent.CodeUnavailable {
		t.Errorf("Serve on a closed listener: %v", err)
	}
}

func TestLogHoldsNoQuery(t *testing.T) {
	var out bytes.Buffer
	var mu sync.Mutex
	s := newServer(t, t.TempDir(), func(c *Config) {
		c.Log = slog.New(slog.NewTextHandler(lockedWriter{&mu, &out}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	b := webtest.Open(t, webtest.Serve(t, s))
	b.Get("/page?q=my+illness").Is(200)
	b.Get("/nowhere/my-illness?q=my+illness").Is(404)
	b.Post("/page", url.Values{"text": {"my illness"}}).Is(200)
	b.Get("/panics").Is(500)
	mu.Lock()
	defer mu.Unlock()
	if got := out.String(); strings.Contains(got, "illness") || !strings.Contains(got, "route=/page") || !strings.Contains(got, "msg=panic") {
		t.Errorf("log:\n%s", got)
	}
}

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
