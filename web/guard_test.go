package web

import (
	"net/http"
	"testing"

	"ash/agent"
	"ash/web/webtest"
)

func TestCheckListen(t *testing.T) {
	for _, tc := range []struct {
		addr string
		want agent.Code
	}{
		{"127.0.0.1:8080", ""},
		{"127.9.9.9:0", ""},
		{"[::1]:8080", ""},
		{"localhost:8080", ""},
		{"[::ffff:127.0.0.1]:80", ""},
		{":8080", agent.CodeDenied},
		{"0.0.0.0:8080", agent.CodeDenied},
		{"[::]:8080", agent.CodeDenied},
		{"192.168.1.2:8080", agent.CodeDenied},
		{"100.64.0.1:8080", agent.CodeDenied},
		{"ash.local:8080", agent.CodeDenied},
		{"localhost.evil.example:8080", agent.CodeDenied},
		{"127.0.0.1", agent.CodeInvalid},
		{"", agent.CodeInvalid},
	} {
		if got := agent.CodeOf(CheckListen(tc.addr, false)); got != tc.want {
			t.Errorf("CheckListen(%q) = %q, want %q", tc.addr, got, tc.want)
		}
		if got := agent.CodeOf(CheckListen(tc.addr, true)); got == agent.CodeDenied {
			t.Errorf("CheckListen(%q) = %q where somebody can sign in", tc.addr, got)
		}
	}
}

func TestWhoMayComeIn(t *testing.T) {
	b := webtest.Open(t, serve(t))
	for _, tc := range []struct {
		name, header, value string
		want                int // 303: has to sign in
	}{
		{name: "plain", want: 200},
		{name: "localhost", header: "Host", value: "localhost:1", want: 200},
		{name: "localhost with a dot", header: "Host", value: "LocalHost.", want: 200},
		{name: "IPv6", header: "Host", value: "[::1]:80", want: 200},
		{name: "rebound name", header: "Host", value: "evil.example", want: 403},
		{name: "rebound name with port", header: "Host", value: "evil.example:8080", want: 403},
		{name: "loopback as a label", header: "Host", value: "127.0.0.1.evil.example", want: 403},
		{name: "private address", header: "Host", value: "192.168.1.2:8080", want: 403},
		{name: "configured name", header: "Host", value: "ash.home:8080", want: 303},
		{name: "X-Forwarded-For", header: "X-Forwarded-For", value: "127.0.0.1", want: 303},
		{name: "X-Forwarded-Host", header: "X-Forwarded-Host", value: "localhost", want: 303},
		{name: "Forwarded", header: "Forwarded", value: "for=127.0.0.1", want: 303},
		{name: "Via", header: "Via", value: "1.1 proxy", want: 303},
		{name: "X-Real-IP", header: "X-Real-Ip", value: "127.0.0.1", want: 303},
		{name: "empty header of a proxy", header: "X-Forwarded-Proto", value: " ", want: 303},
		{name: "tailscale serve", header: "Tailscale-User-Login", value: "me@example.com", want: 303},
		{name: "tailscale funnel", header: "Tailscale-Funnel-Request", value: "?1", want: 303},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := b
			if tc.header != "" {
				b = b.With(tc.header, tc.value)
			}
			b.Get("/page").Is(tc.want)
			// Whether there is something at an address is told to nobody who is not in.
			b.Get("/nowhere").Is(map[int]int{200: 404, 403: 403, 303: 303}[tc.want])
			if tc.want == 303 {
				b.HTMX().Get("/page").Is(401).Says("not signed in")
				b.With("Accept", "text/event-stream").Get("/stream").Is(401)
				b.Do("POST", "/page", "application/x-www-form-urlencoded", nil).Is(401)
				b.Do("POST", "/nowhere", "", nil).Is(401)
			}
			if tc.want != 403 {
				b.Get("/healthz").Is(200)
			}
		})
	}
}

func TestForeignSites(t *testing.T) {
	base := serve(t)
	b := webtest.Open(t, base)
	b.Get("/page").Is(200)
	type headers map[string]string
	for _, tc := range []struct {
		name   string
		method string
		h      headers
		want   int
	}{
		{"own form", "POST", headers{"Origin": base, "Sec-Fetch-Site": "same-origin"}, 200},
		{"own form, old browser", "POST", headers{"Origin": base}, 200},
		{"no origin at all", "POST", nil, 200},
		{"typed in", "GET", headers{"Sec-Fetch-Site": "none"}, 200},
		{"foreign form", "POST", headers{"Origin": "http://evil.example"}, 403},
		{"other port", "POST", headers{"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site"}, 403},
		{"other scheme", "POST", headers{"Origin": "https" + base[4:]}, 403},
		{"sandboxed page", "POST", headers{"Origin": "null"}, 403},
		{"cross-site without origin", "POST", headers{"Sec-Fetch-Site": "cross-site"}, 403},
		{"same-site without origin", "POST", headers{"Sec-Fetch-Site": "same-site"}, 403},
		{"link on another site", "GET", headers{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 200},
		{"image on another site", "GET", headers{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}, 403},
		{"frame on another site", "GET", headers{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, 403},
		{"fetch by another port", "GET", headers{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}, 403},
		{"fetch with a foreign origin", "GET", headers{"Origin": "http://evil.example"}, 403},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := b.With("X-Csrf-Token", b.Token())
			for k, v := range tc.h {
				b = b.With(k, v)
			}
			b.Do(tc.method, "/page", "", nil).Is(tc.want)
		})
	}
}

func TestEveryResponseIsInert(t *testing.T) {
	b := webtest.Open(t, serve(t))
	for _, path := range []string{"/page", "/nowhere", "/fails/denied", "/panics", "/healthz"} {
		h := b.Get(path).Header
		for name, want := range map[string]string{
			"Content-Security-Policy":      policy,
			"X-Content-Type-Options":       "nosniff",
			"Referrer-Policy":              "same-origin",
			"Cross-Origin-Opener-Policy":   "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Cache-Control":                "no-store",
			"X-Frame-Options":              "DENY",
			"Permissions-Policy":           permissions,
			"Strict-Transport-Security":    "", // only with a certificate that browsers know
		} {
			if h.Get(name) != want {
				t.Errorf("%s: %s is %q, want %q", path, name, h.Get(name), want)
			}
		}
		if id := h.Get("X-Request-Id"); len(id) < 10 || len(id) > 13 {
			t.Errorf("%s: the request id %q does not tell requests apart, or is as long as a key", path, id)
		}
	}
	if h := b.With("X-Request-Id", "mine").Get("/page").Header; h.Get("X-Request-Id") == "mine" {
		t.Error("the client's request id was believed")
	}
	for _, c := range []string{http.MethodTrace, http.MethodDelete} {
		b.With("X-Csrf-Token", b.Token()).Do(c, "/page", "", nil).Is(404)
	}
}
