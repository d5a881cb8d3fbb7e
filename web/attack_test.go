package web

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	token "ash/agent/access"
)

// inside is a browser that is let in, with what it needs to change something.
type inside struct {
	name    string
	base    string
	headers map[string]string // the cookie
	csrf    string
}

// insiders are the browser of this machine, and a device that is signed in from the network.
func (m *matrix) insiders() []inside {
	m.t.Helper()
	secret := m.signIn()
	device, err := m.doors.Session(m.t.Context(), secret, netip.MustParseAddr("192.0.2.1"))
	if err != nil {
		m.t.Fatal(err)
	}
	name := m.server.sessions.name + devicePart
	value, err := m.server.sessions.devices.codecs[0].Encode(name, string(secret))
	if err != nil {
		m.t.Fatal(err)
	}
	out := []inside{{name: "device", base: m.remote, headers: map[string]string{"Cookie": name + "=" + value}, csrf: m.server.sessions.tokenOf(device.ID)}}
	// The browser of this machine gets its token with the cookie of its first page.
	csrf := "matrix-token"
	local := m.server.sessions.name
	signed, err := m.server.sessions.store.Codecs[0].Encode(local, map[any]any{sessionToken: csrf, sessionIssued: time.Now().Unix()})
	if err != nil {
		m.t.Fatal(err)
	}
	return append(out, inside{name: "here", base: m.local, headers: map[string]string{"Cookie": local + "=" + signed}, csrf: csrf})
}

const matrixPassphrase = "four tall ships at noon"

func (m *matrix) signIn() token.Secret {
	m.t.Helper()
	ctx := m.t.Context()
	if err := m.doors.SetPassphrase(ctx, token.Change{New: []byte(matrixPassphrase)}); err != nil {
		m.t.Fatal(err)
	}
	_, secret, err := m.doors.SignIn(ctx, []byte(matrixPassphrase), token.Arrival{Name: "phone"})
	if err != nil {
		m.t.Fatal(err)
	}
	return secret
}

// TestEveryRouteRefusesWhatIsNotOurs attacks every route with the credentials of somebody who is in, as a foreign page in their browser would.
func TestEveryRouteRefusesWhatIsNotOurs(t *testing.T) {
	m := openMatrix(t)
	_, bearerSecret, err := m.tokens.Create(t.Context(), token.NewToken{Name: "all", Scopes: []string{"admin"}})
	if err != nil {
		t.Fatal(err)
	}
	attacks, controls := 0, 0
	for _, who := range m.insiders() {
		for _, p := range m.points() {
			k, listed := m.kinds[p.method+" "+p.pattern]
			if !listed || p.path == "/nowhere" {
				continue // nothing is there: there is nothing to reach, as the other test shows
			}
			good := func() request {
				q := request{method: p.method, path: p.path, headers: map[string]string{"Origin": who.base, "Sec-Fetch-Site": "same-origin"}}
				for name, v := range who.headers {
					q.headers[name] = v
				}
				if k == program || k == follow || k == described {
					q.headers["Authorization"] = "Bearer " + string(bearerSecret)
				}
				if p.method != http.MethodGet {
					q.headers["X-CSRF-Token"] = who.csrf
					q.body = form(url.Values{"a": {"b"}})
				}
				return q
			}
			if status, reached := m.try(who.base, good()); !reached {
				t.Errorf("%s: %s %s does not work at all (%d): the attacks on it show nothing", who.name, p.method, p.pattern, status)
				continue
			}
			controls++
			for name, change := range m.attacks(p, k) {
				q := good()
				change(&q)
				attacks++
				status, reached := m.try(who.base, q)
				if reached || status != 0 && status < 400 {
					t.Errorf("%s, %s: %s %s is let in (%d)", who.name, name, p.method, p.pattern, status)
				}
				if q.refused != 0 && status != q.refused {
					t.Errorf("%s, %s: %s %s is answered %d", who.name, name, p.method, p.pattern, status)
				}
			}
		}
	}
	t.Logf("%d attacks on %d routes that work", attacks, controls)
}

// attacks are what must be refused at a point, each a change of a request that is fine.
func (m *matrix) attacks(p point, k kind) map[string]func(*request) {
	set := func(name, value string) func(*request) { return func(q *request) { q.headers[name] = value } }
	drop := func(names ...string) func(*request) {
		return func(q *request) {
			for _, n := range names {
				delete(q.headers, n)
			}
		}
	}
	out := map[string]func(*request){
		"foreign Host":   func(q *request) { q.host = "evil.example" },
		"rebound Host":   func(q *request) { q.host = "127.0.0.1.evil.example:8080"; delete(q.headers, "Origin") },
		"foreign Origin": set("Origin", "http://evil.example"),
		"opaque Origin":  set("Origin", "null"),
		"other port":     set("Origin", "http://127.0.0.1:1"),
		"cross-site fetch": func(q *request) {
			q.headers["Sec-Fetch-Site"] = "cross-site"
			q.headers["Sec-Fetch-Mode"] = "no-cors"
			delete(q.headers, "Origin")
		},
		"same-site fetch": func(q *request) {
			q.headers["Sec-Fetch-Site"] = "same-site"
			q.headers["Sec-Fetch-Mode"] = "cors"
			delete(q.headers, "Origin")
		},
		"frame on another one": func(q *request) {
			q.headers["Sec-Fetch-Site"] = "cross-site"
			q.headers["Sec-Fetch-Mode"] = "navigate"
			q.headers["Sec-Fetch-Dest"] = "iframe"
			delete(q.headers, "Origin")
		},
	}
	if k == program || k == follow || k == described {
		out["no token"] = drop("Authorization")
		if k == described {
			delete(out, "no token") // for who is in it is a page like others; strangers are the other test's
		}
		if p.method != http.MethodGet {
			out["oversize, and slow"] = slowly("application/json", maxAPI+1)
			out["oversize"] = func(q *request) {
				q.body = func() (string, io.Reader) { return "application/json", bytes.NewReader(make([]byte, maxAPI+1)) }
			}
		}
		return out
	}
	if p.method != http.MethodPost {
		return out
	}
	out["missing CSRF token"] = drop("X-CSRF-Token")
	out["wrong CSRF token"] = set("X-CSRF-Token", "x")
	out["CSRF token in the address"] = func(q *request) { q.path += "?_csrf=" + q.headers["X-CSRF-Token"]; delete(q.headers, "X-CSRF-Token") }
	out["cross-site form"] = func(q *request) {
		q.headers["Sec-Fetch-Site"] = "cross-site"
		q.headers["Sec-Fetch-Mode"] = "navigate"
		q.headers["Sec-Fetch-Dest"] = "document"
	}
	for _, media := range []string{"text/plain", "application/json", "application/octet-stream", ""} {
		out["body of "+media] = func(q *request) {
			q.body = func() (string, io.Reader) { return media, strings.NewReader(`{"text":"x"}`) }
		}
	}
	limit := limitOf(k)
	for _, media := range []string{"application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
		out["oversize "+media+", and slow"] = slowly(media, limit+1)
		out["huge "+media+", and slow"] = slowly(media, maxDrain+1)
	}
	if limit == maxUpload {
		return out // TestUploadsWithoutLength has the rest: 25 MB for each of them would take minutes
	}
	out["oversize form"] = func(q *request) {
		q.headers["X-CSRF-Token"] = "" // a form's own field is read, and with it the body
		q.body = func() (string, io.Reader) {
			return "application/x-www-form-urlencoded", io.MultiReader(strings.NewReader("_csrf=x&a="), strings.NewReader(strings.Repeat("a", int(limit)+1)))
		}
	}
	out["oversize upload"] = func(q *request) {
		q.body = func() (string, io.Reader) {
			var b bytes.Buffer
			w := multipart.NewWriter(&b)
			f, _ := w.CreateFormFile("f", "a")
			_, _ = f.Write(make([]byte, limit+1))
			_ = w.Close()
			return w.FormDataContentType(), &b
		}
	}
	return out
}

// limitOf is how large a form of a route may be, in bytes.
func limitOf(k kind) int64 {
	switch k {
	case door:
		return maxDoor
	case upload:
		return maxUpload
	}
	return maxForm
}

// slowly says how long its body is, sends the beginning, and then nothing more: it must be refused for what it says. A server that reads
// first never answers, and the attempt ends without a status.
func slowly(media string, length int64) func(*request) {
	return func(q *request) {
		q.length = length
		q.refused = http.StatusRequestEntityTooLarge
		q.body = func() (string, io.Reader) { return media, &stalled{left: 1000, ended: make(chan struct{})} }
	}
}

// stalled is a body of which only the beginning comes.
type stalled struct {
	left  int
	ended chan struct{}
	once  sync.Once
}

func (s *stalled) Read(p []byte) (int, error) {
	if s.left == 0 {
		<-s.ended
		return 0, io.ErrUnexpectedEOF
	}
	n := min(s.left, len(p))
	s.left -= n
	clear(p[:n])
	return n, nil
}

func (s *stalled) Close() error {
	s.once.Do(func() { close(s.ended) })
	return nil
}

// TestUploadsWithoutLength sends more than a route takes without saying how much it is. Forms are read for their token, so the limit is met before
// a handler is.
func TestUploadsWithoutLength(t *testing.T) {
	m := openMatrix(t)
	here := m.insiders()[1]
	tried := 0
	for _, p := range m.points() {
		k, listed := m.kinds[p.method+" "+p.pattern]
		if !listed || k != upload {
			continue
		}
		q := request{method: p.method, path: p.path, headers: map[string]string{"Origin": here.base, "Sec-Fetch-Site": "same-origin", "Cookie": here.headers["Cookie"]}}
		q.body = func() (string, io.Reader) {
			const head = "--x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\"\r\n\r\n"
			return "multipart/form-data; boundary=x", io.MultiReader(strings.NewReader(head), io.LimitReader(nothing{}, maxUpload+1))
		}
		tried++
		if status, reached := m.try(here.base, q); reached || status != 0 && status < 400 {
			t.Errorf("%s %s is let in (%d)", p.method, p.pattern, status)
		}
	}
	if tried < 5 {
		t.Errorf("only %d routes that take files were found", tried)
	}
	t.Logf("%d routes that take files", tried)
}

// nothing is endless zeros.
type nothing struct{}

func (nothing) Read(p []byte) (int, error) { clear(p); return len(p), nil }
