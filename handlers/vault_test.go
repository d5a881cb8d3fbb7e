package handlers_test

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ash/agent/vault"
)

const (
	vaultPass = "four unrelated words"
	keyValue  = "sk-ant-canary-0123456789abcdef"
)

// makeVault makes the vault with one secret, as the page does.
func (h *house) makeVault() {
	h.t.Helper()
	h.browser.Get("/vault/new").Is(200)
	to := h.browser.Post("/vault/new", url.Values{"name": {"provider/anthropic"}, "value": {keyValue + "\n"}, "passphrase": {vaultPass}}).Leads()
	if to != "/vault" {
		h.t.Fatalf("adding leads to %s", to)
	}
}

// use returns the value of a secret as whatever may use it gets it.
func (h *house) use(name, host string) string {
	h.t.Helper()
	value, err := h.vault.Use(context.Background(), vault.Request{Name: name, User: vault.DefaultUser(name), Host: host})
	h.must(err)
	return string(value)
}

func TestVaultIsMadeWithTheFirstSecret(t *testing.T) {
	h := open(t)
	h.browser.Get("/vault").Is(200).Has(`a.go[href="/vault/new"]`).Lacks("input[type=password]")
	form := h.browser.Get("/vault/new?name=provider/anthropic").Is(200).Has(`#value[type=password][autocomplete=off]`).Has(`#new-vault[autocomplete=new-password]`)
	if got := form.Attr("#hosts", "value"); got != "api.anthropic.com" {
		t.Errorf("the hosts of a known name are %q", got)
	}
	h.browser.Post("/vault/new", url.Values{"name": {"provider/anthropic"}, "value": {keyValue}, "passphrase": {"short"}}).Is(422).Has("main [role=alert]")
	if h.vault.Status(t.Context()).Exists {
		t.Fatal("a vault was made with a passphrase that is too short")
	}
	h.makeVault()
	if got := h.use("provider/anthropic", "api.anthropic.com"); got != keyValue {
		t.Errorf("kept %q", got)
	}
	if f := h.file("config.toml"); !strings.Contains(f, `key_secret = "provider/anthropic"`) {
		t.Errorf("the settings do not follow:\n%s", f)
	}
	p := h.browser.Get("/vault").Is(200).Says("provider/anthropic").Says("api.anthropic.com").Says("Unlocked since")
	if strings.Contains(p.Body, "canary") {
		t.Error("the page holds the value")
	}
}

func TestVaultUnlocksInPlace(t *testing.T) {
	h := open(t)
	h.makeVault()
	h.browser.Get("/vault").Is(200)
	if to := h.browser.Post("/vault/lock", nil).Leads(); to != "/vault" {
		t.Errorf("locking leads to %s", to)
	}
	h.browser.Get("/vault").Is(200).Has(`form.unlock input[autocomplete=current-password]`).Lacks(".secrets")
	wrong := h.browser.Post("/vault/unlock", url.Values{"passphrase": {"another one altogether"}, "back": {"/chat"}}).Is(422).Has("form.unlock [role=alert]").Says("not the passphrase")
	if got := wrong.Attr("form.unlock input[name=back]", "value"); got != "/chat" || strings.Contains(wrong.Body, "altogether") {
		t.Errorf("after a wrong passphrase the form goes back to %q", got)
	}
	for back, want := range map[string]string{
		"/settings/models?x=1#p-test": "/settings/models?x=1#p-test", "": "/vault", "https://evil.example/": "/vault", "//evil.example": "/vault",
		`/\evil.example`: "/vault", "javascript:alert(1)": "/vault", "chat": "/vault", "/\t/evil.example": "/vault",
	} {
		h.vault.Lock(t.Context())
		if to := h.browser.Post("/vault/unlock", url.Values{"passphrase": {vaultPass}, "back": {back}}).Leads(); to != want && !strings.HasPrefix(to, "/ /") {
			t.Errorf("back to %q leads to %q, want %q", back, to, want)
		}
	}
	if !h.vault.Status(t.Context()).Unlocked {
		t.Error("still locked")
	}
}

func TestVaultTakesInWhatWasAddedWhileLocked(t *testing.T) {
	h := open(t)
	h.makeVault()
	h.vault.Lock(t.Context())
	h.browser.Get("/vault/new?name=tool/brave").Is(200).Says("The vault is locked").Lacks("#new-vault")
	h.browser.Post("/vault/new", url.Values{"name": {"tool/brave"}, "lines": {"first\r\nsecond\r\n"}}).Is(303)
	h.browser.Post("/vault/new", url.Values{"name": {"provider/anthropic"}, "value": {"sk-from-somebody-else"}}).Is(303)
	h.browser.Get("/vault").Is(200).Says("2 secrets were").Lacks(".secrets")
	h.browser.Post("/vault/unlock", url.Values{"passphrase": {vaultPass}}).Is(303)
	h.browser.Get("/vault").Is(200).Says("tool/brave").Has(".secret .tag.warn")
	if got := h.use("tool/brave", "api.search.brave.com"); got != "first\nsecond" {
		t.Errorf("kept %q", got)
	}
	h.browser.Get("/vault/secret?name=provider/anthropic").Is(200).Has(`form[action="/vault/confirm"] button.go`)
	h.browser.Post("/vault/revert", url.Values{"name": {"provider/anthropic"}}).Is(303)
	if got := h.use("provider/anthropic", "api.anthropic.com"); got != keyValue {
		t.Errorf("after dropping the other value it is %q", got)
	}
}

func TestVaultSecretIsChanged(t *testing.T) {
	h := open(t)
	h.makeVault()
	const name, host = "provider/anthropic", "api.anthropic.com"
	h.browser.Get("/vault/secret?name=" + name).Is(200).Lacks(`button[formaction]`)
	h.browser.Post("/vault/rotate", url.Values{"name": {name}, "value": {"  "}}).Is(422).Has("details[open] [role=alert]")
	h.browser.Post("/vault/rotate", url.Values{"name": {name}, "value": {"sk-second"}}).Is(303)
	if got := h.use(name, host); got != "sk-second" {
		t.Errorf("rotated to %q", got)
	}
	p := h.browser.Get("/vault/secret?name=" + name).Is(200).Has(`button[formaction="/vault/revert"]`)
	if strings.Contains(p.Body, "sk-second") || strings.Contains(p.Body, keyValue) {
		t.Error("the page holds a value")
	}
	h.browser.Post("/vault/revert", url.Values{"name": {name}}).Is(303)
	if got := h.use(name, host); got != keyValue {
		t.Errorf("back to %q", got)
	}
	h.browser.Post("/vault/revert", url.Values{"name": {name}}).Is(422).Has("[role=alert]")
	h.browser.Post("/vault/bind", url.Values{"name": {name}, "hosts": {"https://Proxy.Example.com:8443/v1, nonsense host"}, "users": {name}}).Is(303)
	h.browser.Post("/vault/bind", url.Values{"name": {name}, "hosts": {"10.0.0.0/8; *"}}).Is(422).Has("details[open] [role=alert]")
	if got := h.use(name, "proxy.example.com:8443"); got != keyValue {
		t.Errorf("bound anew it is %q", got)
	}
	h.browser.Post("/vault/delete", url.Values{"name": {"tool/none"}}).Is(404)
	h.browser.Post("/vault/delete", url.Values{"name": {name}}).Is(303)
	if strings.Contains(h.file("config.toml"), name) {
		t.Error("the settings name a secret that is gone")
	}
	h.browser.Get("/vault").Is(200).Says("Nothing is inside yet")
	h.browser.Get("/vault/secret?name=" + name).Is(404)
}

func TestVaultRefusesWhatIsNoSecret(t *testing.T) {
	h := open(t)
	h.makeVault()
	for what, form := range map[string]url.Values{
		"no name":       {"value": {"x"}},
		"a wrong name":  {"name": {"../../etc"}, "value": {"x"}},
		"no value":      {"name": {"tool/brave"}},
		"two values":    {"name": {"tool/brave"}, "value": {"sk-one"}, "lines": {"sk-two"}},
		"a host":        {"name": {"tool/brave"}, "value": {"x"}, "hosts": {"*"}},
		"a user":        {"name": {"tool/brave"}, "value": {"x"}, "users": {"a/b/c/d"}},
		"there already": {"name": {"provider/anthropic"}, "value": {"sk-other"}},
		"too long":      {"name": {"tool/brave"}, "value": {strings.Repeat("k", vault.MaxValue+1)}},
		"not UTF-8":     {"name": {"tool/brave"}, "value": {"\xff\xfe"}},
		"NUL":           {"name": {"tool/brave"}, "value": {"a\x00b"}},
	} {
		p := h.browser.Post("/vault/new", form).Is(422).Has("main [role=alert]")
		if strings.Contains(p.Body, "sk-o") || strings.Contains(p.Body, "kkkk") {
			t.Errorf("%s: what was typed came back", what)
		}
	}
	h.vault.Lock(t.Context())
	for _, path := range []string{"/vault/rotate", "/vault/bind", "/vault/delete", "/vault/confirm"} {
		if to := h.browser.Post(path, url.Values{"name": {"provider/anthropic"}, "value": {"x"}}).Is(303).Leads(); path != "/vault/rotate" && to != "/vault" {
			t.Errorf("%s of a locked vault leads to %s", path, to)
		}
	}
}

func TestVaultAmissSaysHowToPutItRight(t *testing.T) {
	h := open(t)
	h.makeVault()
	dir := filepath.Join(h.home, "vault")
	h.must(os.Chmod(dir, 0o755))
	h.browser.Get("/vault").Is(200).Has("pre.command").Says("chmod -R go= ").Lacks("form.unlock")
	h.browser.Get("/chat").Is(200)
	h.must(os.Chmod(dir, 0o700))
	h.browser.Get("/vault").Is(200).Has("form.unlock")

	sentinel := filepath.Join(dir, "vault.json")
	h.must(os.Rename(sentinel, sentinel+".away"))
	h.browser.Get("/vault").Is(200).Says("is missing").Says("ash vault repair")
	h.must(os.Symlink(sentinel+".away", sentinel))
	h.browser.Get("/vault").Is(200).Says("is a link").Says("rm ")
}
