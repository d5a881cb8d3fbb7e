package store

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"ash/agent/memory/notes"
)

// journal keeps what is logged.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

// watched is a shelf whose watcher is quick and which never looks at everything by itself again.
func watched(t testing.TB, o notes.Options) (*shelf, *journal) {
	t.Helper()
	j := &journal{}
	o.Log = slog.New(slog.NewTextHandler(j, nil))
	if o.Debounce == 0 {
		o.Debounce = 10 * time.Millisecond
	}
	if o.Rescan == 0 {
		o.Rescan = time.Hour
	}
	s := openShelf(t, o)
	s.put("first.md", "first")
	s.until("the watcher is at work", func() bool { _, ok := s.row("first.md"); return ok })
	return s, j
}

func (s *shelf) titled(name, title string) func() bool {
	return func() bool { r, ok := s.row(name); return ok && r.Title == title }
}

// Editors save in many ways; each is seen.
func TestNoteSavedByEditors(t *testing.T) {
	s, _ := watched(t, notes.Options{})
	s.put("sub/a.md", "# 0")
	s.until("the note is seen", s.titled("sub/a.md", "0"))
	path := s.at("sub/a.md")
	for i, save := range map[string]func(text string) error{
		"in place":                     func(text string) error { return os.WriteFile(path, []byte(text), 0o600) },
		"hidden file renamed over it":  func(text string) error { return replaced(path, s.at("sub/.a.md.swp"), text) },
		"visible file renamed over it": func(text string) error { return replaced(path, s.at("sub/a.md~"), text) },
		"from another folder":          func(text string) error { return replaced(path, filepath.Join(filepath.Dir(s.dir), "tmp"), text) },
		"deleted, then written":        func(text string) error { return errors.Join(os.Remove(path), os.WriteFile(path, []byte(text), 0o600)) },
		"moved away as a backup, as vim": func(text string) error {
			return errors.Join(os.WriteFile(s.at("sub/4913"), nil, 0o600), os.Remove(s.at("sub/4913")), os.Rename(path, path+"~"),
				os.WriteFile(path, []byte(text), 0o600), os.Remove(path+"~"))
		},
	} {
		t.Run(i, func(t *testing.T) {
			if err := save("# " + i); err != nil {
				t.Fatal(err)
			}
			s.t = t
			s.until("saved "+i, s.titled("sub/a.md", i))
		})
	}
}

func replaced(path, temp, text string) error {
	return errors.Join(os.WriteFile(temp, []byte(text), 0o600), os.Rename(temp, path))
}

// A folder that is moved with folders in it is watched where it is now, and not where it was.
func TestNoteFolderMoved(t *testing.T) {
	s, _ := watched(t, notes.Options{})
	s.put("a/b/c/deep.md", "# 1")
	s.until("a deep note is seen", s.titled("a/b/c/deep.md", "1"))
	s.must(os.Rename(s.at("a"), s.at("z")))
	s.until("it is seen at its new place", s.titled("z/b/c/deep.md", "1"))
	s.put("z/b/c/deep.md", "# 2")
	s.until("a change at its new place is seen", s.titled("z/b/c/deep.md", "2"))
	s.put("a/b/c/deep.md", "# 3")
	s.until("another at the old place is seen", s.titled("a/b/c/deep.md", "3"))
	s.put("a/b/c/deep.md", "# 4")
	s.put("z/b/c/deep.md", "# 5")
	s.until("both are watched", func() bool { return s.titled("a/b/c/deep.md", "4")() && s.titled("z/b/c/deep.md", "5")() })
	s.must(os.RemoveAll(s.dir))
	s.until("the folder is gone", func() bool { _, ok := s.row("z/b/c/deep.md"); return !ok })
	s.put("new/start.md", "# 6")
	s.until("a new folder in its place is watched", s.titled("new/start.md", "6"))
	s.put("new/start.md", "# 7")
	s.until("and what is below it", s.titled("new/start.md", "7"))
}

// A note that is never at rest is looked at all the same.
func TestNoteThatNeverRests(t *testing.T) {
	s, _ := watched(t, notes.Options{Debounce: 100 * time.Millisecond})
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-end:
				return
			case <-time.After(20 * time.Millisecond):
				_ = replaced(s.at("log.md"), s.at(".log"), fmt.Sprintf("# Log\n%d\n", i))
			}
		}
	}()
	s.until("it is seen while it is written", s.titled("log.md", "Log"))
	close(end)
	<-ended
}

// With more folders than may be watched, none is, the log says so once, and changes are found all the same.
func TestNoteFoldersBeyondTheLimit(t *testing.T) {
	s, j := watched(t, notes.Options{MaxWatched: 3, Rescan: 30 * time.Millisecond})
	if strings.Contains(j.String(), "not watched") {
		t.Fatal(j)
	}
	for i := range 6 {
		s.put(fmt.Sprintf("f%d/a.md", i), "# 1")
	}
	s.until("a note in the last folder is seen", s.titled("f5/a.md", "1"))
	s.until("the log says that nothing is watched", func() bool { return strings.Contains(j.String(), "there are more than 3 folders") })
	s.put("f0/a.md", "# 2")
	s.until("a change is found", s.titled("f0/a.md", "2"))
	time.Sleep(200 * time.Millisecond) // several looks
	if n := strings.Count(j.String(), "\n"); n != 1 {
		t.Errorf("the log has %d lines: %s", n, j)
	}
	if n := watches(t); n > 0 {
		t.Errorf("%d watches are held", n)
	}
}

// watches counts the inotify watches of this process, of which only the shelf has any.
func watches(t testing.TB) (n int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	infos, err := filepath.Glob("/proc/self/fdinfo/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range infos {
		if b, err := os.ReadFile(name); err == nil { // one may be closed by now
			n += strings.Count(string(b), "inotify wd:")
		}
	}
	return n
}

// The watcher costs one descriptor and a watch for each folder, and leaves nothing behind.
func TestNoteWatcherCosts(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("counts what Linux grants")
	}
	before, threads := watches(t), runtime.NumGoroutine()
	s, _ := watched(t, notes.Options{})
	for i := range 20 {
		s.put(fmt.Sprintf("f%02d/%d.md", i%10, i), "x")
	}
	s.until("all are seen", func() bool { _, ok := s.row("f09/19.md"); _, ok2 := s.row("f00/0.md"); return ok && ok2 })
	s.until("11 folders are watched", func() bool { return watches(t)-before == 11 })
	s.must(os.RemoveAll(s.at("f09")))
	s.until("10 folders are watched", func() bool { return watches(t)-before == 10 })
	s.must(s.Close())
	if n := watches(t) - before; n != 0 {
		t.Errorf("%d watches are left", n)
	}
	s.until("no goroutine is left", func() bool { return runtime.NumGoroutine() <= threads+4 }) // the database's connections
}

// BenchmarkNoteChange is one note of 20,000 in 100 folders that another program changes, until its row says so, with the wait
// for the editor to finish as it is in use. What the watcher holds meanwhile is logged.
func BenchmarkNoteChange(b *testing.B) {
	s := &shelf{t: b, dir: filepath.Join(b.TempDir(), "notes"), store: vectorStore(b)}
	old := time.Now().Add(-time.Hour)
	for i := range 20_000 {
		name := fmt.Sprintf("f%02d/note %d.md", i/200, i)
		s.put(name, fmt.Sprintf("# Note %d\n%s\n", i, strings.Repeat("some words of it ", 50)))
		if err := os.Chtimes(s.at(name), old, old); err != nil {
			b.Fatal(err)
		}
	}
	began := time.Now()
	s.open(notes.Options{})
	b.Logf("Open returned after %v", time.Since(began))
	for s.count() < 20_000 {
		if time.Since(began) > 5*time.Minute {
			b.Fatal("the first scan does not end")
		}
		time.Sleep(10 * time.Millisecond)
	}
	b.Logf("all had rows after %v", time.Since(began))
	runtime.GC()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	b.Logf("heap %d KB, %d goroutines, %d watches", mem.HeapAlloc>>10, runtime.NumGoroutine(), watches(b))
	i := 0
	for b.Loop() {
		i++
		title := fmt.Sprint("changed ", i)
		s.put("f50/note 10000.md", "# "+title)
		s.until("the change is seen", s.titled("f50/note 10000.md", title))
	}
}
