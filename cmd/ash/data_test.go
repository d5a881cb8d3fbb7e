package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ash/agent/access"
	"ash/agent/inventory"
	"ash/agent/llm/llmtest"
	"ash/store"
)

// visitor is a browser without a script.
type visitor struct {
	t    *testing.T
	base string
	http http.Client
	csrf string
}

func visit(t *testing.T, base string) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	v := &visitor{t: t, base: base, http: http.Client{Jar: jar, Timeout: patience}}
	page := v.read(v.http.Get(base + "/settings/data"))
	found := regexp.MustCompile(`name="csrf-token" content="([^"]+)"`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("no token in:\n%s", page)
	}
	v.csrf = found[1]
	return v
}

func (v *visitor) read(res *http.Response, err error) string {
	v.t.Helper()
	must(v.t, err)
	b, err := io.ReadAll(res.Body)
	must(v.t, errors.Join(err, res.Body.Close()))
	return string(b)
}

func (v *visitor) post(path string, form url.Values) (*http.Response, error) {
	form.Set("_csrf", v.csrf)
	req, err := http.NewRequest(http.MethodPost, v.base+path, strings.NewReader(form.Encode()))
	must(v.t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", v.base)
	return v.http.Do(req)
}

// entries are the names in a folder.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// untar unpacks an archive into dir, as tar would, and returns the folder that it made.
func untar(t *testing.T, r io.Reader, dir string) string {
	t.Helper()
	zip, err := gzip.NewReader(r)
	must(t, err)
	top := ""
	for x := tar.NewReader(zip); ; {
		head, err := x.Next()
		if errors.Is(err, io.EOF) {
			return top
		}
		must(t, err)
		if !filepath.IsLocal(head.Name) {
			t.Fatalf("the archive holds %q", head.Name)
		}
		at := filepath.Join(dir, head.Name)
		if top == "" {
			top = at
		}
		if head.Typeflag == tar.TypeDir {
			must(t, os.MkdirAll(at, head.FileInfo().Mode().Perm()))
			continue
		}
		f, err := os.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, head.FileInfo().Mode().Perm())
		must(t, err)
		_, err = io.Copy(f, x)
		must(t, errors.Join(err, f.Close()))
	}
}

// livedHome is a home with a conversation, a note, a file, a vault and a token.
func livedHome(t *testing.T) (home, token string) {
	t.Helper()
	home = t.TempDir()
	m := model(t, llmtest.Text("New Dawn, by the shed."))
	ash(t, "", append([]string{"chat", "--home", home, "-m", "Which rose is it?"}, using(m)...)...).is(t, 0)
	must(t, os.WriteFile(filepath.Join(home, "notes", "roses.md"), []byte("# Roses\n\nPrune in March.\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(home, "workspace", "files", "plan.txt"), []byte("dig"), 0o600))
	token = strings.TrimSpace(ash(t, "", "token", "new", "script", "--scope", "read", "--home", home).is(t, 0).out)
	pass := filepath.Join(t.TempDir(), "pass")
	must(t, os.WriteFile(pass, []byte("correct horse battery staple\n"), 0o600))
	ash(t, "", "vault", "create", "--home", home, "--passphrase-file", pass).is(t, 0)
	ash(t, "sk-of-the-vault-123456\n", "vault", "add", "tool/brave", "--host", "api.search.brave.com", "--user", "tool/brave", "--home", home, "--passphrase-file", pass).is(t, 0)
	return home, token
}

// checkRestored starts Ash on what was unpacked and looks for what was in it.
func checkRestored(t *testing.T, home, token string) {
	t.Helper()
	for _, name := range []string{"session.key", "ash.lock", "backups"} {
		if _, err := os.Lstat(filepath.Join(home, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is in the archive", name)
		}
	}
	raw, err := os.ReadFile(filepath.Join(home, "ash.db"))
	must(t, err)
	hash, ok := access.Secret(token).Hash()
	if !ok || bytes.Contains(raw, hash) || bytes.Contains(raw, []byte(access.Secret(token).Hint())) {
		t.Error("the token's hash or hint lies in the archive's database")
	}
	p := serving(t, home)
	marks := strings.NewReplacer("<mark>", "", "</mark>", "")
	for path, words := range map[string]string{
		"/search?q=rose": "Which rose is it?", "/memory/notes/file?path=roses.md": "Prune in March", "/settings/tokens": "no program can use the API", "/vault": "locked",
	} {
		page := marks.Replace(p.get(path)) // a title made by the model leaves the words to the passage, which marks what was looked for
		if !strings.Contains(page, words) {
			t.Errorf("%s does not say %q", path, words)
		}
	}
	if b, err := os.ReadFile(filepath.Join(home, "workspace", "files", "plan.txt")); err != nil || string(b) != "dig" {
		t.Errorf("plan.txt: %q, %v", b, err)
	}
	p.signal(syscall.SIGTERM)
	p.end()
	pass := filepath.Join(t.TempDir(), "pass")
	must(t, os.WriteFile(pass, []byte("correct horse battery staple\n"), 0o600))
	if list := ash(t, "", "vault", "list", "--home", home, "--passphrase-file", pass).is(t, 0).out; !strings.Contains(list, "tool/brave") {
		t.Errorf("the vault holds %q", list)
	}
}

func TestExportIsAHomeAgain(t *testing.T) {
	home, token := livedHome(t)
	p := serving(t, home)
	before := entries(t, home)
	v := visit(t, p.url)
	res, err := v.post("/settings/data/export", url.Values{})
	must(t, err)
	if res.StatusCode != 200 || !strings.Contains(res.Header.Get("Content-Disposition"), ".tar.gz") || res.Header.Get("Content-Encoding") != "" {
		t.Fatalf("%d %v", res.StatusCode, res.Header)
	}
	restored := untar(t, res.Body, t.TempDir())
	must(t, res.Body.Close())
	if now := entries(t, home); !slices.Equal(slices.DeleteFunc(now, func(n string) bool { return strings.HasPrefix(n, "ash.db-") }),
		slices.DeleteFunc(before, func(n string) bool { return strings.HasPrefix(n, "ash.db-") })) {
		t.Errorf("the export left something: %q, before %q", now, before)
	}
	checkRestored(t, restored, token)

	// The same from the command line, while the server runs.
	file := filepath.Join(t.TempDir(), "all.tar.gz")
	ash(t, "", "data", "export", file, "--home", home).is(t, 0)
	ash(t, "", "data", "export", file, "--home", home).complains(t, exitFailed, "Nothing is overwritten")
	f, err := os.Open(file)
	must(t, err)
	checkRestored(t, untar(t, f, t.TempDir()), token)
	must(t, f.Close())
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if out := ash(t, "", "data", "status", "--home", home).is(t, 0).out; !strings.Contains(out, "database") || strings.Contains(out, "not Ash's") {
		t.Errorf("status:\n%s", out)
	}
}

// TestHomeHoldsOnlyWhatIsKnown finds what is kept in the home without a place in the inventory: it would be neither exported nor deleted.
func TestHomeHoldsOnlyWhatIsKnown(t *testing.T) {
	home, _ := livedHome(t)
	p := serving(t, home)
	p.get("/settings/data")
	p.post("/settings/general", url.Values{"key": {"log.level"}, "value": {"debug"}})
	r, err := inventory.Home{Path: home, Workspace: filepath.Join(home, "workspace"), Notes: filepath.Join(home, "notes")}.Measure(context.Background())
	must(t, err)
	if len(r.Foreign) > 0 {
		t.Errorf("agent/inventory does not know %q: add a line to its table", r.Foreign)
	}
}

func (p *process) post(path string, form url.Values) *http.Response {
	p.t.Helper()
	res, err := visit(p.t, p.url).post(path, form)
	must(p.t, err)
	must(p.t, res.Body.Close())
	return res
}

func TestDeleteEverything(t *testing.T) {
	home, _ := livedHome(t)
	outside := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "precious.txt"), []byte("mine"), 0o600))
	must(t, os.WriteFile(filepath.Join(home, "thesis.pdf"), []byte("foreign"), 0o600))
	must(t, os.Symlink(outside, filepath.Join(home, "workspace", "files", "link")))
	must(t, os.Symlink(outside, filepath.Join(home, "shortcut")))
	p := serving(t, home)
	v := visit(t, p.url)
	if page := v.read(v.post("/settings/data/delete", url.Values{"word": {"yes"}})); !strings.Contains(page, "Nothing was deleted") {
		t.Errorf("a wrong word:\n%s", page)
	}
	if page := p.get("/settings/data/delete"); !strings.Contains(page, "thesis.pdf") {
		t.Error("the page does not say what stays")
	}
	if page := v.read(v.post("/settings/data/delete", url.Values{"word": {"Delete  everything"}})); !strings.Contains(page, "Everything is deleted") || !strings.Contains(page, "thesis.pdf") {
		t.Errorf("the last page:\n%s", page)
	}
	if code, took := p.end(); code != exitOK || took > 8*time.Second {
		t.Errorf("the server ended with %d after %v", code, took)
	}
	if left := entries(t, home); !slices.Equal(left, []string{"shortcut", "thesis.pdf"}) {
		t.Errorf("left: %q", left)
	}
	if b, err := os.ReadFile(filepath.Join(outside, "precious.txt")); err != nil || string(b) != "mine" {
		t.Errorf("what a link leads to: %q, %v", b, err)
	}
	again := serving(t, home)
	if page := again.get("/search?q=rose"); strings.Contains(page, "Which rose is it?") {
		t.Error("it is still known")
	}
}

func TestKilledDeletionIsFinishedByTheNextStart(t *testing.T) {
	home, _ := livedHome(t)
	must(t, inventory.Home{Path: home, Workspace: filepath.Join(home, "workspace"), Notes: filepath.Join(home, "notes")}.Condemn(time.Now()))
	must(t, os.Remove(filepath.Join(home, "ash.db"))) // as far as it came
	p := serving(t, home)
	for _, name := range []string{"deleting", "vault", "notes/roses.md", "workspace/files/plan.txt", "vault.mark"} {
		if _, err := os.Lstat(filepath.Join(home, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", name, err)
		}
	}
	if page := p.get("/search?q=rose"); strings.Contains(page, "Which rose is it?") {
		t.Error("it is still known")
	}
}

func TestDeleteFromTheCommandLine(t *testing.T) {
	home, _ := livedHome(t)
	ash(t, "", "data", "delete", "--home", home).complains(t, exitUsage, "--everything")
	p := serving(t, home)
	ash(t, "", "data", "delete", "--everything", "--home", home).complains(t, exitFailed, "already running")
	p.signal(syscall.SIGTERM)
	p.end()
	ash(t, "", "data", "delete", "--everything", "--home", home).is(t, 0)
	if left := entries(t, home); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestExportTakesBoundedMemory exports far more than it may hold in memory.
func TestExportTakesBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 600 MB")
	}
	home := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(home, "workspace", "files"), 0o700))
	big, err := os.Create(filepath.Join(home, "workspace", "files", "big"))
	must(t, err)
	must(t, errors.Join(big.Truncate(600<<20), big.Close())) // a hole: nothing on the disk
	s, err := store.Open(context.Background(), store.Options{Path: databasePath(home)})
	must(t, err)
	must(t, s.Close())
	h := inventory.Home{Path: home, Workspace: filepath.Join(home, "workspace"), Notes: filepath.Join(home, "notes")}
	db, err := h.Snapshot(context.Background(), databaseCopy(databasePath(home)))
	must(t, err)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	must(t, errors.Join(h.Export(context.Background(), io.Discard, db, time.Now()), db.Close()))
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
		t.Errorf("%d MB were allocated", used>>20)
	}
}
