package views_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestWhatStandsInALineIsWhole looks at what shares a line: a card's verdict is level with its title, a name that is too long
// ends in an ellipsis rather than within a letter, a hint gives way to the name it stands beside, and the number of a footnote
// stays within its line.
func TestWhatStandsInALineIsWhole(t *testing.T) {
	d, b := openDesk(t), openTab(t)
	for _, width := range []int64{1280, 390} {
		var crooked, clipped, cut []string
		var risen float64
		b.run(t, viewport(width, 800), chromedp.Navigate(d.URL+"/chat-cards"))
		b.until(t, `document.querySelectorAll(".call .verdict").length > 3`)
		b.run(t,
			chromedp.Evaluate(`[...document.querySelectorAll(".call > :has(> .verdict), .call > details > :has(> .verdict)")].flatMap((head) => {
				const middle = (e) => { const r = e.getBoundingClientRect(); return r.y + r.height / 2; };
				const off = middle(head.querySelector(".verdict")) - middle(head.querySelector("b"));
				return Math.abs(off) > 2 ? [head.innerText + ": " + off] : [];
			})`, &crooked),
			chromedp.Evaluate(`(() => {
				const p = document.createElement("p"), sup = document.createElement("sup");
				sup.className = "cite";
				sup.textContent = "1";
				p.append("A footnote", sup);
				document.querySelector(".prose").prepend(p);
				const text = document.createRange();
				text.selectNodeContents(sup);
				return p.getBoundingClientRect().top - text.getBoundingClientRect().top;
			})()`, &risen),
			chromedp.Navigate(d.URL+"/chat-list"),
			chromedp.Evaluate(`[...document.querySelectorAll("#thread-list .row b")].flatMap((b) => {
				b.append(" and more of it than any column has room for, however wide");
				const s = getComputedStyle(b); // only a block's own text ends in an ellipsis
				return b.scrollWidth > b.clientWidth && s.display === "block" && s.textOverflow === "ellipsis" ? [] : [b.innerText];
			})`, &clipped),
			chromedp.Evaluate(`htmx.ajax("GET", "/palette", { target: "#palette-results" }).then(() => document.getElementById("palette").showModal())`, nil),
		)
		b.until(t, `document.querySelector("#palette-results .item small")?.checkVisibility()`)
		b.run(t, chromedp.Evaluate(`[...document.querySelectorAll("#palette-results .item span")].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.innerText)`, &cut))
		if len(crooked) > 0 {
			t.Errorf("at %d px verdicts are not level with their titles: %q", width, crooked)
		}
		if risen > 0 {
			t.Errorf("at %d px a footnote's number stands %v px above its line", width, risen)
		}
		if len(clipped) > 0 {
			t.Errorf("at %d px titles are clipped: %q", width, clipped)
		}
		if len(cut) > 0 {
			t.Errorf("at %d px names are cut short for their hints: %q", width, cut)
		}
	}
	for _, c := range b.complaints() {
		t.Error(c)
	}
}
