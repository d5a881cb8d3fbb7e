package notes

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// maxWatched bounds the folders that are watched, and maxPending the notes that are looked at one by one.
const (
	maxWatched = 2000
	maxPending = 200
)

// watcher waits for changes below the folder and looks at them once they have calmed down. It watches folders, not files,
// because many editors save by writing a new file and renaming it over the old one.
type watcher struct {
	folder *Folder
	fs     *fsnotify.Watcher // nil when there is none
	cancel context.CancelFunc
	done   chan struct{}
	whole  bool // every folder is watched
}

// watch starts the watcher's goroutine, which begins with a scan.
func (f *Folder) watch(ctx context.Context) *watcher {
	w := &watcher{folder: f, done: make(chan struct{})}
	if !f.options.Unwatched {
		fsw, err := fsnotify.NewWatcher()
		if err != nil {
			f.log.WarnContext(ctx, "notes are not watched; changes show at the next look", slog.Any("error", err))
		} else {
			w.fs = fsw
			w.add(ctx)
		}
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w.cancel = cancel
	go w.run(running)
	return w
}

// add watches every folder that is not watched yet.
func (w *watcher) add(ctx context.Context) {
	if w.fs == nil {
		return
	}
	root, err := w.folder.root()
	if err != nil {
		w.whole = false
		return
	}
	defer func() { _ = root.Close() }() // a handle of the folder holds no data
	w.whole = true
	n := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || !e.IsDir():
			return nil //nolint:nilerr // what cannot be read cannot be watched; a scan says so
		case name != "." && !readable(name):
			return fs.SkipDir
		case n == maxWatched:
			w.whole = false
			return fs.SkipAll
		}
		n++
		if err := w.fs.Add(filepath.Join(w.folder.dir, filepath.FromSlash(name))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.whole = false
			w.folder.log.WarnContext(ctx, "folder of notes not watched", slog.String("folder", name), slog.Any("error", err))
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		w.whole = false
	}
}

// every is how often everything is looked at.
func (w *watcher) every() time.Duration {
	switch {
	case w.folder.options.Rescan > 0:
		return w.folder.options.Rescan
	case w.whole:
		return 10 * time.Minute
	}
	return 20 * time.Second
}

func (w *watcher) run(ctx context.Context) {
	defer close(w.done)
	var events chan fsnotify.Event
	var failures chan error
	if w.fs != nil {
		events, failures = w.fs.Events, w.fs.Errors
	}
	calm := time.NewTimer(0) // the first scan
	defer calm.Stop()
	again := time.NewTimer(w.every())
	defer again.Stop()
	pending, everything := map[string]bool{}, true
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-events:
			if !ok {
				return
			}
			name, concerns := w.name(e)
			if !concerns {
				continue
			}
			if !isNote(name) || len(pending) >= maxPending {
				everything = true // a folder came or went, most likely
			} else {
				pending[name] = true
			}
			calm.Reset(w.folder.options.Debounce)
		case _, ok := <-failures:
			if !ok {
				return
			}
			everything = true // most likely the queue overflowed: what was missed is unknown
			calm.Reset(w.folder.options.Debounce)
		case <-again.C:
			everything = true
			calm.Reset(0)
		case <-calm.C:
			busy := w.look(ctx, pending, everything)
			pending, everything = map[string]bool{}, busy
			if busy {
				calm.Reset(20 * w.folder.options.Debounce)
			}
			again.Reset(w.every())
		}
	}
}

// name returns the path below the folder that an event is about, and whether it concerns notes.
func (w *watcher) name(e fsnotify.Event) (string, bool) {
	rel, err := filepath.Rel(w.folder.dir, e.Name)
	if err != nil || e.Op == fsnotify.Chmod {
		return "", false
	}
	name := filepath.ToSlash(rel)
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") && part != "." {
			return "", false
		}
	}
	return name, isNote(name) || filepath.Ext(name) == "" || e.Has(fsnotify.Create) || e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)
}

// look reads what changed and says whether to look again soon.
func (w *watcher) look(ctx context.Context, pending map[string]bool, everything bool) (again bool) {
	if everything {
		w.add(ctx) // before the scan: what comes after it in a new folder is told
		report, err := w.folder.Scan(ctx)
		if err != nil && ctx.Err() == nil {
			w.folder.log.WarnContext(ctx, "notes not scanned", slog.Any("error", err))
		}
		return report.Busy
	}
	for name := range pending {
		if _, err := w.folder.Read(ctx, name); err != nil && ctx.Err() == nil {
			w.folder.log.WarnContext(ctx, "note not read", slog.String("note", name), slog.Any("error", err))
			again = again || isBusy(err)
		}
	}
	return again
}

func (w *watcher) close() error {
	w.cancel()
	var err error
	if w.fs != nil {
		err = w.fs.Close()
	}
	<-w.done
	return err
}
