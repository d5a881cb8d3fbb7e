package web

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent/access/localca"
)

// both serves TLS and plain HTTP at one address, and says by which a request came.
func both(t *testing.T) (address string, trusting *http.Client) {
	t.Helper()
	a, err := localca.New("box", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	text, err := a.Issue(nil, []netip.Addr{netip.MustParseAddr("127.0.0.1")}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(text, text)
	if err != nil {
		t.Fatal(err)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{ReadHeaderTimeout: time.Minute, ConnContext: mark, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		without, _ := r.Context().Value(plainKey{}).(bool)
		switch {
		case r.TLS != nil && !without:
			_, _ = io.WriteString(w, "tls")
		case without && r.TLS == nil:
			_, _ = io.WriteString(w, "plain")
		}
	})}
	done := make(chan error, 1)
	go func() {
		done <- srv.Serve(Mixed(l, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}))
	}()
	t.Cleanup(func() {
		_ = srv.Close()
		<-done
	})
	ca, err := x509.ParseCertificate(a.Certificate())
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(ca)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}, Timeout: 10 * time.Second}
	t.Cleanup(client.CloseIdleConnections)
	return l.Addr().String(), client
}

func said(t *testing.T, client *http.Client, url string) string {
	t.Helper()
	res, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestMixed(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("both", func(t *testing.T) {
		address, client := both(t)
		// Whoever connects and says nothing holds up nobody.
		var silent []net.Conn
		for range 20 {
			c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			silent = append(silent, c)
		}
		for range 3 {
			if got := said(t, client, "https://"+address+"/"); got != "tls" {
				t.Errorf("https: %q", got)
			}
			if got := said(t, client, "http://"+address+"/"); got != "plain" {
				t.Errorf("http: %q", got)
			}
		}
		for _, c := range silent {
			_ = c.Close()
		}
	})
	deadline := time.Now().Add(5 * time.Second)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines, %d before", n, before)
	}
}

// Closing waits for nobody who connected and says nothing.
func TestMixedCloses(t *testing.T) {
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := Mixed(l, &tls.Config{MinVersion: tls.VersionTLS12})
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	time.Sleep(50 * time.Millisecond) // it was accepted
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := m.Accept()
		ended <- err
	}()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("a connection from a closed listener")
		}
	case <-time.After(5 * time.Second):
		t.Fatal("it does not close")
	}
}

func TestUpgrade(t *testing.T) {
	e := echo.New()
	e.HTTPErrorHandler = func(err error, c echo.Context) { _ = c.String(http.StatusForbidden, err.Error()) }
	e.Use(upgrade)
	e.Any("/*", func(c echo.Context) error { return c.String(http.StatusOK, "in") })
	for _, x := range []struct {
		method, path, from string
		plain              bool
		status             int
		to                 string
	}{
		{"GET", "/chat?a=b", "192.168.1.9:5000", true, 308, "https://192.168.1.5:8080/chat?a=b"},
		{"HEAD", "/", "192.168.1.9:5000", true, 308, "https://192.168.1.5:8080/"},
		{"POST", "/sign-in", "192.168.1.9:5000", true, 403, ""},
		{"DELETE", "/api/v1/memories/x", "[fd00::9]:5000", true, 403, ""},
		{"GET", "/trust", "192.168.1.9:5000", true, 200, ""},
		{"GET", "/trust/ash.crt", "192.168.1.9:5000", true, 200, ""},
		{"GET", "/static/app.css", "192.168.1.9:5000", true, 200, ""},
		{"GET", "/static/", "192.168.1.9:5000", true, 308, "https://192.168.1.5:8080/static/"},
		{"GET", "/trust/../chat", "192.168.1.9:5000", true, 308, "https://192.168.1.5:8080/trust/../chat"},
		{"GET", "/chat", "127.0.0.1:5000", true, 200, ""},
		{"POST", "/chat", "192.168.1.9:5000", false, 200, ""},
	} {
		r := httptest.NewRequestWithContext(t.Context(), x.method, "http://192.168.1.5:8080"+x.path, strings.NewReader(""))
		r.RemoteAddr = x.from
		if x.plain {
			r = r.WithContext(context.WithValue(r.Context(), plainKey{}, true))
		}
		w := httptest.NewRecorder()
		e.ServeHTTP(w, r)
		if w.Code != x.status || w.Header().Get("Location") != x.to {
			t.Errorf("%s %s from %s: %d %s", x.method, x.path, x.from, w.Code, w.Header().Get("Location"))
		}
	}
}
