package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	desktop "github.com/zalando/go-keyring"

	"ash/agent"
)

// A keyring that is absent, refuses or is silent is said in words, and nothing hangs.
func TestKeyringThatDoesNotHelp(t *testing.T) {
	silent := make(chan struct{})
	defer close(silent)
	for name, tc := range map[string]struct {
		read func(string, string) (string, error)
		code agent.Code
		says string
	}{
		"absent":      {func(string, string) (string, error) { return "", errors.New("no session bus") }, agent.CodeUnavailable, "not there, or refuses"},
		"refusing":    {func(string, string) (string, error) { return "", errors.New("org.freedesktop.Secret.Error.IsLocked") }, agent.CodeUnavailable, "not there, or refuses"},
		"empty":       {func(string, string) (string, error) { return "", desktop.ErrNotFound }, agent.CodeNotFound, "ash vault keyring on"},
		"unsupported": {func(string, string) (string, error) { return "", desktop.ErrUnsupportedPlatform }, agent.CodeUnavailable, "knows no keyring"},
		"silent":      {func(string, string) (string, error) { <-silent; return "", nil }, agent.CodeUnavailable, "does not answer"},
	} {
		k := keyring{read: tc.read, wait: 20 * time.Millisecond}
		if _, err := k.get(t.Context(), "id"); agent.CodeOf(err) != tc.code || !strings.Contains(agent.PublicOf(err), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What cannot be kept there is not switched on, and what cannot be switched on is not kept.
	kept, on := "", false
	s := keyringSwitch{
		ring: keyring{
			write:  func(_, _, pass string) error { kept = pass; return nil },
			delete: func(string, string) error { kept = ""; return nil }, wait: time.Second,
		},
		unlock: func(context.Context, []byte) error { return nil }, id: func(context.Context) string { return "id" },
		set: func(context.Context, bool) error { return errors.New("the disk is full") },
	}
	if err := s.On(t.Context(), []byte("pass")); err == nil || kept != "" {
		t.Errorf("%v, kept %q", err, kept)
	}
	s.set = func(_ context.Context, to bool) error { on = to; return nil }
	s.ring.write = func(string, string, string) error { return errors.New("refused") }
	if err := s.On(t.Context(), []byte("pass")); err == nil || on {
		t.Errorf("%v, switched on: %v", err, on)
	}
	s.unlock = func(context.Context, []byte) error { return agent.Errorf(agent.CodeDenied, "wrong") }
	s.ring.write = func(string, string, string) error { t.Error("a wrong passphrase is kept"); return nil }
	if err := s.On(t.Context(), []byte("pass")); agent.CodeOf(err) != agent.CodeDenied {
		t.Error(err)
	}
}

// secretService starts a session bus with GNOME's keyring on it.
func secretService(t *testing.T) {
	t.Helper()
	for _, tool := range []string{"dbus-daemon", "gnome-keyring-daemon"} {
		if _, err := exec.LookPath(tool); err != nil {
			if slices.Contains(strings.Split(os.Getenv("ASH_TEST_REQUIRE"), ","), "keyring") {
				t.Fatalf("%s is not installed", tool)
			}
			t.Skipf("install gnome-keyring and dbus to try a real keyring (%s is missing)", tool)
		}
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_RUNTIME_DIR", home)
	t.Setenv("XDG_DATA_HOME", filepath.Join(home, "share"))
	bus := exec.Command("dbus-daemon", "--session", "--nofork", "--print-address")
	out, err := bus.StdoutPipe()
	must(t, err)
	must(t, bus.Start())
	t.Cleanup(func() { _ = bus.Process.Kill(); _ = bus.Wait() })
	address, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", strings.TrimSpace(address))
	ring := exec.Command("gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets")
	ring.Stdin = strings.NewReader("of the desktop\n")
	ring.Stderr = io.Discard
	must(t, ring.Start())
	t.Cleanup(func() { _ = ring.Process.Kill(); _ = ring.Wait() })
}

// TestKeyring keeps the passphrase in a real keyring, and has a restarted server unlock with it.
func TestKeyring(t *testing.T) {
	secretService(t)
	h := newVaultHome(t)
	h.vault("canary-first", "add", "provider/openai").is(t, exitOK)
	wrong := h.file("wrong", "not the passphrase\n")
	ash(t, "", "--home", h.home, "vault", "--passphrase-file", wrong, "keyring", "on").complains(t, exitFailed, "not the passphrase")
	p := serving(t, h.home)
	var last answered
	p.until("the keyring takes it", func() bool { // it may still be starting
		last = h.vault("", "keyring", "on")
		return last.code == exitOK
	})
	p.signal(os.Interrupt)
	p.end()
	p = serving(t, h.home)
	p.until("the keyring unlocks it", func() bool { return strings.Contains(p.err.String(), `by="the keyring"`) })
	h.vault("", "status").tells(t, "unlocked; locks by itself")
	// The passphrase is changed at the terminal, and then in the page: the keyring unlocks it all the same.
	next := h.file("next", nextPass+"\n")
	h.vault("", "passphrase", "--new-passphrase-file", next).is(t, exitOK)
	h.pass = next
	_, err := visit(t, p.url).post("/vault/passphrase", url.Values{"was": {nextPass}, "now": {lastPass}})
	must(t, err)
	h.pass = h.file("last", lastPass+"\n")
	p.signal(os.Interrupt)
	p.end()
	p = serving(t, h.home)
	p.until("the keyring unlocks it", func() bool { return strings.Contains(p.err.String(), `by="the keyring"`) })
	h.vault("", "status").tells(t, "unlocked; locks by itself")
	h.vault("", "keyring", "off").is(t, exitOK)
	if strings.Contains(p.err.String(), "stays in it") {
		t.Errorf("it was taken out, and the log says it was not:\n%s", p.err.String())
	}
	p.signal(os.Interrupt)
	p.end()
	h.vault("", "keyring", "off").is(t, exitOK) // that there is none is no error
	p = serving(t, h.home)
	h.vault("", "status").tells(t, "locked: ash vault unlock")
	p.signal(os.Interrupt)
	p.end()
	h.keepsSecrets("canary-first", "four unlikely", nextPass, lastPass)
}
