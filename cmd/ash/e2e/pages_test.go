package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// sideways is what is wider than the place it has, if the page can be scrolled sideways.
const sideways = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
	const over = [document.documentElement, document.body, document.querySelector("main"), document.querySelector(".flow"), document.querySelector("aside.list")]
		.filter((e) => e && e.checkVisibility() && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== "clip");
	if (!over.length) return done("");
	const wide = [...document.querySelectorAll("main *, aside *")].find((e) => e.getBoundingClientRect().right > innerWidth + 1);
	done(over.map((e) => e.tagName + "." + e.className + " " + e.scrollWidth + " > " + e.clientWidth).join(", ") + "; " + (wide?.outerHTML.slice(0, 160) ?? ""));
})))`

// wide is what tends to break a layout.
const wide = "Some `code_without_any_place_to_break_it_" + "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa` and https://example.org/" +
	"a/very/long/path/that/never/ends/and/has/no/spaces/in/it/at/all/so/it/has/to/break/somewhere\n\n" +
	"```\none very long line of code that goes on and on and on and on and on and on and on and on and on and on and on and on and on\n```\n\n" +
	"| a | b | c | d | e | f | g | h | i | j |\n|-|-|-|-|-|-|-|-|-|-|\n| aaaaaaaaaaaa | bbbbbbbbbbbbb | cccccccccccc | dddddddddddd | eeeeeeeeee | ffffffffffff | ggggggggggg | hhhhhhhh | iiiiiiii | jjjjjjjj |\n\n" +
	"$$\na_1 + a_2 + a_3 + a_4 + a_5 + a_6 + a_7 + a_8 + a_9 + a_{10} + a_{11} + a_{12} + a_{13} + a_{14} + a_{15} + a_{16} + a_{17} + a_{18}\n$$\n\nThe end.\n"

// TestNothingScrollsSideways visits every page there is, at every width.
func TestNothingScrollsSideways(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	m := newModel(t)
	m.title = "Averylongtitlewithoutanyspacesinitatallthatgoesonandonandonandon"
	m.says(wide)
	b := visit(t, desktop, serveModel(t, m).url, "/chat/new")
	b.expect("404")
	b.send(strings.Repeat("Donaudampfschifffahrtsgesellschaftskapitän", 6))
	b.until(newThread)
	b.shows("The end.")
	b.until(idle)
	thread := eval[string](b, "location.pathname")
	edit := eval[string](b, mine+`[0].querySelector("[data-edit]").getAttribute("href")`)
	for _, path := range []string{
		thread, edit, thread + "/menu", "/chat", "/chat/new", "/chat?archived=1", "/search", "/search?q=dona", "/search?q=nothing",
		"/memory", "/tools", "/vault", "/settings/models", "/settings/identity", "/settings/general", "/settings/appearance", "/settings/about",
		"/identity/soul", "/identity/user", "/identity/tools", "/setup", "/setup/found", "/no/such/page",
	} {
		b.goTo(path)
		for _, width := range []int64{320, 390, 768, 1280, 1920} {
			b.run(viewport(screen{width: width, height: 900}))
			if over := eval[string](b, sideways); over != "" {
				t.Errorf("%s scrolls sideways at %d px: %s", path, width, over)
			}
		}
		for what, count := range map[string]string{
			"main":          `document.querySelectorAll("main#main").length`,
			"h1":            `document.querySelectorAll("h1:not(.prose h1)").length`,
			"nameless link": `1 + [...document.querySelectorAll("a[href], button")].filter((e) => e.checkVisibility() && !(e.innerText.trim() || e.ariaLabel || e.title)).length`,
			"nameless field": `1 + [...document.querySelectorAll("input:not([type=hidden]), select, textarea:not([hidden])")]
				.filter((e) => e.checkVisibility() && !e.labels?.length && !e.ariaLabel).length`,
			"id given twice": `1 + (ids => ids.length - new Set(ids).size)([...document.querySelectorAll("body [id]")].map((e) => e.id))`,
		} {
			if n := eval[int](b, count); n != 1 {
				t.Errorf("%s: %q is counted %d, want 1", path, what, n)
			}
		}
	}
}

func TestPalette(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	m := newModel(t)
	m.title = "Sourdough for beginners"
	m.says("Flour and water.")
	b := visit(t, desktop, serveModel(t, m).url, "/chat/new")
	b.send("How do I start?")
	b.until(newThread)
	b.until(`document.querySelector("#thread-head h1").innerText === ` + quote(m.title))
	thread := eval[string](b, "location.pathname")

	open := func() {
		t.Helper()
		b.until(`document.readyState === "complete"`)
		b.press("k", input.ModifierCtrl)
		b.until(`document.getElementById("palette").open && document.activeElement.id === "palette-text" && document.querySelector("#palette-results .item")`)
	}
	open()
	b.press(escape)
	b.until(`!document.getElementById("palette").open`)
	open()
	b.run(input.InsertText("appear"))
	b.until(`document.querySelectorAll("#palette-results .item").length === 1`)
	b.press(enter)
	b.until(`location.pathname === "/settings/appearance"`)
	open()
	b.run(input.InsertText("sourd"))
	b.until(`document.querySelector("#palette-results .item")?.innerText.includes("Sourdough")`)
	b.press(enter)
	b.until(`location.pathname === ` + quote(thread))
	open()
	b.run(input.InsertText("dark theme"))
	b.until(`document.querySelectorAll("#palette-results .item").length === 1`)
	b.press(enter)
	b.until(`document.documentElement.dataset.theme === "dark"`)
}

func TestTheme(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		b := visit(t, s, serveModel(t, newModel(t)).url, "/settings/appearance")
		background := `getComputedStyle(document.body).backgroundColor`
		light := eval[string](b, background)
		b.click(`button[name="theme"][value="dark"]`)
		b.until(background + ` !== ` + quote(light) + ` && document.querySelector('button[value="dark"]').ariaPressed === "true"`)
		b.until(`performance.getEntriesByType("resource").some((r) => r.name.endsWith("/settings/theme") && r.responseEnd > 0)`)
		b.goTo("/chat/new")
		b.until(`document.documentElement.dataset.theme === "dark" && ` + background + ` !== ` + quote(light))
		b.goTo("/settings/appearance")
		b.click(`button[name="theme"][value="system"]`)
		b.until(`!document.documentElement.dataset.theme && ` + background + ` === ` + quote(light))
		b.run(scheme("dark"))
		b.until(background + ` !== ` + quote(light))
	})
}

// TestConversationsAreKept goes through what the list of conversations offers.
func TestConversationsAreKept(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		m := newModel(t)
		b := visit(t, s, serveModel(t, m).url, "/chat/new")
		for i := range 3 {
			m.says("Noted.")
			b.goTo("/chat/new")
			b.send(fmt.Sprintf("Thought number %d", i))
			b.until(newThread)
			b.answered("Noted.")
			b.until(`document.querySelector("#thread-head h1").innerText === ` + quote(m.title))
		}
		menu := func(button string) {
			t.Helper()
			b.click(`#thread-head details.menu summary`)
			b.click(button)
		}
		b.click(`#thread-head details.menu summary`)
		b.rewrite(`#thread-head input[name="title"]`, "Renamed by hand")
		b.click(`#thread-head form.rename button`)
		b.until(`document.querySelector("#thread-head h1").innerText === "Renamed by hand"`)
		menu(`#thread-head button[name="pinned"][value="1"]`)
		b.goTo("/chat")
		b.until(`document.querySelector("#thread-list .row b").innerText.trim() === "Renamed by hand" && document.querySelectorAll("#thread-list .row").length === 3`)
		b.click(`#thread-list .row a[href^="/chat/"]:not(.row-menu)`)
		b.until(newThread + ` && ` + online)
		menu(`#thread-head button[name="deleted"]`)
		b.until(`document.querySelector("#notices [data-undo] button")`)
		b.click(`#notices [data-undo] button`)
		b.until(`!document.querySelector("#notices [data-undo]")`)
		b.goTo("/chat")
		b.until(`document.querySelectorAll("#thread-list .row").length === 3`)
		b.until(`(a => { a.focus(); return document.activeElement === a; })(document.querySelector("#thread-list .row a"))`) // its menu shows
		b.click(`#thread-list .row .row-menu`)
		b.until(`document.getElementById("sheet").open`)
		b.click(`#sheet button[name="archived"][value="1"]`)
		b.until(`!document.getElementById("sheet").open && document.querySelectorAll("#thread-list .row").length === 2`)
		b.goTo("/chat?archived=1")
		b.until(`document.querySelector("#thread-list .row b").innerText.trim() === "Renamed by hand"`)
	})
}

func TestCopyGivesTheSource(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	m := newModel(t)
	m.says("Some *Markdown*:\n\n```\ncode here\n```\n")
	b := visit(t, desktop, serveModel(t, m).url, "/chat/new")
	b.send("Give me a snippet")
	b.until(newThread)
	b.shows("code here")
	b.until(idle)
	b.run(chromedp.Evaluate(`(() => { window.copied = []; navigator.clipboard.write = async (items) => { copied.push(await (await items[0].getType("text/plain")).text()); }; })()`, nil))
	b.click(`#messages article[aria-label="Ash"] .actions [data-copy]`)
	b.until(`copied[0] === "Some *Markdown*:\n\n` + "```\\ncode here\\n```\\n\"")
	b.click(`#messages figure [data-copy]`)
	b.until(`copied[1] === "code here\n"`)
}
