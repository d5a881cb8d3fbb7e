package handlers_test

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/llm/llmtest"
	"ash/agent/vault"
)

// keyed is one tool that needs a secret.
type keyed struct{ vault func() *vault.Vault }

func (keyed) Specs(context.Context, agent.Thread) []agent.ToolSpec {
	return []agent.ToolSpec{{Name: "search", Description: "Searches.", Schema: json.RawMessage(`{"type":"object"}`)}}
}

func (keyed) Judge(context.Context, agent.Situation, agent.ToolCall) (agent.Judgement, error) {
	return agent.Judgement{Verdict: agent.Allow}, nil
}

func (keyed) Permit(context.Context, agent.Situation, agent.ToolCall, agent.Offer) error { return nil }

func (k keyed) Run(ctx context.Context, _ agent.Situation, _ agent.ToolCall, _ func(string)) (agent.ToolOutcome, error) {
	value, err := k.vault().Use(ctx, vault.Request{Name: "provider/anthropic", User: "provider/anthropic", Host: "api.anthropic.com"})
	vault.Wipe(value)
	return agent.ToolOutcome{Content: []agent.Part{agent.Text{Text: "found"}}}, err
}

func TestCallAsksForThePassphrase(t *testing.T) {
	var h *house
	h = openWith(t, plan{configured: true, tools: keyed{func() *vault.Vault { return h.vault }}},
		llmtest.Reply{Calls: []llmtest.Call{{ID: "c1", Name: "search", Arguments: []string{`{}`}}}}, llmtest.Text("Found it."))
	h.makeVault()
	h.vault.Lock(t.Context())
	thread := h.begin("Look for it")
	p := h.browser.Get("/chat/" + string(thread)).Is(200).Has("section.call form.unlock input[autocomplete=current-password]").Says("waiting for the vault")
	form := p.Attr("section.call form.unlock", "id")
	to := p.Attr("section.call form.unlock", "action")
	at := p.Attr("section.call form.unlock input[name=at]", "value")
	if form != "unlock-"+at || !strings.HasPrefix(to, "/chat/"+string(thread)+"/messages/") {
		t.Fatalf("form %q posts to %q", form, to)
	}
	wrong := h.browser.HTMX().Post(to, url.Values{"passphrase": {"not this one at all"}, "at": {at}}).Is(422).Says("<hx-partial hx-target=#" + form + " ").Says("go on")
	if wrong.Header.Get("HX-Reswap") != "none" {
		t.Error("the answer would take the form's place without it")
	}
	if p := h.browser.HTMX().Post(to, url.Values{"passphrase": {"x"}, "at": {`x hx-swap=delete>`}}).Is(422); strings.Contains(p.Body, "delete>") {
		t.Error("what was sent as a place came back")
	}
	began := time.Now()
	h.until("the delay after wrong passphrases is over", func() bool {
		return h.browser.HTMX().Post(to, url.Values{"passphrase": {vaultPass}, "at": {at}}).Status == 204
	})
	if _, err := h.engine.Unlocked(t.Context(), began); err != nil {
		t.Fatal(err)
	}
	h.until("the answer", func() bool { return h.rest(thread).Head.Text() == "Found it." })
	h.browser.Get("/chat/" + string(thread)).Is(200).Lacks("form.unlock")
}

func TestNavigationShowsTheLock(t *testing.T) {
	h := open(t)
	lock := func(icon string) {
		t.Helper()
		h.browser.Get("/chat").Is(200).Has(`#vault-rail use[href="#i-` + icon + `"]`).Has(`#vault-tab use[href="#i-` + icon + `"]`)
	}
	lock("lock")
	h.makeVault()
	lock("lock-open")
	h.browser.Get("/vault").Is(200)
	h.browser.Get("/chat").Is(200).Lacks(".vault-entry .dot")
	now := h.pages.Now
	h.pages.Now = func() time.Time { return now().Add(4 * 24 * time.Hour) }
	h.browser.Get("/chat").Is(200).Has("#vault-rail .dot")
	h.browser.Post("/vault/phrase/later", nil).Is(303)
	h.browser.Get("/chat").Is(200).Lacks(".vault-entry .dot")
	h.vault.Lock(t.Context())
	lock("lock")
}
