package e2e

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// textFile writes a file to be attached.
func textFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func picture(t *testing.T) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 48, 32))
	for y := range 32 {
		for x := range 48 {
			img.Set(x, y, color.RGBA{uint8(5 * x), uint8(7 * y), 160, 255})
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestAttachments(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		m := newModel(t)
		m.says("I have read them.")
		b := visit(t, s, serveModel(t, m).url, "/chat/new")
		b.expect("422")
		shot := picture(t)
		b.run(chromedp.SetUploadFiles("#files", []string{
			textFile(t, "notes äöü.txt", "the secret ingredient is cardamom"),
			textFile(t, "view.png", string(shot)),
			textFile(t, "tool.exe", "MZ\x90\x00\x03\x00\x00\x00\x04\x00\x00\x00\xff\xff\x00\x00"),
		}, chromedp.ByQuery))
		b.until(`document.querySelectorAll("#chips .chip input[name=attachment]").length === 2`)
		b.until(`document.querySelector("#chips .chip.bad")?.innerText.includes("tool.exe")`)
		if why := eval[string](b, `document.querySelector("#chips .chip.bad small").innerText`); len(why) < 20 {
			t.Errorf("the refusal gives no reason: %q", why)
		}
		b.click(`#chips .chip.bad [data-remove]`)

		// A long paste and a dropped file.
		b.run(chromedp.Evaluate(`(() => {
			const paste = new DataTransfer();
			paste.setData("text/plain", "pasted prose ".repeat(900));
			document.getElementById("text").dispatchEvent(new ClipboardEvent("paste", { clipboardData: paste, bubbles: true, cancelable: true }));
			const drop = new DataTransfer();
			drop.items.add(new File(["a,b\n1,cumin\n"], "table.csv", { type: "text/csv" }));
			document.querySelector(".chat").dispatchEvent(new DragEvent("drop", { dataTransfer: drop, bubbles: true, cancelable: true }));
		})()`, nil))
		b.until(`document.querySelectorAll("#chips .chip input[name=attachment]").length === 4 && document.getElementById("text").value === ""`)
		b.send("What do they say?")
		b.until(newThread)
		b.answered("I have read them.")
		for _, name := range []string{"notes äöü.txt", "Pasted text.txt", "table.csv"} {
			b.until(mine + `[0].querySelector(".files").innerText.includes(` + quote(name) + `)`)
		}
		b.until(`(i => i?.complete && i.naturalWidth === 48)(` + mine + `[0].querySelector('.files img[alt="view.png"]'))`)
		asked := m.questions()[0]
		for _, want := range []string{"the secret ingredient is cardamom", "1,cumin", "pasted prose pasted prose"} {
			if !strings.Contains(asked, want) {
				t.Errorf("the model was not given %q", want)
			}
		}
		back := eval[string](b, `fetch(`+mine+`[0].querySelector('.files img').src).then((r) => r.blob()).then((f) => new Promise((done) => {
			const r = new FileReader();
			r.onload = () => done(r.result.split(",")[1]);
			r.readAsDataURL(f);
		}))`)
		if back != base64.StdEncoding.EncodeToString(shot) {
			t.Error("the picture that comes back is another")
		}
		b.reload()
		b.until(mine + `[0].querySelectorAll(".files li").length === 4`)
	})
}
