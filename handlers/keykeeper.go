package handlers

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/llm"
	"ash/agent/vault"
	"ash/views/components"
)

// KeyKeeper puts a key that somebody pasted where it belongs: into the vault, which it makes or unlocks on the way, or into
// memory alone if that is what they want.
type KeyKeeper struct {
	Secrets   Secrets
	Config    Config
	Providers Providers
}

// pasted is a key as a form brings it. Whoever reads one wipes it.
type pasted struct {
	key        []byte
	passphrase []byte // of the vault: a new one, or the one it has
	memory     bool   // not into the vault
}

func (p *pasted) wipe() { vault.Wipe(p.key); vault.Wipe(p.passphrase) }

// readPasted reads the fields of components.KeyFields.
func readPasted(c echo.Context) (p pasted, err error) {
	if p.key, err = hidden(c, "key", maxHidden); err != nil {
		return p, err
	}
	p.key = []byte(strings.TrimSpace(string(p.key)))
	if p.passphrase, err = hidden(c, "passphrase", maxHidden); err != nil {
		return p, err
	}
	word, err := line(c, "memory", 10)
	p.memory = word != ""
	return p, err
}

// place is what the vault asks of somebody who pastes a key.
func (k *KeyKeeper) place(ctx context.Context) components.KeyPlace {
	switch s := k.Secrets.Status(ctx); {
	case s.Problem != "":
		return components.KeyAmiss
	case !s.Exists:
		return components.KeyNoVault
	case !s.Unlocked:
		return components.KeyLocked
	}
	return components.KeyOpen
}

// ready makes sure that a key can be kept, before anything is done with it: a passphrase for a vault to be made is good enough, and one for a locked
// vault opens it. Errors: those of Unlock, CodeInvalid for a passphrase that is missing or too short.
func (k *KeyKeeper) ready(ctx context.Context, p pasted) error {
	if p.memory || len(p.key) == 0 {
		return nil
	}
	s := k.Secrets.Status(ctx)
	switch {
	case s.Problem != "":
		return agent.Errorf(agent.CodeDenied, "The vault cannot take the key as it stands; its page says why. The key can be kept in memory only until then.")
	case !s.Exists:
		return vault.CheckPassphrase(p.passphrase)
	case !s.Unlocked && len(p.passphrase) == 0:
		return agent.Errorf(agent.CodeInvalid, "The vault is locked. Type its passphrase as well, so that the key can be used at once.")
	case !s.Unlocked:
		return k.Secrets.Unlock(ctx, p.passphrase)
	}
	return nil
}

// keep stores the key of provider s and has the settings name it. A key that was kept in memory gives way to it. Errors: those of ready and of the vault.
func (k *KeyKeeper) keep(ctx context.Context, s llm.Settings, p pasted) error {
	if err := k.Providers.Keys().Paste(s.Name, string(p.key)); err != nil || p.memory {
		return err // it does not look like a key, or that is all
	}
	defer k.forget(s.Name)
	if err := k.ready(ctx, p); err != nil {
		return err
	}
	if !k.Secrets.Status(ctx).Exists {
		if err := k.Secrets.Create(ctx, p.passphrase); err != nil {
			return err
		}
	}
	name, err := k.store(ctx, s, p.key)
	if err != nil {
		return err
	}
	return k.refer(ctx, s, name)
}

// forget takes a key out of memory; the empty key is always accepted.
func (k *KeyKeeper) forget(provider string) { _ = k.Providers.Keys().Paste(provider, "") }

// store puts the value under the provider's name. One that is there already gets it as its new value, bound to where the provider is now.
func (k *KeyKeeper) store(ctx context.Context, s llm.Settings, key []byte) (name string, err error) {
	name = "provider/" + s.Name
	hosts := hostsOf(s)
	if hosts == nil {
		return name, agent.Errorf(agent.CodeInvalid, "Where %s is reached is not known, so its key could go nowhere. Give it an address first.", s.Name)
	}
	all, err := k.Secrets.List()
	if err != nil && agent.CodeOf(err) != agent.CodeLocked {
		return name, err
	}
	i := slices.IndexFunc(all, func(i vault.Info) bool { return i.Name == name })
	if i < 0 { // or it was locked this instant: then it is taken in later
		_, err = k.Secrets.Put(ctx, vault.Secret{Name: name, Value: key, Hosts: hosts, Users: []string{name}})
		return name, err
	}
	if have := all[i]; !slices.Contains(have.Hosts, hosts[0]) || !slices.Contains(have.Users, name) {
		if err := k.Secrets.Bind(ctx, name, append(have.Hosts, hosts...), append(have.Users, name)); err != nil {
			return name, err
		}
	}
	_, err = k.Secrets.Rotate(ctx, name, key, nil)
	return name, err
}

// refer has the settings name the secret.
func (k *KeyKeeper) refer(ctx context.Context, s llm.Settings, name string) error {
	now := k.Config.Current().Config()
	if now.Providers[s.Name].KeySecret == name {
		return nil
	}
	_, err := k.Config.Edit(ctx, "", []config.Change{{Key: "providers." + s.Name + ".key_secret", Value: name}})
	return err
}

// status finds a provider.
func (k *KeyKeeper) status(provider string) (llm.Status, bool) {
	all := k.Providers.Status()
	i := slices.IndexFunc(all, func(s llm.Status) bool { return s.Settings.Name == provider })
	if i < 0 {
		return llm.Status{}, false
	}
	return all[i], true
}

// Helps returns what a failed answer could be helped with in its place: the passphrase, a key, or nothing.
func (k *KeyKeeper) Helps(ctx context.Context, n agent.Message) (unlock, key bool) {
	code := n.Error.Code
	if code != agent.CodeLocked && code != agent.CodeDenied {
		return false, false
	}
	v := k.Secrets.Status(ctx)
	if code == agent.CodeLocked && v.Exists && v.Problem == "" {
		return !v.Unlocked, false
	}
	s, ok := k.status(n.Model.Provider)
	if !ok || hostsOf(s.Settings) == nil {
		return false, false
	}
	if n.Error.Need == agent.NeedNewKey && !k.renewed(s.Settings, n.Finished) {
		return false, true
	}
	return false, s.Key.Locked || s.Key.Problem != "" || s.Key.Place == llm.KeyNone && s.Vendor.NeedKey
}

// renewed reports whether the vault is known to hold another value for a provider's key than the one that was refused at that time.
func (k *KeyKeeper) renewed(s llm.Settings, refused time.Time) bool {
	all, err := k.Secrets.List()
	if err != nil || s.KeySecret == "" { // it is locked: its dates cannot be read either
		return false
	}
	i := slices.IndexFunc(all, func(i vault.Info) bool { return i.Name == s.KeySecret })
	return i >= 0 && all[i].Added.After(refused)
}
