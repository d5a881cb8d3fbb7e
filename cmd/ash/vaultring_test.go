package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	desktop "github.com/zalando/go-keyring"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/vault"
	"ash/handlers"
)

// fakeRing is a keyring in memory.
type fakeRing struct {
	mu   sync.Mutex
	held map[string]string
	fail error // of every write
}

func (f *fakeRing) keyring() keyring {
	f.held = map[string]string{}
	return keyring{
		read: func(_, account string) (string, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if pass, ok := f.held[account]; ok {
				return pass, nil
			}
			return "", desktop.ErrNotFound
		},
		write: func(_, account, pass string) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.fail == nil {
				f.held[account] = pass
			}
			return f.fail
		},
		delete: func(_, account string) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			if _, ok := f.held[account]; !ok {
				return desktop.ErrNotFound
			}
			delete(f.held, account)
			return nil
		},
		wait: time.Second,
	}
}

// all returns what is held.
func (f *fakeRing) all() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.held)
}

const ringPass, nextPass, lastPass = "four unlikely words together", "five other words than those", "and now for something new"

// TestKeyringFollowsThePassphrase: it keeps the new one whichever way it was changed, and says so where it cannot.
func TestKeyringFollowsThePassphrase(t *testing.T) {
	h := newVaultHome(t)
	ring := new(fakeRing)
	s := &safe{home: func() (string, error) { return h.home, nil }, ring: ring.keyring()}
	k, err := s.keeper(t.Context())
	must(t, err)
	defer func() { must(t, k.close()) }()
	do := func(deed string, r handlers.VaultRequest) handlers.VaultAnswer {
		t.Helper()
		out, err := k.do(t.Context(), deed, &r)
		must(t, err)
		return out
	}
	keeps := func(when, want string) {
		t.Helper()
		id := k.vault.Status(t.Context()).ID
		if all := ring.all(); id == "" || len(all) > 1 || all[id] != want {
			t.Errorf("%s the keyring keeps %v, want %q for %s", when, all, want, id)
		}
	}
	change := func(was, now string) handlers.VaultAnswer {
		t.Helper()
		return do("passphrase", handlers.VaultRequest{Passphrase: []byte(was), New: []byte(now)})
	}
	do("create", handlers.VaultRequest{Passphrase: []byte(ringPass)})
	keeps("not asked to,", "")
	change(ringPass, nextPass)
	keeps("not asked to,", "")
	must(t, k.switchKeyring(t.Context(), true, &handlers.VaultRequest{Passphrase: []byte(nextPass)}))
	keeps("switched on", nextPass)
	if _, err := k.do(t.Context(), "passphrase", &handlers.VaultRequest{Passphrase: []byte("not the passphrase"), New: []byte(lastPass)}); agent.CodeOf(err) != agent.CodeDenied {
		t.Error(err)
	}
	keeps("after a refused change", nextPass)
	if out := change(nextPass, ringPass); len(out.Status.Notes) > 0 {
		t.Errorf("noted: %q", out.Status.Notes)
	}
	keeps("after a change", ringPass)
	phrase := do("phrase", handlers.VaultRequest{}).Phrase
	do("recover", handlers.VaultRequest{Phrase: phrase, New: []byte(lastPass)})
	keeps("after recovering", lastPass)

	// Where it cannot follow, the change holds and a note says what to do, until it is set right.
	ring.fail = errors.New("org.freedesktop.Secret.Error.IsLocked")
	if out := change(lastPass, nextPass); !strings.Contains(strings.Join(out.Status.Notes, "\n"), "ash vault keyring on") {
		t.Errorf("noted: %q", out.Status.Notes)
	}
	keeps("while it refuses", lastPass)
	ring.fail = nil
	must(t, k.switchKeyring(t.Context(), true, &handlers.VaultRequest{Passphrase: []byte(nextPass)}))
	keeps("switched on again", nextPass)
	if notes := do("status", handlers.VaultRequest{}).Status.Notes; len(notes) > 0 {
		t.Errorf("still noted: %q", notes)
	}
	must(t, k.switchKeyring(t.Context(), false, new(handlers.VaultRequest)))
	if all := ring.all(); len(all) > 0 {
		t.Errorf("switched off the keyring keeps %v", all)
	}
	must(t, k.switchKeyring(t.Context(), false, new(handlers.VaultRequest))) // that there is none is no error
	change(nextPass, ringPass)
	if all := ring.all(); len(all) > 0 {
		t.Errorf("switched off, and the passphrase changed, the keyring keeps %v", all)
	}
}

// A change goes on for the keyring though who asked for it is gone, and of two changes the later one is kept.
func TestKeyringFollowsWhoIsGone(t *testing.T) {
	ring := new(fakeRing)
	dir := filepath.Join(t.TempDir(), "vault")
	inner, err := vault.Open(dir, vault.Options{})
	must(t, err)
	defer func() { must(t, inner.Close()) }()
	set := config.Vault{Keyring: true}
	v := newRingVault(inner, ring.keyring(), func() (config.Vault, error) { return set, nil })
	v.env = func(string) (string, bool) { return "", false }
	ctx, cancel := context.WithCancel(t.Context())
	write := v.ring.write
	v.ring.write = func(service, account, pass string) error {
		cancel() // the browser is closed at this moment
		return write(service, account, pass)
	}
	must(t, v.Create(ctx, []byte(ringPass)))
	if pass := ring.all()[v.Status(t.Context()).ID]; pass != ringPass {
		t.Errorf("the keyring keeps %q", pass)
	}

	// A file that holds another passphrase cannot be changed from here; it is named.
	set.PassphraseFile = filepath.Join(t.TempDir(), "pass")
	must(t, os.WriteFile(set.PassphraseFile, []byte(ringPass+"\n"), 0o600))
	must(t, v.ChangePassphrase(t.Context(), []byte(ringPass), []byte(nextPass)))
	if notes := strings.Join(v.Status(t.Context()).Notes, "\n"); !strings.Contains(notes, set.PassphraseFile) || strings.Contains(notes, ringPass) {
		t.Errorf("noted: %q", notes)
	}
	must(t, os.WriteFile(set.PassphraseFile, []byte(lastPass+"\n"), 0o600))
	must(t, v.ChangePassphrase(t.Context(), []byte(nextPass), []byte(lastPass)))
	if notes := v.Status(t.Context()).Notes; len(notes) > 0 {
		t.Errorf("noted: %q", notes)
	}
}

// TestKeyringOfARunningAsh: what the doors of an app are given follows, too, and the setting alone takes the passphrase out.
func TestKeyringOfARunningAsh(t *testing.T) {
	h := newVaultHome(t)
	h.vault("", "create").is(t, exitOK)
	ring := new(fakeRing)
	a, err := openApp(t.Context(), h.home, nil, true, func(a *app) { a.ring = ring.keyring() })
	must(t, err)
	defer func() { must(t, a.closeSoon(t.Context())) }()
	routes := a.routes("http://127.0.0.1:0")
	must(t, a.keyring().On(t.Context(), []byte(ringPass)))
	id := a.vault.Status(t.Context()).ID
	must(t, routes.Vault.Secrets.ChangePassphrase(t.Context(), []byte(ringPass), []byte(nextPass)))
	if pass := ring.all()[id]; pass != nextPass {
		t.Errorf("after a change by the page the keyring keeps %q", pass)
	}
	_, err = a.config.Edit(t.Context(), "", []config.Change{{Key: keyringKey, Remove: true}})
	must(t, err)
	for end := time.Now().Add(patience); len(ring.all()) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the setting is off, and the keyring keeps %v", ring.all())
		}
	}
}
