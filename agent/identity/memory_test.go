package identity

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"ash/agent"
)

// kept keeps versions the way the store does, in memory.
type kept struct {
	mu     sync.Mutex
	all    []Version
	broken error // returned by AddVersion instead of keeping
}

func (k *kept) AddVersion(_ context.Context, v Version) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.broken == nil {
		k.all = append(k.all, v)
	}
	return k.broken
}

func (k *kept) LatestVersion(_ context.Context, file string) (Version, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, v := range slices.Backward(k.all) {
		if v.File == file {
			return v, nil
		}
	}
	return Version{}, agent.Errorf(agent.CodeNotFound, "none")
}

func (k *kept) ListVersions(_ context.Context, file string, limit int) ([]Version, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []Version
	for _, v := range slices.Backward(k.all) {
		if v.File == file && len(out) < limit {
			v.Text = ""
			out = append(out, v)
		}
	}
	return out, nil
}

func (k *kept) Version(_ context.Context, id agent.ID) (Version, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, v := range k.all {
		if v.ID == id {
			return v, nil
		}
	}
	return Version{}, agent.Errorf(agent.CodeNotFound, "none")
}

func (k *kept) fail(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.broken = err
}

// sources lists how the versions of a file came to be, oldest first.
func (k *kept) sources(file string) []Source {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []Source
	for _, v := range k.all {
		if v.File == file {
			out = append(out, v.Source)
		}
	}
	return out
}

// home is a workspace with its book and everything the book told.
type home struct {
	*Book
	dir      string
	versions *kept
	changes  chan Document
}

func (h *home) path(file string) string { return filepath.Join(h.dir, file) }

func newHome(t *testing.T) *home {
	t.Helper()
	h := &home{dir: filepath.Join(t.TempDir(), "workspace"), versions: &kept{}}
	h.open(t)
	return h
}

// open opens the book, anew if it was open before.
func (h *home) open(t *testing.T) {
	t.Helper()
	h.changes = make(chan Document, 100)
	changes := h.changes
	b, err := Open(t.Context(), h.dir, h.versions, Options{OnChange: func(d Document) { changes <- d }, Debounce: 30 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	h.Book = b
	t.Cleanup(func() {
		if err := b.Close(); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// blind stops the watcher, so that only reading can notice a change.
func (h *home) blind(t *testing.T) {
	t.Helper()
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
}

func (h *home) read(t *testing.T, file string) Document {
	t.Helper()
	doc, err := h.Read(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// told waits for the book to tell of a change.
func (h *home) told(t *testing.T) Document {
	t.Helper()
	select {
	case d := <-h.changes:
		return d
	case <-time.After(3 * time.Second):
		t.Fatal("no change was told")
		return Document{}
	}
}
