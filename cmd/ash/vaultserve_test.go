package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ash/agent"
	"ash/agent/llm/llmtest"
	"ash/handlers"
)

// at makes the model server the only provider of a home, under the name mine, with further settings.
func (h vaultHome) at(m *llmtest.Server, more string) {
	settings(h.t, h.home, "[models]\norder = [\"mine/m\"]\n[providers.mine]\nkind = \"openai\"\nbase_url = \""+m.URL+"/v1\"\n"+more)
}

func (h vaultHome) chat(words string) answered {
	h.t.Helper()
	return ash(h.t, "", "chat", "--home", h.home, "-m", words)
}

func bearer(m *llmtest.Server) string {
	all := m.Chats()
	if len(all) == 0 {
		return ""
	}
	return strings.TrimPrefix(all[len(all)-1].Header.Get("Authorization"), "Bearer ")
}

func always(text string) llmtest.Reply { return llmtest.Reply{Text: []string{text}, Repeat: true} }

// TestProviderKeyLiesInTheVault runs commands against a real server, at the work factor of production.
func TestProviderKeyLiesInTheVault(t *testing.T) {
	h := newVaultHome(t)
	m, elsewhere := model(t, always("hello")), model(t, always("no"))
	h.at(m, "")
	h.vault("canary-first\n", "add", "provider/mine").tells(t, "is kept")
	text, err := os.ReadFile(filepath.Join(h.home, "config.toml"))
	must(t, err)
	if !strings.Contains(string(text), `key_secret = "provider/mine"`) {
		t.Errorf("the settings do not follow: %s", text)
	}

	p := serving(t, h.home)
	h.vault("", "status").tells(t, "locked: ash vault unlock")
	h.chat("say hello").complains(t, exitFailed, "lies in the vault, which is locked")
	if len(m.Chats()) > 0 {
		t.Error("the provider was asked without a key")
	}
	h.vault("", "unlock").tells(t, "unlocked; locks by itself", "1 secrets")
	p.until("the answer comes once the vault is unlocked", func() bool { return len(m.Chats()) == 1 })
	if bearer(m) != "canary-first" {
		t.Errorf("the provider got %q", bearer(m))
	}
	h.chat("again").tells(t, "hello")

	// What is unlocked asks for no passphrase, and what is rotated is used at once.
	none := []string{"--home", h.home, "vault"}
	ash(t, "", append(none, "list")...).tells(t, "provider/mine", strings.TrimPrefix(m.URL, "http://"))
	ash(t, "canary-second", append(none, "rotate", "provider/mine")...).tells(t, "ash vault confirm")
	h.chat("and now").tells(t, "hello")
	if bearer(m) != "canary-second" {
		t.Errorf("after rotating the provider got %q", bearer(m))
	}
	ash(t, "", append(none, "revert", "provider/mine")...).tells(t, "former value")
	h.chat("and back").tells(t, "hello")
	if bearer(m) != "canary-first" {
		t.Errorf("after reverting the provider got %q", bearer(m))
	}
	ash(t, "", append(none, "export", filepath.Join(t.TempDir(), "x"))...).complains(t, exitFailed, "no terminal") // also of an unlocked one
	ash(t, "", append(none, "log")...).tells(t, "provider/mine", "model call to mine/m", "allowed", "refused: locked", "rotate", "unlock")

	// An address that was changed by hand does not get the key.
	ash(t, "", "config", "--home", h.home, "set", "providers.mine.base_url", elsewhere.URL+"/v1").is(t, exitOK)
	p.until("the settings are taken up", func() bool { return strings.Contains(h.chat("to you?").err, "may not go to") })
	if len(elsewhere.Chats()) > 0 {
		t.Error("another server was asked")
	}
	ash(t, "", "config", "--home", h.home, "set", "providers.mine.base_url", m.URL+"/v1").is(t, exitOK)

	h.vault("", "lock").tells(t, "is locked")
	h.vault("", "lock").tells(t, "already")
	h.chat("still there?").is(t, exitFailed)
	ash(t, "", append(none, "list")...).complains(t, exitFailed, "no terminal")
	h.vault("canary-third", "add", "tool/brave").tells(t, "taken in when the vault is next unlocked")
	h.vault("", "list").tells(t, "tool/brave", "api.search.brave.com", "tool/websearch") // which unlocks it
	h.vault("", "delete", "tool/brave").is(t, exitOK)
	if text, _ = os.ReadFile(filepath.Join(h.home, "config.toml")); strings.Contains(string(text), "tool/brave") {
		t.Errorf("the settings still name what was deleted: %s", text)
	}
	p.signal(os.Interrupt)
	p.end()
	h.keepsSecrets("canary-", "four unlikely")
	if both := p.out.String() + p.err.String(); strings.Contains(both, "canary-") || strings.Contains(both, "four unlikely") {
		t.Errorf("the server wrote a secret: %s", both)
	}
}

func TestVaultIsUnlockedAtTheStart(t *testing.T) {
	h := newVaultHome(t)
	m := model(t, always("hello"))
	h.at(m, "[vault]\nidle = \"0s\"\npassphrase_file = \""+h.pass+"\"\n")
	h.vault("canary-first", "add", "provider/mine").is(t, exitOK)
	p := serving(t, h.home)
	p.until("the vault is unlocked", func() bool {
		return strings.Contains(h.vault("", "status").out, "unlocked; it does not lock by itself")
	})
	h.chat("say hello").tells(t, "hello")
	p.signal(os.Interrupt)
	p.end()

	// A file that is no longer right is said in the log and on the page, and everything else works.
	must(t, os.WriteFile(h.pass, []byte("something else entirely\n"), 0o600))
	p = serving(t, h.home)
	p.until("it is said why not", func() bool { return strings.Contains(p.err.String(), "could not be unlocked by itself") })
	h.vault("", "status").tells(t, "locked: ash vault unlock", "not the passphrase of the vault")
	if page := p.get("/"); !strings.Contains(page, "<html") {
		t.Errorf("the pages are not served: %.200s", page)
	}
	p.signal(os.Interrupt)
	p.end()
	t.Setenv("CREDENTIALS_DIRECTORY", filepath.Dir(h.file(vaultCredential, "four unlikely words together")))
	h.at(m, "key_secret = \"provider/mine\"\n")
	p = serving(t, h.home)
	p.until("the credential unlocks it", func() bool { return strings.Contains(p.err.String(), "the vault is unlocked") })
}

// A call that waits for the vault is there after a kill, and goes on when that is unlocked.
func TestCallThatWaitsForTheVaultSurvivesAKill(t *testing.T) {
	h := newVaultHome(t)
	m := model(t, llmtest.Reply{Calls: []llmtest.Call{{ID: "c-1", Name: "web_search", Arguments: []string{`{"query":"weather"}`}}}}, always("done"))
	h.at(m, "[search]\nbackend = \"brave\"\n")
	h.vault("canary-brave", "add", "tool/brave").is(t, exitOK)
	p := serving(t, h.home)
	h.chat("What is the weather?").is(t, exitWaiting)
	waits := h.waiting()
	if len(waits) != 1 || waits[0].Locked {
		t.Fatalf("%+v waits", waits)
	}
	c, err := dial(t.Context(), filepath.Join(h.home, socketName))
	must(t, err)
	must(t, c.decide(t.Context(), waits[0].ID, handlers.ControlDecision{Approve: true, Binding: waits[0].Binding}))
	p.until("it waits for the vault", func() bool {
		now := h.waiting()
		return len(now) == 1 && now[0].Locked && strings.Contains(now[0].Why, "locked")
	})
	if err := c.decide(t.Context(), waits[0].ID, handlers.ControlDecision{Approve: true, Binding: waits[0].Binding}); agent.CodeOf(err) != agent.CodeLocked {
		t.Errorf("approved again: %v", err)
	}
	c.close()
	p.signal(syscall.SIGKILL)
	p.end()

	p = serving(t, h.home)
	if now := h.waiting(); len(now) != 1 || !now[0].Locked {
		t.Fatalf("after the kill %+v waits", now)
	}
	h.vault("", "unlock").is(t, exitOK)
	p.until("it goes on", func() bool { return len(h.waiting()) == 0 && len(m.Chats()) == 2 })
	h.vault("", "log").tells(t, "tool/brave", "tool/websearch", "api.search.brave.com")
	p.signal(os.Interrupt)
	p.end()
	h.keepsSecrets("canary-brave")
}

// waiting asks the server what waits.
func (h vaultHome) waiting() []handlers.ControlCall {
	h.t.Helper()
	c, err := dial(h.t.Context(), filepath.Join(h.home, socketName))
	must(h.t, err)
	defer c.close()
	var all []handlers.ControlCall
	must(h.t, c.call(h.t.Context(), http.MethodGet, "/waiting", nil, &all))
	return all
}
