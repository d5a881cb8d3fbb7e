package e2e

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

const (
	screenshots   = "../../../docs/screenshots"
	maxScreenshot = 250 << 10 // bytes
)

// talk is a question and its answer.
type talk struct{ title, question, answer string }

// talks fill the list; the last one is the conversation on the pictures.
var talks = []talk{
	{"Bread that keeps for a week", "Which bread stays fresh longest?", "Rye sourdough. The acid slows mould, and the bran holds water, so it is still good after a week."},
	{"Train to Lisbon in May", "Can I get from Zürich to Lisbon by train?", "Yes, in about a day and a half: Zürich to Barcelona by way of Lyon, a night there, then Madrid, Badajoz and Lisbon."},
	{"A name for the sailing boat", "Name ideas for a small wooden boat?", "Lark, Second Wind, Merle, Halcyon. I would take Merle: short on the radio, and nobody else in the harbour has it."},
	{"Notes on the garden", "What can still go into the ground in October?", "Garlic, broad beans, and every bulb you want to see in March."},
	{
		"Backups that look after themselves",
		"I keep forgetting my backups. What is the smallest thing that works?",
		"Three pieces, and none of them needs you to remember anything:\n\n" +
			"1. **One folder** that is worth saving, so the rest can be ignored\n" +
			"2. **One command** that copies what has changed\n" +
			"3. **One timer** that runs it while you sleep\n\n" +
			"The command, with `restic` and a disk at home:\n\n" +
			"```bash\n#!/bin/sh\n# Keep a week of days, a month of weeks, a year of months.\nset -eu\nexport RESTIC_REPOSITORY=/mnt/backup/restic\n\n" +
			"restic backup \"$HOME/Documents\" --exclude-caches\nrestic forget --prune \\\n  --keep-daily 7 --keep-weekly 4 --keep-monthly 12\n```\n\n" +
			"Then try a restore once. A backup nobody has restored is only a hope.\n\n" +
			"| | First run | Every night |\n|:--|--:|--:|\n| Time | 40 min | under a minute |\n| Disk | 62 GB | about 30 MB |\n",
	},
}

// learned is what one of the talks teaches.
const learned = `{"keep":[{"text":"I want to go to Lisbon by train in May","quote":"Can I get from Zürich to Lisbon by train?","message":"m1",` +
	`"about":[{"name":"Lisbon","kind":"place"}],"confidence":0.8,"importance":0.5}],"expire":[]}`

// furnish gives a home something to remember, and returns the page of somebody who is known.
func furnish(b *tab, s *server) (person string) {
	b.t.Helper()
	b.remember(
		[3]string{"core", "", "Call me Robin, and keep answers short."},
		[3]string{"fact", "Tomás, Cabin in Graubünden", "Tomás and I have the cabin in Graubünden from 14 to 21 June."},
		[3]string{"fact", "Tomás", "Tomás is allergic to feathers and to cats."},
		[3]string{"pattern", "Tomás, Ines", "Dinner with Tomás and Ines on Thursdays; he cooks, I bring dessert."},
		[3]string{"fact", "Ines, Lisbon", "Ines moved back to Lisbon last spring and teaches at the conservatory."},
		[3]string{"fact", "Merle, Tomás", "The wooden boat is called Merle; Tomás owns half of it."},
		[3]string{"fact", "Tomás, Lisbon", "Tomás grew up in Lisbon, near the Jardim da Estrela."},
	)
	for name, text := range map[string]string{
		"people/tomas.md":   "---\ntags: [friends]\n---\n# Tomás\n\nAllergies: feathers, cats. Birthday 2 June.\n\n- likes long trains\n- reads crime novels, gives them away\n\nSee [[Cabin in June]].\n",
		"Cabin in June.md":  "# Cabin in June\n\nKeys at the bakery. Bring the *good* knife.\n",
		"garden/October.md": "# October\n\nGarlic, broad beans, bulbs.\n",
	} {
		path := filepath.Join(s.home, "notes", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			b.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
	b.goTo("/memory/notes")
	b.until(`document.querySelectorAll(".notes li").length === 3`)
	b.click(`main form[action="/memory/notes/whose"] button`)
	b.until(`!document.querySelector('main form[action="/memory/notes/whose"] .btn.small')?.checkVisibility() && document.readyState === "complete"`)
	eventually(b.t, "what a talk taught is proposed", func() bool {
		b.goTo("/memory")
		return b.holds(`document.querySelector(".mem.pending")`)
	})
	b.goTo("/memory/entities?name=tom")
	return eval[string](b, `document.querySelector(".entities a").getAttribute("href")`)
}

// TestScreenshots makes the pictures of the README.
func TestScreenshots(t *testing.T) {
	needBrowser(t)
	if !*update {
		t.Skip("the screenshots are made with -update")
	}
	m := newModel(t)
	m.names = []string{"qwen3-14b", "gemma-3-12b"}
	if !m.listenAt("127.0.0.1:1234") {
		t.Fatal("the pictures show LM Studio at its usual port, 1234, which is in use")
	}
	srv := serveConfig(t, "[models]\norder = [\"lmstudio/qwen3-14b\", \"anthropic/claude-sonnet-4-5\"]\n[memory]\nlearn = \"ask\"\nrest = \"1s\"\n",
		[]string{"ANTHROPIC_API_KEY=sk-of-no-use"})
	home := visit(t, desktop, srv.url, "/chat/new")
	m.learned = learned
	for _, x := range talks {
		m.title = x.title
		m.streams(7*time.Millisecond, pieces(x.answer, 5)...)
		home.goTo("/chat/new")
		home.send(x.question)
		home.until(newThread + ` && ` + idle)
		home.until(`document.querySelector("#thread-head h1").innerText === ` + quote(x.title))
	}
	thread := eval[string](home, "location.pathname")
	tomas := furnish(home, srv)

	first := visit(t, desktop, serve(t, nil).url, "/setup")

	for _, size := range []struct {
		screen
		scale float64
	}{{screen{desktop.name, 1280, 940}, 2}, {phone, 2}} {
		for _, theme := range []string{"light", "dark"} {
			name := func(what string) string {
				return filepath.Join(screenshots, what+"-"+size.name+"-"+theme+".png")
			}
			look := chromedp.Tasks{
				emulation.SetDeviceMetricsOverride(size.width, size.height, size.scale, size.name == phone.name),
				emulation.SetTouchEmulationEnabled(size.name == phone.name),
				scheme(theme),
			}
			home.run(look)
			home.goTo(thread)
			home.until(online)
			home.picture(name("chat"))
			home.goTo("/memory")
			home.picture(name("memory"))
			home.goTo(tomas)
			home.picture(name("memory-person"))
			home.goTo("/memory/growth")
			home.picture(name("memory-growth"))
			home.goTo("/memory/notes/file?path=people%2Ftomas.md")
			home.picture(name("note"))
			home.goTo("/settings/models")
			home.picture(name("settings"))
			home.goTo("/identity/soul")
			home.picture(name("identity"))
			first.run(look)
			first.goTo("/setup")
			first.until(`document.querySelector("#offers:not([hx-trigger])")`)
			first.picture(name("setup"))
		}
	}
}

// picture writes what a tab shows, once fonts and transitions have settled.
func (b *tab) picture(path string) {
	b.t.Helper()
	b.until(`document.readyState === "complete" && document.fonts.status === "loaded"`)
	b.run(chromedp.Evaluate(`document.activeElement?.blur()`, nil))
	var before []byte
	shoot := func() []byte {
		var shot []byte
		b.run(chromedp.ActionFunc(func(ctx context.Context) (err error) {
			shot, err = page.CaptureScreenshot().WithFormat(page.CaptureScreenshotFormatPng).WithOptimizeForSpeed(false).Do(ctx)
			return err
		}))
		return shot
	}
	eventually(b.t, "two pictures are the same", func() bool {
		now := shoot()
		same := bytes.Equal(now, before)
		before = now
		return same
	})
	shown, err := png.Decode(bytes.NewReader(before))
	if err != nil {
		b.t.Fatal(err)
	}
	var small bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, paletted(shown)); err != nil {
		b.t.Fatal(err)
	}
	if small.Len() > maxScreenshot {
		b.t.Errorf("%s has %d KB, more than %d", path, small.Len()>>10, maxScreenshot>>10)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, small.Bytes(), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// paletted gives a picture the 256 colours it uses most, which halves its file: pages have few.
func paletted(img image.Image) image.Image {
	uses := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(img.At(x, y)).(color.RGBA) }
	area := img.Bounds()
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			uses[at(x, y)]++
		}
	}
	most := slices.SortedFunc(maps.Keys(uses), func(a, b color.RGBA) int {
		if d := cmp.Compare(uses[b], uses[a]); d != 0 {
			return d
		}
		return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) // the same picture is the same file
	})
	var colours color.Palette
	for _, c := range most[:min(len(most), 256)] {
		colours = append(colours, c)
	}
	nearest := map[color.RGBA]uint8{}
	for c := range uses {
		nearest[c] = uint8(colours.Index(c))
	}
	out := image.NewPaletted(area, colours)
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			out.SetColorIndex(x, y, nearest[at(x, y)])
		}
	}
	return out
}
