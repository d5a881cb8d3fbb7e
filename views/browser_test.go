package views_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"ash/agent"
	"ash/views/components"
)

// desk is a server for one conversation: real pages, scripts and policy, and a
// stream whose messages the test chooses.
type desk struct {
	*httptest.Server
	frames chan string // sent down the stream
	mu     sync.Mutex
	posts  []post
	down   bool          // refuse everything
	cut    chan struct{} // closed: end the running streams
}

type post struct {
	path, text, form string
	all              url.Values
}

func openDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{frames: make(chan string, 64), cut: make(chan struct{})}
	pages := preview()
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch d.mu.Lock(); {
		case d.down:
			d.mu.Unlock()
			panic(http.ErrAbortHandler)
		default:
			d.mu.Unlock()
		}
		switch {
		case strings.HasSuffix(r.URL.Path, "/events"):
			d.stream(w, r)
		case r.Method == http.MethodPost:
			d.post(w, r)
		case r.FormValue("before") != "":
			_ = components.EarlierPage(components.Conversation{Thread: thread, Messages: ended()}).Render(r.Context(), w)
		case strings.HasSuffix(r.URL.Path, "/text"):
			_, _ = io.WriteString(w, "the *source*")
		default:
			pages.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() { d.drop(true); d.CloseClientConnections(); d.Close() })
	return d
}

func (d *desk) stream(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	cut := d.cut
	d.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, ":\n\n")
	flush := http.NewResponseController(w)
	_ = flush.Flush()
	for {
		select {
		case f := <-d.frames:
			_, _ = io.WriteString(w, f)
			_ = flush.Flush()
		case <-cut:
			return
		case <-r.Context().Done():
			return
		}
	}
}

func (d *desk) post(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseMultipartForm(1 << 20)
	d.mu.Lock()
	d.posts = append(d.posts, post{r.URL.Path, r.FormValue("text"), r.FormValue("form"), r.Form})
	n := len(d.posts)
	d.mu.Unlock()
	switch {
	case r.URL.Path == "/attachments":
		_, header, _ := r.FormFile("file")
		_ = components.Chip(components.File{Name: header.Filename, Size: header.Size, Hash: "ab"}).Render(r.Context(), w)
	case strings.HasSuffix(r.URL.Path, "/messages"):
		m := user(byte(0xc0+n), r.FormValue("text"), now.Add(time.Duration(n)*time.Second))
		_ = components.StreamUpsert(m).Render(r.Context(), w)
		var slot strings.Builder
		_ = components.StreamTurn(components.Turn{Thread: thread, Running: true}).Render(r.Context(), &slot)
		d.frames <- "data: " + slot.String() + "\n\n"
	case strings.HasSuffix(r.URL.Path, "/undo"):
		back := outcomes()[1]
		back.Undone = true
		_ = components.StreamCall(id(0x62), back).Render(r.Context(), w)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// drop ends the streams; down also refuses what comes next.
func (d *desk) drop(down bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = down
	close(d.cut)
	d.cut = make(chan struct{})
}

func (d *desk) posted(path string) []post {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []post
	for _, p := range d.posts {
		if strings.HasSuffix(p.path, path) {
			out = append(out, p)
		}
	}
	return out
}

// send puts a component on the stream as an unnamed message.
func (d *desk) send(t *testing.T, c interface {
	Render(context.Context, io.Writer) error
}) {
	t.Helper()
	var b strings.Builder
	if err := c.Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	d.frames <- "data: " + strings.ReplaceAll(b.String(), "\n", "\ndata: ") + "\n\n"
}

// tab is a browser tab that collects what went wrong in it.
type tab struct {
	context.Context
	mu    sync.Mutex
	wrong []string
}

func openTab(t *testing.T) *tab {
	t.Helper()
	if testing.Short() {
		t.Skip("looking at the pages takes a while; it is not done with -short")
	}
	path := findChromium(t)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	t.Cleanup(cancel)
	allocator, cancel := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(allocator, chromedp.WithErrorf(func(string, ...any) {}))
	t.Cleanup(cancel)
	b := &tab{Context: ctx}
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *log.EventEntryAdded:
			b.note(e.Entry.Level.String() + ": " + e.Entry.Text + " " + e.Entry.URL)
		case *runtime.EventExceptionThrown:
			b.note(e.ExceptionDetails.Error())
		}
	})
	if err := chromedp.Run(ctx, log.Enable()); err != nil {
		t.Fatal(err)
	}
	return b
}

// findChromium returns its path. Where there is none the test is skipped, or fails if it has to run.
func findChromium(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("CHROMIUM"); path != "" {
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const missing = "looking at the pages needs Chromium: install it (Debian and Ubuntu: apt-get install chromium), or put the path of a Chrome into CHROMIUM"
	if slices.Contains(strings.Split(os.Getenv("ASH_TEST_REQUIRE"), ","), "chromium") {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

func (b *tab) note(s string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrong = append(b.wrong, s)
}

func (b *tab) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.wrong
	b.wrong = nil
	return out
}

func (b *tab) run(t *testing.T, actions ...chromedp.Action) {
	t.Helper()
	if err := chromedp.Run(b, actions...); err != nil {
		t.Fatal(err)
	}
}

// until waits for a JavaScript expression to be true.
func (b *tab) until(t *testing.T, expression string) {
	t.Helper()
	var ok bool
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(25 * time.Millisecond) {
		b.run(t, chromedp.Evaluate("Boolean("+expression+")", &ok))
		if ok {
			return
		}
	}
	var shown string
	b.run(t, chromedp.Evaluate("document.querySelector('main')?.innerText ?? document.body.innerText", &shown))
	t.Fatalf("never true: %s\ncomplaints: %v\npage:\n%s", expression, b.complaints(), shown)
}

func viewport(width, height int64) chromedp.Action {
	return chromedp.EmulateViewport(width, height, func(m *emulation.SetDeviceMetricsOverrideParams, _ *emulation.SetTouchEmulationEnabledParams) {
		m.Mobile = width < 700
	})
}

// TestPagesInABrowser looks at every page at every width: nothing scrolls
// sideways, nothing breaks the content policy, no script fails.
func TestPagesInABrowser(t *testing.T) {
	d, b := openDesk(t), openTab(t)
	for name := range fixtures() {
		began := time.Now()
		b.run(t, chromedp.Navigate(d.URL+"/"+name))
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s came after %v: the pages before kept their connections", name, took)
		}
		for _, width := range []int64{320, 768, 1920} {
			var wide string
			b.run(t, viewport(width, 800), chromedp.Evaluate(`(() => {
				const w = document.documentElement.clientWidth, p = document.querySelector("main");
				const over = (e) => e && e.scrollWidth > e.clientWidth + 1;
				return over(document.documentElement) || over(p) || over(document.querySelector(".flow")) ? "sideways" : "";
			})()`, &wide))
			if wide != "" {
				t.Errorf("%s at %d px scrolls sideways", name, width)
			}
		}
		for _, c := range b.complaints() {
			t.Errorf("%s: %s", name, c)
		}
	}
}

func TestComposerSendsOnceAndKeepsDrafts(t *testing.T) {
	d, b := openDesk(t), openTab(t)
	b.run(t, viewport(1280, 860), chromedp.Navigate(d.URL+"/chat"))
	b.until(t, `document.querySelector("#stream")?._htmx?.sse || true`)
	b.run(t, chromedp.SendKeys("#text", "half a thought"), chromedp.Reload())
	b.until(t, `document.getElementById("text").value === "half a thought"`)
	b.run(t, chromedp.SendKeys("#text", "\r"), chromedp.SendKeys("#text", "\r"))
	b.until(t, `document.querySelector("#messages .me:last-child .bubble")?.textContent === "half a thought"`)
	b.until(t, `document.getElementById("text").value === "" && localStorage.getItem("ash:draft:"+document.getElementById("composer").dataset.thread) === null`)
	b.until(t, `document.querySelector("#composer-action .stop")`)
	sent := d.posted("/messages")
	if len(sent) != 1 || sent[0].text != "half a thought" || sent[0].form == "" {
		t.Fatalf("sent %+v, want one message", sent)
	}
	var next string
	b.run(t, chromedp.Evaluate(`JSON.parse(document.getElementById("composer").getAttribute("hx-vals")).form`, &next))
	if next == sent[0].form || len(next) != 36 {
		t.Errorf("the next message's form id is %q after %q", next, sent[0].form)
	}
	b.run(t, chromedp.KeyEvent("\u001b"))
	b.until(t, "true")
	time.Sleep(200 * time.Millisecond)
	if len(d.posted("/stop")) != 1 {
		t.Errorf("Escape sent %d stops, want 1", len(d.posted("/stop")))
	}
	b.run(t, chromedp.Evaluate(`(() => {
		const data = new DataTransfer();
		data.setData("text/plain", "x".repeat(9000));
		document.getElementById("text").dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
	})()`, nil))
	b.until(t, `document.querySelector('#chips .chip input[name="attachment"]')?.value === "ab/Pasted text.txt"`)
	if c := b.complaints(); len(c) > 0 {
		t.Error(c)
	}
}

func TestStreamFillsThePage(t *testing.T) {
	d, b := openDesk(t), openTab(t)
	b.run(t, viewport(1280, 860), chromedp.Navigate(d.URL+"/chat"))
	open := reply(0xd1, "", now.Add(time.Second))
	open.State, open.HTML = agent.MessageOpen, ""
	short := components.Short(open.ID)
	d.send(t, components.StreamUpsert(open))
	b.until(t, `document.getElementById("b-`+short+`")?.getAttribute("aria-live") === "polite"`)
	d.send(t, components.StreamPatch("b-"+short, components.SwapAppend, `<p id="b-`+short+`-1">One</p>`))
	for i := range 40 {
		d.send(t, components.StreamPatch("b-"+short+"-1", components.SwapAppend, fmt.Sprintf(" and<br>%d", i)))
	}
	d.send(t, components.StreamPatch("b-"+short, components.SwapAppend, `<p>with <span class="math" data-math="inline">x^2</span></p>`))
	b.until(t, `document.querySelector("#b-`+short+` math")`)
	b.until(t, `(f => f.scrollHeight - f.scrollTop - f.clientHeight < 4)(document.getElementById("flow"))`)
	b.run(t, chromedp.Evaluate(`document.getElementById("flow").scrollTop = 0`, nil))
	b.until(t, `!document.getElementById("latest").hidden`)
	d.send(t, components.StreamPatch("b-"+short, components.SwapAppend, `<p>more</p>`))
	b.until(t, `document.querySelector("#b-`+short+`").lastElementChild.textContent === "more"`)
	b.until(t, `document.getElementById("flow").scrollTop === 0`)
	b.run(t, chromedp.Click("#latest"))
	b.until(t, `(f => f.scrollHeight - f.scrollTop - f.clientHeight < 4)(document.getElementById("flow"))`)
	open.State = agent.MessageComplete
	d.send(t, components.StreamClosed(open))
	b.until(t, `document.querySelector("#a-`+short+` [data-copy]") && !document.querySelector("#s-`+short+`.busy")`)
	waits := call(0xd2, agent.CallWaiting)
	d.send(t, components.StreamCall(open.ID, waits))
	b.until(t, `document.querySelector("#x-`+short+` .call.pending")`)
	waits.State = agent.CallFinished
	d.send(t, components.StreamCall(open.ID, waits))
	b.until(t, `document.querySelectorAll("#x-`+short+` .call").length === 1 && document.querySelector("#x-`+short+` .call.finished")`)
	d.send(t, components.StreamThread(components.ThreadRow{ID: id(0xf4), Title: "Reading list", Updated: now.Add(time.Minute)}, thread))
	b.until(t, `document.querySelectorAll("#thread-list .row")[1].id === "t-`+string(id(0xf4))+`"`)
	d.send(t, components.StreamBadge(0))
	b.until(t, `document.getElementById("badge-rail").textContent.trim() === ""`)
	d.send(t, components.StreamNotice(components.Notice{Kind: components.NoticeError, Text: "The disk is full."}))
	b.until(t, `document.querySelector("#notices .toast.error")`)
	if c := b.complaints(); len(c) > 0 {
		t.Error(c)
	}
}

func TestEarlierMessagesKeepThePlace(t *testing.T) {
	d, b := openDesk(t), openTab(t)
	b.run(t, viewport(1280, 700), chromedp.Navigate(d.URL+"/chat-long"))
	b.until(t, `(f => f.scrollTop > 0 && f.scrollHeight - f.scrollTop - f.clientHeight < 4)(document.getElementById("flow"))`)
	first := string(states()[0].ID)
	var before, after float64
	place := `document.getElementById("m-` + first + `").getBoundingClientRect().top - document.getElementById("flow").getBoundingClientRect().top`
	b.run(t, chromedp.Evaluate(`document.getElementById("flow").scrollTop = 40`, nil), chromedp.Evaluate(place, &before))
	b.until(t, `!document.querySelector("#earlier a")`)
	b.run(t, chromedp.Evaluate(place, &after))
	if diff := after - before; diff > 60 || diff < -60 {
		t.Errorf("what was read moved by %v px", diff)
	}
	b.until(t, `document.querySelectorAll("#messages > .msg").length === `+strconv.Itoa(len(states())+len(ended())))
}

func TestConnectionIsSaidAndTheTextKept(t *testing.T) {
	d, b := openDesk(t), openTab(t)
	b.run(t, viewport(1280, 860), chromedp.Navigate(d.URL+"/chat"))
	b.until(t, `document.getElementById("stream")._htmx?.sse`)
	b.run(t, chromedp.SendKeys("#text", "do not lose me"))
	lost := time.Now()
	d.drop(true)
	b.until(t, `document.getElementById("connection").dataset.state !== "on" && document.querySelector("#composer .send").disabled`)
	if took := time.Since(lost); took > 2*time.Second {
		t.Errorf("said after %v that the connection is lost", took)
	}
	b.run(t, chromedp.SendKeys("#text", "\r"))
	time.Sleep(1500 * time.Millisecond)
	b.until(t, `document.getElementById("text").value === "do not lose me" && document.getElementById("connection").dataset.state === "wait"`)
	d.mu.Lock()
	d.down = false
	d.mu.Unlock()
	back := time.Now()
	b.until(t, `document.getElementById("connection").dataset.state === "on" && !document.querySelector("#composer .send").disabled`)
	if took := time.Since(back); took > 2500*time.Millisecond {
		t.Errorf("said after %v that the connection is back", took)
	}
	if n := len(d.posted("/messages")); n != 0 {
		t.Errorf("%d messages were sent while the server was gone", n)
	}
	b.run(t, chromedp.SendKeys("#text", "\r"))
	b.until(t, `document.querySelector("#messages .me:last-child .bubble")?.textContent === "do not lose me"`)
}
