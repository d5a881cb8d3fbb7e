package views_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"github.com/chromedp/chromedp"

	"ash/views/components"
)

// withReceipt puts an open receipt at the end of a page's main part.
type withReceipt struct{ page templ.Component }

func (w withReceipt) Render(ctx context.Context, to io.Writer) error {
	var b, r strings.Builder
	if err := w.page.Render(ctx, &b); err != nil {
		return err
	}
	if err := components.ReceiptOf(receipt()).Render(ctx, &r); err != nil {
		return err
	}
	_, err := io.WriteString(to, strings.Replace(b.String(), "</main>", r.String()+"</main>", 1))
	return err
}

// TestMemoryOnAPhone: what is touched is large enough, and nothing scrolls sideways even at 320 px.
func TestMemoryOnAPhone(t *testing.T) {
	d, b := openDesk(t), openTab(t)
	for name := range memoryFixtures() {
		b.run(t, viewport(390, 844), chromedp.Navigate(d.URL+"/"+name))
		var small string
		b.run(t, chromedp.Evaluate(`(() => {
			const all = document.querySelectorAll("main :is(button, .btn, .act, select, input:not([type=hidden]):not([type=checkbox]), summary, .seg a, .entities a, .notes a, .mem-else a)");
			return [...all].filter((e) => e.checkVisibility() && e.getBoundingClientRect().height < 43.5 && !e.closest(".search, .prose"))
				.map((e) => e.outerHTML.slice(0, 90) + " " + Math.round(e.getBoundingClientRect().height)).join("\n");
		})()`, &small))
		if small != "" {
			t.Errorf("%s: too small to be touched:\n%s", name, small)
		}
		var wide string
		b.run(t, viewport(320, 700), chromedp.Evaluate(`(() => {
			for (const e of document.querySelectorAll("main, main *")) {
				const s = getComputedStyle(e);
				if (e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0 && s.display !== "inline" && !/auto|scroll|hidden/.test(s.overflowX) && !e.closest("svg, .lines, .sr")) return e.outerHTML.slice(0, 120);
			}
			return "";
		})()`, &wide))
		if wide != "" {
			t.Errorf("%s at 320 px is too wide: %s", name, wide)
		}
		for _, c := range b.complaints() {
			t.Errorf("%s: %s", name, c)
		}
	}
}

// TestMemoryByKeyboard: every neighbour of a graph can be reached and is named, and a proposal is decided without a mouse.
func TestMemoryByKeyboard(t *testing.T) {
	d, b := openDesk(t), openTab(t)
	b.run(t, viewport(1280, 860), chromedp.Navigate(d.URL+"/memory-entity"))
	var named bool
	b.run(t, chromedp.Evaluate(`[...document.querySelectorAll("svg.graph a")].length === 10 && [...document.querySelectorAll("svg.graph a")].every((a) => { a.focus(); return document.activeElement === a && a.getAttribute("aria-label"); })`, &named))
	if !named {
		t.Error("a neighbour in the graph cannot be reached or has no name")
	}
	b.run(t, chromedp.Navigate(d.URL+"/memory-waiting"), chromedp.Focus(`#`+components.ProposalID(id(0x21))+` button[value="approve"]`), chromedp.KeyEvent("\r"))
	b.until(t, "true")
	for range 40 {
		if len(d.posted("/memory/proposals/"+string(id(0x21)))) > 0 {
			break
		}
		b.until(t, "true")
	}
	sent := d.posted("/memory/proposals/" + string(id(0x21)))
	if len(sent) != 1 || sent[0].all.Get("decision") != "approve" || sent[0].all.Get("_csrf") != "token" {
		t.Errorf("sent %+v, want one approval", sent)
	}
	if c := b.complaints(); len(c) > 0 {
		t.Error(c)
	}
}

// TestMemoryShots writes pictures of the pages into the folder ASH_SHOTS names, to be looked at.
func TestMemoryShots(t *testing.T) {
	dir := os.Getenv("ASH_SHOTS")
	if dir == "" {
		t.Skip("set ASH_SHOTS to a folder to have the pages drawn")
	}
	d, b := openDesk(t), openTab(t)
	for _, name := range strings.Fields(os.Getenv("ASH_SHOTS_OF")) {
		for _, theme := range []string{"light", "dark"} {
			for _, width := range []int64{1280, 390} {
				var png []byte
				b.run(t, viewport(width, map[int64]int64{1280: 1000, 390: 1500}[width]), chromedp.Navigate(d.URL+"/"+name+"?theme="+theme), chromedp.CaptureScreenshot(&png))
				file := filepath.Join(dir, name+"-"+theme+"-"+map[int64]string{1280: "wide", 390: "phone"}[width]+".png")
				if err := os.WriteFile(file, png, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
