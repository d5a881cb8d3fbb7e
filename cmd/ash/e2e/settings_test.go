package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestSettingHoldsWithoutRestart changes settings on the page and sees them hold.
func TestSettingHoldsWithoutRestart(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		srv := serveModel(t, newModel(t))
		b := visit(t, s, srv.url, "/settings/general")
		b.expect("422")
		row := `document.getElementById("set-turn-rounds")`
		b.rewrite("#set-turn-rounds-v", "0")
		b.press(enter)
		b.until(row + `.querySelector("[role=alert]")?.innerText.includes("1 to 10000")`)
		b.until(`document.getElementById("set-turn-rounds-v").value === "0"`) // as it was typed
		b.rewrite("#set-turn-rounds-v", "7")
		b.press(enter)
		b.until(row + `.innerText.includes("in effect") && !` + row + `.querySelector("[role=alert]")`)
		if text, err := os.ReadFile(filepath.Join(srv.home, "config.toml")); err != nil || !strings.Contains(string(text), "rounds = 7") {
			t.Errorf("config.toml: %s, %v", text, err)
		}
		b.click("#set-turn-rounds [name=reset]")
		b.until(`document.getElementById("set-turn-rounds-v").value === "50" && !` + row + `.querySelector("[name=reset]")`)

		// The theme of all pages, without a restart and without leaving the list.
		b.goTo("/settings/general")
		b.rewrite(`.setting-search input[type=search]`, "colours theme")
		b.until(`document.querySelectorAll("#settings form.setting").length === 1`)
		b.until(`(s => { s.value = "dark"; s.dispatchEvent(new Event("change", { bubbles: true })); return true; })(document.getElementById("set-appearance-theme-v"))`)
		b.until(`document.getElementById("set-appearance-theme")?.innerText.includes("in effect")`)
		b.goTo("/chat/new")
		b.until(`document.documentElement.dataset.theme === "dark"`)
	})
}

// TestSettingsListOnEachScreen goes through the sections: beside each other on a desk, one after the other on a phone.
func TestSettingsListOnEachScreen(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		b := visit(t, s, serveModel(t, newModel(t)).url, "/settings")
		seen := func(selector string) string { return `document.querySelector("` + selector + `").checkVisibility()` }
		b.until(seen("nav.sections") + ` && ` + seen("main") + ` === ` + map[bool]string{true: "false", false: "true"}[s.name == phone.name])
		b.click(`nav.sections a[href="/settings/memory"]`)
		b.until(`location.pathname === "/settings/memory" && ` + seen("main"))
		if s.name == phone.name {
			b.until(`!` + seen("nav.sections"))
			b.click("a.to-list")
			b.until(`location.pathname === "/settings" && ` + seen("nav.sections"))
		} else {
			b.until(seen("nav.sections"))
		}
		for _, path := range []string{"/settings", "/settings/memory", "/settings/tools", "/settings/tokens", "/settings/data", "/settings/data/delete", "/settings/about", "/settings/about/licences", "/settings/about/licences?of=temml"} {
			b.goTo(path)
			for _, width := range []int64{320, 1920} {
				b.run(viewport(screen{width: width, height: 900}))
				if over := eval[string](b, sideways); over != "" {
					t.Errorf("%s scrolls sideways at %d px: %s", path, width, over)
				}
			}
			b.run(viewport(s))
		}
	})
}

// TestTokenFromThePageOpensTheAPI makes a token on the page, uses it as a program would, and revokes it.
func TestTokenFromThePageOpensTheAPI(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		srv := serveModel(t, newModel(t))
		b := visit(t, s, srv.url, "/settings/tokens")
		b.expect("422")
		b.write("#token-name", "notes app")
		b.click(`.new-token button.go`)
		b.until(`document.querySelector("#api-tokens [role=alert]")?.innerText.includes("at least one scope") && document.getElementById("token-name").value === "notes app"`)
		b.click(`.scopes input[value="memory"]`)
		b.click(`.new-token button.go`)
		b.until(`document.getElementById("made-secret")?.textContent.startsWith("ash_")`)
		secret := eval[string](b, `document.getElementById("made-secret").textContent`)
		ask := func() int {
			req, err := http.NewRequest(http.MethodGet, srv.url+"/api/v1/memories", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+secret)
			res, err := (&http.Client{Timeout: 10 * time.Second}).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			return res.StatusCode
		}
		if got := ask(); got != 200 {
			t.Errorf("the API answers %d to a good token", got)
		}
		b.reload()
		b.until(`!document.getElementById("made-secret") && document.querySelector(".tokens").innerText.includes("last used")`)
		b.until(`(window.confirm = () => true, true)`)
		b.click(`.tokens form button`)
		b.until(`!document.querySelector(".tokens form") && document.querySelector(".ended-tokens")`)
		if got := ask(); got != 401 {
			t.Errorf("the API answers %d to a revoked token", got)
		}
	})
}

// TestDeleteAllFromThePage types the word and sees the last page, and an empty home but for what is not Ash's.
func TestDeleteAllFromThePage(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		srv := serveModel(t, newModel(t))
		if err := os.WriteFile(filepath.Join(srv.home, "thesis.pdf"), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		b := visit(t, s, srv.url, "/settings/data")
		b.expect("422")
		b.click(`a[href="/settings/data/delete"]`)
		b.until(`document.querySelector("main").innerText.includes("thesis.pdf")`)
		b.write("#delete-word", "no")
		b.press(enter)
		b.until(`document.querySelector("[role=alert]")?.innerText.includes("Nothing was deleted")`)
		b.rewrite("#delete-word", "delete everything")
		b.press(enter)
		b.until(`document.querySelector("h1")?.innerText === "Everything is deleted"`)
		select {
		case <-srv.gone:
		case <-time.After(15 * time.Second):
			t.Fatal("the server does not end")
		}
		list, err := os.ReadDir(srv.home)
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, e := range list {
			left = append(left, e.Name())
		}
		if !slices.Equal(left, []string{"thesis.pdf"}) {
			t.Errorf("left: %q", left)
		}
	})
}
