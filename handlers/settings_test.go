package handlers_test

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ash/agent/identity"
	"ash/agent/llm/llmtest"
)

func (h *house) file(name string) string {
	h.t.Helper()
	b, err := os.ReadFile(filepath.Join(h.home, name))
	h.must(err)
	return string(b)
}

func TestFirstRun(t *testing.T) {
	h := openWith(t, plan{}, llmtest.Text("ready"), llmtest.Unauthorized(), llmtest.Text("ready"))
	if to := h.browser.Get("/").Leads(); to != "/setup" {
		t.Errorf("the first visit leads to %s", to)
	}
	h.browser.Get("/setup").Is(200).Has(`#offers[hx-get="/setup/found"]`).Has(`form[action="/setup/skip"]`)
	found := h.browser.HTMX().Get("/setup/found").Is(200).Lacks("main")
	if got := found.Attr("form.offer option", "value"); got != "test-model" {
		t.Errorf("offered: %q", got)
	}
	offer := url.Values{
		"provider": {found.Attr("form.offer input[name=provider]", "value")},
		"base_url": {found.Attr("form.offer input[name=base_url]", "value")}, "model": {"test-model"},
	}
	h.browser.HTMX().Post("/setup/test", offer).Is(200).Has(".state.ok").Says("ready")
	if got := h.config.Current().Config().Models.Order; len(got) != 1 || got[0].String() != "lmstudio/test-model" {
		t.Errorf("order after the first run: %v", got)
	}
	if to := h.browser.Get("/").Leads(); to != "/chat" {
		t.Errorf("the second visit leads to %s", to)
	}

	other := url.Values{"provider": {"other"}, "kind": {"openai"}, "base_url": {h.model.URL + "/v1"}, "model": {"m2"}, "key": {"sk-secret-123456"}, "memory": {"1"}}
	h.browser.HTMX().Post("/setup/test", other).Is(200).Has(".state.bad")
	if strings.Contains(h.file("config.toml"), "m2") {
		t.Error("a model that failed its test is in use")
	}
	if to := h.browser.Post("/setup/test", other).Leads(); to != "/chat/new" {
		t.Errorf("after setup: %s", to)
	}
	if f := h.file("config.toml"); strings.Contains(f, "sk-secret") || !strings.Contains(f, `"openai/m2", "lmstudio/test-model"`) {
		t.Errorf("config.toml:\n%s", f)
	}
	h.browser.Get("/settings/models").Is(200).Says("what you pasted")
	h.browser.HTMX().Post("/setup/test", url.Values{"provider": {"other"}}).Is(422).Says("Choose a model")
}

func TestFirstRunCanBeSkipped(t *testing.T) {
	h := openWith(t, plan{})
	h.browser.Get("/setup")
	for range 2 {
		if to := h.browser.Post("/setup/skip", nil).Leads(); to != "/chat/new" {
			t.Errorf("skipping leads to %s", to)
		}
	}
	if to := h.browser.Get("/").Leads(); to != "/chat" {
		t.Errorf("after skipping / leads to %s", to)
	}
	h.browser.Get("/chat/new").Is(200).Says("No language model is set up yet")
}

func TestModelSettings(t *testing.T) {
	h := open(t, llmtest.Text("ready"), llmtest.Unauthorized())
	h.browser.Get("/settings").Is(200).Has(`nav.sections[data-screen=list] a[href="/settings/about"]`).Has("#models")
	h.browser.Get("/settings/models").Is(200).Has(`nav.sections[data-screen=content] a[aria-current=page][href="/settings/models"]`).Has("#models #p-test").Has("#p-offline")
	h.browser.HTMX().Post("/settings/models/test/test", nil).Is(200).Has("#r-test .ok").Says("ready").Says("test-model")
	h.browser.HTMX().Post("/settings/models/test/test", nil).Is(200).Has("#r-test .bad")

	add := url.Values{"kind": {"ollama"}, "name": {"home"}, "base_url": {h.model.URL}, "model": {"qwen3:8b"}}
	h.browser.HTMX().Post("/settings/models", add).Is(200).Has("#models #p-home")
	h.browser.HTMX().Post("/settings/models", url.Values{"kind": {"openai"}, "name": {"home"}, "model": {"x"}}).Is(409)
	h.browser.HTMX().Post("/settings/models", url.Values{"kind": {"nonsense"}, "name": {"n"}, "model": {"x"}}).Is(422)
	h.browser.HTMX().Post("/settings/models", url.Values{"kind": {"openai"}, "name": {""}, "model": {""}}).Is(422)

	order := func() string {
		var words []string
		for _, r := range h.config.Current().Config().Models.Order {
			words = append(words, r.String())
		}
		return strings.Join(words, " ")
	}
	for _, step := range []struct{ path, field, value, want string }{
		{"/settings/models/home/move", "direction", "up", "home/qwen3:8b test/test-model"},
		{"/settings/models/home/move", "direction", "up", "home/qwen3:8b test/test-model"},
		{"/settings/models/home/move", "direction", "down", "test/test-model home/qwen3:8b"},
		{"/settings/models/default", "model", "home/qwen3:8b", "home/qwen3:8b test/test-model"},
		{"/settings/models/home/remove", "x", "", "test/test-model"},
	} {
		h.browser.HTMX().Post(step.path, url.Values{step.field: {step.value}}).Is(200).Has("#models")
		if got := order(); got != step.want {
			t.Errorf("after %s %s the order is %q, want %q", step.path, step.value, got, step.want)
		}
	}
	h.browser.Post("/settings/models/home/remove", nil).Is(404)
	h.browser.Post("/settings/models/nobody/move", url.Values{"direction": {"up"}}).Is(404)

	h.browser.Post("/settings/models/nobody/key", url.Values{"key": {"k"}}).Is(404)
	p := h.browser.HTMX().Post("/settings/models/test/key", url.Values{"key": {"sk-abcdef-secret"}, "memory": {"1"}}).Is(200)
	if strings.Contains(p.Body+h.browser.Get("/settings/models").Body+h.file("config.toml"), "sk-abcdef-secret") {
		t.Error("a pasted key is shown or written")
	}
	h.browser.HTMX().Post("/settings/models/test/key", url.Values{"key": {""}, "memory": {"1"}}).Is(200)
}

func TestGeneralSettings(t *testing.T) {
	h := open(t)
	p := h.browser.Get("/settings/general").Is(200).Has("#set-turn-rounds").Has("#set-server-listen").Lacks("[id^=set-providers]")
	if n := p.Find("form.setting").Length(); n < 10 {
		t.Errorf("%d settings", n)
	}
	h.browser.HTMX().Post("/settings/general", url.Values{"key": {"turn.rounds"}, "value": {"7"}}).Is(200).Has("#set-turn-rounds")
	if got := h.config.Current().Config().Turn.Rounds; got != 7 {
		t.Errorf("rounds = %d", got)
	}
	h.browser.HTMX().Post("/settings/general", url.Values{"key": {"turn.rounds"}, "value": {"-1"}}).Is(422).Has("#set-turn-rounds [role=alert]")
	h.browser.Post("/settings/general", url.Values{"key": {"turn.rounds"}, "value": {""}}).Is(303)
	if got := h.config.Current().Config().Turn.Rounds; got != 50 {
		t.Errorf("an emptied setting is %d, not its default", got)
	}
	h.browser.HTMX().Post("/settings/general", url.Values{"key": {"history.summarise"}, "value": {"false", "true"}}).Is(200)
	if !h.config.Current().Config().History.Summarise {
		t.Error("a switch that is on sends both values; the last counts")
	}
	h.browser.Post("/settings/general", url.Values{"key": {"no.such"}, "value": {"x"}}).Is(404)
	h.browser.Post("/settings/general", url.Values{"key": {"providers.test.base_url"}, "value": {"http://evil.example"}}).Is(422)
	h.browser.Post("/settings/general", url.Values{"key": {"turn.rounds"}}).Is(422)

	h.browser.HTMX().Post("/settings/theme", url.Values{"theme": {"dark"}}).Is(204)
	h.browser.Get("/settings/appearance").Is(200).Has("html[data-theme=dark]").Has("button[value=dark][aria-pressed=true]")
	h.browser.Post("/settings/theme", url.Values{"theme": {"plaid"}}).Is(422)
	h.browser.Get("/settings/about").Is(200).Says("1.2.3").Says("go1.")
	h.browser.Get("/settings/identity").Is(200).Has(`a[href="/identity/soul"]`)
	h.browser.Get("/memory").Is(200).Has("main .later")
}

func TestIdentityEditor(t *testing.T) {
	h := open(t)
	p := h.browser.Get("/identity/user").Is(200).Has("form.edit-file").Has("#preview").Has(".versions .tag")
	base := p.Attr("input[name=base]", "value")
	h.browser.HTMX().Post("/identity/user/preview", url.Values{"text": {"# Hi\n<script>x</script>"}}).Is(200).Has("h1").Has("#tokens").Lacks("script")

	if to := h.browser.Post("/identity/user", url.Values{"base": {base}, "text": {"one\r\ntwo\r\n"}}).Leads(); to != "/identity/user?saved=1" {
		t.Errorf("saving leads to %s", to)
	}
	doc, err := h.book.Read(context.Background(), identity.User)
	h.must(err)
	if doc.Text != "one\ntwo\n" {
		t.Errorf("saved %q", doc.Text)
	}
	mine := h.browser.Post("/identity/user", url.Values{"base": {base}, "text": {"mine\ntwo\n"}}).Is(409).Has(".conflict ins").Has(".conflict del")
	if got := mine.Text("#source"); got != "mine\ntwo" {
		t.Errorf("after a conflict the editor holds %q", got)
	}
	over := mine.Attr(".conflict input[name=base]", "value")
	h.browser.Post("/identity/user", url.Values{"base": {over}, "text": {"mine\ntwo\n"}}).Is(303)

	page := h.browser.Get("/identity/user?saved=1").Is(200).Says("Saved.")
	oldest := page.Find(".versions a").Last().AttrOr("href", "")
	h.browser.Get(oldest).Is(200).Has("main #diff ins")
	h.browser.HTMX().Get(oldest).Is(200).Lacks("main").Has("#diff")
	h.browser.Get(strings.Replace(oldest, "/user/", "/soul/", 1)).Is(404)
	version := h.browser.HTMX().Get(oldest).Attr("input[name=version]", "value")
	h.browser.Post("/identity/soul/restore", url.Values{"version": {version}}).Is(404)
	h.browser.Post("/identity/user/restore", url.Values{"version": {version}}).Is(303)
	original, err := identity.Default(identity.User)
	h.must(err)
	if doc, err = h.book.Read(context.Background(), identity.User); err != nil || doc.Text != original {
		t.Errorf("restored %q, %v", doc.Text, err)
	}
	h.browser.Post("/identity/user", url.Values{"base": {doc.Hash}, "text": {strings.Repeat("a", 65<<10)}}).Is(422).Says("too long")
	h.browser.Post("/identity/user", url.Values{"base": {"x"}, "text": {"\xff"}}).Is(422)
}

func TestSettingsOfTheEnvironmentAreShownAsSuch(t *testing.T) {
	h := openWith(t, plan{configured: true, environ: []string{"ASH_TURN_ROUNDS=9"}})
	h.browser.Get("/settings/general").Is(200).Has("#set-turn-rounds input[name=value][disabled]").Says("ASH_TURN_ROUNDS")
	h.browser.HTMX().Post("/settings/general", url.Values{"key": {"turn.rounds"}, "value": {"3"}}).Is(422).Has("#set-turn-rounds [role=alert]")
	if got := h.config.Current().Config().Turn.Rounds; got != 9 {
		t.Errorf("rounds = %d", got)
	}
}
