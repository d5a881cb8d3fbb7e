package handlers_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/llm/llmtest"
)

// pasteKey is the form of Setup with a key for the scripted server.
func (h *house) pasteKey(more url.Values) url.Values {
	form := url.Values{"provider": {"other"}, "kind": {"openai"}, "base_url": {h.model.URL + "/v1"}, "model": {"m"}, "key": {" " + keyValue + "\n"}}
	for k, v := range more {
		form[k] = v
	}
	return form
}

func (h *house) modelHost() string { return strings.TrimPrefix(h.model.URL, "http://") }

func TestFirstPastedKeyMakesTheVault(t *testing.T) {
	h := openWith(t, plan{}, llmtest.Text("ready"), llmtest.Text("Good morning."))
	h.browser.Get("/setup").Is(200).Has(`#key-setup[type=password][autocomplete=off]`).Has(`#pass-setup[autocomplete=new-password]`)
	h.browser.HTMX().Post("/setup/test", h.pasteKey(nil)).Is(200).Has(".state.bad").Says("at least 8")
	if h.vault.Status(t.Context()).Exists || h.config.Current().Config().Models.Order != nil {
		t.Fatal("something was kept without a passphrase")
	}
	p := h.browser.HTMX().Post("/setup/test", h.pasteKey(url.Values{"passphrase": {vaultPass}})).Is(200).Has(".state.ok")
	if f := h.file("config.toml"); strings.Contains(f+p.Body, "canary") || !strings.Contains(f, `key_secret = "provider/openai"`) {
		t.Errorf("config.toml:\n%s", f)
	}
	if got := h.use("provider/openai", h.modelHost()); got != keyValue {
		t.Errorf("kept %q", got)
	}
	tail := h.rest(h.begin("Good morning"))
	if tail.Head.Text() != "Good morning." {
		t.Errorf("answered %q %+v", tail.Head.Text(), tail.Head.Error)
	}
	h.browser.Get("/settings/models").Is(200).Has(`#p-openai a[href="/vault/secret?name=provider%2Fopenai"]`)
}

func TestKeyThatIsRefusedIsNotKept(t *testing.T) {
	h := openWith(t, plan{}, llmtest.Unauthorized(), llmtest.Text("ready"))
	h.browser.Get("/setup")
	form := h.pasteKey(url.Values{"passphrase": {vaultPass}})
	h.browser.HTMX().Post("/setup/test", form).Is(200).Has(".state.bad")
	if h.vault.Status(t.Context()).Exists || len(h.config.Current().Config().Providers) != 0 {
		t.Error("a refused key was kept")
	}
	h.browser.HTMX().Post("/setup/test", url.Values{"provider": {"other"}, "kind": {"openai"}, "base_url": {h.model.URL + "/v1"}, "model": {"m"}, "key": {"two words"}, "passphrase": {vaultPass}}).
		Is(200).Has(".state.bad").Says("does not look like a key")
}

func TestKeyIsReplacedInTheVault(t *testing.T) {
	h := open(t, llmtest.Text("ready"))
	key := func(form url.Values) {
		h.t.Helper()
		h.browser.HTMX().Post("/settings/models/test/key", form).Is(200).Has("#p-test")
	}
	h.browser.Get("/settings/models")
	h.browser.HTMX().Post("/settings/models/test/key", url.Values{"key": {""}}).Is(422).Has("#p-test [role=alert]")
	h.browser.HTMX().Post("/settings/models/test/key", url.Values{"key": {keyValue}}).Is(422).Has("#p-test [role=alert]").Has("details.paste[open]")
	key(url.Values{"key": {keyValue}, "passphrase": {vaultPass}})
	key(url.Values{"key": {"sk-second-0123456789"}})
	if got := h.use("provider/test", h.modelHost()); got != "sk-second-0123456789" {
		t.Errorf("in use is %q", got)
	}
	if all, err := h.vault.List(); err != nil || len(all) != 1 || !all[0].Former {
		t.Errorf("%+v %v", all, err)
	}
	h.vault.Lock(t.Context())
	h.browser.HTMX().Post("/settings/models/test/key", url.Values{"key": {"sk-third"}}).Is(422).Says("The vault is locked")
	h.browser.HTMX().Post("/settings/models/test/key", url.Values{"key": {"sk-third"}, "passphrase": {"wrong wrong wrong"}}).Is(422).Says("not the passphrase")
	key(url.Values{"key": {"sk-third"}, "passphrase": {vaultPass}})
	if got := h.use("provider/test", h.modelHost()); got != "sk-third" {
		t.Errorf("in use is %q", got)
	}
	key(url.Values{"key": {"sk-in-memory"}, "memory": {"1"}})
	h.browser.Get("/settings/models").Is(200).Says("what you pasted, in memory only")
	key(url.Values{"key": {""}, "memory": {"1"}})
	if got := h.use("provider/test", h.modelHost()); got != "sk-third" {
		t.Errorf("after forgetting what was in memory the vault has %q", got)
	}
}

// failed is the answer that a conversation ends in, which did not come.
func (h *house) failed(thread agent.ID, code agent.Code) agent.Message {
	h.t.Helper()
	tail := h.rest(thread)
	if tail.Head.State != agent.MessageFailed || tail.Head.Error.Code != code {
		h.t.Fatalf("the end is %s %+v", tail.Head.State, tail.Head.Error)
	}
	return tail.Head
}

func TestAnswerAsksForItsKey(t *testing.T) {
	h := open(t, llmtest.Text("Here I am."))
	_, err := h.config.Edit(t.Context(), "", []config.Change{{Key: "providers.test.key_secret", Value: "provider/test"}})
	h.must(err)
	thread := h.begin("Hello")
	m := h.failed(thread, agent.CodeLocked) // there is no vault that could be unlocked
	to := "/chat/" + string(thread) + "/messages/" + string(m.ID) + "/key"
	h.browser.Get("/chat/" + string(thread)).Is(200).Has(`form.key-here[action="` + to + `"] input[name=key][type=password]`).Has("form.key-here input[autocomplete=new-password]").Lacks("form.resume")
	for what, form := range map[string]url.Values{
		"nothing":        {},
		"no passphrase":  {"key": {keyValue}},
		"no key at all":  {"key": {"a b"}, "passphrase": {vaultPass}},
		"not much of it": {"key": {keyValue}, "passphrase": {"1234567"}},
	} {
		if p := h.browser.HTMX().Post(to, form).Is(422).Has("form.key-here [role=alert]"); strings.Contains(p.Body, "canary") {
			t.Errorf("%s: the key came back", what)
		}
	}
	h.browser.HTMX().Post(to, url.Values{"key": {keyValue}, "passphrase": {vaultPass}}).Is(204)
	h.until("the answer", func() bool { return h.rest(thread).Head.Text() == "Here I am." })
	h.browser.HTMX().Post("/chat/"+string(thread)+"/messages/"+string(agent.NewID())+"/key", url.Values{"key": {"x"}}).Is(404)
}

func TestAnswerAsksForThePassphrase(t *testing.T) {
	h := open(t, llmtest.Text("Here I am."), llmtest.Text("And here."))
	h.browser.Get("/settings/models")
	h.browser.HTMX().Post("/settings/models/test/key", url.Values{"key": {keyValue}, "passphrase": {vaultPass}}).Is(200)
	h.vault.Lock(t.Context())
	thread := h.begin("Hello")
	m := h.failed(thread, agent.CodeLocked)
	to := "/chat/" + string(thread) + "/messages/" + string(m.ID) + "/unlock"
	h.browser.Get("/chat/" + string(thread)).Is(200).Has(`form.unlock[action="` + to + `"] input[autocomplete=current-password]`).Lacks("form.resume")
	p := h.browser.HTMX().Post(to, url.Values{"passphrase": {"not this one at all"}}).Is(422).Has("form.unlock [role=alert]")
	if strings.Contains(p.Body, "not this one") {
		t.Error("what was typed came back")
	}
	h.browser.Post(to, url.Values{"passphrase": {"not this one at all"}}).Is(422).Has("form.unlock [role=alert]").Has(`input[name=back][value="/chat/` + string(thread) + `#m-` + string(m.ID) + `"]`)
	if h.failed(thread, agent.CodeLocked).ID != m.ID {
		t.Error("something was lost")
	}
	if to := h.browser.Post(to, url.Values{"passphrase": {vaultPass}}).Leads(); to != "/chat/"+string(thread) {
		t.Errorf("unlocking leads to %s", to)
	}
	h.until("the answer", func() bool { return h.rest(thread).Head.Text() == "Here I am." })

	// Once it is open, a failed answer is simply asked for again.
	h.vault.Lock(t.Context())
	other := h.begin("And there?")
	h.failed(other, agent.CodeLocked)
	h.must(h.vault.Unlock(t.Context(), []byte(vaultPass)))
	h.browser.Get("/chat/" + string(other)).Is(200).Has("form.resume").Lacks("form.unlock")
}

func TestAnswerAsksForAnotherKey(t *testing.T) {
	h := open(t, llmtest.Unauthorized(), llmtest.Text("Here I am."), llmtest.Unauthorized())
	h.browser.Get("/settings/models")
	h.browser.HTMX().Post("/settings/models/test/key", url.Values{"key": {"sk-the-first-0123456789"}, "passphrase": {vaultPass}}).Is(200)
	thread := h.begin("Hello")
	m := h.failed(thread, agent.CodeDenied)
	if m.Error.Need != agent.NeedNewKey {
		t.Errorf("it needs %q", m.Error.Need)
	}
	chat := "/chat/" + string(thread)
	to := chat + "/messages/" + string(m.ID) + "/key"
	h.vault.Lock(t.Context())
	h.browser.Get(chat).Is(200).Has(`form.key-here[action="` + to + `"] input[name=key]`).Has("form.key-here input[autocomplete=current-password]").Has("form.resume").Says("stays in the vault until you confirm")
	for what, form := range map[string]url.Values{
		"nothing": {}, "no passphrase": {"key": {keyValue}}, "another passphrase": {"key": {keyValue}, "passphrase": {"not this one at all"}}, "no key": {"key": {"a b"}, "passphrase": {vaultPass}},
	} {
		if p := h.browser.HTMX().Post(to, form).Is(422).Has("form.key-here [role=alert]").Says("stays in the vault"); strings.Contains(p.Body, "canary") {
			t.Errorf("%s: the key came back", what)
		}
	}
	h.must(h.vault.Unlock(t.Context(), []byte(vaultPass)))
	if all, err := h.vault.List(); err != nil || len(all) != 1 || all[0].Former {
		t.Errorf("something was kept: %+v %v", all, err)
	}
	h.browser.HTMX().Post(to, url.Values{"key": {keyValue}}).Is(204)
	h.until("the answer", func() bool { return h.rest(thread).Head.Text() == "Here I am." })
	if got := h.use("provider/test", h.modelHost()); got != keyValue {
		t.Errorf("in use is %q", got)
	}
	h.browser.Get("/vault/log?action=rotate").Is(200).Has(".accesses li").Lacks(".accesses .bad")
	h.browser.Get("/vault/log?action=add").Is(200).Has(".accesses li").Lacks(".accesses .bad") // it is not tried as a new one first
	h.must(h.vault.Revert(t.Context(), "provider/test"))
	if got := h.use("provider/test", h.modelHost()); got != "sk-the-first-0123456789" {
		t.Errorf("the key before was %q", got)
	}

	// Where another value was given to it elsewhere meanwhile, the answer is simply asked for again.
	other := h.begin("And now?")
	h.failed(other, agent.CodeDenied)
	h.browser.Get("/chat/" + string(other)).Is(200).Has("form.key-here")
	time.Sleep(time.Until(h.failed(other, agent.CodeDenied).Finished.Truncate(time.Second).Add(time.Second))) // the vault's dates are whole seconds
	_, err := h.vault.Rotate(t.Context(), "provider/test", []byte(keyValue), nil)
	h.must(err)
	h.browser.Get("/chat/" + string(other)).Is(200).Has("form.resume").Lacks("form.key-here")
}

func TestKeyInThePlaceOfAFile(t *testing.T) {
	h := open(t, llmtest.Unauthorized(), llmtest.Text("Here I am."))
	file := filepath.Join(h.home, "key.txt")
	h.must(os.WriteFile(file, []byte("sk-of-the-file-0123456789\n"), 0o600))
	_, err := h.config.Edit(t.Context(), "", []config.Change{{Key: "providers.test.key_file", Value: file}})
	h.must(err)
	thread := h.begin("Hello")
	m := h.failed(thread, agent.CodeDenied)
	h.browser.Get("/chat/" + string(thread)).Is(200).Has("form.key-here").Says("the one in " + file + " no longer")
	h.browser.HTMX().Post("/chat/"+string(thread)+"/messages/"+string(m.ID)+"/key", url.Values{"key": {keyValue}, "passphrase": {vaultPass}}).Is(204)
	h.until("the answer", func() bool { return h.rest(thread).Head.Text() == "Here I am." })
	if got := h.use("provider/test", h.modelHost()); got != keyValue {
		t.Errorf("in use is %q", got)
	}
}
