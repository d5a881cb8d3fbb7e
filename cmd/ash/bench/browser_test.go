//go:build linux

package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ash/agent"
)

// browser is one person's browser: a session, and the token of its forms.
type browser struct {
	t      testing.TB
	url    string
	client *http.Client
	token  string
}

var (
	tokenPattern  = regexp.MustCompile(`name="csrf-token" content="([^"]+)"`)
	streamPattern = regexp.MustCompile(`hx-sse:connect="([^"]+)"`)
	threadPattern = regexp.MustCompile(`/chat/([0-9a-f-]{36})`)
)

// visit opens Ash for the first time.
func visit(t testing.TB, p *process) *browser {
	t.Helper()
	cookies, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 512, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	b := &browser{t: t, url: p.url, client: &http.Client{Jar: cookies, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	page := b.page("/chat/new")
	m := tokenPattern.FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("the page has no token:\n%s", page)
	}
	b.token = m[1]
	return b
}

// page reads a page, which must be there.
func (b *browser) page(path string) string {
	b.t.Helper()
	resp, err := b.client.Get(b.url + path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		b.t.Fatalf("GET %s: %s %v\n%s", path, resp.Status, err, body)
	}
	return string(body)
}

// post sends a form as htmx does. An error says that no answer came; then nothing was acknowledged.
func (b *browser) post(path string, form url.Values) (status int, header http.Header, body string, err error) {
	req, err := http.NewRequest(http.MethodPost, b.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, nil, "", err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return b.send(req)
}

func (b *browser) send(req *http.Request) (status int, header http.Header, body string, err error) {
	req.Header.Set("X-CSRF-Token", b.token)
	req.Header.Set("HX-Request", "true")
	resp, err := b.client.Do(req)
	if err != nil {
		return 0, nil, "", err
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, string(all), err
}

// say sends a message to a conversation.
func (b *browser) say(thread, text string) error {
	status, _, body, err := b.post("/chat/"+thread+"/messages", url.Values{"text": {text}, "form": {string(agent.NewID())}})
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%d\n%s", status, body)
	}
	return err
}

// begin starts a conversation with a message and returns its id.
func (b *browser) begin(text string) string {
	b.t.Helper()
	thread, err := b.tryBegin(text)
	if err != nil {
		b.t.Fatal(err)
	}
	return thread
}

// tryBegin is begin for a server that may be gone.
func (b *browser) tryBegin(text string) (string, error) {
	return begun(b.post("/chat", url.Values{"text": {text}, "form": {string(agent.NewID())}}))
}

// beginWith starts a conversation with a message and a file, and returns its id.
func (b *browser) beginWith(text, name, content string) string {
	b.t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	file, err := w.CreateFormFile("files", name)
	if err == nil {
		_, err = io.WriteString(file, content)
	}
	if err = errors.Join(err, w.WriteField("text", text), w.WriteField("form", string(agent.NewID())), w.Close()); err != nil {
		b.t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, b.url+"/chat", &form)
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Content-Type", w.FormDataContentType())
	thread, err := begun(b.send(req))
	if err != nil {
		b.t.Fatal(err)
	}
	return thread
}

// begun reads the answer to the first message: where the conversation is.
func begun(status int, header http.Header, body string, err error) (string, error) {
	if err != nil {
		return "", err
	}
	m := threadPattern.FindStringSubmatch(header.Get("HX-Redirect"))
	if status != http.StatusOK || m == nil {
		return "", fmt.Errorf("POST /chat: %d\n%s", status, body)
	}
	return m[1], nil
}

// stream opens an event stream without a page. The caller closes it.
func (b *browser) stream(path string) (io.ReadCloser, error) {
	resp, err := b.client.Get(b.url + path)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("GET %s: %s", path, resp.Status), resp.Body.Close())
	}
	return resp.Body, nil
}

// rest waits until nothing is being written in a conversation.
func (b *browser) rest(thread string) {
	b.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if !strings.Contains(b.page("/chat/"+thread), `aria-label="Stop"`) {
			return
		}
	}
	b.t.Fatal("the turn never ended")
}

// patience is how long anything may take on a busy machine.
const patience = 60 * time.Second

// tab is a page with its event stream.
type tab struct {
	browser *browser
	thread  string
	cancel  context.CancelFunc
	bytes   atomic.Int64
	ended   chan error // one value, when the stream has ended

	mu    sync.Mutex
	heard func(frame)
}

// frame is one event of the stream.
type frame struct {
	at    time.Time
	event string
	data  []byte // valid during the call only
}

// done reports whether the frame says that an answer is complete, on the page and in the store.
func (f frame) done() bool { return f.event == "ash:done" }

// writes reports whether the frame adds text to an answer.
func (f frame) writes() bool { return f.event == "" && bytes.Contains(f.data, []byte("hx-target=#b-")) }

// runs reports whether the frame says that a turn has begun.
func (f frame) runs() bool {
	return f.event == "ash:turn" && bytes.Contains(f.data, []byte(`"running":true`))
}

// rested reports whether the frame says that the turn has ended.
func (f frame) rested() bool {
	return f.event == "ash:turn" && bytes.Contains(f.data, []byte(`"running":false`))
}

// open opens a conversation's page and its stream; heard gets every frame.
func (b *browser) open(thread string, heard func(frame)) *tab {
	b.t.Helper()
	page := b.page("/chat/" + thread)
	m := streamPattern.FindStringSubmatch(page)
	if m == nil {
		b.t.Fatalf("the page has no stream:\n%s", page)
	}
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url+strings.ReplaceAll(m[1], "&amp;", "&"), nil)
	if err != nil {
		b.t.Fatal(err)
	}
	resp, err := b.client.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		b.t.Fatalf("%s: %v %v", m[1], resp, err)
	}
	x := &tab{browser: b, thread: thread, cancel: cancel, ended: make(chan error, 1), heard: heard}
	go func() {
		defer resp.Body.Close()
		x.ended <- x.read(resp.Body)
	}()
	b.t.Cleanup(cancel)
	return x
}

// hear changes who gets the frames.
func (x *tab) hear(fn func(frame)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.heard = fn
}

// close leaves the page.
func (x *tab) close() {
	x.cancel()
	<-x.ended
}

func (x *tab) read(body io.Reader) error {
	lines := bufio.NewReaderSize(body, 64<<10)
	var long []byte
	event := ""
	for {
		line, err := lines.ReadSlice('\n')
		x.bytes.Add(int64(len(line)))
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, line...)
			continue
		}
		if err != nil {
			return err
		}
		if len(long) > 0 {
			long = append(long, line...)
			line, long = long, long[:0]
		}
		switch {
		case len(line) == 1:
			event = ""
		case bytes.HasPrefix(line, []byte("event: ")):
			event = string(line[len("event: ") : len(line)-1])
		case bytes.HasPrefix(line, []byte("data: ")):
			x.mu.Lock()
			if x.heard != nil {
				x.heard(frame{at: time.Now(), event: event, data: line[len("data: "):]})
			}
			x.mu.Unlock()
		}
	}
}

// exchange says something and waits until the turn has ended. It returns when, after sending, the message was
// acknowledged, the first token was on the page, and the answer was complete.
func (x *tab) exchange(text string) (acknowledged, first, whole time.Duration) {
	x.browser.t.Helper()
	var begun time.Time
	rested, running := make(chan struct{}), false // a page may still be told of the end of the turn before
	x.hear(func(f frame) {
		switch {
		case f.runs():
			running = true
		case first == 0 && f.writes():
			first = f.at.Sub(begun)
		case f.done():
			whole = f.at.Sub(begun)
		case f.rested() && running:
			x.heard = nil
			close(rested)
		}
	})
	begun = time.Now()
	if err := x.browser.say(x.thread, text); err != nil {
		x.browser.t.Error(err) // not Fatal: this may run beside the test's goroutine
		return 0, 0, 0
	}
	acknowledged = time.Since(begun)
	select {
	case <-rested:
	case <-time.After(3 * patience):
		x.browser.t.Error("the turn never ended")
	}
	if whole == 0 {
		x.browser.t.Error("the page was not told of the answer's end")
	}
	if first == 0 { // it came whole
		first = whole
	}
	return acknowledged, first, whole
}
