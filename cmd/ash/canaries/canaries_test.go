//go:build linux

package canaries

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/vault"
)

var passphrase = []byte("a house made of paper and rain")

// fill makes the vault of a home.
func (h *home) fill(all []*canary, host string) {
	h.t.Helper()
	v, err := vault.Open(filepath.Join(h.path, "vault"), vault.Options{Anchor: vault.FileMark{Path: filepath.Join(h.path, "vault.mark")}})
	if err != nil {
		h.t.Fatal(err)
	}
	if err := v.Create(h.t.Context(), passphrase); err != nil {
		h.t.Fatal(err)
	}
	for _, c := range all {
		s := vault.Secret{Name: c.name, Value: []byte(c.value)}
		if c.n == 0 {
			s = vault.Secret{Name: "provider/openai", Value: []byte(c.value), Hosts: []string{host}}
		}
		if _, err := v.Put(h.t.Context(), s); err != nil {
			h.t.Fatal(err)
		}
		text := fmt.Sprintf("export TOKEN=%q\nplain: %s\nbasic: %s\n", c.value, c.value, c.written(1))
		path := filepath.Join(h.path, "workspace", "files", fmt.Sprintf("f%d.txt", c.n))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			h.t.Fatal(err)
		}
	}
	if err := v.Close(); err != nil {
		h.t.Fatal(err)
	}
}

// browser is the person's browser. All that it is sent is kept.
type browser struct {
	t      *testing.T
	url    string
	client *http.Client
	token  string
	runs   bool // commands run
	orders int  // given so far

	mu   sync.Mutex
	sent map[string]*bytes.Buffer
}

var (
	tokenPattern  = regexp.MustCompile(`name="csrf-token" content="([^"]+)"`)
	threadPattern = regexp.MustCompile(`/chat/([0-9a-f-]{36})`)
	decidePattern = regexp.MustCompile(`(?s)action="(/chat/[0-9a-f-]{36}/calls/[0-9a-f-]{36}/decide)".*?name="binding" value="([^"]*)"`)
	runPattern    = regexp.MustCompile(`/tools/runs/[0-9a-f-]{36}`)
)

func visit(t *testing.T, p *process) *browser {
	t.Helper()
	cookies, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 32, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	b := &browser{t: t, url: p.url, sent: map[string]*bytes.Buffer{}, client: &http.Client{Jar: cookies, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	m := tokenPattern.FindStringSubmatch(b.page("/chat/new"))
	if m == nil {
		t.Fatal("the page has no token")
	}
	b.token = m[1]
	return b
}

func (b *browser) keep(what string) *bytes.Buffer {
	if b.sent[what] == nil {
		b.sent[what] = new(bytes.Buffer)
	}
	return b.sent[what]
}

// page reads a page.
func (b *browser) page(path string) string {
	resp, err := b.client.Get(b.url + path)
	if err != nil {
		b.t.Error(err)
		return ""
	}
	body, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode >= 500 {
		b.t.Errorf("GET %s: %s %v", path, resp.Status, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	where, _, _ := strings.Cut(path, "?")
	fmt.Fprintf(b.keep("GET "+where), "%v\n%s\n", resp.Header, body)
	return string(body)
}

// post sends a form and returns where the answer leads.
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
	if err = errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode >= 500 {
		b.t.Errorf("POST %s: %s %v\n%s", path, resp.Status, err, agent.Clip(string(body), 600))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	fmt.Fprintf(b.keep("POST "+path), "%v\n%s\n", resp.Header, body)
	return resp.Header.Get("HX-Redirect") + resp.Header.Get("Location")
}

// follow keeps what a stream of events says until the function it returns is called.
func (b *browser) follow(path string) (stop func()) {
	ctx, cancel := context.WithCancel(b.t.Context())
	done := make(chan struct{})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	resp, err := b.client.Do(req)
	if err != nil {
		b.t.Error(err)
		cancel()
		return func() {}
	}
	go func() {
		defer close(done)
		text, _ := io.ReadAll(resp.Body) // until it is cancelled
		_ = resp.Body.Close()
		b.mu.Lock()
		defer b.mu.Unlock()
		b.keep("SSE " + path).Write(text)
	}()
	return func() { cancel(); <-done }
}

// begin starts a conversation and returns its id.
func (b *browser) begin(words string) string {
	m := threadPattern.FindStringSubmatch(b.post("/chat", url.Values{"text": {words}, "form": {string(agent.NewID())}}))
	if m == nil {
		b.t.Fatal("no conversation was begun")
	}
	b.rest(m[1])
	return m[1]
}

func (b *browser) say(thread, words string) {
	b.post("/chat/"+thread+"/messages", url.Values{"text": {words}, "form": {string(agent.NewID())}})
	b.rest(thread)
}

// rest waits until nothing is being written; what is asked for is allowed.
func (b *browser) rest(thread string) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(4 * time.Millisecond) {
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

// shows waits until a conversation shows what came from outside, without which the test would show nothing of it; what is asked for is allowed.
func (b *browser) shows(thread, words string) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if b.rest(thread); strings.Contains(b.page("/chat/"+thread), words) {
			return
		}
	}
	text := blank.ReplaceAllString(html.UnescapeString(markup.ReplaceAllString(b.page("/chat/"+thread), " ")), " ")
	b.t.Errorf("the conversation never showed %q; it ends in %s", words, text[max(0, len(text)-1500):])
}

// leak is a form of a canary where it must not be.
type leak struct{ where, how string }

// search adds what stands in a text.
func search(leaks map[leak]int, all []*canary, where, text string, find func(*canary, string) []string) {
	for _, c := range all {
		for _, how := range find(c, text) {
			leaks[leak{where, how}]++
		}
	}
}

// report tells what leaked, by place.
func report(t *testing.T, when string, leaks map[leak]int) {
	t.Helper()
	for _, l := range slices.SortedFunc(maps.Keys(leaks), func(a, b leak) int { return strings.Compare(a.where+a.how, b.where+b.how) }) {
		t.Errorf("%s: %s holds %d canaries as %s", when, l.where, leaks[l], l.how)
	}
}

// files searches the home, but for the vault and what the person wrote there themselves.
func (h *home) files(leaks map[leak]int, all []*canary) (n int) {
	err := filepath.WalkDir(h.path, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(h.path, path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir() && (rel == "vault" || rel == filepath.Join("workspace", "files")):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		n += len(data)
		search(leaks, all, rel, string(data), (*canary).in)
		return nil
	})
	if err != nil {
		h.t.Error(err)
	}
	return n
}

// pages reads all that shows conversations, calls and memory, and the exports.
func (b *browser) pages(threads []string) {
	for _, t := range threads {
		for _, p := range []string{"/chat/" + t, "/chat/" + t + "/export", "/chat/" + t + "/export?format=json", "/chat/" + t + "/menu"} {
			b.page(p)
		}
	}
	for _, p := range []string{"/", "/chat", "/search?q=known", "/palette?q=about", "/memory", "/memory/runs", "/memory/growth", "/inbox", "/tools", "/tools/runs.csv", "/vault", "/vault/secret?name=provider/openai", "/settings/models", "/memory/entities", "/memory/notes"} {
		b.page(p)
	}
	for _, run := range runPattern.FindAllString(b.page("/tools/runs"), -1) {
		b.page(run)
	}
}

// order numbers what the model is to do: recalled messages bear orders as well, and the newest counts.
func (b *browser) order(format string, args ...any) string {
	b.orders++
	return fmt.Sprintf(format, args...) + fmt.Sprintf(" at %d", b.orders)
}

// live leads the conversations of one canary.
func (b *browser) live(c *canary) string {
	thread := b.begin(b.order("do say %d 0", c.n))
	defer b.follow("/chat/" + thread + "/events")()
	n := c.n
	orders := []string{
		fmt.Sprintf("My key is %s, keep it. do say %d %d", c.value, n, n+9),
		fmt.Sprintf("In other words %s do bytes %d %d", c.written(n), n, n),
		fmt.Sprintf("do think %d %d", n, 6*n), fmt.Sprintf("do call %d 0", n), fmt.Sprintf("do argue %d %d", n, n),
		fmt.Sprintf("do refuse %d %d", n, n), fmt.Sprintf("do break %d %d", n, n), fmt.Sprintf("do page %d %d", n, n), fmt.Sprintf("do cut %d 0", n),
	}
	for i := range 4 {
		orders = append(orders, fmt.Sprintf("do say %d %d", n, 7+6*((n+5*i)%8)), fmt.Sprintf("do say %d %d", n, 1+6*(n+i)))
	}
	for _, o := range orders {
		b.say(thread, b.order("%s", o))
	}
	if b.runs {
		b.say(thread, b.order("do run %d %d", n, n))
		b.shows(thread, "ran2here")
	}
	b.say(thread, b.order("do find %d %d", n, n))
	b.shows(thread, "Somebody pasted [secret: ")
	switch n % 3 {
	case 0:
		b.post("/chat/"+thread+"/title", url.Values{"title": {"Named " + c.value}})
	case 1:
		b.post("/memory/new", url.Values{"text": {"The password of the garden is " + c.value}, "kind": {"fact"}})
	case 2:
		b.page("/search?q=" + url.QueryEscape(c.value))
		b.page("/palette?q=" + url.QueryEscape(c.value))
	}
	return thread
}

// TestNoCanaryIsLeftAnywhere leads the conversations and looks everywhere: while the vault is unlocked, when it was locked again, and after a kill.
func TestNoCanaryIsLeftAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("leads some two hundred turns with the real program")
	}
	count := number(t, "ASH_CANARIES", 8, 1000)
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	var all []*canary
	for n := range count {
		all = append(all, newCanary(r, n))
	}
	m := newModel(t, all)
	h := newHome(t, m)
	host, _ := url.Parse(m.url)
	h.fill(all, host.Host)
	p := h.serve()
	b := visit(t, p)
	b.runs = h.runs
	stop := b.follow("/events")
	b.post("/vault/unlock", url.Values{"passphrase": {string(passphrase)}, "back": {"/chat"}})
	b.mu.Lock()
	clear(b.sent)
	b.mu.Unlock()
	var threads []string
	for _, c := range all {
		threads = append(threads, b.live(c))
	}
	if m.key != all[0].value {
		t.Errorf("the model was asked with the key %q, want that of the vault", m.key)
	}
	look := func(when string) {
		t.Helper()
		b.pages(threads)
		leaks := map[leak]int{}
		size := h.files(leaks, all)
		search(leaks, all, "the log", p.logged(), (*canary).in)
		for _, q := range m.asked() {
			search(leaks, all, "a request to the model", q, (*canary).in)
		}
		b.mu.Lock()
		places := len(b.sent)
		sent := 0
		for what, text := range b.sent {
			what = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`).ReplaceAllString(what, "ID")
			sent += text.Len()
			search(leaks, all, what, text.String(), (*canary).in)
			if strings.HasPrefix(what, "SSE") {
				search(leaks, all, what+", joined", joined(text.String()), (*canary).inJoined)
			}
		}
		b.mu.Unlock()
		report(t, when, leaks)
		t.Logf("%s: %d canaries, %d requests to the model, %d bytes of files, %d of log, %d of pages and events from %d places", when, len(all), len(m.asked()), size, len(p.logged()), sent, places)
	}
	look("unlocked")
	if marks := strings.Count(b.page("/chat/"+threads[0]), "[secret: "); marks < 5 {
		t.Errorf("only %d marks in a conversation: the model's words do not come through, so the test shows nothing", marks)
	}
	b.post("/vault/lock", nil)
	stop()
	for _, thread := range threads[1:min(4, len(threads))] {
		b.say(thread, "And what did I say before?")
	}
	look("locked")
	p.kill()
	p = h.serve()
	again := visit(t, p)
	b.url, b.client, b.token = again.url, again.client, again.token
	look("after a kill")
	b.post("/vault/unlock", url.Values{"passphrase": {string(passphrase)}, "back": {"/chat"}})
	asked := len(m.asked())
	for _, thread := range threads[:min(4, len(threads))] {
		b.say(thread, "And what did I say before?")
	}
	if len(m.asked()) == asked {
		t.Error("the model was not asked again after unlocking")
	}
	if said, err := h.command("memory", "export", filepath.Join(h.path, "export.zip")).CombinedOutput(); err != nil {
		t.Errorf("ash memory export: %v %s", err, said)
	}
	look("unlocked again, and exported")
	file := filepath.Join(t.TempDir(), "all.tar.gz")
	if said, err := h.command("data", "export", file).CombinedOutput(); err != nil {
		t.Fatalf("ash data export: %v %s", err, said)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // read only: nothing can be lost
	h.archive("ash data export", f, all)
	h.archive("Settings, Data", b.download("/settings/data/export"), all)
}

// download posts the form of a page that answers with a file.
func (b *browser) download(path string) io.Reader {
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.url+path, strings.NewReader(url.Values{"_csrf": {b.token}}.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := b.client.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = resp.Body.Close() }) // read only: nothing can be lost
	if resp.StatusCode != http.StatusOK {
		b.t.Fatalf("POST %s: %s", path, resp.Status)
	}
	return resp.Body
}

// archive searches all that the export of a home holds, but for the vault as it lies there, encrypted, and what the person wrote themselves.
func (h *home) archive(what string, r io.Reader, all []*canary) {
	h.t.Helper()
	leaks, seen, size := map[leak]int{}, map[string]int64{}, int64(0)
	zip, err := gzip.NewReader(r)
	if err != nil {
		h.t.Fatal(err)
	}
	for t := tar.NewReader(zip); ; {
		head, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			h.t.Fatal(err)
		}
		_, name, _ := strings.Cut(head.Name, "/")
		search(leaks, all, what+", the names", head.Name, (*canary).in)
		seen[name] = head.Size
		if strings.HasPrefix(name, "vault/") || strings.HasPrefix(name, "workspace/files/") {
			continue
		}
		data, err := io.ReadAll(t)
		if err != nil {
			h.t.Fatal(err)
		}
		size += int64(len(data))
		search(leaks, all, what+", "+name, string(data), (*canary).in)
	}
	report(h.t, "exported", leaks)
	if seen["ash.db"] == 0 || seen["config.toml"] == 0 || seen["vault/vault.json"] == 0 {
		h.t.Errorf("%s: the archive holds no home: %v", what, slices.Sorted(maps.Keys(seen)))
	}
	h.t.Logf("%s: %d entries, %d bytes searched", what, len(seen), size)
}
