//go:build unix

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ash/agent"
)

// TestPassphraseFileOfOthers: a file that somebody else wrote, or can read or exchange, is refused, and the fix is named.
func TestPassphraseFileOfOthers(t *testing.T) {
	for name, tc := range map[string]struct {
		mode  fs.FileMode
		owner int
		known bool
		fix   string // "" for none: it is taken
	}{
		"mine":             {0o600, 1000, true, ""},
		"mine, read only":  {0o400, 1000, true, ""},
		"root's":           {0o600, 0, true, ""},
		"nobody knows":     {0o600, 77, false, ""},
		"somebody else's":  {0o600, 77, true, "sudo chown 1000 '/run/my pass'"},
		"of the group":     {0o640, 1000, true, "chmod 600 '/run/my pass'"},
		"of all":           {0o644, 1000, true, "chmod 600 '/run/my pass'"},
		"root's, for all":  {0o644, 0, true, "chmod 600 '/run/my pass'"},
		"theirs, for all":  {0o666, 77, true, "sudo chown 1000 '/run/my pass'"},
		"written by group": {0o620, 1000, true, "chmod 600 '/run/my pass'"},
	} {
		err := closed("/run/my pass", tc.mode, tc.owner, tc.known, 1000)
		if tc.fix == "" && err != nil || tc.fix != "" && (agent.CodeOf(err) != agent.CodeDenied || !strings.Contains(agent.PublicOf(err), tc.fix)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPassphraseFileThatIsNone tries real files.
func TestPassphraseFileThatIsNone(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.WriteFile(at("good"), []byte("four unlikely words\r\nand more\n"), 0o600))
	must(t, os.WriteFile(at("empty"), nil, 0o600))
	must(t, os.WriteFile(at("large"), make([]byte, maxLine+1), 0o600))
	must(t, os.Symlink("good", at("link")))
	must(t, os.Symlink("nowhere", at("dangling")))
	must(t, os.Mkdir(at("folder"), 0o700))
	must(t, syscall.Mkfifo(at("pipe"), 0o600))
	if line, err := firstLine(at("good"), true); string(line) != "four unlikely words" {
		t.Errorf("%q %v", line, err)
	}
	for name, says := range map[string]string{
		"missing": "cannot be read", "empty": "is empty", "large": "too large", "folder": "is not a file", "pipe": "is not a file",
		"link": "Name the file itself: " + at("good"), "dangling": "leads nowhere",
	} {
		if line, err := firstLine(at(name), true); line != nil || !strings.Contains(agent.PublicOf(err), says) {
			t.Errorf("%s: %q %v", name, line, err)
		}
	}
	// What systemd hands over is looked after by systemd.
	must(t, os.Symlink("good", at(vaultCredential)))
	if line, err := storedPassphrase("", func(string) (string, bool) { return dir, true }); string(line) != "four unlikely words" {
		t.Errorf("%q %v", line, err)
	}
	if os.Geteuid() != 0 {
		t.Log("run as root to try a file of another user as well")
		return
	}
	must(t, os.Chown(at("good"), 12345, -1))
	if line, err := firstLine(at("good"), true); line != nil || !strings.Contains(agent.PublicOf(err), "sudo chown 0 ") {
		t.Errorf("%q %v", line, err)
	}
}
