package handlers_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"ash/agent/config"
)

func TestSettingsAreFoundAndFiltered(t *testing.T) {
	h := open(t)
	all := h.browser.Get("/settings/general").Is(200).Find("form.setting").Length()
	if n := h.browser.Get("/settings/general?q=ROUNDS+turn").Is(200).Has("#set-turn-rounds").Lacks("#set-log-level").Find("form.setting").Length(); n == 0 || n >= all {
		t.Errorf("%d of %d settings found", n, all)
	}
	h.browser.Get("/settings/general?q=" + url.QueryEscape(`"><script>alert(1)</script>`)).Is(200).Says("No setting has all of these words").Lacks("#settings script")
	h.browser.Get("/settings/general?q=" + strings.Repeat("a", 10_000)).Is(200)
	h.browser.Get("/settings/general?q=%ff%00").Is(200)
	h.browser.HTMX().Get("/settings/general?q=rounds").Is(200).Has("#settings #set-turn-rounds").Lacks("main")
	h.browser.Get("/settings/general?changed=1").Is(200).Has("#set-models-order").Lacks("#set-turn-rounds")
}

func TestSettingIsRefusedInItsPlaceWithoutAScript(t *testing.T) {
	h := open(t)
	for _, c := range []struct{ place, key, value string }{
		{"general", "turn.rounds", "many"}, {"memory", "memory.rest", "3 fortnights"}, {"tools", "sandbox.engine", "jail"}, {"nonsense", "log.level", "loud"},
	} {
		id := "#set-" + strings.ReplaceAll(c.key, ".", "-")
		p := h.browser.Post("/settings/general", url.Values{"key": {c.key}, "value": {c.value}, "place": {c.place}}).Is(422).Has("main " + id + " [role=alert]").Has("nav.sections")
		if p.Find(id + " [name=value]").Is("select") {
			p.Has(id + " option[selected][value=" + c.value + "]")
		} else if got := p.Attr(id+" [name=value]", "value"); got != c.value {
			t.Errorf("%s: %q was typed, %q stands there", c.key, c.value, got)
		}
		if got, err := h.config.Current().Setting(c.key); err != nil || got.Value == c.value {
			t.Errorf("%s became %q, %v", c.key, got.Value, err)
		}
	}
	if to := h.browser.Post("/settings/general", url.Values{"key": {"memory.rest"}, "value": {"90s"}, "place": {"memory"}}).Leads(); !strings.HasPrefix(to, "/settings/memory?") {
		t.Errorf("a setting of Memory leads to %s", to)
	}
	h.browser.Post("/settings/general", url.Values{"key": {"turn.rounds"}, "value": {strings.Repeat("9", 100_000)}}).Is(422)
}

func TestSettingGoesBackToItsDefault(t *testing.T) {
	h := open(t)
	before := "# mine\n[turn] # bounds\nrounds = 7 # few\n"
	h.must(os.WriteFile(filepath.Join(h.home, "config.toml"), []byte(before), 0o600))
	h.must(h.config.Reload())
	h.browser.Get("/settings/general").Has("#set-turn-rounds [name=reset]").Lacks("#set-log-level [name=reset]")
	h.browser.HTMX().Post("/settings/general", url.Values{"key": {"turn.rounds"}, "value": {"12"}, "reset": {"1"}}).Is(200).Lacks("[name=reset]").Says("in effect")
	if got := h.config.Current().Config().Turn.Rounds; got != 50 {
		t.Errorf("rounds = %d", got)
	}
	if f := h.file("config.toml"); !strings.Contains(f, "# mine") || strings.Contains(f, "rounds") {
		t.Errorf("config.toml:\n%s", f)
	}
	h.browser.HTMX().Post("/settings/general", url.Values{"key": {"log.level"}, "value": {"debug"}}).Is(200).Says("when Ash is started anew")
}

func TestSettingsOfMemoryAndTools(t *testing.T) {
	h := open(t)
	h.browser.Get("/settings/memory").Is(200).Has("#set-memory-learn").Has(`a[href="/memory/runs"]`).Has(`a[href="/memory/growth"]`).Lacks("#set-turn-rounds")
	h.browser.Get("/settings/tools").Is(200).Has("#set-tools-parallel").Has("#set-files-folders").Has("#set-search-backend").Has("#set-sandbox-engine").Has(`a[href="/tools"]`)
}

// Every key there is has a row that says its default, its bounds and when it takes effect, and a wrong value comes back into that row.
func TestEverySettingExplainsItself(t *testing.T) {
	h := open(t)
	page := h.browser.Get("/settings/general").Is(200)
	seen := 0
	for _, s := range h.config.Current().Settings() {
		if strings.HasPrefix(s.Name, "providers.") || strings.HasPrefix(s.Name, "catalog.") {
			continue // many of a kind: they have a page of their own, and the file
		}
		seen++
		row := page.Find("form.setting").FilterFunction(func(_ int, f *goquery.Selection) bool { return f.Find("[name=key]").AttrOr("value", "") == s.Name })
		if row.Length() != 1 {
			t.Errorf("%s has %d rows", s.Name, row.Length())
			continue
		}
		id := "#" + row.AttrOr("id", "")
		words := strings.Join(strings.Fields(row.Text()), " ")
		for what, want := range map[string]string{"what it means": s.Key.Doc, "its default": s.Key.Default, "what holds without it": s.Key.Unset} {
			if want != "" && !strings.Contains(words, strings.Join(strings.Fields(want), " ")) {
				t.Errorf("%s does not say %s (%s): %s", s.Name, what, want, words)
			}
		}
		if s.Key.Default == "" && s.Key.Unset == "" {
			t.Errorf("%s says neither a default nor what holds without it", s.Name)
		}
		if strings.Contains(words, "next start") != s.Key.Restart {
			t.Errorf("%s, which takes effect at the next start: %v. It says: %s", s.Name, s.Key.Restart, words)
		}
		if label := row.Find("label").AttrOr("for", "?"); row.Find("#"+label).Length() != 1 {
			t.Errorf("%s has no field of its label", s.Name)
		}
		wrong, ok := wrongValue(s)
		if !ok || s.Name == "doors.local_sign_in" { // that one is changed where it is asked whether anybody could sign in then
			continue
		}
		p := h.browser.Post("/settings/general", url.Values{"key": {s.Name}, "value": {wrong}, "place": {"general"}})
		if p.Status != 422 {
			t.Errorf("%s = %q: %d", s.Name, wrong, p.Status)
			continue
		}
		p.Has(id + " [role=alert]")
		if now, err := h.config.Current().Setting(s.Name); err != nil || now.Value != s.Value {
			t.Errorf("%s became %q, %v", s.Name, now.Value, err)
		}
	}
	if seen < 60 {
		t.Errorf("only %d settings were looked at", seen)
	}
}

// wrongValue is one that a setting cannot have; ok is false for a text that may be anything.
func wrongValue(s config.Setting) (value string, ok bool) {
	switch {
	case s.Key.Type == config.TypeBoolean:
		return "perhaps", true
	case s.Key.Type == config.TypeText && len(s.Key.Choices) == 0, s.Key.Type == config.TypeList:
		return "", false
	}
	return "no such value", true
}
