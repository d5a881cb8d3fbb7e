package vault

import (
	"context"
	"time"
)

// Quick makes a vault of tests fast: production code cannot lower the work factor.
func (o Options) Quick() Options {
	o.hooks.work = 4
	return o
}

// Step calls fn before every step on the disk.
func (o Options) Step(fn func(string) error) Options {
	o.hooks.step = fn
	return o
}

// UID makes the files belong to somebody else than wanted.
func (o Options) UID(fn func() int) Options {
	o.hooks.uid = fn
	return o
}

// Wake sets how often the idle time is looked at.
func (o Options) Wake(every time.Duration) Options {
	o.hooks.wake = every
	return o
}

// Now replaces the clock.
func (o Options) Now(fn func() time.Time) Options {
	o.hooks.now = fn
	return o
}

// UnlockByPhrase is the first half of Recover.
func (v *Vault) UnlockByPhrase(ctx context.Context, phrase string) error {
	entropy, err := decodePhrase(phrase)
	if err != nil {
		return err
	}
	id, err := phraseIdentity(entropy)
	if err != nil {
		return err
	}
	return v.unlock(ctx, ActionRecover, v.byPhrase(id), false)
}

// Scrypt encrypts a word to a passphrase, and does nothing else.
func Scrypt(work int) {
	if _, err := sealPass([]byte("word"), []byte("passphrase"), work); err != nil {
		panic(err)
	}
}
