package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// vaultHome is a home with files that hold passphrases.
type vaultHome struct {
	t    *testing.T
	home string
	pass string // file
}

func newVaultHome(t *testing.T) vaultHome {
	h := vaultHome{t: t, home: t.TempDir()}
	h.pass = h.file("pass", "four unlikely words together\n")
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	return h
}

func (h vaultHome) file(name, text string) string {
	h.t.Helper()
	path := filepath.Join(h.t.TempDir(), name)
	must(h.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// vault runs one command with the passphrase.
func (h vaultHome) vault(stdin string, args ...string) answered {
	h.t.Helper()
	return ash(h.t, stdin, append([]string{"--home", h.home, "vault", "--passphrase-file", h.pass}, args...)...)
}

func (a answered) tells(t *testing.T, words ...string) {
	t.Helper()
	a.is(t, exitOK)
	for _, w := range words {
		if !strings.Contains(a.out, w) {
			t.Errorf("%q is not in %q", w, a.out)
		}
	}
}

// TestVaultCommands runs one command line after the other on one home, at the work factor of production.
func TestVaultCommands(t *testing.T) {
	h := newVaultHome(t)
	h.vault("", "status").tells(t, "no vault yet")
	h.vault("", "list").complains(t, exitFailed, "no vault yet")
	ash(t, "", "--home", h.home, "vault", "create").complains(t, exitFailed, "no terminal")
	h.vault("", "create").is(t, exitOK)
	h.vault("", "create").complains(t, exitFailed, "already")
	h.vault("sk-ant-api03-canary\n", "add", "provider/anthropic", "--host", "api.anthropic.com").tells(t, "provider/anthropic is kept")
	h.vault("x", "add", "nonsense").complains(t, exitFailed, "begins with provider/")
	h.vault("x", "add", "tool/x", "--host", "https://x.com").complains(t, exitFailed, "api.example.com")
	h.vault("", "add", "tool/x").complains(t, exitFailed, "empty")
	h.vault("", "add").is(t, exitUsage)
	h.vault("", "status").tells(t, "added while locked", "1:")
	h.vault("", "list").tells(t, "provider/anthropic", "api.anthropic.com")
	h.vault("sk-ant-api03-second", "rotate", "provider/anthropic").tells(t, "ash vault confirm")
	h.vault("", "list").tells(t, "former value kept")
	h.vault("", "confirm", "provider/anthropic").is(t, exitOK)
	h.vault("", "revert", "provider/anthropic").complains(t, exitFailed, "only one value")
	h.vault("", "bind", "provider/anthropic", "--user", "tool/subagent").is(t, exitOK)
	h.vault("", "list").tells(t, "tool/subagent", "api.anthropic.com")
	h.vault("", "unlock", "--verify").tells(t, "All 1 secrets")

	env := h.file(".env", "OPENAI_API_KEY=sk-canary-openai\nBRAVE_API_KEY='canary-brave'\nPATH=/bin\n")
	h.vault("", "import", env, "--as", "BRAVE_API_KEY=tool/brave@api.search.brave.com").tells(t, "kept for the next unlock: provider/openai, tool/brave", "skipped (give them a name with --as): PATH")
	h.vault("", "import", env, "--as", "BRAVE_API_KEY").is(t, exitUsage)
	h.vault("", "list").tells(t, "provider/openai", "api.openai.com", "tool/brave")
	h.vault("", "delete", "tool/brave").is(t, exitOK)
	h.vault("", "delete", "tool/brave").complains(t, exitFailed, "no secret tool/brave")

	wrong := h.file("wrong", "not the passphrase\n")
	ash(t, "", "--home", h.home, "vault", "--passphrase-file", wrong, "list").complains(t, exitFailed, "not the passphrase")
	must(t, os.Chmod(wrong, 0o644))
	if othersMayRead(0o644) {
		ash(t, "", "--home", h.home, "vault", "--passphrase-file", wrong, "list").complains(t, exitFailed, "chmod 600")
	}
	h.keepsSecrets("canary", "four unlikely")
}

// keepsSecrets looks for words in everything below the home.
func (h vaultHome) keepsSecrets(words ...string) {
	h.t.Helper()
	must(h.t, filepath.WalkDir(h.home, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, w := range words {
			if strings.Contains(string(text), w) {
				h.t.Errorf("%s holds %q", path, w)
			}
		}
		return err
	}))
}

func TestVaultIsRecovered(t *testing.T) {
	h := newVaultHome(t)
	h.vault("value", "add", "tool/brave").is(t, exitOK) // makes the vault
	phrase := h.vault("", "phrase").is(t, exitOK).out
	if len(strings.Fields(phrase)) != 24 {
		t.Fatalf("%q", phrase)
	}
	newer := h.file("newer", "another passphrase altogether")
	words := h.file("words", phrase)
	h.vault("", "recover", "--phrase-file", h.pass, "--new-passphrase-file", newer).complains(t, exitFailed, "24 words")
	h.vault("", "recover", "--phrase-file", words, "--new-passphrase-file", newer).is(t, exitOK)
	h.vault("", "list").complains(t, exitFailed, "not the passphrase")
	h.pass, newer = newer, h.pass
	h.vault("", "rotate-identity").is(t, exitOK)
	h.vault("", "passphrase", "--new-passphrase-file", newer).is(t, exitOK)
	h.pass = newer
	h.vault("", "list").tells(t, "tool/brave")

	// What a restored backup is told from, and a root that is gone.
	dir := filepath.Join(h.home, "vault")
	backup := filepath.Join(t.TempDir(), "backup")
	must(t, os.CopyFS(backup, os.DirFS(dir)))
	h.vault("", "delete", "tool/brave").is(t, exitOK)
	must(t, os.RemoveAll(dir))
	must(t, os.CopyFS(dir, os.DirFS(backup)))
	if othersMayRead(0o644) {
		must(t, exec.Command("chmod", "-R", "go=", dir).Run()) // what the refusal says
	}
	h.vault("", "list").complains(t, exitFailed, "ash vault accept")
	h.vault("", "status").complains(t, exitFailed, "ash vault accept")
	h.vault("", "accept").is(t, exitOK)
	h.vault("", "list").tells(t, "tool/brave")
	must(t, os.Remove(filepath.Join(dir, "current")))
	h.vault("", "list").complains(t, exitFailed, "ash vault repair")
	h.vault("", "repair").is(t, exitOK)
	h.vault("", "list").tells(t, "tool/brave")
	h.vault("", "create", "--anew").complains(t, exitFailed, "still there")
	must(t, os.RemoveAll(dir))
	h.vault("", "status").complains(t, exitFailed, "create --anew")
	h.vault("", "create", "--anew").is(t, exitOK)
}

func TestVaultExport(t *testing.T) {
	h := newVaultHome(t)
	h.vault("canary", "add", "tool/brave", "--host", "api.search.brave.com").is(t, exitOK)
	own := h.file("own", "the passphrase of the export")
	dest := filepath.Join(t.TempDir(), "secrets.age")
	h.vault("", "export", dest, "--export-passphrase-file", own).is(t, exitOK)
	h.vault("", "export", dest, "--export-passphrase-file", own).complains(t, exitFailed, "exists already")
	text, err := os.ReadFile(dest)
	must(t, err)
	if strings.Contains(string(text), "canary") || !strings.HasPrefix(string(text), "age-encryption.org/v1") {
		t.Errorf("%.100q", text)
	}
	h.vault("", "import", dest).complains(t, exitFailed, "no terminal") // its passphrase is another
	h.vault("", "import", dest, "--export-passphrase-file", own).tells(t, "there already, left as they are: tool/brave")
	h.vault("", "delete", "tool/brave").is(t, exitOK)
	h.vault("", "import", dest, "--export-passphrase-file", own).tells(t, "added: tool/brave")
}

func TestVaultTakesASystemdCredential(t *testing.T) {
	h := newVaultHome(t)
	h.vault("", "create").is(t, exitOK)
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, vaultCredential), []byte("four unlikely words together"), 0o440))
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	ash(t, "", "--home", h.home, "vault", "unlock").tells(t, "It opens")
	must(t, os.Remove(filepath.Join(dir, vaultCredential)))
	ash(t, "", "--home", h.home, "vault", "unlock").complains(t, exitFailed, "no terminal")
}
