package main

import (
	"context"
	"errors"
	"os"

	"ash/agent"
	"ash/agent/vault"
)

// A vault that is unlocked when Ash starts, without a person.

// unlockByItself unlocks the vault where the settings or the system say with what. The pages do not wait for it.
func (a *app) unlockByItself(ctx context.Context) {
	pass, from, err := a.heldPassphrase(ctx)
	if err == nil && pass == nil {
		return
	}
	defer vault.Wipe(pass)
	if err == nil {
		a.byItself.Store(true)
		err = a.vault.Unlock(ctx, pass)
	}
	switch {
	case err == nil:
		a.log.Info("the vault is unlocked", "by", from)
		return
	case ctx.Err() != nil:
		return // Ash ends
	}
	a.byItself.Store(false)
	a.log.Warn("the vault stays locked: it could not be unlocked by itself", "by", from, "error", err)
	a.vault.Remark("Ash could not unlock the vault by itself, with " + from + ". " + agent.PublicOf(err))
	a.feed.Publish(agent.Envelope{Path: "ash", Event: agent.VaultEvent{}})
}

// heldPassphrase finds the passphrase where no person is needed: the file of the settings, the systemd credential, the keyring. from says in words
// where it was looked for; the passphrase is nil where nothing is set up, or there is no vault.
func (a *app) heldPassphrase(ctx context.Context) (pass []byte, from string, err error) {
	set := a.config.Current().Config().Vault
	state := a.vault.Status(ctx)
	if !state.Exists {
		return nil, "", nil
	}
	from = "the systemd credential " + vaultCredential
	if set.PassphraseFile != "" {
		from = "the passphrase file of the settings"
	}
	pass, err = storedPassphrase(set.PassphraseFile, os.LookupEnv)
	if pass != nil || err != nil || !set.Keyring {
		return pass, from, err
	}
	pass, err = a.ring.get(ctx, state.ID)
	return pass, "the keyring", err
}

// keyringSwitch implements handlers.ControlKeyring.
type keyringSwitch struct {
	ring   keyring
	unlock func(ctx context.Context, passphrase []byte) error
	id     func(ctx context.Context) string // of the vault
	set    func(ctx context.Context, on bool) error
}

// On implements handlers.ControlKeyring.
func (s keyringSwitch) On(ctx context.Context, passphrase []byte) error {
	if err := s.unlock(ctx, passphrase); err != nil {
		return err
	}
	if err := s.ring.put(ctx, s.id(ctx), passphrase); err != nil {
		return err
	}
	if err := s.set(ctx, true); err != nil {
		return errors.Join(err, s.ring.remove(ctx, s.id(ctx)))
	}
	return nil
}

// Off implements handlers.ControlKeyring.
func (s keyringSwitch) Off(ctx context.Context) error {
	if err := s.set(ctx, false); err != nil {
		return err
	}
	return s.ring.remove(ctx, s.id(ctx))
}
