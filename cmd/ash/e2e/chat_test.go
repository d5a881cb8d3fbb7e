package e2e

import (
	"strings"
)

// What tests of a conversation look at, as JavaScript.
const (
	answers  = `[...document.querySelectorAll('#messages > article[aria-label="Ash"]')]`
	mine     = `[...document.querySelectorAll('#messages > article[aria-label="You"]')]`
	lastBody = answers + `.at(-1)?.querySelector(':scope .prose[id^="b-"]')`
	lastText = `(` + lastBody + `?.innerText ?? "").replace(/\s+/g, " ").trim()`
	idle     = `document.querySelector("#composer-action:not(.running)")`
	running  = `document.querySelector("#composer-action.running")`
	online   = `document.documentElement.dataset.connection !== "off" && document.documentElement.dataset.connection !== "wait" && document.getElementById("stream")?._htmx?.sse`
)

// send writes a message and sends it with the button.
func (b *tab) send(text string) {
	b.t.Helper()
	b.write("#text", text)
	b.click(`#composer-action button.send:not(.stop)`)
}

// answered waits until the last answer reads exactly so and nothing is being written any more.
func (b *tab) answered(text string) {
	b.t.Helper()
	b.until(lastText + " === " + quote(text) + " && " + idle)
}

// shows waits until the last answer contains a text.
func (b *tab) shows(text string) {
	b.t.Helper()
	b.until(lastText + ".includes(" + quote(text) + ")")
}

// once fails the test unless each of the words stands on the page exactly once.
func (b *tab) once(words ...string) {
	b.t.Helper()
	shown := eval[string](b, `document.getElementById("messages").innerText + document.getElementById("queued").innerText`)
	for _, w := range words {
		if n := strings.Count(shown, strings.TrimSpace(w)); n != 1 {
			b.t.Errorf("%q stands on the page %d times, want once", strings.TrimSpace(w), n)
		}
	}
}

// differ describes the first difference of two texts, "" for none.
func differ(a, b string) string {
	if a == b {
		return ""
	}
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	around := func(s string) string { return s[max(0, i-80):min(len(s), i+120)] }
	return "\n  " + around(a) + "\n  " + around(b)
}
