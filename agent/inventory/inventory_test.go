package inventory

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ash/agent"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("ASH_TEST_DELETE"); dir != "" {
		deleteAndDie(dir)
	}
	os.Exit(m.Run())
}

// lay writes files, by path; one that ends in / is a folder, one whose text begins with -> a link.
func lay(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		var err error
		if to, link := strings.CutPrefix(files[name], "->"); link {
			err = os.Symlink(to, at)
		} else if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(at, 0o700)
		} else {
			err = os.WriteFile(at, []byte(files[name]), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// tree lists what is below dir, folders with a slash.
func tree(t testing.TB, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, name)
		if err != nil || rel == "." {
			return err
		}
		if e.IsDir() {
			rel += "/"
		}
		out = append(out, filepath.ToSlash(rel))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// lived is a home with something of everything; outside is a folder that links lead to.
func lived(t testing.TB) (h Home, outside string) {
	t.Helper()
	dir := t.TempDir()
	h.Path, outside = filepath.Join(dir, "home"), filepath.Join(dir, "outside")
	h.Workspace, h.Notes = filepath.Join(h.Path, "workspace"), filepath.Join(h.Path, "my notes", "garden")
	lay(t, outside, map[string]string{"precious.txt": "mine", "deep/er.txt": "mine too"})
	lay(t, h.Path, map[string]string{
		"ash.db": "database", "ash.db-wal": "log", "ash.lock": "1", "session.key": "key", "config.toml": "# settings", "config.lock": "",
		"setup-skipped": "", "folders-not-own.json": "[]", "vault.lock": "", "vault.mark": "{}", ".ash-0123456789abcdef": "mark",
		".memory-archive-12": "zip", ".ash-copy-x.db": "copy", ".config.toml.123": "half",
		"vault/current": "root", "vault/secrets/1-a.age": "age", "vault/new/": "", "attachments/ab/abcdef": "blob", "attachments/.new-1": "half", "attachments/ab/notes.json": "{}",
		"workspace/SOUL.md": "soul", "workspace/files/a/b/c.txt": "text", "workspace/files/link": "->" + outside, "workspace/files/loop": "->.",
		"my notes/garden/roses.md": "# Roses", "backups/ash-2026-schema-1.db": "old", "logs/vault.jsonl": "{}", "logs/vault.jsonl.1": "{}",
		"sandbox/run-1/x": "y", "notes": "->" + outside,
		// not Ash's
		"thesis.pdf": "foreign", "music/song.mp3": "foreign", "my notes/diary.txt": "foreign", "backups/holiday.zip": "foreign",
		"attachments/readme.txt": "foreign", "logs/diary/today.log": "foreign", "shortcut": "->" + outside, ".ash-history": "foreign",
	})
	return h, outside
}

// kept is what is not Ash's in a lived home.
var kept = []string{
	".ash-history", "attachments/", "attachments/readme.txt", "backups/", "backups/holiday.zip", "logs/", "logs/diary/", "logs/diary/today.log",
	"music/", "music/song.mp3", "my notes/", "my notes/diary.txt", "shortcut", "thesis.pdf",
}

func TestMeasure(t *testing.T) {
	h, _ := lived(t)
	r, err := h.Measure(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	got := map[Kind]int64{}
	for _, p := range r.Parts {
		got[p.Kind] = p.Bytes
	}
	want := map[Kind]int64{
		Database: 11, Attachments: 10, Notes: 7, Workspace: 8, Vault: 9, Settings: 12, Logs: 4, Snapshots: 3, Inner: got[Inner],
	}
	if !maps.Equal(got, want) {
		t.Errorf("sizes %v, want %v", got, want)
	}
	if f := []string{".ash-history", "music", "shortcut", "thesis.pdf"}; !slices.Equal(r.Foreign, f) {
		t.Errorf("foreign: %q, want %q", r.Foreign, f)
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if r, err := h.Measure(over); err != nil || !r.Partial {
		t.Errorf("without time: %+v, %v", r, err)
	}
	h.Path = filepath.Join(h.Path, "nowhere")
	if _, err := h.Measure(context.Background()); agent.CodeOf(err) != agent.CodeUnavailable {
		t.Errorf("a home that is not there: %v", err)
	}
}

func TestDeletingLeavesWhatIsNotAshs(t *testing.T) {
	h, outside := lived(t)
	before := tree(t, outside)
	if err := Finish(h.Path); err != nil || len(tree(t, h.Path)) < 40 {
		t.Fatalf("without a decision: %v, %q", err, tree(t, h.Path))
	}
	if err := h.Condemn(time.Now()); err != nil {
		t.Fatal(err)
	}
	if !Condemned(h.Path) {
		t.Fatal("the decision is not there")
	}
	if err := Finish(h.Path); err != nil {
		t.Fatal(err)
	}
	if got, want := tree(t, h.Path), slices.Sorted(slices.Values(append([]string{"ash.lock"}, kept...))); !slices.Equal(got, want) {
		t.Errorf("left:\n%q\nwant\n%q", got, want)
	}
	if got := tree(t, outside); !slices.Equal(got, before) {
		t.Errorf("what links lead to: %q", got)
	}
	if Condemned(h.Path) {
		t.Error("the decision is still there")
	}
	if err := Finish(h.Path); err != nil {
		t.Errorf("again: %v", err)
	}
}

func TestWhatIsNoOrderDeletesNothing(t *testing.T) {
	for name, marker := range map[string]string{
		"a text of the person": "what I am deleting this week", "empty": "", "no time": "{}", "a way out": `{"begun":"2026-01-02T03:04:05Z","folders":[{"name":"../outside"}]}`,
		"the home": `{"begun":"2026-01-02T03:04:05Z","folders":[{"name":"."}]}`, "endless": strings.Repeat("[", 100_000), "a link": "->../outside/precious.txt", "a folder": "/",
	} {
		t.Run(name, func(t *testing.T) {
			h, outside := lived(t)
			if marker == "/" {
				lay(t, h.Path, map[string]string{markerName + "/x": ""})
			} else {
				lay(t, h.Path, map[string]string{markerName: marker})
			}
			before, beyond := tree(t, h.Path), tree(t, outside)
			if err := Finish(h.Path); err != nil || Condemned(h.Path) {
				t.Errorf("%v", err)
			}
			if !slices.Equal(tree(t, h.Path), before) || !slices.Equal(tree(t, outside), beyond) {
				t.Error("something is gone")
			}
		})
	}
}

// deleteAndDie is the process that is killed: before the removal whose number the environment says.
func deleteAndDie(dir string) {
	n, _ := strconv.Atoi(os.Getenv("ASH_TEST_STEP"))
	count := 0
	err := finish(dir, func(string) {
		if count == n {
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				_ = self.Kill()
			}
			select {}
		}
		count++
	})
	if err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

func TestKilledWhileDeleting(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGKILL")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Sorted(slices.Values(append([]string{"ash.lock"}, kept...)))
	for step := 0; ; step++ {
		h, outside := lived(t)
		before := tree(t, outside)
		if err := h.Condemn(time.Now()); err != nil {
			t.Fatal(err)
		}
		all := len(tree(t, h.Path))
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), "ASH_TEST_DELETE="+h.Path, "ASH_TEST_STEP="+strconv.Itoa(step))
		err := cmd.Run()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() != -1 {
			t.Fatalf("step %d: %v", step, err)
		}
		if err == nil { // past the last step
			if step < 25 {
				t.Errorf("only %d steps", step)
			}
			return
		}
		if !Condemned(h.Path) {
			t.Fatalf("step %d: killed, and the decision is gone before the rest", step)
		}
		if left := len(tree(t, h.Path)); left != all-step {
			t.Errorf("step %d: %d entries of %d left", step, left, all)
		}
		if err := Finish(h.Path); err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		if got := tree(t, h.Path); !slices.Equal(got, want) {
			t.Errorf("step %d left %q", step, got)
		}
		if got := tree(t, outside); !slices.Equal(got, before) {
			t.Errorf("step %d: what links lead to: %q", step, got)
		}
	}
}

func TestWhatCannotBeDeletedIsSaid(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may delete everything; run this as another user")
	}
	h, _ := lived(t)
	stuck := filepath.Join(h.Path, "sandbox")
	if err := h.Condemn(time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(h.Path, "backups"), 0o500); err != nil {
		t.Fatal(err)
	}
	err := Finish(h.Path)
	if agent.CodeOf(err) != agent.CodeUnavailable || !Condemned(h.Path) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(stuck); err == nil {
		t.Error("the rest is still there")
	}
	if err := errors.Join(os.Chmod(filepath.Join(h.Path, "backups"), 0o700), Finish(h.Path)); err != nil || Condemned(h.Path) {
		t.Errorf("once it can be deleted: %v", err)
	}
}

// textCopier writes the same text as the copy of any database.
type textCopier string

func (c textCopier) CopyForExport(_ context.Context, dest string) error {
	if c == "" {
		return agent.Errorf(agent.CodeExhausted, "The disk is full.")
	}
	return os.WriteFile(dest, []byte(c), 0o600)
}

// unpack reads an archive whole.
func unpack(t testing.TB, r io.Reader) (files map[string]string, modes map[string]fs.FileMode) {
	t.Helper()
	zip, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	files, modes = map[string]string{}, map[string]fs.FileMode{}
	for x := tar.NewReader(zip); ; {
		head, err := x.Next()
		if errors.Is(err, io.EOF) {
			return files, modes
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(x)
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(head.Name, "/")
		if _, twice := modes[name]; twice {
			t.Errorf("%s is in the archive twice", name)
		}
		files[name], modes[name] = string(text), head.FileInfo().Mode()
	}
}

func TestExport(t *testing.T) {
	h, outside := lived(t)
	h.Workspace = filepath.Join(outside, "work")
	lay(t, h.Workspace, map[string]string{"SOUL.md": "elsewhere", "escape": "->" + h.Path})
	before := tree(t, h.Path)
	db, err := h.Snapshot(context.Background(), textCopier("a copy"))
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && !slices.Equal(tree(t, h.Path), before) {
		t.Error("the copy has a name while it is read")
	}
	var b bytes.Buffer
	if err := errors.Join(h.Export(context.Background(), &b, db, time.Now()), db.Close()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(tree(t, h.Path), before) {
		t.Error("something of the export is left in the home")
	}
	files, modes := unpack(t, &b)
	for name, want := range map[string]string{
		"ash.db": "a copy", "config.toml": "# settings", "vault/current": "root", "vault/secrets/1-a.age": "age", "vault.mark": "{}", "my notes/garden/roses.md": "# Roses",
		"attachments/ab/abcdef": "blob", "logs/vault.jsonl": "{}", "setup-skipped": "", "elsewhere/workspace/SOUL.md": "elsewhere", "workspace/files/a/b/c.txt": "text",
	} {
		if got, ok := files[name]; !ok || got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	for _, name := range []string{
		"session.key", "ash.db-wal", "ash.lock", "thesis.pdf", "attachments/readme.txt", "backups/ash-2026-schema-1.db", "workspace/files/link", "elsewhere/workspace/escape",
		"my notes/diary.txt", ".memory-archive-12", "notes/precious.txt", "workspace/files/link/precious.txt",
	} {
		if _, ok := files[name]; ok {
			t.Errorf("%s is in the archive", name)
		}
	}
	for _, name := range []string{"elsewhere/workspace/escape: it is a link", "attachments/readme.txt: it is not Ash's", "notes: it is a link"} {
		if !strings.Contains(files["left-out.txt"], name) {
			t.Errorf("left-out.txt does not say %q:\n%s", name, files["left-out.txt"])
		}
	}
	if !modes["vault/new/"].IsDir() {
		t.Error("an empty folder of the vault is not in the archive")
	}
	for name, mode := range modes {
		if mode.Perm()&0o077 != 0 {
			t.Errorf("others may read %s: %v", name, mode)
		}
	}
}

func TestExportThatCannotBegin(t *testing.T) {
	h, _ := lived(t)
	before := tree(t, h.Path)
	if _, err := h.Snapshot(context.Background(), textCopier("")); agent.CodeOf(err) != agent.CodeExhausted {
		t.Errorf("a full disk: %v", err)
	}
	if !slices.Equal(tree(t, h.Path), before) {
		t.Error("something is left")
	}
	db, err := h.Snapshot(context.Background(), textCopier("x"))
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if err := errors.Join(h.Export(over, io.Discard, db, time.Now()), db.Close()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestCopiesThatACrashLeftAreSwept(t *testing.T) {
	h, _ := lived(t)
	old := filepath.Join(h.Path, ".ash-copy-old.db")
	lay(t, h.Path, map[string]string{".ash-copy-old.db": "all that is private"})
	if err := errors.Join(os.Chtimes(old, time.Time{}, time.Now().Add(-2*sweepAfter)), h.Sweep()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
}

func TestFileThatShrinksIsFilledUp(t *testing.T) {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	x := &exporter{ctx: context.Background(), tar: tar.NewWriter(zip), top: "t", buffer: make([]byte, 16)}
	if err := errors.Join(x.stream("a", strings.NewReader("0123456789abcdefXYZ"), 100, time.Now()), x.text("b", "next"), x.tar.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	files, _ := unpack(t, &b)
	if a := files["a"]; len(a) != 100 || strings.TrimRight(a, "\x00") != "0123456789abcdefXYZ" || files["b"] != "next" || len(x.left) != 1 {
		t.Errorf("%q, %q, %q", a, files["b"], x.left)
	}
}

func TestSnapshots(t *testing.T) {
	h, _ := lived(t)
	lay(t, h.Path, map[string]string{"backups/ash-2.db": "22", "backups/ash-link.db": "->../thesis.pdf"})
	list, err := h.Snapshots()
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, name := range []string{"holiday.zip", "../ash.db", "ash-nowhere.db", "", "..", "ash-x/../../ash.db"} {
		if err := h.DeleteSnapshots([]string{name}); agent.CodeOf(err) != agent.CodeNotFound {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := h.DeleteSnapshots([]string{"ash-2.db"}); err != nil {
		t.Error(err)
	}
	if list, err := h.Snapshots(); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}
