package e2e

import (
	"strings"
	"testing"
	"time"

	"ash/agent/llm/llmtest"
)

// rich is an answer with one of everything Markdown has.
const rich = "Here is a plan, with **weight** and `code`.\n\n" +
	"```go\nfunc main() {\n\tfmt.Println(\"hello\") // greet\n}\n```\n\n" +
	"| City | People |\n|:--|--:|\n| Köln | 1 084 000 |\n| 東京 | 14 000 000 |\n\n" +
	"1. First, *think*\n2. Then write\n   - with care\n   - and a [link](https://example.org/a?b=1)\n\n" +
	"- [x] done\n- [ ] open\n\n" +
	"The sum is $\\sum_{i=1}^{n} i = \\frac{n(n+1)}{2}$, or\n\n$$\ne^{i\\pi} + 1 = 0\n$$\n\n" +
	"> Quoted, with a note.[^1]\n\n[^1]: The note itself.\n\nThat is all.\n"

// pieces cuts a text as a model's tokens would.
func pieces(text string, size int) []string {
	var out []string
	for r := []rune(text); len(r) > 0; {
		n := min(size, len(r))
		out, r = append(out, string(r[:n])), r[n:]
	}
	return out
}

func TestAnswerStreams(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		m := newModel(t)
		tokens := pieces(rich, 4)
		r := m.push(&reply{Reply: llmtest.Text(tokens...), pauses: []int{8, 30, 60, 90}})
		b := visit(t, s, serveModel(t, m).url, "/chat/new")
		b.send("Make me a plan")
		b.until(`location.pathname.match(/^\/chat\/[0-9a-f-]{36}$/)`)
		b.until(mine + `.length === 1 && ` + mine + `[0].querySelector(".bubble").innerText === "Make me a plan"`)

		length := 0 // the answer grows while it is being written
		for _, sign := range []string{"weight", "greet", "14 000", "done"} {
			r.wait(t)
			b.until(lastText + `.includes(` + quote(sign) + `) && ` + running + ` && ` + lastBody + `.getAttribute("aria-live") === "polite"`)
			now := eval[int](b, lastText+`.length`)
			if now <= length {
				t.Errorf("the answer had %d characters and has %d now", length, now)
			}
			length = now
			r.release()
		}
		b.shows("That is all.")
		b.until(idle)
		b.until(lastBody + `.querySelectorAll("math").length === 2`)
		for what, expression := range map[string]string{
			"highlighted code": `.querySelector("figure code span[class]")`,
			"copy on code":     `.querySelector("figure [data-copy]")`,
			"table":            `.querySelectorAll("table tbody tr").length === 2`,
			"nested list":      `.querySelectorAll("ol ul li").length === 2`,
			"task list":        `.querySelectorAll("input[type=checkbox]:disabled").length === 2`,
			"safe link":        `.querySelector('a[href^="https://example.org"]')?.rel.includes("noopener")`,
			"footnote":         `.innerText.includes("The note itself.")`,
		} {
			if !b.holds(lastBody + expression) {
				t.Errorf("the answer has no %s: %s", what, eval[string](b, lastBody+".innerHTML"))
			}
		}

		// The same after a reload as after streaming.
		streamed := eval[string](b, lastBody+`.innerHTML`)
		b.reload()
		b.until(lastBody + `?.querySelectorAll("math").length === 2`)
		if d := differ(streamed, eval[string](b, lastBody+`.innerHTML`)); d != "" {
			t.Errorf("streamed and loaded the answer differs: %s", d)
		}
		// The title the model gave, in the list and above.
		b.until(`document.querySelector("#thread-head h1").innerText === ` + quote(m.title))
		if s == desktop {
			b.until(`document.querySelector("#thread-list .row b").innerText.trim() === ` + quote(m.title))
		}
	})
}

func TestStopKeepsWhatWasSaid(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		m := newModel(t)
		first, rest := words("one", 30), words("two", 10)
		held := m.pauses(20, first...)
		m.says(rest...)
		b := visit(t, s, serveModel(t, m).url, "/chat/new")
		b.send("Count for me")
		held.wait(t)
		b.shows("one019")
		b.click(`#composer-action button[aria-label="Stop"]`)
		partial := plain(first[:20]...)
		b.answered(partial)
		b.until(answers + `.at(-1).innerText.includes("You stopped this answer.")`)
		b.reload()
		b.answered(partial)
		b.until(answers + `.at(-1).innerText.includes("You stopped this answer.")`)

		b.click(`#messages form.resume button`)
		b.shows("two009")
		b.until(idle)
		b.once(append(first[:20], rest...)...)
		if b.holds(`document.querySelector("#messages form.resume")`) {
			t.Error("Continue is still offered after the answer went on")
		}
		b.reload()
		b.shows("two009")
		b.once(append(first[:20], rest...)...)
	})
}

func TestReloadInTheMiddle(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		m := newModel(t)
		all := words("w", 60)
		held := m.pauses(31, all...)
		b := visit(t, s, serveModel(t, m).url, "/chat/new")
		b.send("Tell me everything")
		held.wait(t)
		b.shows("w030")
		b.reload()
		b.until(online)
		b.shows("w030")
		b.until(running)
		held.release()
		b.answered(plain(all...))
		b.once(all...)
	})
}

// TestReloadsWhileItStreams reloads at instants nobody chose.
func TestReloadsWhileItStreams(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	m := newModel(t)
	all := words("w", 150)
	m.streams(15*time.Millisecond, all...)
	b := visit(t, desktop, serveModel(t, m).url, "/chat/new")
	b.send("Tell me everything")
	for _, seen := range []string{"w010", "w045", "w080", "w120"} {
		b.shows(seen)
		b.reload()
	}
	b.answered(plain(all...))
	b.once(all...)
}

func TestConnectionCutAndResumed(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		m := newModel(t)
		all := words("w", 60)
		held := m.pauses(20, all...)
		m.says("And here I am.")
		w := stretch(t, serveModel(t, m))
		b := visit(t, s, w.url, "/chat/new")
		b.expect("net::ERR_", "Failed to fetch", "network error", "sse")
		b.send("Tell me everything")
		held.wait(t)
		b.shows("w019")
		b.write("#text", "my next thought")

		lost := time.Now()
		w.cut()
		b.within(2*time.Second, `document.getElementById("connection").innerText === "Connection lost"`)
		t.Logf("said to be lost after %v", time.Since(lost).Round(time.Millisecond))
		b.until(`document.getElementById("connection").innerText === "Reconnecting…"`)
		if !b.holds(`document.querySelector("#composer-action .send:not(.stop)").disabled`) {
			t.Error("the composer pretends that it can send")
		}
		b.write("#text", "!")
		b.press(enter)
		held.release() // the answer goes on without the page
		eventually(t, "the rest was sent", func() bool { return len(m.questions()) == 1 })

		w.mend()
		back := time.Now()
		b.within(3*time.Second, `document.getElementById("connection").innerText === "Connected again"`)
		t.Logf("said to be back after %v", time.Since(back).Round(time.Millisecond))
		b.answered(plain(all...))
		b.once(all...)
		b.until(`document.getElementById("text").value === "my next thought!" && document.querySelector("#composer-note").innerText === ""`)
		b.click(`#composer-action button[aria-label="Send"]`)
		b.answered("And here I am.")
		b.once("my next thought!")
	})
}

func TestServerKilledInTheMiddle(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		m := newModel(t)
		first, rest := words("one", 60), words("two", 10)
		held := m.pauses(40, first...)
		m.says(rest...)
		server := serveModel(t, m)
		b := visit(t, s, server.url, "/chat/new")
		b.expect("net::ERR_", "Failed to fetch", "network error", "sse")
		b.send("Tell me everything")
		held.wait(t)
		b.shows("one039")

		server.kill()
		b.within(2*time.Second, `document.getElementById("connection").dataset.state !== "on"`)
		server.start()
		b.until(online + ` && document.getElementById("connection").dataset.state === "on"`)
		b.until(answers + `.at(-1).innerText.includes("This answer was cut off.")`)
		b.until(idle)
		if n := len(m.questions()); n != 1 {
			t.Errorf("the model was asked %d times; nothing may resume by itself", n)
		}
		kept := strings.Fields(eval[string](b, lastText))
		if want := strings.Fields(plain(first...)); len(kept) > len(want) || strings.Join(kept, " ") != strings.Join(want[:len(kept)], " ") {
			t.Errorf("what is left is not the beginning of the answer: %q", kept)
		}
		b.click(`#messages form.resume button`)
		b.shows("two009")
		b.until(idle)
		b.once(append(kept, rest...)...)
		b.reload()
		b.shows("two009")
		b.once(append(kept, rest...)...)
		b.once("Tell me everything")
	})
}
