package web

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// raw sends bytes over a connection of its own and returns what comes back until the other side closes or pauses.
func raw(t *testing.T, base, text string) string {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(500 * time.Millisecond))
	_, _ = io.WriteString(conn, strings.ReplaceAll(text, "HOST", u.Host)) // it may be refused before it is all sent
	answer, _ := io.ReadAll(conn)
	return string(answer)
}

// TestBytesThatAreNoHonestRequest: what a stranger sends by hand opens no door: two lengths, two hosts, folded and doubled headers, a second request hidden in the first, another protocol, and headers without an end.
func TestBytesThatAreNoHonestRequest(t *testing.T) {
	m := openMatrix(t)
	hidden := "GET /chat HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for name, text := range map[string]string{
		"length and chunks":      "POST /sign-in HTTP/1.1\r\nHost: HOST\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		"two lengths":            "POST /chat HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0\r\nContent-Length: 44\r\n\r\n" + hidden,
		"negative length":        "POST /chat HTTP/1.1\r\nHost: HOST\r\nContent-Length: -1\r\n\r\n" + hidden,
		"odd chunks":             "POST /chat HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + hidden,
		"spaced chunks":          "POST /chat HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + hidden,
		"two encodings":          "POST /chat HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + hidden,
		"a request in a body":    "POST /chat HTTP/1.1\r\nHost: HOST\r\nContent-Length: 41\r\n\r\n" + hidden,
		"pipelined":              "GET /healthz HTTP/1.1\r\nHost: HOST\r\n\r\n" + hidden + hidden,
		"two hosts":              "GET /chat HTTP/1.1\r\nHost: HOST\r\nHost: localhost\r\n\r\n",
		"no host":                "GET /chat HTTP/1.1\r\n\r\n",
		"host in the line":       "GET http://localhost/chat HTTP/1.1\r\nHost: HOST\r\n\r\n",
		"host is localhost":      "GET /chat HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"host is 127.0.0.1":      "GET /chat HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n",
		"host is [::1]":          "GET /chat HTTP/1.1\r\nHost: [::1]\r\n\r\n",
		"host with a user":       "GET /chat HTTP/1.1\r\nHost: localhost@evil.test\r\n\r\n",
		"folded":                 "GET /chat HTTP/1.1\r\nHost: HOST\r\nX-A: b\r\n Host: localhost\r\n\r\n",
		"bare line feeds":        "GET /chat HTTP/1.1\nHost: localhost\n\n",
		"HTTP/1.0":               "GET /chat HTTP/1.0\r\n\r\n",
		"HTTP/0.9":               "GET /chat\r\n",
		"HTTP/2 at once":         "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
		"upgrade to HTTP/2":      "GET /chat HTTP/1.1\r\nHost: HOST\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
		"a web socket":           "GET /events HTTP/1.1\r\nHost: HOST\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
		"connect":                "CONNECT localhost:80 HTTP/1.1\r\nHost: HOST\r\n\r\n",
		"another method":         "GET\t/chat HTTP/1.1\r\nHost: HOST\r\n\r\n",
		"method override":        "GET /healthz HTTP/1.1\r\nHost: HOST\r\nX-HTTP-Method-Override: POST\r\nX-Original-URL: /chat\r\nX-Rewrite-URL: /chat\r\n\r\n",
		"dots to a page":         "GET /static/../chat HTTP/1.1\r\nHost: HOST\r\n\r\n",
		"coded dots to a page":   "GET /static/%2e%2e/chat HTTP/1.1\r\nHost: HOST\r\n\r\n",
		"coded slash to a page":  "GET /static/..%2fchat HTTP/1.1\r\nHost: HOST\r\n\r\n",
		"doubled slash":          "GET //chat HTTP/1.1\r\nHost: HOST\r\n\r\n",
		"semicolon":              "GET /healthz;/../chat HTTP/1.1\r\nHost: HOST\r\n\r\n",
		"NUL":                    "GET /chat\x00 HTTP/1.1\r\nHost: HOST\r\n\r\n",
		"cookies by the hundred": "GET /chat HTTP/1.1\r\nHost: HOST\r\n" + strings.Repeat("Cookie: ash-device=x\r\n", 99) + "\r\n",
		"headers by the hundred": "GET /chat HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("X-A: b\r\n", 500) + "\r\n",
		"a header of a megabyte": "GET /chat HTTP/1.1\r\nHost: localhost\r\nX-A: " + strings.Repeat("b", 1<<20) + "\r\n\r\n",
		"an address of 100 KB":   "GET /" + strings.Repeat("a", 100<<10) + " HTTP/1.1\r\nHost: HOST\r\n\r\n",
		"forwarded for me":       "GET /chat HTTP/1.1\r\nHost: HOST\r\nX-Forwarded-For: 127.0.0.1\r\nX-Real-IP: 127.0.0.1\r\nForwarded: for=127.0.0.1;host=localhost\r\n\r\n",
		"from a tailnet":         "GET /chat HTTP/1.1\r\nHost: HOST\r\nTailscale-User-Login: owner@example.com\r\nX-Forwarded-For: 100.64.0.1\r\n\r\n",
	} {
		answer := raw(t, m.remote, text)
		may := int64(0) // what everybody may ask for: health, signing in, and the embedded files, whose handler finds nothing at such a path
		if strings.HasPrefix(text, "GET /healthz HTTP") || strings.HasPrefix(text, "POST /sign-in") || strings.HasPrefix(text, "GET /static/") {
			may = 1
		}
		if m.reached.Load() > may {
			t.Errorf("%s: a handler was reached: %.300q", name, answer)
		}
		m.reached.Store(0)
		if strings.Contains(answer, "101 Switching") {
			t.Errorf("%s: the protocol was changed: %.200q", name, answer)
		}
	}
}

// TestManySlowStrangers: hundreds of connections that say a byte now and then keep nobody out, and a page is answered meanwhile.
func TestManySlowStrangers(t *testing.T) {
	m := openMatrix(t)
	u, err := url.Parse(m.remote)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		c, err := net.Dial("tcp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if _, err := fmt.Fprintf(c, "POST /sign-in HTTP/1.1\r\nHost: %s\r\nX-%d: ", u.Host, i); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	resp, err := http.Get(m.remote + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if took := time.Since(began); resp.StatusCode != http.StatusOK || took > 3*time.Second {
		t.Errorf("%s after %v", resp.Status, took)
	}
}
