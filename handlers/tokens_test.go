package handlers_test

import (
	"context"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/access"
)

func TestTokenIsMadeShownOnceAndRevoked(t *testing.T) {
	h := open(t)
	h.browser.Get("/settings/tokens").Is(200).Says("no program can use the API").Has("nav.sections a[aria-current=page][href='/settings/tokens']")
	made := h.browser.Post("/settings/tokens", url.Values{"name": {"notes  app"}, "scope": {"memory", "read"}, "expires": {"30"}}).Is(200).Says("not shown again")
	secret := made.Text("#made-secret")
	tokens := access.New(h.store, access.Options{})
	got, err := tokens.Authenticate(context.Background(), access.Secret(secret), netip.MustParseAddr("127.0.0.1"))
	h.must(err)
	if d := time.Until(got.Expires); got.Name != "notes app" || len(got.Scopes) != 2 || d < 29*24*time.Hour || d > 31*24*time.Hour {
		t.Errorf("made %+v", got)
	}
	again := h.browser.Get("/settings/tokens").Is(200).Says("notes app").Says("last used").Lacks("#made-secret")
	if strings.Contains(again.Body, secret) {
		t.Error("the secret is shown twice")
	}
	if b := h.file("config.toml"); strings.Contains(b, secret) {
		t.Error("the secret lies in config.toml")
	}
	h.browser.HTMX().Post("/settings/tokens/"+string(got.ID)+"/revoke", nil).Is(200).Lacks("main").Has("#api-tokens .ended-tokens")
	if _, err := tokens.Authenticate(context.Background(), access.Secret(secret), netip.MustParseAddr("127.0.0.1")); err == nil {
		t.Error("a revoked token lets in")
	}
	h.browser.Post("/settings/tokens/"+string(got.ID)+"/revoke", nil).Is(303) // again changes nothing
	h.browser.Post("/settings/tokens/"+string(agent.NewID())+"/revoke", nil).Is(404)
	h.browser.Post("/settings/tokens/nonsense/revoke", nil).Is(404)
}

func TestTokenIsRefusedWithWhatWasTyped(t *testing.T) {
	h := open(t)
	h.browser.Post("/settings/tokens", url.Values{"name": {"taken"}, "scope": {"read"}, "expires": {"never"}}).Is(200)
	for name, form := range map[string]url.Values{
		"no scope":       {"name": {"a"}, "expires": {"30"}},
		"unknown scope":  {"name": {"a"}, "scope": {"root"}, "expires": {"30"}},
		"no name":        {"name": {" "}, "scope": {"read"}, "expires": {"30"}},
		"long name":      {"name": {strings.Repeat("ä", 150)}, "scope": {"read"}, "expires": {"30"}},
		"name taken":     {"name": {"TAKEN"}, "scope": {"read"}, "expires": {"30"}},
		"no lifetime":    {"name": {"a"}, "scope": {"read"}, "expires": {"31"}},
		"no date":        {"name": {"a"}, "scope": {"read"}, "expires": {"30"}, "until": {"soon"}},
		"over already":   {"name": {"a"}, "scope": {"read"}, "expires": {"30"}, "until": {"2020-01-01"}},
		"many scopes":    {"name": {"a"}, "scope": make([]string, 1000), "expires": {"30"}},
		"control signs":  {"name": {"a\x07b"}, "scope": {"read"}, "expires": {"30"}},
		"longer than ok": {"name": {strings.Repeat("a", 5000)}, "scope": {"read"}, "expires": {"30"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := h.browser.HTMX().Post("/settings/tokens", form).Is(422).Has("#api-tokens [role=alert]").Lacks("#made-secret")
			if got := p.Attr("#token-name", "value"); len(form.Get("name")) < 200 && strings.TrimSpace(form.Get("name")) != got {
				t.Errorf("typed %q, kept %q", form.Get("name"), got)
			}
		})
	}
	list, err := h.store.Tokens(context.Background())
	h.must(err)
	if len(list) != 1 {
		t.Errorf("%d tokens", len(list))
	}
}
