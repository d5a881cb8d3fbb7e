package vault_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"ash/agent"
	"ash/agent/vault"
)

// TestWrongPermissionsNameTheFix runs the command that the refusal names, and the vault opens again.
func TestWrongPermissionsNameTheFix(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no mode here")
	}
	for _, c := range []struct{ name, file string }{
		{"folder", ""},
		{"secrets", "secrets"},
		{"root", "current"},
		{"sentinel", "vault.json"},
		{"keys", "identity-1.age"},
		{"secret", "secrets/*.age"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, dir := made(t, vault.Options{})
			at := filepath.Join(dir, c.file)
			if strings.Contains(c.file, "*") {
				all, err := filepath.Glob(at)
				must(t, err)
				at = all[0]
			}
			must(t, os.Chmod(at, 0o755))
			if c.name == "folder" || c.name == "secrets" { // seen at the next use
				_, err := use(v, "tool/brave")
				refused(t, err, agent.CodeDenied)
				_, err = use(v, "tool/brave")
				refused(t, err, agent.CodeLocked)
			}
			v.Lock(t.Context())
			before := snapshot(t, dir)
			err := v.Unlock(t.Context(), pass)
			refused(t, err, agent.CodeDenied)
			same(t, before, snapshot(t, dir))
			_, err = v.Put(t.Context(), vault.Secret{Name: "tool/x", Value: []byte("x")})
			refused(t, err, agent.CodeDenied)
			problem := v.Status(t.Context()).Problem
			_, rest, found := strings.Cut(problem, "chmod ")
			if !found || !strings.Contains(problem, at) {
				t.Fatalf("no fix in %q", problem)
			}
			must(t, shell("chmod "+rest))
			must(t, v.Unlock(t.Context(), pass))
			yields(t, v, "tool/brave", "value of tool/brave")
		})
	}
}

func shell(command string) error { return exec.Command("sh", "-c", command).Run() }

func TestAForeignOwnerLocks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no owner here")
	}
	v, dir := made(t, vault.Options{})
	must(t, v.Close())
	v, err := vault.Open(dir, vault.Options{}.UID(func() int { return os.Geteuid() + 1 }).Quick())
	must(t, err)
	err = v.Unlock(t.Context(), pass)
	refused(t, err, agent.CodeDenied)
	if text := agent.PublicOf(err); !strings.Contains(text, "sudo chown") || !strings.Contains(text, dir) {
		t.Errorf("no fix in %q", text)
	}
	must(t, v.Close())
	if os.Geteuid() != 0 {
		return // only root can give files away
	}
	must(t, os.Chown(filepath.Join(dir, "current"), 12345, -1))
	v = open(t, dir, vault.Options{})
	err = v.Unlock(t.Context(), pass)
	refused(t, err, agent.CodeDenied)
	text := agent.PublicOf(err)
	_, rest, _ := strings.Cut(text, "sudo chown")
	must(t, shell("chown"+rest))
	must(t, v.Unlock(t.Context(), pass))
}

func TestLinksLock(t *testing.T) {
	for _, name := range []string{"", "secrets", "current", "vault.json", "identity-1.age"} {
		t.Run("link "+name, func(t *testing.T) {
			v, dir := made(t, vault.Options{})
			v.Lock(t.Context())
			at := filepath.Join(dir, name)
			away := filepath.Join(filepath.Dir(dir), "else where")
			must(t, os.Rename(at, away))
			if err := os.Symlink(away, at); err != nil {
				t.Skip("links cannot be made here")
			}
			err := v.Unlock(t.Context(), pass)
			refused(t, err, agent.CodeDenied)
			refused(t, v.Create(t.Context(), pass), agent.CodeDenied)
			text := agent.PublicOf(err)
			i := strings.Index(text, "rm ")
			if i < 0 {
				t.Fatalf("no fix in %q", text)
			}
			must(t, shell(text[i:]))
			must(t, v.Unlock(t.Context(), pass))
			yields(t, v, "tool/brave", "value of tool/brave")
		})
	}
}

// TestALinkInPlaceOfASecret locks the vault that is unlocked, and does not follow the link.
func TestALinkInPlaceOfASecret(t *testing.T) {
	v, dir := made(t, vault.Options{})
	all, err := filepath.Glob(filepath.Join(dir, "secrets", "*.age"))
	must(t, err)
	for _, at := range all {
		must(t, os.Rename(at, at+".real"))
		if err := os.Symlink(at+".real", at); err != nil {
			t.Skip("links cannot be made here")
		}
	}
	_, err = use(v, "tool/brave")
	refused(t, err, agent.CodeDenied)
	_, err = use(v, "tool/brave")
	refused(t, err, agent.CodeLocked)
}

func TestRepair(t *testing.T) {
	v, dir := made(t, vault.Options{})
	refused(t, v.Repair(t.Context(), pass), agent.CodeConflict)
	v.Lock(t.Context())
	whole := snapshot(t, dir)
	for _, c := range []struct{ file, data string }{
		{"current", ""}, {"vault.json", ""}, {"current", "gone"}, {"vault.json", "{}"}, {"current", "\x00" + whole["current"][1:]},
	} {
		if c.data == "" {
			must(t, os.Remove(filepath.Join(dir, c.file)))
		} else {
			must(t, os.WriteFile(filepath.Join(dir, c.file), []byte(c.data), 0o600))
		}
		err := v.Unlock(t.Context(), pass)
		refused(t, err, agent.CodeDenied)
		if !strings.Contains(agent.PublicOf(err), "ash vault repair") {
			t.Errorf("no fix in %q", agent.PublicOf(err))
		}
		refused(t, v.Create(t.Context(), pass), agent.CodeDenied)
		refused(t, v.Repair(t.Context(), other), agent.CodeDenied)
		must(t, v.Repair(t.Context(), pass))
		yields(t, v, "tool/brave", "value of tool/brave")
		v.Lock(t.Context())
		same(t, whole, snapshot(t, dir))
	}
	must(t, os.Remove(filepath.Join(dir, "current")))
	for name := range whole {
		if strings.HasPrefix(name, "index-") {
			must(t, os.Remove(filepath.Join(dir, name)))
		}
	}
	refused(t, v.Repair(t.Context(), pass), agent.CodeDenied)
}

func TestOptionsCannotWeaken(t *testing.T) {
	for _, work := range []int{1, 15, 18, -1} {
		_, err := vault.Open(filepath.Join(tempDir(t), "vault"), vault.Options{WorkFactor: work})
		refused(t, err, agent.CodeInvalid)
	}
	dir := filepath.Join(tempDir(t), "vault")
	v, err := vault.Open(dir, vault.Options{})
	must(t, err)
	defer v.Close()
	must(t, v.Create(t.Context(), pass))
	text, err := os.ReadFile(filepath.Join(dir, "identity-1.age"))
	must(t, err)
	if line := strings.Split(string(text), "\n")[1]; !strings.HasPrefix(line, "-> scrypt ") || !strings.HasSuffix(line, " 16") {
		t.Errorf("the keys are encrypted with %q", line)
	}
}

func TestFileMarkAndLog(t *testing.T) {
	dir := tempDir(t)
	mark := vault.FileMark{Path: filepath.Join(dir, "vault.mark")}
	m, err := mark.Mark(t.Context())
	must(t, err)
	if (m != vault.Mark{}) {
		t.Error(m)
	}
	want := vault.Mark{Vault: "v", Serial: 7, Recipient: "age1"}
	must(t, mark.SetMark(t.Context(), want))
	m, err = mark.Mark(t.Context())
	must(t, err)
	if m != want {
		t.Error(m)
	}
	must(t, os.WriteFile(mark.Path, []byte("{"), 0o600))
	_, err = mark.Mark(t.Context())
	refused(t, err, agent.CodeDenied)

	log := &vault.FileLog{Path: filepath.Join(dir, "logs", "vault.jsonl")}
	v := open(t, filepath.Join(dir, "vault"), vault.Options{Log: log})
	must(t, v.Create(t.Context(), pass))
	put(t, v, "tool/brave", hostOf("tool/brave"))
	yields(t, v, "tool/brave", "value of tool/brave")
	text, err := os.ReadFile(log.Path)
	must(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 3 || !strings.Contains(lines[2], `"name":"tool/brave","user":"tool/websearch","host":"api.search.brave.com","for":"test","allowed":true`) || strings.Contains(string(text), "value of") {
		t.Errorf("%s", text)
	}
	info, err := os.Stat(log.Path)
	must(t, err)
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Error(info.Mode())
	}
}
