package identity

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ash/agent"
)

func write1(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFirstStart(t *testing.T) {
	h := newHome(t)
	for _, file := range Files() {
		doc := h.read(t, file)
		want, err := Default(file)
		if err != nil || doc.Text != want || doc.Hash != HashOf(want) || doc.Size != len(want) || doc.Missing || doc.Problem != "" {
			t.Errorf("%s: %+v, %v", file, doc, err)
		}
		if info, err := os.Stat(h.path(file)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file, info, err)
		}
		if got := h.versions.sources(file); !slices.Equal(got, []Source{SourceDefault}) {
			t.Errorf("%s: versions %v", file, got)
		}
	}
	if info, err := os.Stat(h.dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder: %v, %v", info, err)
	}
	if _, err := Default("OTHER.md"); agent.CodeOf(err) != agent.CodeNotFound {
		t.Errorf("Default of another file: %v", err)
	}
}

func TestDefaultsAreNeverWrittenOver(t *testing.T) {
	t.Run("a file that was there", func(t *testing.T) {
		h := &home{dir: t.TempDir(), versions: &kept{}}
		write1(t, h.path(Soul), "my own")
		h.open(t)
		if doc := h.read(t, Soul); doc.Text != "my own" || !slices.Equal(h.versions.sources(Soul), []Source{SourceOutside}) {
			t.Errorf("%+v, %v", doc, h.versions.sources(Soul))
		}
	})
	t.Run("a file that was deleted", func(t *testing.T) {
		h := newHome(t)
		h.blind(t)
		if err := os.Remove(h.path(User)); err != nil {
			t.Fatal(err)
		}
		h.open(t)
		if doc := h.read(t, User); !doc.Missing || doc.Text != "" {
			t.Errorf("%+v", doc)
		}
		if _, err := os.Stat(h.path(User)); !errors.Is(err, os.ErrNotExist) {
			t.Error("it came back by itself")
		}
	})
	t.Run("a file changed while Ash was away", func(t *testing.T) {
		h := newHome(t)
		h.blind(t)
		write1(t, h.path(Soul), "changed")
		h.open(t)
		if got := h.versions.sources(Soul); !slices.Equal(got, []Source{SourceDefault, SourceOutside}) {
			t.Errorf("versions %v", got)
		}
	})
}

func TestSystem(t *testing.T) {
	h := newHome(t)
	text, err := h.System(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(text) >= 3<<10 || !strings.HasPrefix(text, "# Soul\n\nYou are Ash") || strings.Contains(text, "<!--") || strings.Contains(text, "About the person") {
		t.Errorf("%d bytes:\n%s", len(text), text)
	}
	doc := h.read(t, User)
	if _, err := h.Save(t.Context(), User, doc.Hash, "# About the person\n<!-- hidden -->\nAda, likes tea.\n<!-- open end"); err != nil {
		t.Fatal(err)
	}
	text, err = h.System(t.Context())
	if err != nil || !strings.Contains(text, "Ada, likes tea.") || strings.Contains(text, "hidden") || strings.Contains(text, "open end") {
		t.Errorf("a change does not take effect on the next reading: %v\n%s", err, text)
	}
	t.Logf("default identity: %d bytes", len(text))
}

func TestSave(t *testing.T) {
	h := newHome(t)
	before := h.read(t, Soul)
	v, err := h.Save(t.Context(), Soul, before.Hash, "new soul")
	if err != nil || v.Source != SourcePage || v.Hash != HashOf("new soul") || v.Size != 8 {
		t.Fatalf("%+v, %v", v, err)
	}
	if on, err := os.ReadFile(h.path(Soul)); err != nil || string(on) != "new soul" {
		t.Errorf("on disk: %q, %v", on, err)
	}
	if d := h.told(t); d.Text != "new soul" {
		t.Errorf("told %+v", d)
	}
	t.Run("again is no new version", func(t *testing.T) {
		again, err := h.Save(t.Context(), Soul, v.Hash, "new soul")
		if err != nil || again.ID != v.ID {
			t.Errorf("%+v, %v", again, err)
		}
	})
	t.Run("empty", func(t *testing.T) {
		if v, err = h.Save(t.Context(), Soul, v.Hash, ""); err != nil || v.Size != 0 {
			t.Errorf("%+v, %v", v, err)
		}
	})
	t.Run("two tabs", func(t *testing.T) {
		_, err := h.Save(t.Context(), Soul, before.Hash, "the other tab's")
		var c *Conflict
		if agent.CodeOf(err) != agent.CodeConflict || !errors.As(err, &c) || c.Current.Text != "" || c.Current.Hash != v.Hash {
			t.Fatalf("%v", err)
		}
		if _, err := h.Save(t.Context(), Soul, c.Current.Hash, "resolved"); err != nil {
			t.Error(err)
		}
	})
	for name, text := range map[string]string{"too long": strings.Repeat("x", MaxSize+1), "not UTF-8": "a\xff", "NUL": "a\x00"} {
		t.Run(name, func(t *testing.T) {
			if _, err := h.Save(t.Context(), Soul, h.read(t, Soul).Hash, text); agent.CodeOf(err) != agent.CodeInvalid {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("another file", func(t *testing.T) {
		for _, name := range []string{"../SOUL.md", "OTHER.md", ""} {
			_, err1 := h.Save(t.Context(), name, "", "x")
			_, err2 := h.Read(t.Context(), name)
			_, err3 := h.History(t.Context(), name, 1)
			if agent.CodeOf(err1) != agent.CodeNotFound || agent.CodeOf(err2) != agent.CodeNotFound || agent.CodeOf(err3) != agent.CodeNotFound {
				t.Errorf("%q: %v, %v, %v", name, err1, err2, err3)
			}
		}
	})
	left, err := filepath.Glob(h.path(tempPrefix + "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestSaveOverAnUnseenChangeOutside(t *testing.T) {
	h := newHome(t)
	h.blind(t)
	base := h.read(t, Soul).Hash
	write1(t, h.path(Soul), "from an editor")
	_, err := h.Save(t.Context(), Soul, base, "from the page")
	var c *Conflict
	if !errors.As(err, &c) || c.Current.Text != "from an editor" {
		t.Fatalf("%v", err)
	}
	if d := h.told(t); d.Text != "from an editor" {
		t.Errorf("told %+v", d)
	}
}

func TestRestoreAndDiff(t *testing.T) {
	h := newHome(t)
	v1, err := h.Save(t.Context(), Soul, h.read(t, Soul).Hash, "one\ntwo\nthree\n")
	if err != nil {
		t.Fatal(err)
	}
	v2, err := h.Save(t.Context(), Soul, v1.Hash, "one\n2\nthree\nfour\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []Line{
		{Equal, 1, 1, "one"}, {Delete, 2, 0, "two"}, {Insert, 0, 2, "2"}, {Equal, 3, 3, "three"}, {Insert, 0, 4, "four"},
	}
	for name, to := range map[string]agent.ID{"two versions": v2.ID, "with the file": ""} {
		if got, err := h.Diff(t.Context(), v1.ID, to); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := h.Restore(t.Context(), v1.ID, v1.Hash); agent.CodeOf(err) != agent.CodeConflict {
		t.Errorf("restoring over an unseen state: %v", err)
	}
	v3, err := h.Restore(t.Context(), v1.ID, v2.Hash)
	if err != nil || v3.Source != SourceRestore || h.read(t, Soul).Text != "one\ntwo\nthree\n" {
		t.Errorf("%+v, %v", v3, err)
	}
	list, err := h.History(t.Context(), Soul, 0)
	if err != nil || len(list) != 4 || list[0].ID != v3.ID || list[0].Text != "" || list[3].Source != SourceDefault {
		t.Errorf("%+v, %v", list, err)
	}
	if got, err := h.Version(t.Context(), v2.ID); err != nil || got.Text != "one\n2\nthree\nfour\n" {
		t.Errorf("%+v, %v", got, err)
	}
	other, err := h.History(t.Context(), User, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Diff(t.Context(), v1.ID, other[0].ID); agent.CodeOf(err) != agent.CodeInvalid {
		t.Errorf("two files: %v", err)
	}
	for _, pair := range [][2]agent.ID{{"none", ""}, {v1.ID, "none"}} {
		if _, err := h.Diff(t.Context(), pair[0], pair[1]); agent.CodeOf(err) != agent.CodeNotFound {
			t.Errorf("%v: %v", pair, err)
		}
	}
	if _, err := h.Restore(t.Context(), "none", ""); agent.CodeOf(err) != agent.CodeNotFound {
		t.Errorf("restoring nothing: %v", err)
	}
}

func TestDeletedFile(t *testing.T) {
	h := newHome(t)
	if err := os.Remove(h.path(Soul)); err != nil {
		t.Fatal(err)
	}
	if d := h.told(t); !d.Missing || d.File != Soul {
		t.Errorf("told %+v", d)
	}
	if text, err := h.System(t.Context()); err != nil || strings.Contains(text, "You are Ash") {
		t.Errorf("%v: %s", err, text)
	}
	list, err := h.History(t.Context(), Soul, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Restore(t.Context(), list[0].ID, h.read(t, Soul).Hash); err != nil {
		t.Fatal(err)
	}
	if doc := h.read(t, Soul); doc.Missing || !strings.Contains(doc.Text, "You are Ash") {
		t.Errorf("%+v", doc)
	}
}

func TestDeletedFolder(t *testing.T) {
	h := newHome(t)
	h.blind(t)
	if err := os.RemoveAll(h.dir); err != nil {
		t.Fatal(err)
	}
	doc := h.read(t, Soul)
	if !doc.Missing {
		t.Errorf("%+v", doc)
	}
	if _, err := h.Save(t.Context(), Soul, doc.Hash, "anew"); err != nil || h.read(t, Soul).Text != "anew" {
		t.Errorf("%v", err)
	}
}

func TestEditors(t *testing.T) {
	for name, save := range map[string]func(t *testing.T, path string){
		"in place": func(t *testing.T, path string) { write1(t, path, "edited") },
		"a new file renamed over the old": func(t *testing.T, path string) {
			write1(t, path+"~", "edited")
			if err := os.Rename(path+"~", path); err != nil {
				t.Fatal(err)
			}
		},
		"the old moved away first": func(t *testing.T, path string) {
			if err := os.Rename(path, path+".bak"); err != nil {
				t.Fatal(err)
			}
			write1(t, path, "edited")
		},
		"emptied, then written": func(t *testing.T, path string) {
			write1(t, path, "")
			time.Sleep(10 * time.Millisecond)
			write1(t, path, "edited")
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			save(t, h.path(Tools))
			if d := h.told(t); d.Text != "edited" || d.File != Tools {
				t.Errorf("told %+v", d)
			}
			if got := h.versions.sources(Tools); !slices.Equal(got, []Source{SourceDefault, SourceOutside}) {
				t.Errorf("versions %v", got)
			}
		})
	}
}

func TestChangeIsSeenWithoutTheWatcher(t *testing.T) {
	h := newHome(t)
	h.blind(t)
	// The same size, within the same tick of the file system's clock: neither tells the change.
	for i := range 5 {
		text := fmt.Sprintf("text number %d", i)
		write1(t, h.path(Soul), text)
		if got := h.read(t, Soul).Text; got != text {
			t.Errorf("read %q, want %q", got, text)
		}
	}
}

func TestSameTimeAndSizeDoNotHideAFreshChange(t *testing.T) {
	h := newHome(t)
	h.blind(t)
	moment := time.Now().Add(-time.Second) // within what file systems with coarse clocks cannot tell apart
	for _, text := range []string{"tea", "ale"} {
		write1(t, h.path(Soul), text)
		if err := os.Chtimes(h.path(Soul), moment, moment); err != nil {
			t.Fatal(err)
		}
		if got := h.read(t, Soul).Text; got != text {
			t.Errorf("read %q, want %q", got, text)
		}
	}
}

func TestHalfWrittenFileIsNoVersion(t *testing.T) {
	h := newHome(t)
	h.blind(t)
	write1(t, h.path(Soul), "")
	done := make(chan error)
	go func() {
		time.Sleep(settle / 4)
		done <- os.WriteFile(h.path(Soul), []byte("whole"), 0o600)
	}()
	doc := h.read(t, Soul)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := h.versions.sources(Soul); doc.Text != "whole" || !slices.Equal(got, []Source{SourceDefault, SourceOutside}) {
		t.Errorf("read %q, versions %v", doc.Text, got)
	}
}

func TestUnchangedFileIsNotReadAgain(t *testing.T) {
	h := newHome(t)
	h.blind(t)
	past := time.Now().Add(-time.Minute)
	if err := os.Chtimes(h.path(Soul), past, past); err != nil {
		t.Fatal(err)
	}
	first := h.read(t, Soul)
	if err := os.WriteFile(h.path(Soul), []byte(strings.Repeat("x", first.Size)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(h.path(Soul), past, past); err != nil {
		t.Fatal(err)
	}
	if h.read(t, Soul).Hash != first.Hash {
		t.Error("a file of the same time and size was read again: reading costs too much per turn")
	}
}

func TestUnusableFiles(t *testing.T) {
	for _, test := range []struct {
		name string
		make func(path string) error
		want string
		save bool // the page can write over it
	}{
		{"too large", func(p string) error { return os.WriteFile(p, make([]byte, MaxSize+1), 0o600) }, "too long", true},
		{"not UTF-8", func(p string) error { return os.WriteFile(p, []byte("\xff"), 0o600) }, "UTF-8", true},
		{"NUL", func(p string) error { return os.WriteFile(p, []byte("a\x00"), 0o600) }, "NUL", true},
		{"a link", func(p string) error { return os.Symlink("/etc/hostname", p) }, "not an ordinary file", true},
		{"a folder", func(p string) error { return os.Mkdir(p, 0o700) }, "not an ordinary file", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHome(t)
			h.blind(t)
			good := h.read(t, Soul)
			if err := errors.Join(os.Remove(h.path(Soul)), test.make(h.path(Soul))); err != nil {
				t.Fatal(err)
			}
			doc := h.read(t, Soul)
			if !strings.Contains(doc.Problem, test.want) || doc.Text != good.Text {
				t.Errorf("problem %q, text %.20q", doc.Problem, doc.Text)
			}
			if d := h.told(t); d.Problem == "" {
				t.Errorf("told %+v", d)
			}
			if text, err := h.System(t.Context()); err != nil || !strings.Contains(text, "You are Ash") {
				t.Errorf("the last good version does not speak for it: %v", err)
			}
			_, err := h.Save(t.Context(), Soul, doc.Hash, "mended")
			if test.save && (err != nil || h.read(t, Soul).Text != "mended" || h.read(t, Soul).Problem != "") {
				t.Errorf("not mended: %v", err)
			}
			if !test.save && agent.CodeOf(err) != agent.CodeInvalid {
				t.Errorf("saved over a folder: %v", err)
			}
		})
	}
}

func TestVersionsThatCannotBeKept(t *testing.T) {
	h := newHome(t)
	h.blind(t)
	broken := agent.Errorf(agent.CodeUnavailable, "no")
	h.versions.fail(broken)
	write1(t, h.path(Soul), "outside")
	if doc := h.read(t, Soul); doc.Text != "outside" {
		t.Errorf("the turn does not get what the person wrote: %+v", doc)
	}
	if _, err := h.Save(t.Context(), Soul, HashOf("outside"), "page"); !errors.Is(err, broken) {
		t.Errorf("Save: %v", err)
	}
	h.versions.fail(nil)
	if doc := h.read(t, Soul); doc.Text != "page" || !slices.Equal(h.versions.sources(Soul), []Source{SourceDefault, SourceOutside}) {
		t.Errorf("%q, versions %v: not made up for", doc.Text, h.versions.sources(Soul))
	}
	if _, err := Open(t.Context(), t.TempDir(), &kept{broken: broken}, Options{}); !errors.Is(err, broken) {
		t.Errorf("Open: %v", err)
	}
}

func TestOpenSweepsWhatACrashLeft(t *testing.T) {
	h := &home{dir: t.TempDir(), versions: &kept{}}
	left, own := h.path(tempPrefix+Soul+".x"), h.path(tempPrefix+"own")
	write1(t, left, "half")
	write1(t, own, "the person's")
	h.open(t)
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Error("still there")
	}
	if _, err := os.Stat(own); err != nil {
		t.Error(err)
	}
	file := h.path("file")
	write1(t, file, "")
	if _, err := Open(t.Context(), file, h.versions, Options{}); agent.CodeOf(err) != agent.CodeUnavailable {
		t.Errorf("a file for a folder: %v", err)
	}
}

func TestManyAtOnce(t *testing.T) {
	h := newHome(t)
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			for n := range 10 {
				for {
					doc, err := h.Read(t.Context(), User)
					if err != nil {
						t.Error(err)
						return
					}
					_, err = h.Save(t.Context(), User, doc.Hash, fmt.Sprintf("%s\nline %d of %d", doc.Text, n, i))
					if err == nil {
						break
					}
					if agent.CodeOf(err) != agent.CodeConflict {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	group.Go(func() {
		for range 50 {
			if _, err := h.System(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
	group.Wait()
	if n := strings.Count(h.read(t, User).Text, "\nline "); n != 40 {
		t.Errorf("%d of 40 edits are there", n)
	}
}

func TestCloseLeavesNothingRunning(t *testing.T) {
	before := runtime.NumGoroutine()
	h := newHome(t)
	write1(t, h.path(Soul), "on the way")
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

func TestCompareKeepsBothTexts(t *testing.T) {
	for _, test := range []struct{ name, before, after string }{
		{"nothing", "", ""},
		{"from nothing", "", "a\nb"},
		{"to nothing", "a\nb\n", ""},
		{"no last line end", "a\nb", "a\nb\n"},
		{"Windows line ends", "a\r\nb\r\n", "a\nb\n"},
		{"nothing in common", strings.Repeat("a\n", 300), strings.Repeat("b\n", 300)},
	} {
		t.Run(test.name, func(t *testing.T) { sameTexts(t, test.before, test.after) })
	}
}

func FuzzCompare(f *testing.F) {
	f.Add("a\nb\nc", "a\nc\nd\n")
	f.Fuzz(func(t *testing.T, before, after string) { sameTexts(t, before, after) })
}

// sameTexts holds a diff against what it is of: its lines make up both texts, numbered from 1.
func sameTexts(t *testing.T, before, after string) {
	t.Helper()
	var old, now []string
	for _, l := range Compare(before, after) {
		if l.Op != Insert {
			if old = append(old, l.Text); l.Old != len(old) {
				t.Fatalf("line %+v is number %d", l, len(old))
			}
		}
		if l.Op != Delete {
			if now = append(now, l.Text); l.New != len(now) {
				t.Fatalf("line %+v is number %d", l, len(now))
			}
		}
	}
	if !slices.Equal(old, plain(before)) || !slices.Equal(now, plain(after)) {
		t.Errorf("the diff of %q and %q gives %q and %q", before, after, old, now)
	}
}

func plain(text string) []string {
	var out []string
	for l := range strings.Lines(text) {
		out = append(out, strings.TrimRight(l, "\r\n"))
	}
	return out
}

func BenchmarkOpen(b *testing.B) {
	dir, versions := b.TempDir(), &kept{}
	for b.Loop() {
		book, err := Open(b.Context(), dir, versions, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := book.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSystem(b *testing.B) {
	dir := b.TempDir()
	book, err := Open(b.Context(), dir, &kept{}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer book.Close()
	past := time.Now().Add(-time.Hour)
	for _, file := range Files() {
		if err := os.Chtimes(filepath.Join(dir, file), past, past); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, err := book.System(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
