package vault_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"ash/agent"
	"ash/agent/vault"
)

// childTask in the environment makes the test binary do one task and end: see crash_test.go and memory_test.go.
const childTask = "VAULT_CHILD"

func TestMain(m *testing.M) {
	if task := os.Getenv(childTask); task != "" {
		os.Exit(child(task))
	}
	debug.SetGCPercent(800) // small vaults by the thousand: collecting is a third of the work
	os.Exit(m.Run())
}

var (
	pass  = []byte("four unlikely words together")
	other = []byte("another passphrase altogether")
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tempDir is t.TempDir in memory where there is such a place: thousands of vaults are synced to the disk here.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "ash-vault-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return dir
}

// refused checks that err is a clear refusal: a code, a text for the person, and no secret in it.
func refused(t testing.TB, err error, codes ...agent.Code) {
	t.Helper()
	if err == nil {
		t.Fatal("not refused")
	}
	for _, c := range codes {
		if agent.CodeOf(err) == c {
			if strings.Contains(err.Error(), "value of") || strings.Contains(err.Error(), string(pass)) || strings.Contains(err.Error(), "AGE-SECRET") {
				t.Fatalf("the refusal tells a secret: %v", err)
			}
			return
		}
	}
	t.Fatalf("refused with %s, want %v: %v", agent.CodeOf(err), codes, err)
}

// open opens a vault in tests' own fast way.
func open(t testing.TB, dir string, o vault.Options) *vault.Vault {
	t.Helper()
	v, err := vault.Open(dir, o.Quick())
	must(t, err)
	t.Cleanup(func() { _ = v.Close() })
	return v
}

// made returns an unlocked vault with some secrets, one of them in two versions, and its folder.
func made(t testing.TB, o vault.Options) (*vault.Vault, string) {
	t.Helper()
	dir := filepath.Join(tempDir(t), "vault")
	v := open(t, dir, o)
	must(t, v.Create(t.Context(), pass))
	put(t, v, "provider/anthropic", "api.anthropic.com")
	put(t, v, "tool/brave", "api.search.brave.com")
	put(t, v, "plugin/git/token", "git.example.com")
	return v, dir
}

func put(t testing.TB, v *vault.Vault, name string, hosts ...string) {
	t.Helper()
	later, err := v.Put(t.Context(), vault.Secret{Name: name, Value: valueOf(name), Hosts: hosts})
	must(t, err)
	if later {
		t.Fatalf("%s was left for later by an unlocked vault", name)
	}
}

func valueOf(name string) []byte { return []byte("value of " + name) }

// hostOf is where the secrets of made may go.
func hostOf(name string) string {
	return map[string]string{
		"provider/anthropic": "api.anthropic.com", "tool/brave": "api.search.brave.com", "plugin/git/token": "git.example.com",
	}[name]
}

func use(v *vault.Vault, name string) ([]byte, error) {
	return v.Use(context.Background(), vault.Request{Name: name, User: vault.DefaultUser(name), Host: hostOf(name), For: "test"})
}

// yields checks the value of a secret.
func yields(t testing.TB, v *vault.Vault, name, want string) {
	t.Helper()
	got, err := use(v, name)
	must(t, err)
	if string(got) != want {
		t.Fatalf("%s is %q, want %q", name, got, want)
	}
}

// snapshot is every file of a folder with its content.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		all[rel] = string(data)
		return err
	}))
	return all
}

// restore makes dir hold exactly what a snapshot holds.
func restore(t testing.TB, dir string, all map[string]string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Join(dir, "secrets"), 0o700))
	must(t, os.MkdirAll(filepath.Join(dir, "new"), 0o700))
	now := snapshot(t, dir)
	for name := range now {
		if _, keep := all[name]; !keep {
			must(t, os.Remove(filepath.Join(dir, name)))
		}
	}
	for name, data := range all {
		if now[name] != data || data == "" {
			must(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600))
		}
	}
}

// same checks that two snapshots are equal but for the files named.
func same(t testing.TB, was, is map[string]string, but ...string) {
	t.Helper()
	skip := make(map[string]bool)
	for _, name := range but {
		skip[name] = true
	}
	for name, data := range was {
		if now, ok := is[name]; !skip[name] && (!ok || now != data) {
			t.Fatalf("%s was changed or removed", name)
		}
	}
	for name := range is {
		if _, ok := was[name]; !ok && !skip[name] {
			t.Fatalf("%s was made", name)
		}
	}
}

// memory is an anchor and a log.
type memory struct {
	mu    sync.Mutex
	mark  vault.Mark
	lines []vault.Access
	fail  error
}

func (m *memory) Mark(context.Context) (vault.Mark, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mark, m.fail
}

func (m *memory) SetMark(_ context.Context, mark vault.Mark) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mark = mark
	return m.fail
}

func (m *memory) Record(_ context.Context, a vault.Access) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	m.lines = append(m.lines, a)
	return nil
}

// lapses counts how often the log says that the idle time ran out.
func (m *memory) lapses() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.lines {
		if a.Action == vault.ActionLock && a.For == "idle" && a.Allowed {
			n++
		}
	}
	return n
}

// last returns the last line of the log, shortly.
func (m *memory) last() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.lines) == 0 {
		return ""
	}
	a := m.lines[len(m.lines)-1]
	return fmt.Sprintf("%s %s %s %s %s %v %s", a.Action, a.Name, a.User, a.Host, a.For, a.Allowed, a.Why)
}

// noPlaintext checks that none of the words stands in any file below dir, in plain.
func noPlaintext(t testing.TB, dir string, words ...[]byte) {
	t.Helper()
	for name, data := range snapshot(t, dir) {
		for _, w := range words {
			if bytes.Contains([]byte(data), w) {
				t.Errorf("%s holds %q", name, w)
			}
		}
	}
}
