package notes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// maxWatched bounds the folders that are watched: each is one of the watches that the system grants to all programs of a person.
	maxWatched = 2000
	// maxOpened bounds the files in them on systems that open every one of them (kqueue).
	maxOpened = 1000
	// maxPending bounds the notes that are looked at one by one.
	maxPending = 200
	// maxWait is how many times Debounce a file that never rests is waited for.
	maxWait = 10
)

// watcher waits for changes below the folder and looks at them once they have calmed down. It watches folders, not files,
// because many editors save by writing a new file and renaming it over the old one. All but close runs in its goroutine.
type watcher struct {
	folder *Folder
	fs     *fsnotify.Watcher // nil when there is none
	dirs   map[string]bool   // folders that are watched
	opened int               // files in them
	took   time.Duration     // to look at everything, lately
	cancel context.CancelFunc
	done   chan struct{}

	pending    map[string]bool // notes that changed
	everything bool            // more than that may have
	since      time.Time       // when the first of these was told; zero for none
}

// watch starts the watcher's goroutine, which begins with a scan.
func (f *Folder) watch(ctx context.Context) *watcher {
	w := &watcher{folder: f, dirs: map[string]bool{}, pending: map[string]bool{}, everything: true, done: make(chan struct{})}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w.cancel = cancel
	go w.run(running)
	return w
}

func (w *watcher) close() {
	w.cancel()
	<-w.done
}

// open asks the system to tell of changes.
func (w *watcher) open(ctx context.Context) {
	if w.folder.options.Unwatched {
		return
	}
	var err error
	if w.fs, err = fsnotify.NewWatcher(); err != nil {
		w.fs = nil
		w.poll(ctx, err)
	}
}

// poll gives up watching: everything is looked at from time to time instead. What is watched is given back, so that other programs of
// the person can watch their files.
func (w *watcher) poll(ctx context.Context, cause error) {
	reason := cause.Error()
	switch {
	case errors.Is(cause, syscall.ENOSPC):
		reason = "the system grants no more watched folders (Linux: fs.inotify.max_user_watches)"
	case errors.Is(cause, syscall.EMFILE):
		reason = "the system grants no more watchers or open files (Linux: fs.inotify.max_user_instances)"
	}
	w.shut(ctx)
	w.folder.log.WarnContext(ctx, "the notes folder is not watched: changes by other programs are found by looking at all notes from time to time",
		slog.String("reason", reason), slog.Duration("every", w.every()))
}

func (w *watcher) shut(ctx context.Context) {
	if w.fs == nil {
		return
	}
	if err := w.fs.Close(); err != nil {
		w.folder.log.WarnContext(ctx, "the watcher of the notes folder did not end well", slog.Any("error", err))
	}
	w.fs = nil
	clear(w.dirs)
}

// enter watches a folder that is about to be read: what comes into it from now on is told.
func (w *watcher) enter(ctx context.Context, name string) {
	if w.fs == nil {
		return
	}
	if !w.dirs[name] && len(w.dirs) >= w.folder.options.MaxWatched {
		w.poll(ctx, fmt.Errorf("there are more than %d folders", w.folder.options.MaxWatched))
		return
	}
	where := filepath.Join(w.folder.dir, filepath.FromSlash(name))
	if opensFiles(runtime.GOOS) && !w.dirs[name] {
		entries, err := os.ReadDir(where)
		if w.opened += len(entries); err == nil && w.opened > maxOpened {
			w.poll(ctx, fmt.Errorf("there are more than %d files, and this system opens each", maxOpened))
			return
		}
	}
	if err := w.fs.Add(where); err == nil {
		w.dirs[name] = true
	} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) { // those a scan speaks of
		w.poll(ctx, err)
	}
}

// opensFiles reports whether watching a folder opens all files in it.
func opensFiles(system string) bool {
	return slices.Contains([]string{"darwin", "ios", "freebsd", "netbsd", "openbsd", "dragonfly"}, system)
}

// leave forgets a folder that is gone from its place, with those below it. One that was moved is watched again under its new name.
func (w *watcher) leave(name string) {
	for dir := range w.dirs {
		if dir == name || name == "." || strings.HasPrefix(dir, name+"/") {
			delete(w.dirs, dir)
			if w.fs != nil {
				_ = w.fs.Remove(filepath.Join(w.folder.dir, filepath.FromSlash(dir))) // the system may have let it go already
			}
		}
	}
}

// every is how often everything is looked at.
func (w *watcher) every() time.Duration {
	switch {
	case w.folder.options.Rescan > 0:
		return w.folder.options.Rescan
	case w.fs != nil:
		return 10 * time.Minute
	}
	return max(20*time.Second, 50*w.took)
}

func (w *watcher) run(ctx context.Context) {
	defer close(w.done)
	if after := w.folder.options.After; after != nil {
		select {
		case <-after:
		case <-ctx.Done():
			return
		}
	}
	w.open(ctx)
	defer func() { w.shut(context.WithoutCancel(ctx)) }()
	calm := time.NewTimer(0) // the first scan
	defer calm.Stop()
	again := time.NewTimer(w.every())
	defer again.Stop()
	for {
		var events chan fsnotify.Event
		var failures chan error
		if w.fs != nil {
			events, failures = w.fs.Events, w.fs.Errors
		}
		select {
		case <-ctx.Done():
			return
		case e, ok := <-events:
			if !ok {
				return
			}
			if w.take(e) {
				calm.Reset(w.wait())
			}
		case _, ok := <-failures:
			if !ok {
				return
			}
			w.everything = true // most likely the queue overflowed: what was missed is unknown
			calm.Reset(w.wait())
		case <-again.C:
			w.everything = true
			calm.Reset(0)
		case <-calm.C:
			if w.look(ctx) { // something was being written
				w.everything = true
				calm.Reset(20 * w.folder.options.Debounce)
			}
			again.Reset(w.every())
		}
	}
}

// wait is how long to wait for more: until nothing comes, but not for ever.
func (w *watcher) wait() time.Duration {
	now := time.Now()
	if w.since.IsZero() {
		w.since = now
	}
	d := w.folder.options.Debounce
	return max(0, min(d, maxWait*d-now.Sub(w.since)))
}

// take notes what an event is about and reports whether it concerns notes.
func (w *watcher) take(e fsnotify.Event) bool {
	name, visible := w.name(e)
	if !visible || e.Op == fsnotify.Chmod {
		return false
	}
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		if w.dirs[name] {
			w.leave(name)
			w.everything = true
			return true
		}
	} else if e.Has(fsnotify.Create) {
		if info, err := os.Lstat(e.Name); err == nil && info.IsDir() {
			w.everything = true
			return true
		}
	}
	if !isNote(name) || w.dirs[name] { // what editors leave beside notes, and pictures
		return false
	}
	if w.pending[name] = true; len(w.pending) > maxPending {
		clear(w.pending)
		w.everything = true
	}
	return true
}

// name returns the path below the folder that an event is about, and whether Ash looks at such names.
func (w *watcher) name(e fsnotify.Event) (string, bool) {
	rel, err := filepath.Rel(w.folder.dir, e.Name)
	if err != nil {
		return "", false
	}
	name := filepath.ToSlash(rel)
	return name, name == "." || readable(name)
}

// look reads what changed and says whether to look again soon.
func (w *watcher) look(ctx context.Context) (again bool) {
	pending, everything := w.pending, w.everything
	w.pending, w.everything, w.since = map[string]bool{}, false, time.Time{}
	if everything {
		began := time.Now()
		report, err := w.folder.scan(ctx, pass{enter: func(name string) { w.enter(ctx, name) }})
		if err != nil && ctx.Err() == nil {
			w.folder.log.WarnContext(ctx, "notes not scanned", slog.Any("error", err))
		}
		w.took = time.Since(began)
		return report.Busy
	}
	for _, name := range w.goneFirst(pending) {
		if ctx.Err() != nil {
			return false
		}
		if _, err := w.folder.Read(ctx, name); err != nil && ctx.Err() == nil {
			w.folder.log.WarnContext(ctx, "note not read", slog.String("note", name), slog.Any("error", err))
			again = again || isBusy(err)
		}
	}
	return again
}

// goneFirst orders notes so that what is known of one that was moved is known before it turns up.
func (w *watcher) goneFirst(pending map[string]bool) []string {
	var gone, there []string
	for name := range pending {
		if _, err := os.Lstat(filepath.Join(w.folder.dir, filepath.FromSlash(name))); err != nil {
			gone = append(gone, name)
		} else {
			there = append(there, name)
		}
	}
	return append(gone, there...)
}
