package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	source = `document.getElementById("source").value`
	saved  = `document.getElementById("dirty").innerText.includes("Saved.")`
	save   = `form[data-guard] button.go`
)

func TestIdentityEditedInTwoTabs(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		m := newModel(t)
		m.says("Gladly.")
		server := serveModel(t, m)
		p := newPerson(t)
		a := p.visit(s, server.url, "/identity/soul")
		before := eval[string](a, source)
		if len(before) < 100 {
			t.Fatalf("SOUL.md begins as %q", before)
		}
		b := p.visit(s, server.url, "/identity/soul")
		b.expect("409")

		a.rewrite("#source", before+"\n## Mark A\n\nSpeak like a **lighthouse keeper**.\n")
		a.until(`document.getElementById("preview").querySelector("strong:last-of-type")?.innerText === "lighthouse keeper"`)
		a.until(`/^\d[\d\s\u202f.,]* tokens/.test(document.getElementById("tokens").innerText)`)
		a.until(`document.getElementById("dirty").innerText === "Not saved yet"`)
		a.click(save)
		a.until(saved)

		// The second tab does not know; nothing is lost on either side.
		mineToo := before + "\n## Mark B\n\nAnd like a gardener.\n"
		b.rewrite("#source", mineToo)
		b.click(save)
		b.until(`document.getElementById("conflict-title")?.innerText.includes("changed while you were editing") && ` + source + ` === ` + quote(mineToo))
		b.until(`document.querySelector(".conflict .lines ins").innerText.includes("Mark B") && document.querySelector(".conflict .lines del").innerText.includes("Mark A")`)
		b.rewrite("#source", before+"\n## Mark A\n\nSpeak like a **lighthouse keeper**.\n\n## Mark B\n\nAnd like a gardener.\n")
		b.click(save)
		b.until(saved + ` && !document.getElementById("conflict-title")`)

		// What is said next is said by the new Ash.
		b.goTo("/chat/new")
		b.send("Who are you?")
		b.until(newThread)
		b.answered("Gladly.")
		if system := string(m.question().Messages[0].Content); !strings.Contains(system, "lighthouse keeper") || !strings.Contains(system, "gardener") {
			t.Errorf("the model was told %s", system)
		}

		// History: compare with the first version, and go back to it.
		a.goTo("/identity/soul")
		if n := eval[int](a, `document.querySelectorAll(".versions li").length`); n != 3 {
			t.Errorf("there are %d versions, want 3", n)
		}
		a.click(`.versions li:last-child a`)
		a.until(`document.querySelectorAll("#diff .lines ins").length >= 4`)
		a.click(`#diff form button`)
		a.until(saved + ` && ` + source + ` === ` + quote(before))

		// An editor outside is noticed, and its text becomes a version.
		path := filepath.Join(server.home, "workspace", "SOUL.md")
		if err := os.WriteFile(path, []byte("# Ash\n\nWritten in another editor.\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		a.reloadUntil(source + `.includes("another editor") && document.querySelector(".versions li").innerText.includes("changed in another editor")`)
	})
}

func TestConflictCanBeForcedOrDropped(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	server := serveModel(t, newModel(t))
	p := newPerson(t)
	for choice, want := range map[string]string{".conflict form button": "mine", ".conflict a.btn": "theirs"} {
		a := p.visit(desktop, server.url, "/identity/user")
		b := p.visit(desktop, server.url, "/identity/user")
		b.expect("409")
		a.rewrite("#source", "# theirs "+want)
		a.click(save)
		a.until(saved)
		b.rewrite("#source", "# mine "+want)
		b.click(save)
		b.until(`document.getElementById("conflict-title")`)
		b.click(choice)
		b.until(`!document.getElementById("conflict-title") && ` + source + `.trim() === ` + quote("# "+want+" "+want))
	}
}
