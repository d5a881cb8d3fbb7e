package main

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/vault"
)

// ringVault is a vault whose passphrase, where the keyring of the desktop keeps it, is kept there anew whenever it changes: by page, command or socket. What could
// not follow is among the notes of its Status until it does.
type ringVault struct {
	*vault.Vault
	ring     keyring
	settings func() (config.Vault, error)
	env      func(string) (string, bool)

	turn sync.Mutex // held over a change and what follows from it, so that of two the later one is kept
	mu   sync.Mutex // guards note
	note string     // why Ash will not be able to unlock it by itself; "" when nothing is known against it
}

// ringWait is how long a change of the passphrase waits for the keyring, a dialog included.
const ringWait = 30 * time.Second

func newRingVault(v *vault.Vault, ring keyring, settings func() (config.Vault, error)) *ringVault {
	return &ringVault{Vault: v, ring: ring, settings: settings, env: os.LookupEnv}
}

// Create implements handlers.Lockable.
func (v *ringVault) Create(ctx context.Context, passphrase []byte) error {
	v.turn.Lock()
	defer v.turn.Unlock()
	return v.followed(ctx, passphrase, v.Vault.Create(ctx, passphrase))
}

// ChangePassphrase implements handlers.VaultKeeper.
func (v *ringVault) ChangePassphrase(ctx context.Context, was, now []byte) error {
	v.turn.Lock()
	defer v.turn.Unlock()
	return v.followed(ctx, now, v.Vault.ChangePassphrase(ctx, was, now))
}

// Recover implements handlers.VaultKeeper.
func (v *ringVault) Recover(ctx context.Context, phrase string, now []byte) error {
	v.turn.Lock()
	defer v.turn.Unlock()
	return v.followed(ctx, now, v.Vault.Recover(ctx, phrase, now))
}

// Status implements handlers.Lockable.
func (v *ringVault) Status(ctx context.Context) vault.Status {
	s := v.Vault.Status(ctx)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.note != "" {
		s.Notes = append(slices.Clone(s.Notes), v.note)
	}
	return s
}

// followed has what unlocks the vault by itself follow its new passphrase. The change itself is done by then: what cannot follow is noted, not an error.
func (v *ringVault) followed(ctx context.Context, now []byte, err error) error {
	if err != nil {
		return err
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), ringWait) // who asked may be gone, the passphrase is another all the same
	defer done()
	set, err := v.settings()
	if err != nil {
		v.remember("Whether Ash unlocks the vault by itself cannot be told: " + agent.PublicOf(err))
		return nil
	}
	var behind []string
	if set.Keyring {
		if err := v.ring.put(ctx, v.Vault.Status(ctx).ID, now); err != nil {
			behind = append(behind, "The keyring does not keep the new passphrase, so it cannot unlock the vault. "+agent.PublicOf(err)+" Then run: ash vault keyring on")
		}
	}
	if held, err := storedPassphrase(set.PassphraseFile, v.env); err == nil && held != nil && !bytes.Equal(held, now) {
		where := "the systemd credential " + vaultCredential
		if set.PassphraseFile != "" {
			where = "the passphrase file " + set.PassphraseFile
		}
		behind = append(behind, "The passphrase in "+where+" is another one, so Ash cannot unlock the vault by itself. Write the new one there.")
		vault.Wipe(held)
	}
	v.remember(strings.Join(behind, " "))
	return nil
}

func (v *ringVault) remember(note string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.note = note
}

// keyringSwitch returns the switch of the keyring for this vault; set changes the setting.
func (v *ringVault) keyringSwitch(set func(ctx context.Context, change config.Change) error) keyringSwitch {
	return keyringSwitch{
		ring: v.ring, unlock: v.Unlock, id: func(ctx context.Context) string { return v.Vault.Status(ctx).ID },
		set: func(ctx context.Context, on bool) error {
			err := set(ctx, config.Change{Key: keyringKey, Value: "true", Remove: !on})
			if err == nil {
				v.remember("")
			}
			return err
		},
	}
}

// forgetRing takes the passphrase out of the keyring, for somebody who switched it off in the settings.
func (a *app) forgetRing(ctx context.Context) {
	for {
		select {
		case <-a.ringOff:
		case <-ctx.Done():
			return
		}
		err := a.secrets.ring.remove(ctx, a.vault.Status(ctx).ID)
		if err != nil && ctx.Err() == nil {
			a.log.Warn("the keyring is switched off, but the passphrase of the vault stays in it, under the name ash; remove it there", "error", err)
		}
	}
}

// ringSwitched notices that the settings no longer want the keyring.
func (a *app) ringSwitched(was, now *config.Snapshot) {
	if !was.Config().Vault.Keyring || now.Config().Vault.Keyring {
		return
	}
	select {
	case a.ringOff <- struct{}{}:
	default: // it is noticed already
	}
}
