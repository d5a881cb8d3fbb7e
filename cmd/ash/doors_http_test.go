package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"ash/agent/access"
	"ash/store"
)

// phone is a browser without JavaScript that comes by a name that only a proxy serves: it is never taken for this machine's own.
type phone struct {
	t    *testing.T
	base string
	http *http.Client
}

const phoneBase = "http://ash.example.org"

func newPhone(t *testing.T, server *process) *phone {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	at := strings.TrimPrefix(server.url, "http://")
	return &phone{t: t, base: phoneBase, http: &http.Client{
		Jar:           jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", at)
		}},
	}}
}

// newHere is such a browser on this machine itself.
func newHere(t *testing.T, server *process) *phone {
	t.Helper()
	p := newPhone(t, server)
	p.base = server.url
	return p
}

// moved is the same phone at a server that was started anew.
func (p *phone) moved(server *process) *phone {
	other := newPhone(p.t, server)
	other.http.Jar = p.http.Jar
	return other
}

func (p *phone) ask(method, path string, form url.Values) (*http.Response, string) {
	p.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.base+path, body)
	must(p.t, err)
	req.Header.Set("User-Agent", "Mozilla/5.0 (Android 16; Mobile; rv:150.0) Gecko/150.0 Firefox/150.0")
	req.Header.Set("Accept", "text/html")
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", p.base)
	}
	res, err := p.http.Do(req)
	must(p.t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	must(p.t, err)
	return res, string(text)
}

var csrfField = regexp.MustCompile(`name="_csrf" value="([^"]+)"`)

// send fills in the form of a page and sends it to an address.
func (p *phone) send(page, to string, form url.Values) (*http.Response, string) {
	p.t.Helper()
	res, text := p.ask(http.MethodGet, page, nil)
	found := csrfField.FindStringSubmatch(text)
	if found == nil {
		p.t.Fatalf("GET %s: %d without a form:\n%s", page, res.StatusCode, text)
	}
	form.Set("_csrf", found[1])
	return p.ask(http.MethodPost, to, form)
}

// inside reports whether the phone is let in.
func (p *phone) inside() bool {
	p.t.Helper()
	res, _ := p.ask(http.MethodGet, "/chat", nil)
	if res.StatusCode == http.StatusSeeOther && strings.HasPrefix(res.Header.Get("Location"), "/sign-in") {
		return false
	}
	if res.StatusCode != http.StatusOK {
		p.t.Fatalf("GET /chat: %d", res.StatusCode)
	}
	return true
}

// TestPhoneComesAndGoes pairs a phone by what the terminal shows, kills the server, and signs the phone out from the terminal while it has
// a stream open.
func TestPhoneComesAndGoes(t *testing.T) {
	t.Parallel()
	home := doorHome(t)
	settings(t, home, "[doors]\nnames = [\"ash.example.org\"]\n")
	server := serving(t, home)
	p := newPhone(t, server)
	if p.inside() {
		t.Fatal("a stranger is let in")
	}
	c, err := dial(t.Context(), filepath.Join(home, socketName))
	must(t, err)
	defer c.close()
	in, typed := io.Pipe()
	defer func() { _ = typed.Close() }()
	screen := &pairs{t: t, done: make(chan error, 1), typed: typed}
	one := &pairing{client: c, base: phoneBase, out: screen, answers: newAnswers(in)}
	go func() { screen.done <- one.run(context.Background()) }()
	code := screen.code()

	res, text := p.send("/pair", "/pair", url.Values{"code": {strings.ToLower(code)}, "name": {"Anna's phone"}})
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/pair/wait" {
		t.Fatalf("POST /pair: %d\n%s", res.StatusCode, text)
	}
	asked := screen.until("[y/N]")
	check := regexp.MustCompile(`\b\d\d \d\d\b`).FindString(asked)
	if _, text := p.ask(http.MethodGet, "/pair/wait", nil); check == "" || !strings.Contains(text, check) || !strings.Contains(asked, "Anna's phone") {
		t.Errorf("the phone does not show %q of:\n%s", check, asked)
	}
	if p.inside() {
		t.Fatal("let in before the person said yes")
	}
	_, err = io.WriteString(typed, "yes\n")
	must(t, err)
	for end := time.Now().Add(patience); !p.inside(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not let in")
		}
		if res, text := p.send("/pair/wait", "/pair/wait", url.Values{}); res.StatusCode >= 400 {
			t.Fatalf("POST /pair/wait: %d\n%s", res.StatusCode, text)
		}
	}
	must(t, screen.end())

	server.signal(syscall.SIGKILL)
	server.end()
	server = serving(t, home)
	p = p.moved(server)
	if !p.inside() {
		t.Fatal("killing the server signs the phone out")
	}
	if s := doorState(t, home); len(s.Devices) != 1 || s.Devices[0].Name != "Anna's phone" || s.Devices[0].How != access.ByPairing {
		t.Errorf("state %+v", s)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, phoneBase+"/events", nil)
	must(t, err)
	stream, err := p.http.Do(req)
	must(t, err)
	defer func() { _ = stream.Body.Close() }()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for s := bufio.NewScanner(stream.Body); s.Scan(); {
		}
	}()
	if stream.StatusCode != http.StatusOK {
		t.Fatalf("GET /events: %d", stream.StatusCode)
	}
	ash(t, "", "doors", "sign-out", "anna's phone", "--home", home).is(t, 0)
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Error("the stream of a device that is signed out goes on")
	}
	if p.inside() {
		t.Error("signed out, and let in")
	}
}

// TestWrongPassphrasesWaitAcrossARestart signs in over HTTP: wrong, kept waiting also by a server that was killed, and let in once the owner
// sets the passphrase at the machine.
func TestWrongPassphrasesWaitAcrossARestart(t *testing.T) {
	t.Parallel()
	home := doorHome(t)
	settings(t, home, "[doors]\nnames = [\"ash.example.org\"]\n")
	ash(t, "", "doors", "passphrase", "--passphrase-file", passFile(t, "four words nobody expects"), "--home", home).is(t, 0)
	server := serving(t, home)
	try := func(p *phone, passphrase string) int {
		t.Helper()
		res, _ := p.send("/sign-in", "/sign-in", url.Values{"passphrase": {passphrase}, "back": {"/chat"}})
		return res.StatusCode
	}
	p := newPhone(t, server)
	for range 3 {
		if status := try(p, "wrong"); status != http.StatusUnauthorized {
			t.Fatalf("a wrong passphrase: %d", status)
		}
	}
	server.signal(syscall.SIGKILL)
	server.end()
	kept, err := store.Open(t.Context(), store.Options{Path: databasePath(home)})
	must(t, err)
	list, err := kept.Delays(t.Context())
	must(t, err)
	if len(list) != 1 || list[0].Count != 3 {
		t.Fatalf("kept %+v", list)
	}
	list[0].Count, list[0].Until = 40, time.Now().Add(time.Minute) // as after many more, which would take this test minutes
	must(t, kept.SaveDelays(t.Context(), list, nil))
	must(t, kept.Close())
	server = serving(t, home)
	p = newPhone(t, server)
	if status := try(p, "four words nobody expects"); status != http.StatusTooManyRequests {
		t.Errorf("after a restart: %d", status)
	}
	ash(t, "", "doors", "passphrase", "--passphrase-file", passFile(t, "another fine passphrase"), "--home", home).is(t, 0)
	if status := try(p, "four words nobody expects"); status != http.StatusUnauthorized {
		t.Errorf("the old one: %d", status)
	}
	if status := try(p, "another fine passphrase"); status != http.StatusSeeOther || !p.inside() {
		t.Errorf("the new one: %d", status)
	}
	ash(t, "", "doors", "reset", "--yes", "--home", home).is(t, 0)
	if p.inside() {
		t.Error("let in after the reset")
	}
}
