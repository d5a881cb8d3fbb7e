package policy_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/policy"
	"ash/store"
	"ash/store/storetest"
)

// place is a root with files whose origin is kept in a real store.
type place struct {
	t     testing.TB
	store *store.Store
	files *policy.Files
	root  string
	own   map[string]bool
}

func newPlace(t testing.TB) *place {
	t.Helper()
	s := storetest.Open(t)
	p := &place{t: t, store: s, root: filepath.Join(t.TempDir(), "files"), own: map[string]bool{}}
	p.ok(os.MkdirAll(p.root, 0o700))
	p.restart()
	return p
}

// restart forgets everything that is not stored.
func (p *place) restart() { p.bound(policy.FilesOptions{}) }

func (p *place) bound(o policy.FilesOptions) {
	o.Records, o.Own = p.store, func(root string) bool { return p.own[root] }
	p.files = policy.NewFiles(o)
}

func (p *place) ok(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// put writes a file as somebody outside would.
func (p *place) put(path, text string) {
	p.t.Helper()
	name := filepath.Join(p.root, path)
	p.ok(os.MkdirAll(filepath.Dir(name), 0o700))
	p.ok(os.WriteFile(name, []byte(text), 0o600))
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// wrote writes a file as Ash's own tools do.
func (p *place) wrote(path, text string, labels ...agent.Label) {
	p.t.Helper()
	p.ok(p.files.Wrote(p.t.Context(), p.root, path, hashOf(text), labels))
	p.put(path, text)
}

// run is a command over the root.
func (p *place) run(more agent.Labels, command func()) agent.Labels {
	p.t.Helper()
	labels, settle, err := p.files.Watch(p.t.Context(), p.root)
	p.ok(err)
	command()
	p.ok(settle(p.t.Context(), more))
	return labels
}

func (p *place) labels(path string) agent.Labels {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.root, path))
	p.ok(err)
	labels, err := p.files.Labels(p.t.Context(), p.root, path, hashOf(string(text)))
	p.ok(err)
	return labels
}

// bears holds that a file has exactly these untrusted sources.
func (p *place) bears(path string, sources ...string) {
	p.t.Helper()
	p.same(path, p.labels(path), sources...)
}

func (p *place) same(what string, labels agent.Labels, sources ...string) {
	p.t.Helper()
	var got []string
	for _, l := range labels {
		if l.Kind == agent.LabelUntrusted {
			got = append(got, l.Source)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(sources) {
		p.t.Errorf("%s: untrusted %q, want %q", what, got, sources)
	}
}

var evil = agent.Labels{untrusted("evil.example")}

func TestOriginOfFiles(t *testing.T) {
	p := newPlace(t)
	p.put("found.txt", "somebody's")
	p.bears("found.txt", "file:found.txt")
	p.wrote("clean.txt", "Ash wrote this")
	p.bears("clean.txt")
	p.wrote("dirty.txt", "out of a page", evil...)
	p.bears("dirty.txt", "evil.example")
	p.restart()
	p.bears("dirty.txt", "evil.example")
	p.put("clean.txt", "changed behind its back")
	p.bears("clean.txt", "file:clean.txt")
	if l, err := p.files.Labels(t.Context(), p.root, "dirty.txt", ""); err != nil || !l.Untrusted() {
		t.Errorf("contents nobody looked at: %v, %v", l, err)
	}
	for _, path := range []string{"../x", "/etc/passwd", ""} {
		if _, err := p.files.Labels(t.Context(), p.root, path, "x"); agent.CodeOf(err) != agent.CodeInvalid {
			t.Errorf("%q: %v", path, err)
		}
	}

	p.own[p.root] = true
	p.put("mine.txt", "the person's")
	p.bears("mine.txt")
	if l := p.labels("mine.txt"); len(l) != 1 || !l[0].Private || l[0].Kind != agent.LabelPrivate {
		t.Errorf("own file: %v", l)
	}
	p.wrote("mine.txt", "edited in a clean turn")
	p.bears("mine.txt")
	p.wrote("mine.txt", "edited out of a page", evil...)
	p.bears("mine.txt", "evil.example")
	p.put("mine.txt", "edited by the person")
	p.bears("mine.txt")
}

func TestCommandsPassLabelsOn(t *testing.T) {
	p := newPlace(t)
	p.wrote("a.txt", "a")
	p.same("reads", p.run(nil, func() { p.put("made.txt", "m") }))
	p.bears("made.txt")
	p.run(evil, func() { p.put("page.html", "downloaded"); p.put("deep/er/x", "y") })
	p.bears("page.html", "evil.example")
	p.bears("deep/er/x", "evil.example")
	p.same("reads", p.run(nil, func() { p.put("copy.txt", "downloaded") }), "evil.example") // it could read page.html
	p.bears("copy.txt", "evil.example")
	p.bears("made.txt")

	for _, gone := range []string{"page.html", "deep/er/x", "copy.txt"} {
		p.ok(os.Remove(filepath.Join(p.root, gone)))
	}
	p.same("reads", p.run(nil, func() {}))
	p.put("dropped.txt", "by somebody")
	p.same("reads", p.run(nil, func() {}), "file:dropped.txt")
	p.bears("dropped.txt", "file:dropped.txt")
	for i := range 6 {
		p.put(fmt.Sprintf("more/%d", i), "x")
	}
	l := p.run(nil, func() {})
	if len(l) > 4 || !strings.Contains(fmt.Sprint(l), "files in files") {
		t.Errorf("many unknown files: %v", l)
	}
}

func TestChangesThatHide(t *testing.T) {
	p := newPlace(t)
	p.own[p.root] = true
	p.put("a.txt", "before")
	p.put("b.txt", "before")
	p.put("c.txt", "before")
	old := time.Now().Add(-time.Hour)
	for _, f := range []string{"a.txt", "b.txt", "c.txt"} {
		p.ok(os.Chtimes(filepath.Join(p.root, f), old, old))
	}
	time.Sleep(150 * time.Millisecond)
	p.run(evil, func() {
		p.put("a.txt", "behind")
		p.ok(os.Chtimes(filepath.Join(p.root, "a.txt"), old, old)) // same size, same time
		p.put("new", "behind")
		p.ok(os.Rename(filepath.Join(p.root, "new"), filepath.Join(p.root, "b.txt")))
		p.ok(os.Chtimes(filepath.Join(p.root, "b.txt"), old, old))
		p.ok(os.Link(filepath.Join(p.root, "c.txt"), filepath.Join(p.root, "d.txt")))
		p.put("d.txt", "behind")
		p.put(".git/hooks/post-commit", "#!/bin/sh")
		p.ok(os.Symlink("a.txt", filepath.Join(p.root, "link")))
	})
	for _, f := range []string{"a.txt", "b.txt", "c.txt", "d.txt", ".git/hooks/post-commit"} {
		p.bears(f, "evil.example")
	}
	// Changes within the clock's grain: the stamp alone would not tell.
	for i := range 20 {
		f := fmt.Sprintf("young%d", i)
		p.put(f, "aaaa")
		p.run(evil, func() { p.put(f, "bbbb") })
		p.bears(f, "evil.example")
	}
}

func TestOwnFolderStaysOwn(t *testing.T) {
	p := newPlace(t)
	p.own[p.root] = true
	p.put("main.go", "package main")
	l := p.run(nil, func() { p.put("main", "binary") })
	p.same("reads", l)
	if len(l) != 1 || !l[0].Private {
		t.Errorf("labels: %v", l)
	}
	p.bears("main")
	p.run(evil, func() { p.put("vendor/x.go", "package x") })
	p.bears("vendor/x.go", "evil.example")
	p.bears("main.go")
	p.same("reads", p.run(nil, func() { p.put("main", "binary 2") }), "evil.example")
	p.bears("main", "evil.example")
	p.ok(p.files.Forget(t.Context(), p.root))
	p.bears("main")
	p.same("reads", p.run(nil, func() {}))
}

// TestNestedRoots: what one conversation's command did is known in every other that sees the same files.
func TestNestedRoots(t *testing.T) {
	p := newPlace(t)
	sub := filepath.Join(p.root, "sub")
	p.own[p.root], p.own[sub] = true, true
	p.put("sub/a.txt", "a")
	p.run(evil, func() { p.put("sub/a.txt", "evil") })
	link := filepath.Join(t.TempDir(), "link")
	p.ok(os.Symlink(sub, link))
	p.own[link] = true
	for _, root := range []string{sub, link} {
		l, err := p.files.Labels(t.Context(), root, "a.txt", hashOf("evil"))
		p.ok(err)
		p.same(root, l, "evil.example")
		l, settle, err := p.files.Watch(t.Context(), root)
		p.ok(err)
		p.same(root, l, "evil.example")
		p.ok(settle(t.Context(), nil))
	}
}

// TestCommandsAtTheSameTime: nobody can say which of two changed a file, so it bears the labels of both.
func TestCommandsAtTheSameTime(t *testing.T) {
	for _, mine := range []bool{false, true} {
		for _, cleanFirst := range []bool{false, true} {
			p := newPlace(t)
			p.own[p.root] = mine
			p.wrote("a.txt", "a")
			time.Sleep(120 * time.Millisecond)
			_, clean, err := p.files.Watch(t.Context(), p.root)
			p.ok(err)
			_, dirty, err := p.files.Watch(t.Context(), p.root)
			p.ok(err)
			p.put("x.txt", "x")
			p.put("a.txt", "aa")
			first, second, more, rest := clean, dirty, agent.Labels(nil), evil
			if !cleanFirst {
				first, second, more, rest = dirty, clean, evil, nil
			}
			p.ok(first(t.Context(), more))
			if !p.labels("x.txt").Untrusted() || !p.labels("a.txt").Untrusted() {
				t.Errorf("own %v, clean first %v: trusted while a command runs", mine, cleanFirst)
			}
			p.put("y.txt", "y")
			p.ok(second(t.Context(), rest))
			for _, f := range []string{"x.txt", "a.txt", "y.txt"} {
				p.bears(f, "evil.example")
			}
			if err := second(t.Context(), nil); agent.CodeOf(err) != agent.CodeConflict {
				t.Errorf("settled twice: %v", err)
			}
		}
	}
	p := newPlace(t) // two clean ones leave clean files
	_, one, err := p.files.Watch(t.Context(), p.root)
	p.ok(err)
	p.put("x.txt", "x")
	_, two, err := p.files.Watch(t.Context(), p.root)
	p.ok(err)
	p.ok(one(t.Context(), nil))
	p.ok(two(t.Context(), nil))
	p.bears("x.txt", "file:x.txt") // it was there, of unknown origin, when the second began
}

func TestWrittenWhileACommandRuns(t *testing.T) {
	p := newPlace(t)
	p.run(nil, func() { p.wrote("x.txt", "x", evil...) })
	p.bears("x.txt", "evil.example")
	p.run(evil, func() { p.wrote("y.txt", "y") })
	p.bears("y.txt", "evil.example")
}

// TestAshDiesWhileACommandRuns: what changed meanwhile in the person's own folder is a stranger's.
func TestAshDiesWhileACommandRuns(t *testing.T) {
	p := newPlace(t)
	p.own[p.root] = true
	p.put("before.txt", "b")
	time.Sleep(150 * time.Millisecond)
	_, _, err := p.files.Watch(t.Context(), p.root)
	p.ok(err)
	p.put("during.txt", "d")
	p.restart()
	p.bears("during.txt", "files in files")
	p.bears("before.txt")
	p.same("reads", p.run(nil, func() {}), "files in files")
	p.bears("during.txt", "files in files")
	p.bears("before.txt")
	time.Sleep(150 * time.Millisecond)
	p.put("after.txt", "a")
	p.bears("after.txt")
}

func TestBounds(t *testing.T) {
	p := newPlace(t)
	p.bound(policy.FilesOptions{MaxFiles: 5})
	p.wrote("a.txt", "a")
	p.run(nil, func() {
		for i := range 20 {
			p.put(fmt.Sprint("f", i), "x")
		}
	})
	p.same("reads", p.run(nil, func() {}), "files in files")
	p.own[p.root] = true
	p.run(evil, func() { p.put("b.txt", "b") })
	p.put("c.txt", "c")
	for _, f := range []string{"b.txt", "c.txt"} { // nobody looked at all of it: all of it bears the label
		if !p.labels(f).Untrusted() {
			t.Errorf("%s is trusted", f)
		}
	}
	p.bears("a.txt") // but what is known to be as Ash wrote it
	p.wrote("a.txt", "known again")
	p.bears("a.txt")

	p = newPlace(t)
	p.bound(policy.FilesOptions{MaxBytes: 10})
	p.own[p.root] = true
	p.run(evil, func() { p.put("big", strings.Repeat("x", 100)) })
	p.bears("big", "evil.example")
	p.put("big", "changed by the person, but nobody knows")
	p.bears("big", "evil.example")
}

func TestStrangeNames(t *testing.T) {
	p := newPlace(t)
	p.own[p.root] = true
	names := []string{"a\nb", "'; DROP TABLE file_records; --", "ünï", "a?b", "\xff\xfe", "\U0010FFFF", "\xff", strings.Repeat("x", 200), "-rf", "~", "*"}
	p.run(evil, func() {
		for _, n := range names {
			p.put(n, n)
		}
	})
	for _, n := range names {
		p.bears(n, "evil.example")
	}
	out, err := exec.Command("mkfifo", filepath.Join(p.root, "pipe")).CombinedOutput()
	if err != nil {
		t.Fatalf("mkfifo: %v %s", err, out)
	}
	p.same("reads", p.run(nil, func() {}), "evil.example") // nothing waits for a writer
}

func TestLinksAreNotFollowed(t *testing.T) {
	p := newPlace(t)
	outside := t.TempDir()
	p.ok(os.WriteFile(filepath.Join(outside, "x"), []byte("x"), 0o600))
	p.ok(os.Symlink(outside, filepath.Join(p.root, "out")))
	p.ok(os.Symlink(".", filepath.Join(p.root, "loop")))
	p.same("reads", p.run(nil, func() {}))
}

// TestDeepFolders: folders nested beyond all reason are not followed, and then nothing below is known.
func TestDeepFolders(t *testing.T) {
	p := newPlace(t)
	p.own[p.root] = true
	deep := strings.Repeat("d/", 140)
	p.run(evil, func() { p.put(deep+"x", "x") })
	if l, err := p.files.Labels(t.Context(), p.root, deep+"x", hashOf("x")); err != nil || !l.Untrusted() {
		t.Errorf("%v %v", l, err)
	}
}

func BenchmarkWatch20000Files(b *testing.B) {
	for _, mine := range []bool{true, false} {
		b.Run(fmt.Sprintf("own=%v", mine), func(b *testing.B) {
			p := newPlace(b)
			p.own[p.root] = mine
			_, settle, err := p.files.Watch(b.Context(), p.root)
			p.ok(err)
			for i := range 20_000 {
				p.put(fmt.Sprintf("d%d/e%d/f%d.go", i%20, i%200, i), fmt.Sprint("package x // ", i))
			}
			start := time.Now()
			p.ok(settle(b.Context(), nil))
			b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms-first-settle")
			time.Sleep(150 * time.Millisecond)
			p.run(nil, func() {})
			for b.Loop() {
				p.run(nil, func() { p.put("d1/x.go", "package x") })
			}
		})
	}
}
