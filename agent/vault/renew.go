package vault

import (
	"context"
	"errors"

	"filippo.io/age"

	"ash/agent"
)

// errMoved says that the vault was locked or changed hands while a slow operation ran.
func errMoved() error {
	return agent.Errorf(agent.CodeConflict, "The vault was locked or changed elsewhere meanwhile. Nothing was changed; try again.")
}

// held returns the keys of the unlocked vault, to see later whether they are still the same, and a copy of them.
func (v *Vault) held() (k *keys, plain []byte, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.ready(); err != nil {
		return nil, nil, err
	}
	return v.keys, v.keys.encode(), nil
}

// ChangePassphrase gives the vault another passphrase and leaves it unlocked. Copies of the folder made before still open with the old one; RotateIdentity
// makes what is added and changed from then on unreadable to them. Errors: those of Unlock for the old passphrase, CodeInvalid for the new one.
func (v *Vault) ChangePassphrase(ctx context.Context, was, now []byte) (err error) {
	defer func() { v.record(ctx, outcome(Access{Action: ActionPass}, err)) }()
	if err := CheckPassphrase(now); err != nil {
		return err
	}
	if err := v.Unlock(ctx, was); err != nil {
		return err
	}
	return v.setPassphrase(ctx, now)
}

// setPassphrase puts a new copy of the keys in the place of the one for the passphrase.
func (v *Vault) setPassphrase(ctx context.Context, passphrase []byte) error {
	k, plain, err := v.held()
	if err != nil {
		return err
	}
	copied, err := v.sealKeys(ctx, plain, passphrase)
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ready() != nil || v.keys != k {
		return errMoved()
	}
	if err := v.sound(); err != nil {
		return err
	}
	c := v.begin()
	if c.index.Identity, err = v.put(c, identityName(c.serial), copied); err != nil {
		return v.abandon(c, err)
	}
	return v.commit(ctx, c)
}

// NewPhrase makes a recovery phrase of 24 words and returns it, for the only time. One made before opens nothing from now on but copies of
// the folder from that time. CodeLocked while the vault is locked.
func (v *Vault) NewPhrase(ctx context.Context) (phrase string, err error) {
	defer func() { v.record(ctx, outcome(Access{Action: ActionPhrase}, err)) }()
	phrase, id, err := newPhrase()
	if err != nil {
		return "", err
	}
	defer wipeIdentity(id)
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.ready(); err != nil {
		return "", err
	}
	if err := v.sound(); err != nil {
		return "", err
	}
	c := v.begin()
	c.index.Phrase = id.Recipient().String()
	if err := v.putRecovery(c); err != nil {
		return "", v.abandon(c, err)
	}
	if err := v.commit(ctx, c); err != nil {
		return "", err
	}
	return phrase, nil
}

// putRecovery writes the copy of the change's keys for the recovery phrase. The phrase's recipient is known only to who can read the index, so nobody
// else can make a copy that the phrase opens.
func (v *Vault) putRecovery(c *change) error {
	to, err := age.ParseX25519Recipient(c.index.Phrase)
	if err != nil {
		return agent.Wrap(agent.CodeInternal, err, "The recipient of the recovery phrase cannot be read.")
	}
	plain := c.keys.encode()
	defer Wipe(plain)
	sealed, err := seal(plain, to)
	if err != nil {
		return err
	}
	c.index.Recovery, err = v.put(c, recoveryName(c.serial), sealed)
	return err
}

// Recover unlocks the vault with the recovery phrase and gives it a new passphrase. The phrase stays good. Errors: CodeInvalid for a phrase that cannot be one and for
// the new passphrase, CodeDenied for the phrase of another vault, CodeNotFound when none was made, and those of Unlock.
func (v *Vault) Recover(ctx context.Context, phrase string, now []byte) (err error) {
	if err := CheckPassphrase(now); err != nil {
		return err
	}
	entropy, err := decodePhrase(phrase)
	if err != nil {
		return err
	}
	defer Wipe(entropy)
	id, err := phraseIdentity(entropy)
	if err != nil {
		return err
	}
	defer wipeIdentity(id)
	if err := v.unlock(ctx, ActionRecover, v.byPhrase(id), false); err != nil {
		return err
	}
	return v.setPassphrase(ctx, now)
}

// RotateIdentity makes new keys and encrypts everything to them; the passphrase and the recovery phrase stay. It is one change: after a crash
// at any instant the vault is as before or as after, and what was left behind is removed at the next unlock. Errors: those of
// Unlock, and CodeDenied for a secret that cannot be read, which must be deleted first.
func (v *Vault) RotateIdentity(ctx context.Context, passphrase []byte) (err error) {
	defer func() { v.record(ctx, outcome(Access{Action: ActionIdentity}, err)) }()
	if err := v.Unlock(ctx, passphrase); err != nil {
		return err
	}
	was, plain, err := v.held()
	if err != nil {
		return err
	}
	Wipe(plain)
	next, err := newKeys(was.vault)
	if err != nil {
		return err
	}
	copied, err := v.sealKeys(ctx, next.encode(), passphrase)
	if err != nil {
		next.wipe()
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ready() != nil || v.keys != was {
		next.wipe()
		return errMoved()
	}
	if err = v.reencrypt(ctx, next, copied); err != nil && v.keys != next {
		next.wipe()
	}
	return err
}

func (v *Vault) reencrypt(ctx context.Context, next *keys, copied []byte) (err error) {
	if err := v.sound(); err != nil {
		return err
	}
	c := v.begin()
	c.keys = next
	c.index.Taken = []string{} // files of before cannot be opened any more
	if c.index.Identity, err = v.put(c, identityName(c.serial), copied); err != nil {
		return v.abandon(c, err)
	}
	if c.index.Phrase != "" {
		if err := v.putRecovery(c); err != nil {
			return v.abandon(c, err)
		}
	}
	for i := range c.index.Entries {
		if err := errors.Join(ctx.Err(), v.reencryptEntry(c, &c.index.Entries[i])); err != nil {
			return v.abandon(c, err)
		}
	}
	return v.commit(ctx, c)
}

func (v *Vault) reencryptEntry(c *change, e *entry) error {
	for i, ver := range e.Versions {
		value, err := v.open(e.Name, ver)
		if err != nil {
			return err
		}
		e.Versions[i], err = v.putSecret(c, e.Name, ver, value)
		Wipe(value)
		if err != nil {
			return err
		}
	}
	return nil
}
