package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const (
	newThread = `location.pathname.match(/^\/chat\/[0-9a-f-]{36}$/)`
	enter     = "\r"
	escape    = "\u001b"
)

func TestMessageSentWhileOneStreams(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		m := newModel(t)
		first := words("one", 30)
		held := m.pauses(15, first...)
		m.says("The second answer.")
		b := visit(t, s, serveModel(t, m).url, "/chat/new")
		b.send("First question")
		held.wait(t)
		b.shows("one014")
		b.write("#text", "Second question")
		b.click(`#composer-action button[aria-label="Send when this answer is finished"]`)
		b.until(`document.getElementById("queued").innerText.includes("Second question") && document.getElementById("text").value === ""`)
		if n := len(m.questions()); n != 1 {
			t.Errorf("the model was asked %d times while it answered", n)
		}
		b.reload() // what waits is stored
		b.until(online + ` && document.getElementById("queued").innerText.includes("Second question")`)
		held.release()
		b.answered("The second answer.")
		b.until(`document.getElementById("queued").children.length === 0`)
		if got, want := eval[string](b, `document.getElementById("messages").innerText`), []string{"First question", "one000", "one029", "Second question", "The second answer."}; !inOrder(got, want) {
			t.Errorf("not in order %q:\n%s", want, got)
		}
		b.once(append(first, "First question", "Second question")...)
		b.reload()
		b.answered("The second answer.")
		b.once(append(first, "First question", "Second question")...)
	})
}

// inOrder reports whether the parts stand in s one after the other.
func inOrder(s string, parts []string) bool {
	for _, p := range parts {
		_, after, ok := strings.Cut(s, p)
		if !ok {
			return false
		}
		s = after
	}
	return true
}

func TestTwoTabsOnOneConversation(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		m := newModel(t)
		m.says("Hello to both.")
		first, second := words("one", 30), words("two", 30)
		held := m.pauses(12, first...)
		m.says(second...)
		server := serveModel(t, m)
		p := newPerson(t)
		a := p.visit(s, server.url, "/chat/new")
		a.send("Hello")
		a.until(newThread)
		a.answered("Hello to both.")
		b := p.visit(s, server.url, eval[string](a, "location.pathname"))
		b.until(online)
		b.answered("Hello to both.")
		a.send("Asked in the first tab")
		held.wait(t)
		for _, x := range []*tab{a, b} {
			x.shows("one011")
			x.until(running)
		}
		held.release()
		a.answered(plain(first...))
		b.answered(plain(first...))
		b.send("Asked in the second tab")
		a.answered(plain(second...))
		b.answered(plain(second...))
		for _, x := range []*tab{a, b} {
			x.once(append(append(first, second...), "Asked in the first tab", "Asked in the second tab")...)
		}
		if d := differ(eval[string](a, bodies), eval[string](b, bodies)); d != "" {
			t.Errorf("the tabs show different things: %s", d)
		}
	})
}

// bodies is all that was said, as HTML.
const bodies = `[...document.querySelectorAll("#messages .bubble, #messages .prose:not(:empty)")].map((e) => e.innerHTML).join("\n")`

func TestDoubleSubmitIsOneMessage(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		m := newModel(t)
		m.says("Once.")
		m.says("Once more.")
		b := visit(t, s, serveModel(t, m).url, "/chat/new")
		b.write("#text", "Begin, but once")
		b.press(enter + enter)
		b.until(newThread)
		b.answered("Once.")
		b.until(online)
		b.write("#text", "And again, but once")
		b.run(chromedp.Evaluate(`(f => { f.requestSubmit(); f.requestSubmit(); })(document.getElementById("composer"))`, nil))
		b.answered("Once more.")
		b.once("Begin, but once", "And again, but once")

		// The same form sent twice, as a browser does that got no answer to the first.
		m.says("Only one answer.")
		sent := eval[int](b, `(async () => {
			const f = document.getElementById("composer"), body = new FormData(f);
			body.set("text", "From one form"); body.set("form", "0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee");
			let ok = 0;
			for (const _ of [1, 2]) ok += (await fetch(f.action, { method: "POST", body, headers: { "HX-Request": "true" } })).ok;
			return ok;
		})()`)
		if sent != 2 {
			t.Errorf("%d of 2 requests went well", sent)
		}
		b.answered("Only one answer.")
		b.once("From one form", "And again, but once")
		b.reload()
		b.once("Begin, but once", "And again, but once", "From one form")
		if n := len(m.questions()); n != 3 {
			t.Errorf("the model was asked %d times, want 3", n)
		}
	})
}

func TestKeyboard(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	m := newModel(t)
	held := m.pauses(3, words("w", 20)...)
	m.says("Edited answer.")
	b := visit(t, desktop, serveModel(t, m).url, "/chat/new")
	b.until(`document.activeElement.id === "text"`) // ready to write
	b.run(input.InsertText("line one"))
	b.press(enter, input.ModifierShift)
	b.run(input.InsertText("line two"))
	b.until(`document.getElementById("text").value === "line one\nline two"`)
	b.press(enter)
	b.until(newThread)
	held.wait(t)
	b.shows("w002")
	b.until(online)
	b.press(escape)
	b.until(idle + ` && ` + answers + `.at(-1).innerText.includes("You stopped this answer.")`)
	b.until(`(() => { document.getElementById("text").focus(); return true; })()`)
	b.press(kb.ArrowUp)
	b.until(`document.activeElement.id === "edit-text" && document.activeElement.value === "line one\nline two"`)
	b.press(escape)
	b.until(`!document.querySelector(".edit") && document.activeElement.id === "text"`)
	b.press(kb.ArrowUp)
	b.until(`document.activeElement.id === "edit-text"`)
	b.run(input.InsertText(" and three"))
	b.press(enter)
	b.answered("Edited answer.")
	b.until(mine + `.at(-1).innerText.includes("line two and three")`)
}

func TestDraftSurvivesReload(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	b := visit(t, phone, serveModel(t, newModel(t)).url, "/chat/new")
	b.write("#text", "half a thought, ünfinished 途中")
	b.reload()
	b.until(`document.getElementById("text").value === "half a thought, ünfinished 途中"`)
	b.goTo("/settings/about")
	b.goTo("/chat/new")
	b.until(`document.getElementById("text").value === "half a thought, ünfinished 途中"`)
}

func TestAnswerInTheBackgroundShowsInTheTitle(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	m := newModel(t)
	held := m.pauses(2, words("w", 5)...)
	server := serveModel(t, m)
	p := newPerson(t)
	a := p.visit(desktop, server.url, "/chat/new")
	a.send("Take your time")
	a.until(newThread)
	held.wait(t)
	a.shows("w001")
	front := p.open(desktop, server.url, "/settings/about", false) // in the same window: the first tab is hidden now
	a.until(`document.hidden`)
	held.release()
	a.until(`document.title.startsWith("(1) ")`)
	front.close()
	a.run(bringToFront())
	a.until(`!document.hidden && !document.title.startsWith("(")`)
	a.answered(plain(words("w", 5)...))
}

func TestWithoutJavaScript(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		m := newModel(t)
		m.says("Plain *forms* work.")
		m.says("Still.")
		b := visit(t, s, serveModel(t, m).url, "/settings/about")
		b.run(emulation.SetScriptExecutionDisabled(true))
		b.goTo("/chat/new")
		b.run(chromedp.SetUploadFiles("#files", []string{textFile(t, "list.txt", "bread and salt")}, chromedp.ByQuery))
		b.send("No scripts here")
		b.until(newThread)
		b.reloadUntil(lastText + ` === "Plain forms work." && !document.querySelector("#composer-action .stop")`) // and the turn is over
		b.until(mine + `[0].innerText.includes("list.txt")`)
		if !strings.Contains(m.questions()[0], "bread and salt") {
			t.Error("the attached file did not reach the model")
		}
		b.send("And a second one")
		b.until(mine + `.length === 2`)
		b.reloadUntil(lastText + ` === "Still."`)
		b.once("No scripts here", "And a second one")
		if b.holds(`typeof htmx !== "undefined"`) {
			t.Error("scripts ran, so this shows nothing")
		}
	})
}

// reloadUntil reloads the page until an expression is true.
func (b *tab) reloadUntil(expression string) {
	b.t.Helper()
	eventually(b.t, expression, func() bool {
		b.reload()
		return b.holds(expression)
	})
}
