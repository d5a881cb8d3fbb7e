package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
)

// remember enters facts by hand, the way the form of the Memory page does.
func (b *tab) remember(facts ...[3]string) {
	b.t.Helper()
	b.goTo("/memory/new")
	for _, f := range facts { // kind, about, text
		if !eval[bool](b, fmt.Sprintf(`fetch("/memory/new", {method: "POST", body: new URLSearchParams({
			_csrf: document.querySelector("meta[name=csrf-token]").content, kind: %s, about: %s, text: %s})}).then((r) => r.ok && r.redirected)`,
			quote(f[0]), quote(f[1]), quote(f[2]))) {
			b.t.Fatalf("%q was not kept", f[2])
		}
	}
}

// said is the body of the page.
func (b *tab) said(text string) {
	b.t.Helper()
	b.until(`document.querySelector("main").innerText.includes(` + quote(text) + `)`)
}

// narrow fails when the page can be scrolled sideways at a width.
func (b *tab) narrow(widths ...int64) {
	b.t.Helper()
	for _, width := range widths {
		b.run(viewport(screen{width: width, height: 900}))
		if over := eval[string](b, sideways); over != "" {
			b.t.Errorf("%s scrolls sideways at %d px: %s", eval[string](b, "location.pathname + location.search"), width, over)
		}
	}
}

// With the setting ask, what a conversation taught is proposed: it comes into the inbox while that is open, counts on the badge, and counts
// for nothing until it is approved.
func TestProposalsFromTheInbox(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		m := newModel(t)
		m.learned = `{"keep":[` +
			`{"text":"My neighbour Ferdinand plays chess","quote":"My neighbour Ferdinand plays chess","message":"m1","about":[{"name":"Ferdinand","kind":"person"}],"confidence":0.9,"importance":0.5},` +
			`{"text":"My sister lives in Graz","quote":"my sister lives in Graz","message":"m1","about":[{"name":"Graz","kind":"place"}],"confidence":0.9,"importance":0.5}],"expire":[]}`
		srv := serveConfig(t, "[memory]\nlearn = \"ask\"\nrest = \"1s\"\n", []string{"OPENAI_API_KEY=sk-of-no-use"}, "--model", "openai/test", "--base-url", m.url+"/v1")
		me := newPerson(t)
		inbox := me.visit(s, srv.url, "/inbox")
		inbox.said("Nothing waits for you")
		b := me.visit(s, srv.url, "/chat/new")
		m.says("How nice.")
		b.send("My neighbour Ferdinand plays chess, and my sister lives in Graz.")
		b.answered("How nice.")

		cards := `[...document.querySelectorAll("#proposals > li")].filter((e) => e.checkVisibility())`
		inbox.until(cards + ".length === 2")
		inbox.until(`!document.querySelector(".inbox-empty").checkVisibility()`)
		badge := `[...document.querySelectorAll(".badge")].find((e) => e.checkVisibility())?.innerText.trim()`
		inbox.until(badge + `?.startsWith("2")`)
		b.until(badge + `?.startsWith("2")`)
		if over := eval[string](inbox, sideways); over != "" {
			t.Errorf("the inbox scrolls sideways: %s", over)
		}
		of := func(word string) string {
			return `#` + eval[string](inbox, cards+`.find((e) => e.innerText.includes(`+quote(word)+`)).id`)
		}
		inbox.click(of("Graz") + ` button[value="dismiss"]`)
		inbox.until(cards + ".length === 1")
		inbox.until(badge + `?.startsWith("1")`)
		inbox.click(of("Ferdinand") + ` button[value="approve"]`)
		inbox.until(cards + ".length === 0")
		inbox.said("Nothing waits for you")
		b.until(`!` + badge)

		inbox.goTo("/memory")
		inbox.said("My neighbour Ferdinand plays chess")
		if inbox.holds(`document.body.innerText.includes("lives in Graz")`) {
			t.Error("what was declined is remembered")
		}
		if got := asksAnew(b, m, "Who of my neighbours plays chess?", "As you said."); !strings.Contains(got, "Ferdinand plays chess") {
			t.Errorf("what was approved does not stand before the model: %s", got)
		}
	})
}

// A message is forgotten from its own menu, with what was learned from it, and taken back: with the mouse, the finger, the keys.
func TestForgetFromTheMessageMenu(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		m := newModel(t)
		b := visit(t, s, serveModel(t, m).url, "/chat/new")
		m.asks("remember", map[string]any{"text": "My dog is called Rexington"})
		m.says("Noted.")
		b.send("Please remember: my dog is called Rexington")
		b.until(newThread)
		b.until(waitingCards + `.length === 1 || ` + lastText + ` === "Noted."`) // what was said in so many words may be kept unasked
		if b.holds(waitingCards + `.length === 1`) {
			b.click(`#messages section.call.waiting form.quick button[value="approve"]`)
		}
		b.answered("Noted.")
		thread := eval[string](b, "location.pathname")

		forget := `#messages article[aria-label="You"] .actions a[title="Forget…"]`
		press := func(selector string) { b.click(selector) }
		if s.name == desktop.name {
			press = func(selector string) {
				b.until(`(e => { e?.focus(); return e && document.activeElement === e; })(document.querySelector(` + quote(selector) + `))`)
				b.press(enter)
			}
		}
		press(forget)
		b.until(`document.querySelector("form.traces")`)
		b.said("goes in any case")
		b.until(`[...document.querySelectorAll("form.traces li")].filter((e) => e.innerText.includes("Rexington")).length >= 2`)
		if !b.holds(`document.querySelector('form.traces input[value^="fact:"]').checked`) {
			t.Error("what was learned from the message is not ticked")
		}
		if over := eval[string](b, sideways); over != "" {
			t.Errorf("the page scrolls sideways: %s", over)
		}
		press(`form.traces button.halt`)
		b.until(`location.pathname === "/memory" && document.querySelector(".gone")`)
		if b.holds(`document.querySelector(".mems")?.innerText.includes("Rexington")`) {
			t.Error("the memory is still listed")
		}
		b.goTo(thread)
		b.until(mine + `.length === 1 && !document.getElementById("messages").innerText.includes("is called Rexington")`)

		b.goTo("/memory")
		press(`.gone form[action$="/undo"] button`)
		b.until(`!document.querySelector(".gone") && document.querySelector(".mems").innerText.includes("Rexington")`)
		b.goTo(thread)
		b.until(mine + `[0].innerText.includes("my dog is called Rexington")`)

		// The whole conversation, from its menu.
		b.click(`#thread-head details.menu summary`)
		b.click(`#thread-head .thread-menu a[href^="/memory/forget?thread="]`)
		b.until(`document.querySelector('form.traces input[value^="fact:"]')`)
		b.click(`form.traces button.halt`)
		b.until(`document.querySelector(".gone")?.innerText.includes("1 conversation")`)
		b.click(`.gone form[action$="/finish"] button`)
		b.until(`!document.querySelector(".gone") && !document.querySelector(".mems")`)
		b.goTo("/chat")
		b.until(`document.querySelectorAll("#thread-list .row").length === 0`)
	})
}

// All that is known of somebody, the search that says why it found, filters and pages.
func TestMemoryIsLookedThrough(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		b := visit(t, s, serveModel(t, newModel(t)).url, "/memory")
		b.said("Nothing is remembered yet")
		b.click(`main .later a.btn.go`)
		b.until(`location.pathname === "/memory/new"`)
		b.write("#new-text", "Tomás is allergic to feathers and to cats.")
		b.write("#new-about", "Tomás")
		b.click(`form.mem-form button.go`)
		b.until(`document.getElementById("notices").innerText.includes("Remembered.")`)
		facts := [][3]string{{"core", "", "I answer to Robin."}, {"fact", "Tomás, Lisbon", "Tomás was born in Lisbon."}, {"pattern", "Tomás", "Dinner with Tomás on Thursdays."}}
		for i := range 44 {
			facts = append(facts, [3]string{"fact", "Shelf", fmt.Sprintf("Jar number %d holds cumin.", i)})
		}
		b.remember(facts...)

		b.goTo("/memory?tab=facts")
		b.until(`document.querySelectorAll(".mem").length === 40`)
		b.click(`.pager a`)
		b.until(`location.search.includes("after=") && document.querySelectorAll(".mem").length === 6`)

		b.goTo("/memory")
		b.write("#mem-q", "allergies of Tomás")
		b.click(`.mem-find .search button`)
		b.until(`document.querySelector(".mem")?.innerText.includes("feathers")`)
		b.until(`[...document.querySelectorAll(".mem mark")].some((e) => e.innerText === "Tomás") && document.querySelector(".mem-meta").innerText.includes("matched:")`)
		b.click(`.narrow-down summary`)
		b.write("#f-entity", "Lisbon")
		b.click(`.narrow-down .buttons button`)
		b.until(`document.querySelectorAll(".mem").length === 1 && document.querySelector(".mem").innerText.includes("born in Lisbon")`)

		b.click(`.mem .about[href^="/memory/entities/"]`)
		b.until(`location.pathname.startsWith("/memory/entities/") && document.querySelector("svg.graph a")`)
		if over := eval[string](b, sideways); over != "" {
			t.Errorf("the page of an entity scrolls sideways: %s", over)
		}
		name := eval[string](b, `document.querySelector("h1").innerText`)
		b.click(`svg.graph a`)
		b.until(`document.querySelector("h1").innerText !== ` + quote(name) + ` && document.querySelector("svg.graph")`)

		b.until(`document.readyState === "complete"`)
		b.press("k", input.ModifierCtrl)
		b.until(`document.getElementById("palette").open && document.querySelector("#palette-results .item")`)
		b.run(input.InsertText("feath"))
		b.until(`document.querySelector('#palette-results a.item[href^="/memory/facts/"]')?.innerText.includes("feathers")`)
		b.press(enter)
		b.until(`location.pathname.startsWith("/memory/facts/")`)
		b.said("allergic to feathers")
		b.goTo("/memory/growth")
		b.until(`document.querySelectorAll("svg.growth path").length === 3`)
		b.said("48 facts hold now")
	})
}

// Long words, German and Chinese, names that look like markup: nothing of memory is wider than its page.
func TestMemoryHoldsLongWords(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	b := visit(t, desktop, serveModel(t, newModel(t)).url, "/memory")
	long := strings.Repeat("Donaudampfschifffahrtsgesellschaftskapitän", 3)
	b.remember(
		[3]string{"fact", "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz, " + long[:110], long + " wohnt in Graz."},
		[3]string{"fact", long[:110], strings.Repeat("我的邻居对榛子过敏，请记住这一点。", 12)},
		[3]string{"core", "<b>Anna</b>", "https://example.org/" + strings.Repeat("a-very-long-path/", 20)},
		[3]string{"pattern", "", strings.Repeat("aaaaaaaaaa", 60)},
	)
	entity := func() string {
		b.goTo("/memory/entities")
		return eval[string](b, `document.querySelector(".entities a").getAttribute("href")`)
	}()
	b.goTo("/memory")
	fact := eval[string](b, `document.querySelector(".mem-text a").getAttribute("href")`)
	forget := eval[string](b, `document.querySelector('.mem a[href^="/memory/forget"]').getAttribute("href")`)
	for _, path := range []string{
		"/memory", "/memory?q=Graz", "/memory?q=" + strings.Repeat("q", 380), "/memory?entity=" + strings.Repeat("q", 110), "/search?q=" + strings.Repeat("q", 190), "/memory?tab=core", "/memory?tab=waiting", "/memory?status=all&entity=Rindfleisch", "/memory/new", fact, forget,
		"/memory/entities", entity, "/memory/runs", "/memory/growth", "/memory/notes", "/inbox",
	} {
		b.goTo(path)
		b.narrow(320, 390, 768, 1280)
		for what, count := range map[string]string{
			"h1":            `document.querySelectorAll("h1").length`,
			"nameless link": `1 + [...document.querySelectorAll("a[href], button")].filter((e) => e.checkVisibility() && !(e.textContent.trim() || e.getAttribute("aria-label") || e.title)).length`,
			"nameless field": `1 + [...document.querySelectorAll("input:not([type=hidden]), select, textarea:not([hidden])")]
				.filter((e) => e.checkVisibility() && !e.labels?.length && !e.ariaLabel).length`,
			"id given twice": `1 + (ids => ids.length - new Set(ids).size)([...document.querySelectorAll("body [id]")].map((e) => e.id))`,
		} {
			if n := eval[int](b, count); n != 1 {
				t.Errorf("%s: %q is counted %d, want 1", path, what, n)
			}
		}
	}
	b.run(viewport(phone))
	b.goTo("/memory?tab=waiting")
	if hidden := eval[string](b, `[...document.querySelectorAll(".mem-tabs a")].filter((e) => e.getBoundingClientRect().right > innerWidth).map((e) => e.innerText).join()`); hidden != "" {
		t.Errorf("out of view on a phone: %s", hidden)
	}
	small := `[...document.querySelectorAll("main a.btn, main button, main .act, main summary")].filter((e) => e.checkVisibility() && e.getBoundingClientRect().height < 43).map((e) => e.outerHTML.slice(0, 80)).join("\n")`
	for _, path := range []string{"/memory", fact, forget, entity, "/memory/growth", "/inbox"} {
		b.goTo(path)
		if got := eval[string](b, small); got != "" {
			t.Errorf("%s has what a finger does not hit:\n%s", path, got)
		}
	}
}

// A name is put right in the sheet of its page; one that somebody has already asks whether the two are one.
func TestNamesArePutRight(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		b := visit(t, s, serveModel(t, newModel(t)).url, "/memory")
		b.remember([3]string{"fact", "Ferd", "Ferd rows on Sundays."}, [3]string{"fact", "Ferdinand", "Ferdinand sings."})
		b.goTo("/memory/entities?name=ferd")
		b.until(`document.querySelectorAll(".entities a").length === 2`)
		b.click(".entities li:last-child a")
		b.until(`document.querySelector("h1").innerText === "Ferd"`)
		sheet := func() {
			b.click(`.head a[data-sheet]`)
			b.until(`document.getElementById("sheet").open && document.getElementById("name-name")`)
		}
		sheet()
		b.rewrite("#name-name", "Ferdi")
		eval[bool](b, `(document.getElementById("name-kind").value = "person") !== ""`)
		b.click("#sheet .name-form button.go")
		b.until(`document.querySelector("h1").innerText === "Ferdi"`)
		b.said("Person · also Ferd · 1 fact")
		sheet()
		b.rewrite("#name-name", "ferdinand")
		b.click("#sheet .name-form button.go")
		b.said("Are these one?")
		if over := eval[string](b, sideways); over != "" {
			t.Errorf("the question scrolls sideways: %s", over)
		}
		b.click(`.merge-choice button.go`)
		b.until(`document.querySelector("h1").innerText === "Ferdi"`)
		b.said("Ferd rows on Sundays.")
		b.said("Ferdinand sings.")
	})
}
