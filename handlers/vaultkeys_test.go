package handlers_test

import (
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"ash/agent/vault"
	"ash/handlers"
)

func (h *house) phraseNote() handlers.PhraseNote {
	h.t.Helper()
	n, err := handlers.PhraseFile(filepath.Join(h.home, "recovery-phrase.json")).Read()
	h.must(err)
	return n
}

func TestRecoveryPhrase(t *testing.T) {
	h := open(t)
	h.makeVault()
	h.browser.Get("/vault").Is(200).Has(`.vault-phrase a.go[href="/vault/phrase"]`)
	h.browser.Post("/vault/phrase/later", nil).Is(303)
	h.browser.Get("/vault").Is(200).Lacks(".vault-phrase").Has(`a[href="/vault/phrase"]`)

	if to := h.browser.Get("/vault/phrase/check").Leads(); to != "/vault/phrase" {
		t.Errorf("nothing was shown yet: %s", to)
	}
	shown := h.browser.Post("/vault/phrase", nil).Is(200)
	words := strings.Fields(strings.Join(shown.Find(".words li").Map(func(_ int, s *goquery.Selection) string { return s.Text() }), " "))
	if len(words) != vault.PhraseWords {
		t.Fatalf("%d words", len(words))
	}
	h.browser.Get("/vault").Is(200).Has(`a[href="/vault/phrase/check"]`)
	check := h.browser.Get("/vault/phrase/check").Is(200)
	asked := [2]string{check.Text(`label[for=first]`), check.Text(`label[for=second]`)}
	h.browser.Post("/vault/phrase/check", url.Values{"first": {"zoo"}, "second": {"zoo"}}).Is(422).Has("[role=alert]")
	var right [2]string
	for i, label := range asked {
		n, err := strconv.Atoi(strings.TrimPrefix(label, "Word "))
		h.must(err)
		right[i] = words[n-1]
		if strings.Contains(check.Text("main"), right[i]+" ") {
			t.Errorf("the form holds the word it asks for")
		}
	}
	if to := h.browser.Post("/vault/phrase/check", url.Values{"first": {" " + strings.ToUpper(right[0])}, "second": {right[1]}}).Leads(); to != "/vault/keys?done=phrase" {
		t.Errorf("leads to %s", to)
	}
	h.browser.Get("/vault").Is(200).Lacks(".vault-phrase").Lacks(`a[href="/vault/phrase/check"]`)
	if n := h.phraseNote(); n.Written.IsZero() || n.Written.Before(n.Made) {
		t.Errorf("%+v", n)
	}
	if note, err := json.Marshal(h.phraseNote()); err != nil || strings.Contains(string(note), right[0]) {
		t.Errorf("%s %v", note, err)
	}

	h.vault.Lock(t.Context())
	h.browser.Get("/vault").Is(200).Has(`a[href="/vault/recover"]`)
	h.browser.Post("/vault/phrase", nil).Is(303) // first unlock it
	h.browser.Post("/vault/recover", url.Values{"phrase": {"not a phrase"}, "passphrase": {"a new long one"}}).Is(422).Has("[role=alert]")
	h.browser.Post("/vault/recover", url.Values{"phrase": {strings.Join(words, " ")}, "passphrase": {"short"}}).Is(422).Has("[role=alert]")
	h.browser.Post("/vault/recover", url.Values{"phrase": {strings.Join(words, "\r\n")}, "passphrase": {"a new long one"}}).Is(303)
	h.vault.Lock(t.Context())
	h.must(h.vault.Unlock(t.Context(), []byte("a new long one")))
}

func TestPassphraseKeysAndCopy(t *testing.T) {
	h := open(t)
	if to := h.browser.Get("/vault/keys").Leads(); to != "/vault" {
		t.Errorf("without a vault it leads to %s", to)
	}
	h.makeVault()
	h.browser.Get("/vault/keys").Is(200).Has("#was[autocomplete=current-password]").Has("#now[autocomplete=new-password]")
	h.browser.Post("/vault/passphrase", url.Values{"was": {"wrong wrong wrong"}, "now": {"another passphrase"}}).Is(422).Has("[role=alert]")
	h.browser.Post("/vault/passphrase", url.Values{"was": {vaultPass}, "now": {"short"}}).Is(422).Has("[role=alert]")
	h.browser.Post("/vault/passphrase", url.Values{"was": {vaultPass}, "now": {"another passphrase"}}).Is(303)
	h.browser.Post("/vault/identity", url.Values{"passphrase": {vaultPass}}).Is(422).Has("details[open] [role=alert]")
	h.browser.Post("/vault/identity", url.Values{"passphrase": {"another passphrase"}}).Is(303)

	h.browser.Post("/vault/export", url.Values{"passphrase": {"short"}}).Is(422).Has("[role=alert]")
	file := h.browser.Post("/vault/export", url.Values{"passphrase": {"for the copy"}}).Is(200)
	if got := file.Header.Get("Content-Disposition"); !strings.HasPrefix(got, `attachment; filename="ash-vault-`) {
		t.Errorf("it is sent as %q", got)
	}
	if strings.Contains(file.Body, keyValue) || !strings.HasPrefix(file.Body, "age-encryption.org/v1") {
		t.Error("the copy is not encrypted")
	}
	h.browser.Get("/vault")
	h.browser.Post("/vault/delete", url.Values{"name": {"provider/anthropic"}}).Is(303)
	back, err := h.vault.Import(t.Context(), strings.NewReader(file.Body), []byte("for the copy"))
	if err != nil || len(back.Added) != 1 || h.use("provider/anthropic", "api.anthropic.com") != keyValue {
		t.Errorf("%+v %v", back, err)
	}
	h.vault.Lock(t.Context())
	h.browser.Post("/vault/export", url.Values{"passphrase": {"for the copy"}}).Is(422)
}

const envFile = "# keys\nexport ANTHROPIC_API_KEY=\"sk-ant-canary-one\"\nGITHUB_TOKEN='ghp_canary_two'\nEMPTY=\nDEBUG=canary-three\n"

func TestImportFromEnv(t *testing.T) {
	h := open(t)
	h.browser.Get("/vault/import").Is(200).Has(`textarea[name="env-lines"]`)
	h.browser.Post("/vault/import/env", nil).Is(422).Has("[role=alert]")
	h.browser.Post("/vault/import/env", url.Values{"env-lines": {"no sense"}}).Is(422).Has("[role=alert]")
	p := h.browser.Upload("/vault/import/env", "env", ".env", []byte(envFile)).Is(200)
	if strings.Contains(p.Body, "canary") {
		t.Fatal("the preview holds values")
	}
	if got := p.Attr(`input[name="name.ANTHROPIC_API_KEY"]`, "value") + " " + p.Attr(`input[name="name.GITHUB_TOKEN"]`, "value"); got != "provider/anthropic plugin/github/token" {
		t.Errorf("proposed: %s", got)
	}
	p.Has(`input[value=ANTHROPIC_API_KEY][checked]`).Lacks(`input[value=DEBUG][checked]`).Has(`input[value=EMPTY][disabled]`).Has("#new-import")
	form := url.Values{
		"draft": {p.Attr("input[name=draft]", "value")}, "take": {"ANTHROPIC_API_KEY", "GITHUB_TOKEN"}, "passphrase": {vaultPass},
		"name.ANTHROPIC_API_KEY": {"provider/anthropic"}, "hosts.ANTHROPIC_API_KEY": {"https://API.anthropic.com/v1"},
		"name.GITHUB_TOKEN": {"github"}, "hosts.GITHUB_TOKEN": {"api.github.com"},
	}
	wrong := h.browser.Post("/vault/import/choose", form).Is(422).Has("[role=alert]").Says("GITHUB_TOKEN: ")
	if h.vault.Status(t.Context()).Exists || wrong.Attr(`input[name="hosts.GITHUB_TOKEN"]`, "value") != "api.github.com" {
		t.Error("something was kept although a name was wrong, or what was typed is gone")
	}
	form.Set("name.GITHUB_TOKEN", "provider/anthropic")
	h.browser.Post("/vault/import/choose", form).Is(422).Says("Two lines")
	form.Set("name.GITHUB_TOKEN", "plugin/github/token")
	if p := h.browser.Post("/vault/import/choose", form).Is(200).Says("plugin/github/token"); p.Text("main [role=alert]") != "" {
		t.Error(p.Text("main [role=alert]"))
	}
	if h.use("plugin/github/token", "api.github.com") != "ghp_canary_two" || h.use("provider/anthropic", "api.anthropic.com") != "sk-ant-canary-one" {
		t.Error("other values were kept")
	}
	if all, err := h.vault.List(); err != nil || len(all) != 2 {
		t.Errorf("%+v %v", all, err)
	}
	h.browser.Post("/vault/import/choose", form).Is(422).Says("Bring it again")
	p = h.browser.Upload("/vault/import/env", "env", ".env", []byte(envFile)).Is(200).Says("is there already").Lacks("input[checked]")
	h.browser.Post("/vault/import/choose", url.Values{"draft": {p.Attr("input[name=draft]", "value")}}).Is(422).Says("at least one")
	h.browser.Upload("/vault/import/env", "env", "big", bytes.Repeat([]byte("A=b\n"), 400_000)).Is(413)
}

func TestImportFromCopy(t *testing.T) {
	h := open(t)
	h.makeVault()
	var file bytes.Buffer
	h.must(h.vault.Export(t.Context(), &file, []byte("for the copy")))
	h.browser.Get("/vault/import").Is(200).Has("input[type=file][name=copy]")
	h.browser.Upload("/vault/import/copy", "copy", "x.age", file.Bytes()).Is(422).Has("[role=alert]")
	h.browser.Upload("/vault/import/copy", "copy", "x.age", nil).Is(422).Says("Choose the file")
}

func TestAccessLog(t *testing.T) {
	h := open(t)
	h.browser.Get("/vault/log").Is(200).Says("Nothing has happened yet")
	h.makeVault()
	for range 60 {
		h.use("provider/anthropic", "api.anthropic.com")
	}
	if _, err := h.vault.Use(t.Context(), vault.Request{Name: "provider/anthropic", User: "tool/brave", Host: "evil.example", For: "a <b>turn</b>"}); err == nil {
		t.Fatal("used by somebody else")
	}
	p := h.browser.Get("/vault/log").Is(200).Says("evil.example").Says("refused").Lacks(".accesses b")
	if n := p.Find(".accesses li").Length(); n != 50 || strings.Contains(p.Body, keyValue) {
		t.Errorf("%d lines", n)
	}
	next := h.browser.Get(p.Attr(".pager a", "href")).Is(200)
	if n := next.Find(".accesses li").Length(); n != 13 {
		t.Errorf("%d lines on the second page, want 13: made, added, 60 uses, a refusal, less the 50 before", n)
	}
	for query, want := range map[string]int{"refused=1": 1, "action=create": 1, "name=evil": 1, "action=use&name=anthropic&skip=60": 1, "name=nowhere": 0} {
		if n := h.browser.Get("/vault/log?" + query).Is(200).Find(".accesses li").Length(); n != want {
			t.Errorf("%s: %d lines, want %d", query, n, want)
		}
	}
	for _, query := range []string{"action=nonsense", "skip=-1", "skip=x", "skip=99999999999999999999", "name=%ff"} {
		h.browser.Get("/vault/log?" + query).Is(422)
	}
	log := filepath.Join(h.home, "logs", "vault.jsonl")
	h.must(os.WriteFile(log, append([]byte("{\"at\":\"2026-\n\x00\n"), []byte(`{"at":"2026-03-01T10:00:00Z","action":"use","name":"tool/brave","allowed":true}`+"\n{")...), 0o600))
	if n := h.browser.Get("/vault/log").Is(200).Find(".accesses li").Length(); n != 1 {
		t.Errorf("of a damaged log %d lines are shown, want the whole one", n)
	}
}

func TestVaultIsMended(t *testing.T) {
	h := open(t)
	h.makeVault()
	h.must(os.Remove(filepath.Join(h.home, "vault", "vault.json")))
	h.browser.Get("/vault").Is(200).Has(`form[action="/vault/mend"] input[name=how][value=repair]`)
	h.browser.Post("/vault/mend", url.Values{"how": {"repair"}, "passphrase": {"wrong wrong wrong"}}).Is(422).Has("[role=alert]")
	h.browser.Post("/vault/mend", url.Values{"how": {"magic"}}).Is(422)
	h.browser.Post("/vault/mend", url.Values{"how": {"repair"}, "passphrase": {vaultPass}}).Is(303)
	if got := h.use("provider/anthropic", "api.anthropic.com"); got != keyValue {
		t.Errorf("after the repair %q", got)
	}
	h.must(os.Rename(filepath.Join(h.home, "vault"), filepath.Join(h.home, "gone")))
	h.browser.Get("/vault").Is(200).Has(`form[action="/vault/mend"] input[name=how][value=anew]`)
	h.browser.Post("/vault/mend", url.Values{"how": {"anew"}}).Is(303)
	h.browser.Get("/vault").Is(200).Has(`a.go[href="/vault/new"]`)
}
