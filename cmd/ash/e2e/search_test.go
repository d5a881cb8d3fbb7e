package e2e

import (
	"net/url"
	"testing"
)

func TestSearch(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		m := newModel(t)
		m.title = "Reisepläne"
		b := visit(t, s, serveModel(t, m).url, "/chat/new")
		for _, talk := range [][2]string{
			{"Wo ist es schön?", "In Köln am Rhein, in der Nähe der Brücke, und danach die große Überraschung."},
			{"日本はどうですか", "春の東京は桜がとてもきれいです。"},
			{"Something else", "Nothing to see here."},
		} {
			m.says(talk[1])
			b.goTo("/chat/new")
			b.send(talk[0])
			b.until(newThread)
			b.answered(plain(talk[1]))
		}
		for query, found := range map[string]struct{ mark, text string }{
			"brücke":       {"Brücke", "In Köln am Rhein"},
			"ÜBERRASCHUNG": {"Überraschung", "In Köln am Rhein"},
			"kö":           {"Kö", "In Köln am Rhein"},
			"東京":           {"東京", "春の東京は桜が"},
			"桜がとても":        {"桜がとても", "春の東京は桜が"},
		} {
			b.goTo("/search?q=" + url.QueryEscape(query))
			b.until(`[...document.querySelectorAll(".hit mark")].some((e) => e.innerText.toLowerCase().startsWith(` + quote(found.mark) + `.toLowerCase()))`)
			if n := eval[int](b, `document.querySelectorAll(".hit").length`); n != 1 {
				t.Errorf("%q has %d results, want 1", query, n)
			}
			b.click(".hit a")
			b.until(newThread + ` && ` + lastText + `.startsWith(` + quote(found.text) + `)`)
			b.until(`location.hash.startsWith("#m-") && document.querySelector(location.hash).matches(".found")`)
		}
		b.goTo("/search?q=" + url.QueryEscape(`"unbalanced AND ( *`))
		b.until(`document.querySelector("main").innerText.includes("Nothing found")`)

		// In the column, while typing.
		b.goTo("/chat")
		b.write("#find", "reiseplän")
		b.until(`document.querySelectorAll("#thread-list .hit").length === 3`)
		b.rewrite("#find", "überr")
		b.until(`document.querySelectorAll("#thread-list .hit").length === 1 && document.querySelector("#thread-list .hit mark").innerText.startsWith("Überr")`)
		b.click("#thread-list .hit a")
		b.until(newThread + ` && ` + lastText + `.startsWith("In Köln")`)
	})
}
