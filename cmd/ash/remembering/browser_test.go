//go:build linux

package remembering

import (
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"ash/agent"
)

// browser is the person's browser: a session, and the token of its forms. It may be used from any goroutine.
type browser struct {
	t      *testing.T
	url    string
	client *http.Client
	token  string
}

var (
	tokenPattern  = regexp.MustCompile(`name="csrf-token" content="([^"]+)"`)
	threadPattern = regexp.MustCompile(`/chat/([0-9a-f-]{36})`)
	factPattern   = regexp.MustCompile(`(?s)<p class="mem-text"[^>]*>\s*<a href="/memory/facts/([0-9a-f-]{36})"[^>]*>(.*?)</a>`)
	nextPattern   = regexp.MustCompile(`href="(/[^"]*[?&](?:amp;)?after=[^"]*)"`)
	seenPattern   = regexp.MustCompile(`name="seen" value="([^"]+)"`)
	tracePattern  = regexp.MustCompile(`name="trace" value="([^"]+)"( checked)?`)
	decidePattern = regexp.MustCompile(`(?s)action="(/chat/[0-9a-f-]{36}/calls/[0-9a-f-]{36}/decide)".*?name="binding" value="([^"]*)"`)
	tags          = regexp.MustCompile(`<[^>]*>`)
	hitPattern    = regexp.MustCompile(`/chat/[0-9a-f-]{36}\?at=([0-9a-f-]{36})`)
	runPattern    = regexp.MustCompile(`/memory/runs/[0-9a-f-]{36}`)
	finishPattern = regexp.MustCompile(`action="(/memory/forgettings/[0-9a-f-]{36}/finish)"`)
)

// visit opens Ash.
func visit(t *testing.T, p *process) *browser {
	t.Helper()
	cookies, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 32, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	b := &browser{t: t, url: p.url, client: &http.Client{Jar: cookies, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	m := tokenPattern.FindStringSubmatch(b.page("/chat/new"))
	if m == nil {
		t.Fatal("the page has no token")
	}
	b.token = m[1]
	return b
}

// page reads a page, which must be there.
func (b *browser) page(path string) string {
	status, body, err := b.get(path)
	if err != nil || status != http.StatusOK {
		b.t.Errorf("GET %s: %d %v", path, status, err)
	}
	return body
}

func (b *browser) get(path string) (int, string, error) {
	resp, err := b.client.Get(b.url + path)
	if err != nil {
		return 0, "", err
	}
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), errors.Join(err, resp.Body.Close())
}

// post sends a form as htmx does and returns where the answer leads.
func (b *browser) post(path string, form url.Values) string {
	req, err := http.NewRequest(http.MethodPost, b.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("X-CSRF-Token", b.token)
	req.Header.Set("HX-Request", "true")
	resp, err := b.client.Do(req)
	if err != nil {
		b.t.Error(err)
		return ""
	}
	body, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode >= 400 {
		b.t.Errorf("POST %s: %s %v\n%s", path, resp.Status, err, shorten(string(body)))
	}
	return resp.Header.Get("HX-Redirect") + resp.Header.Get("Location")
}

func shorten(s string) string { return agent.Clip(s, 1500) }

// begin starts a conversation with a message, waits for the answer and returns its id.
func (b *browser) begin(words string) string {
	m := threadPattern.FindStringSubmatch(b.post("/chat", url.Values{"text": {words}, "form": {string(agent.NewID())}}))
	if m == nil {
		b.t.Error("no conversation was begun")
		return ""
	}
	b.rest(m[1])
	return m[1]
}

// say adds a message to a conversation and waits for the answer.
func (b *browser) say(thread, words string) {
	b.post("/chat/"+thread+"/messages", url.Values{"text": {words}, "form": {string(agent.NewID())}})
	b.rest(thread)
}

// patience is how long anything may take on a busy machine.
const patience = 60 * time.Second

// rest waits until nothing is being written in a conversation; what it asks for is allowed.
func (b *browser) rest(thread string) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(4 * time.Millisecond) {
		body := b.page("/chat/" + thread)
		if m := decidePattern.FindStringSubmatch(body); m != nil {
			b.post(m[1], url.Values{"decision": {"approve"}, "binding": {html.UnescapeString(m[2])}})
			continue
		}
		if !strings.Contains(body, `aria-label="Stop"`) {
			return
		}
	}
	b.t.Error("the turn never ended")
}

// remembered is a fact as the Memory page lists it.
type remembered struct{ id, text string }

// facts lists all of them; query narrows the list down.
func (b *browser) facts(query string) []remembered {
	var out []remembered
	for _, body := range b.list("/memory?" + query) {
		for _, m := range factPattern.FindAllStringSubmatch(body, -1) {
			out = append(out, remembered{m[1], html.UnescapeString(m[2])})
		}
	}
	return out
}

// list reads a page and those that follow it.
func (b *browser) list(path string) []string {
	var all []string
	for range 200 {
		body := b.page(path)
		all = append(all, body)
		m := nextPattern.FindStringSubmatch(body)
		if m == nil {
			return all
		}
		path = html.UnescapeString(m[1])
	}
	b.t.Errorf("%s has no end", path)
	return all
}

// correct rewrites a fact on its page.
func (b *browser) correct(id, words string) {
	m := seenPattern.FindStringSubmatch(b.page("/memory/facts/" + id))
	if m == nil {
		b.t.Errorf("the fact %s cannot be corrected", id)
		return
	}
	b.post("/memory/facts/"+id+"/correct", url.Values{"text": {words}, "kind": {"fact"}, "seen": {html.UnescapeString(m[1])}})
}

// forget forgets as the page suggests: kind is fact, message or thread.
func (b *browser) forget(kind, id string) {
	form := url.Values{kind: {id}}
	for _, m := range tracePattern.FindAllStringSubmatch(b.page(fmt.Sprintf("/memory/forget?%s=%s", kind, id)), -1) {
		if m[2] != "" {
			form.Add("trace", html.UnescapeString(m[1]))
		}
	}
	b.post("/memory/forget", form)
}

// finish makes final what can still be taken back.
func (b *browser) finish() int {
	n := 0
	for ; n < 1000; n++ {
		m := finishPattern.FindStringSubmatch(b.page("/memory"))
		if m == nil {
			break
		}
		b.post(m[1], nil)
	}
	return n
}

// shown is the end of a conversation, as it is read.
func (b *browser) shown(thread string) string {
	_, words, _ := strings.Cut(b.page("/chat/"+thread), `id="messages"`)
	words, _, _ = strings.Cut(words, `id="composer`)
	words = strings.Join(strings.Fields(tags.ReplaceAllString(words, " ")), " ")
	return words[max(0, len(words)-1500):]
}
