package identity

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// watcher waits for changes in the folder and reports them once they have
// calmed down. It watches the folder, not the files, because many editors save
// by writing a new file and renaming it over the old one.
type watcher struct {
	fs     *fsnotify.Watcher
	cancel context.CancelFunc
	done   chan struct{}
}

// watch starts a watcher whose goroutine calls noticed until close.
func watch(dir string, debounce time.Duration, noticed func(context.Context, []string)) (*watcher, error) {
	fsw, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	if err := fsw.Add(dir); err != nil {
		return nil, errors.Join(err, fsw.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &watcher{fs: fsw, cancel: cancel, done: make(chan struct{})}
	go w.run(ctx, debounce, noticed)
	return w, nil
}

func (w *watcher) run(ctx context.Context, debounce time.Duration, noticed func(context.Context, []string)) {
	defer close(w.done)
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	var pending []string
	mark := func(files ...string) {
		for _, f := range files {
			if slices.Contains(Files(), f) && !slices.Contains(pending, f) {
				pending = append(pending, f)
			}
		}
		if len(pending) > 0 {
			timer.Reset(debounce)
		}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-w.fs.Events:
			if !ok {
				return
			}
			mark(filepath.Base(e.Name))
		case _, ok := <-w.fs.Errors:
			if !ok {
				return
			}
			// Most likely the queue overflowed: what was missed is unknown, so look at everything.
			mark(Files()...)
		case <-timer.C:
			noticed(ctx, pending)
			pending = nil
		}
	}
}

func (w *watcher) close() error {
	w.cancel()
	err := w.fs.Close()
	<-w.done
	return err
}
