package main

import (
	"context"

	"ash/agent/llm"
	"ash/agent/vault"
)

// Who takes what out of the vault.

// providerKeys gives the model providers their keys.
type providerKeys struct{ vault *vault.Vault }

var _ llm.Vault = providerKeys{}

func (k providerKeys) Use(ctx context.Context, u llm.SecretUse) ([]byte, error) {
	return k.vault.Use(ctx, vault.Request{Name: u.Secret, User: u.User, Host: u.Host, For: u.For})
}

func (k providerKeys) Check(ctx context.Context, u llm.SecretUse) error {
	return k.vault.Check(ctx, vault.Request{Name: u.Secret, User: u.User, Host: u.Host})
}
