package e2e

import "testing"

// TestManyTabs opens more tabs than a browser opens connections to a server. All load, and one that was long out of
// sight knows what happened meanwhile.
func TestManyTabs(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	m := newModel(t)
	m.says("Hello.")
	m.says("Good evening.")
	server := serveModel(t, m)
	p := newPerson(t)
	first := p.visit(desktop, server.url, "/chat/new")
	first.send("Good morning")
	first.until(newThread)
	first.answered("Hello.")
	thread := eval[string](first, "location.pathname")
	first.until(online)
	var last *tab
	for range 8 {
		last = p.open(desktop, server.url, thread, false) // hides the one before
		last.answered("Hello.")
		last.until(online)
	}
	first.until(`document.hidden && !document.getElementById("stream")._htmx?.sse`)
	last.send("And at night?")
	last.answered("Good evening.")
	first.run(bringToFront())
	first.answered("Good evening.")
	first.until(online)
	first.once("And at night?", "Good evening.")
	m.says("Sleep well.")
	first.send("Bye")
	first.answered("Sleep well.")
	first.once("Bye", "Sleep well.")
}
