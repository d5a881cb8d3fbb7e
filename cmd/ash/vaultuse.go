package main

import (
	"context"
	"errors"
	"os"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/llm"
	"ash/agent/vault"
)

// Who takes what out of the vault.

// providerKeys gives the model providers their keys.
type providerKeys struct{ vault *vault.Vault }

var _ llm.Vault = providerKeys{}

func (k providerKeys) Use(ctx context.Context, u llm.SecretUse) ([]byte, error) {
	value, err := k.vault.Use(ctx, vault.Request{Name: u.Secret, User: u.User, Host: u.Host, For: u.For})
	return value, unattended(u.Secret, err)
}

func (k providerKeys) Check(ctx context.Context, u llm.SecretUse) error {
	return unattended(u.Secret, k.vault.Check(ctx, vault.Request{Name: u.Secret, User: u.User, Host: u.Host}))
}

// unattended refuses a secret with a passphrase of its own to what works by itself: nobody is there to be asked each time, and unlocking does not help.
func unattended(name string, err error) error {
	if !errors.Is(err, vault.ErrOwn) {
		return err
	}
	return agent.Wrap(agent.CodeDenied, err, "The secret %s has a passphrase of its own, so it cannot be used by itself. Delete it and add it without one.", name)
}

// braveHost is where the key of the Brave Search API goes.
const braveHost = "api.search.brave.com"

// braveUse is what the search asks of the vault.
func braveUse(c config.Search) vault.Request {
	return vault.Request{Name: c.KeySecret, User: "tool/websearch", Host: braveHost, For: "web search"}
}

// braveKey takes the key of the Brave Search API from where the settings say.
func braveKey(ctx context.Context, v *vault.Vault, c config.Search) (string, error) {
	if c.KeySecret == "" {
		return os.Getenv(c.KeyEnv), nil
	}
	value, err := v.Use(ctx, braveUse(c))
	if err != nil {
		return "", unattended(c.KeySecret, err)
	}
	defer vault.Wipe(value)
	return string(value), nil
}

// hasBraveKey reports whether there is one. The settings that name a secret mean it: where it lies in the locked vault, or may not be used, the search
// says so rather than going elsewhere.
func hasBraveKey(c config.Search) bool {
	return c.KeySecret != "" || os.Getenv(c.KeyEnv) != ""
}
