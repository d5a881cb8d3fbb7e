package main

import (
	"context"
	"errors"
	"time"

	desktop "github.com/zalando/go-keyring"

	"ash/agent"
)

// keyring is the place where the desktop keeps passphrases: the Secret Service on Linux, the Keychain on macOS, the Credential Manager on
// Windows. Its functions are those of the system but in tests.
type keyring struct {
	read   func(service, account string) (string, error)
	write  func(service, account, passphrase string) error
	delete func(service, account string) error
	wait   time.Duration // for an answer: the desktop may ask the person first
}

// keyringService is under which name the passphrase is kept; the account is the vault's id.
const keyringService = "ash"

// keyringWait is how long the desktop may take, a dialog included.
const keyringWait = 2 * time.Minute

func newKeyring() keyring {
	return keyring{read: desktop.Get, write: desktop.Set, delete: desktop.Delete, wait: keyringWait}
}

// get returns the passphrase of a vault. Errors: CodeNotFound when none is kept, CodeUnavailable for a keyring that is not there, does not answer or refuses.
func (k keyring) get(ctx context.Context, account string) ([]byte, error) {
	pass, err := awaited(ctx, k.wait, func() (string, error) { return k.read(keyringService, account) })
	if err != nil {
		return nil, keyringError(err)
	}
	return []byte(pass), nil
}

func (k keyring) put(ctx context.Context, account string, passphrase []byte) error {
	_, err := awaited(ctx, k.wait, func() (none struct{}, err error) {
		return none, k.write(keyringService, account, string(passphrase))
	})
	return keyringError(err)
}

// remove forgets the passphrase of a vault; that there was none is no error.
func (k keyring) remove(ctx context.Context, account string) error {
	_, err := awaited(ctx, k.wait, func() (none struct{}, err error) { return none, k.delete(keyringService, account) })
	if errors.Is(err, desktop.ErrNotFound) {
		return nil
	}
	if err != nil { // somebody else may have taken it out at the same instant
		if _, gone := k.get(ctx, account); agent.CodeOf(gone) == agent.CodeNotFound {
			return nil
		}
	}
	return keyringError(err)
}

// awaited gives up on a desktop that does not answer: its call cannot be broken off, and ends by itself.
func awaited[T any](ctx context.Context, wait time.Duration, fn func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	answers := make(chan answer, 1)
	go func() {
		v, err := fn()
		answers <- answer{v, err}
	}()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		var zero T
		return zero, ctx.Err()
	}
}

func keyringError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, desktop.ErrNotFound):
		return agent.Wrap(agent.CodeNotFound, err, "The keyring does not keep the passphrase of this vault. Have it kept with: ash vault keyring on")
	case errors.Is(err, desktop.ErrUnsupportedPlatform):
		return agent.Wrap(agent.CodeUnavailable, err, "Ash knows no keyring on this system. Use a passphrase file or a systemd credential.")
	case errors.Is(err, context.DeadlineExceeded):
		return agent.Wrap(agent.CodeUnavailable, err, "The keyring does not answer. Unlock it in your desktop, and try again.")
	}
	return agent.Wrap(agent.CodeUnavailable, err, "The keyring of the desktop is not there, or refuses. Unlock it in your desktop, or unlock the vault yourself.")
}
