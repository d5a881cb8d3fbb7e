// Package webtest drives a real server over HTTP the way a browser does: it
// keeps cookies, sends the headers of a page of ours, and reads the HTML that
// comes back. Requests and checks chain; a check that fails ends the test.
package webtest

import (
	"bytes"
	"context"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
)

// Server is what Serve runs.
type Server interface {
	Serve(ctx context.Context, listeners ...net.Listener) error
}

// Serve runs s on a free loopback port until the test ends, and returns its
// address, like http://127.0.0.1:40123.
func Serve(t testing.TB, s Server) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return "http://" + l.Addr().String()
}

// Browser makes requests. The zero value is of no use; make one with Open.
type Browser struct {
	t      testing.TB
	base   string
	client *http.Client
	token  *string
	header http.Header
}

// Open returns a browser without cookies. It does not follow redirects, so
// that a test sees them.
func Open(t testing.TB, base string) *Browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{
		Jar:           jar,
		Timeout:       20 * time.Second,
		Transport:     &http.Transport{},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(client.CloseIdleConnections)
	return &Browser{t: t, base: base, client: client, token: new(string), header: http.Header{}}
}

// With returns the same browser sending a further header; an empty value takes it away.
func (b *Browser) With(name, value string) *Browser {
	c := *b
	c.header = b.header.Clone()
	c.header.Set(name, value)
	if value == "" {
		c.header.Del(name)
	}
	return &c
}

// HTMX returns the same browser asking for fragments.
func (b *Browser) HTMX() *Browser { return b.With("HX-Request", "true") }

// Get asks for a page.
func (b *Browser) Get(path string) *Page {
	b.t.Helper()
	return b.Do(http.MethodGet, path, "", nil)
}

// Post sends a form, with the token of the page seen last.
func (b *Browser) Post(path string, form url.Values) *Page {
	b.t.Helper()
	body := url.Values{"_csrf": {*b.token}}
	for k, v := range form {
		body[k] = v
	}
	return b.Do(http.MethodPost, path, "application/x-www-form-urlencoded", strings.NewReader(body.Encode()))
}

// Upload sends a form with one file.
func (b *Browser) Upload(path, field, name string, data []byte) *Page {
	b.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, err := w.CreateFormFile(field, name)
	if err == nil {
		_, err = part.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return b.With("X-CSRF-Token", *b.token).Do(http.MethodPost, path, w.FormDataContentType(), &body)
}

// seen fails the test for an answer of which a person would see nothing: the page's script puts no error into the page that is not made of our
// fragments (static/src/js/notices.js).
func (b *Browser) seen(req *http.Request, res *http.Response, body []byte) {
	b.t.Helper()
	page := strings.HasPrefix(res.Header.Get("Content-Type"), "text/html")
	if req.Header.Get("HX-Request") == "true" && res.StatusCode >= 400 && page && !bytes.Contains(body, []byte("<hx-")) {
		b.t.Errorf("%s %s: %d, and the page would show nothing of it: %.200s", req.Method, req.URL.Path, res.StatusCode, body)
	}
}

// Do makes any request.
func (b *Browser) Do(method, path, media string, body io.Reader) *Page {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.base+path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	for k, v := range b.header {
		req.Header[k] = v
		if k == "Host" {
			req.Host = v[0]
		}
	}
	if media != "" {
		req.Header.Set("Content-Type", media)
	}
	res, err := b.client.Do(req)
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, path, err)
	}
	b.seen(req, res, raw)
	p := &Page{t: b.t, what: method + " " + path, Status: res.StatusCode, Header: res.Header, Body: string(raw)}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
		if p.doc, err = goquery.NewDocumentFromReader(bytes.NewReader(raw)); err != nil {
			b.t.Fatalf("%s: %v", p.what, err)
		}
		if token, ok := p.doc.Find("input[name=_csrf]").First().Attr("value"); ok {
			*b.token = token
		}
	}
	return p
}

// Token returns the CSRF token of the page seen last.
func (b *Browser) Token() string { return *b.token }

// Page is an answer.
type Page struct {
	t      testing.TB
	what   string
	doc    *goquery.Document
	Status int
	Header http.Header
	Body   string
}

// Is checks the status.
func (p *Page) Is(status int) *Page {
	p.t.Helper()
	if p.Status != status {
		p.t.Fatalf("%s: status %d, want %d\n%s", p.what, p.Status, status, short(p.Body))
	}
	return p
}

// Leads checks that the answer is a redirect after a form, and returns where to.
func (p *Page) Leads() string {
	p.t.Helper()
	p.Is(http.StatusSeeOther)
	return p.Header.Get("Location")
}

// Find returns what a CSS selector finds.
func (p *Page) Find(selector string) *goquery.Selection {
	p.t.Helper()
	if p.doc == nil {
		p.t.Fatalf("%s: not HTML but %q", p.what, p.Header.Get("Content-Type"))
	}
	return p.doc.Find(selector)
}

// Has checks that a selector finds something.
func (p *Page) Has(selector string) *Page {
	p.t.Helper()
	if p.Find(selector).Length() == 0 {
		p.t.Fatalf("%s: no %s in\n%s", p.what, selector, short(p.Body))
	}
	return p
}

// Lacks checks that a selector finds nothing.
func (p *Page) Lacks(selector string) *Page {
	p.t.Helper()
	if n := p.Find(selector).Length(); n != 0 {
		p.t.Fatalf("%s: %d × %s, want none", p.what, n, selector)
	}
	return p
}

// Says checks that the body holds a text.
func (p *Page) Says(text string) *Page {
	p.t.Helper()
	if !strings.Contains(p.Body, text) {
		p.t.Fatalf("%s: does not say %q:\n%s", p.what, text, short(p.Body))
	}
	return p
}

// Text returns the text under a selector, trimmed.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	return strings.TrimSpace(p.Find(selector).Text())
}

// Attr returns an attribute of the first match, or "".
func (p *Page) Attr(selector, name string) string {
	p.t.Helper()
	v, _ := p.Find(selector).First().Attr(name)
	return v
}

func short(s string) string {
	if len(s) > 3000 {
		return s[:3000] + "…"
	}
	return s
}
