package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// patience is how long anything may take that is not itself about time.
const patience = 30 * time.Second

// screen is a kind of device.
type screen struct {
	name          string
	width, height int64
}

var (
	desktop = screen{"desktop", 1280, 860}
	phone   = screen{"phone", 390, 844}
)

// onScreens runs a test as a subtest per screen, beside others.
func onScreens(t *testing.T, test func(t *testing.T, s screen)) {
	t.Helper()
	needBrowser(t)
	t.Parallel()
	for _, s := range []screen{desktop, phone} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// person is a browser profile: cookies and storage of its own.
type person struct {
	t       *testing.T
	browser context.Context // the one that all tests share, or another
	profile cdp.BrowserContextID
}

// newPerson makes a profile that is gone after the test.
func newPerson(t *testing.T) *person {
	t.Helper()
	needBrowser(t)
	return personIn(rig.browser, t)
}

// personIn makes a profile in a browser of the test's own.
func personIn(browser context.Context, t *testing.T) *person {
	t.Helper()
	profile, err := target.CreateBrowserContext().WithDisposeOnDetach(true).Do(commanding(browser))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := target.DisposeBrowserContext(profile).Do(commanding(browser)); err != nil {
			t.Errorf("the profile stays: %v", err)
		}
	})
	return &person{t, browser, profile}
}

// inBrowser is the context for commands to the browser rather than to one of its tabs.
func inBrowser() context.Context { return commanding(rig.browser) }

func commanding(browser context.Context) context.Context {
	return cdp.WithExecutor(browser, chromedp.FromContext(browser).Browser)
}

// tab is a browser tab that remembers what went wrong in it.
type tab struct {
	t     *testing.T
	ctx   context.Context
	close context.CancelFunc
	base  string

	mu    sync.Mutex
	wrong []string
	fine  []string // parts of complaints the test brings about itself
}

// visit opens a tab of a new person at a server's path.
func visit(t *testing.T, s screen, url, path string) *tab {
	t.Helper()
	return newPerson(t).visit(s, url, path)
}

// visit opens one more tab, in a window of its own so that all of them are in the foreground.
func (p *person) visit(s screen, url, path string) *tab {
	p.t.Helper()
	return p.open(s, url, path, true)
}

func (p *person) open(s screen, url, path string, window bool) *tab {
	p.t.Helper()
	id, err := target.CreateTarget("about:blank").WithBrowserContextID(p.profile).WithNewWindow(window).Do(commanding(p.browser))
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(p.browser, chromedp.WithTargetID(id))
	b := &tab{t: p.t, ctx: ctx, close: cancel, base: url}
	p.t.Cleanup(cancel)
	chromedp.ListenTarget(ctx, b.listen)
	b.run(log.Enable(), network.Enable(), viewport(s))
	p.t.Cleanup(b.settle)
	b.goTo(path)
	return b
}

func viewport(s screen) chromedp.Action {
	mobile := s.width < 700
	return chromedp.Tasks{
		emulation.SetDeviceMetricsOverride(s.width, s.height, 1, mobile),
		emulation.SetTouchEmulationEnabled(mobile),
	}
}

// listen notes what a person with the developer tools open would see in red.
func (b *tab) listen(event any) {
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
			b.note("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		b.note("exception: %s", e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning || e.Type == runtime.APITypeAssert {
			var said []string
			for _, a := range e.Args {
				said = append(said, string(a.Value)+a.Description)
			}
			b.note("console: %s", strings.Join(said, " "))
		}
	case *network.EventRequestWillBeSent:
		if u := e.Request.URL; !strings.HasPrefix(u, b.base+"/") && !strings.HasPrefix(u, "blob:") && !strings.HasPrefix(u, "data:") {
			b.note("request: to another host: %s", u)
		}
	case *network.EventLoadingFailed:
		if !e.Canceled && e.ErrorText != "net::ERR_ABORTED" {
			b.note("request: %s %s", e.ErrorText, e.BlockedReason)
		}
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 {
			b.note("request: status %d of %s", e.Response.Status, e.Response.URL)
		}
	}
}

func (b *tab) note(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrong = append(b.wrong, fmt.Sprintf(format, args...))
}

// expect announces complaints that the test brings about, by a part of their text.
func (b *tab) expect(parts ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fine = append(b.fine, parts...)
}

// settle fails the test for what nobody announced.
func (b *tab) settle() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.wrong {
		if !containsAny(w, b.fine) {
			b.t.Errorf("in the browser: %s", w)
		}
	}
}

func containsAny(s string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

func (b *tab) run(actions ...chromedp.Action) {
	b.t.Helper()
	if err := b.try(actions...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) try(actions ...chromedp.Action) error {
	if chromedp.FromContext(b.ctx).Target == nil { // the first time attaches, for as long as the tab lives
		return chromedp.Run(b.ctx, actions...)
	}
	ctx, cancel := context.WithTimeout(b.ctx, 2*patience)
	defer cancel()
	return chromedp.Run(ctx, actions...)
}

// goTo opens a path and waits for the page and its scripts.
func (b *tab) goTo(path string) {
	b.t.Helper()
	b.run(chromedp.Navigate(b.base + path))
}

func (b *tab) reload() {
	b.t.Helper()
	b.run(chromedp.Reload())
}

// eval evaluates a JavaScript expression; a promise is waited for.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	var out T
	b.run(chromedp.Evaluate(expression, &out, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return out
}

// holds reports whether an expression is true; one that cannot be evaluated, as in a page that is just going away, is not.
func (b *tab) holds(expression string) bool {
	var yes bool
	return b.try(chromedp.Evaluate("Boolean("+expression+")", &yes)) == nil && yes
}

// until waits for an expression to be true.
func (b *tab) until(expression string) {
	b.t.Helper()
	b.within(patience, expression)
}

// within waits at most so long for an expression to be true.
func (b *tab) within(limit time.Duration, expression string) {
	b.t.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		if b.holds(expression) {
			return
		}
		if time.Now().After(end) {
			break
		}
	}
	b.mu.Lock()
	wrong := strings.Join(b.wrong, "\n")
	b.mu.Unlock()
	b.t.Fatalf("not true within %v: %s\ncomplaints: %s\naddress: %s\npage:\n%s", limit, expression, wrong,
		eval[string](b, "location.href"), eval[string](b, `(document.querySelector("main") ?? document.body).innerText`))
}

// quote returns s as a JavaScript string.
func quote(s string) string {
	out, err := json.Marshal(s)
	if err != nil {
		return `""` // a string always encodes
	}
	return string(out)
}

// click presses what a selector finds, where a person would press it: it must be in view and in
// its place, enabled, and not covered.
func (b *tab) click(selector string) {
	b.t.Helper()
	at := fmt.Sprintf(`(() => {
		const e = document.querySelector(%s);
		if (!e) return { why: "nothing there" };
		if (e.disabled) return { why: "disabled" };
		e.scrollIntoView({ block: "nearest", behavior: "instant" });
		const r = e.getBoundingClientRect(), x = r.x + r.width / 2, y = r.y + r.height / 2;
		const hit = document.elementFromPoint(x, y);
		if (r.width > 0 && hit && (e.contains(hit) || hit.contains(e))) return { x, y };
		return { why: "covered by " + hit?.outerHTML.slice(0, 200) + " at " + [x, y] };
	})()`, quote(selector))
	type place struct {
		X, Y float64
		Why  string
	}
	last := place{Why: "not looked yet"}
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		var now place
		if err := b.try(chromedp.Evaluate(at, &now)); err != nil {
			now.Why = err.Error()
		}
		if now == last && now.Why == "" {
			break
		}
		last = now
		if time.Now().After(end) {
			b.t.Fatalf("%s could not be clicked: %s\npage: %s", selector, now.Why, eval[string](b, `document.body.outerHTML`))
		}
	}
	b.run(chromedp.MouseClickXY(last.X, last.Y))
}

// write types into what a selector finds, after what is there.
func (b *tab) write(selector, text string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`(e => { e?.focus(); return e && document.activeElement === e; })(document.querySelector(%s))`, quote(selector)))
	b.run(input.InsertText(text))
}

// rewrite replaces the text of a field.
func (b *tab) rewrite(selector, text string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`(e => { e?.focus(); e?.select(); return e && document.activeElement === e; })(document.querySelector(%s))`, quote(selector)))
	b.run(input.InsertText(text))
}

// painted waits until what is on the page has been drawn.
const painted = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`

// press presses a key as a keyboard does, with modifiers held: what the page prevents on keydown does not happen.
func (b *tab) press(key string, modifiers ...input.Modifier) {
	b.t.Helper()
	eval[bool](b, painted) // a page that has not been drawn yet is given no input
	for _, r := range key {
		down := kb.Encode(r)
		first, last := down[0], down[len(down)-1]
		for _, m := range modifiers {
			first.Modifiers |= m
			last.Modifiers |= m
		}
		if len(down) == 3 && first.Modifiers&^input.ModifierShift == 0 { // it also types something
			first.Text, first.UnmodifiedText = down[1].Text, down[1].UnmodifiedText
		}
		b.run(first, last)
	}
}

// bringToFront shows a tab that another one of its window hides.
func bringToFront() chromedp.Action { return page.BringToFront() }

// scheme makes the device prefer a colour scheme.
func scheme(name string) chromedp.Action {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}})
}
