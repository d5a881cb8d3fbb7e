package policy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

// stamp is what a file's status says of its contents. Commands can set the time of the last change of contents, but not
// the time of the last change of status.
type stamp struct {
	size    int64
	inode   uint64
	device  uint64
	mode    fs.FileMode
	content int64 // nanoseconds, mtime
	status  int64 // nanoseconds, ctime; 0 where there is none
}

// clockSlack is how coarse the clocks of file systems are: changes within it may bear the same time.
const clockSlack = 100 * time.Millisecond

// settled reports whether the stamp would differ if the file had changed after the time of the snapshot.
func (s stamp) settled(at time.Time) bool {
	return s.status != 0 && s.status < at.Add(-clockSlack).UnixNano()
}

// snapshot is a root at a moment.
type snapshot struct {
	taken   time.Time
	files   map[string]stamp // regular files by path relative to the root
	partial bool             // not everything could be looked at
}

// take walks a root. Links are not followed; what is neither file nor folder has no contents.
func (f *Files) take(ctx context.Context, root string) (*snapshot, error) {
	w := &walk{
		ctx: ctx, root: root, most: f.o.MaxFiles, slots: make(chan struct{}, runtime.GOMAXPROCS(0)-1),
		snapshot: &snapshot{taken: f.o.Now(), files: map[string]stamp{}},
	}
	w.folder("", 0)
	w.group.Wait()
	return w.snapshot, ctx.Err()
}

// maxNesting bounds how deep folders are followed.
const maxNesting = 128

// walk looks at every file of a root, several folders at a time.
type walk struct {
	ctx   context.Context
	root  string
	most  int
	slots chan struct{}
	group sync.WaitGroup

	mu sync.Mutex
	*snapshot
}

// found is a file of a folder.
type found struct {
	path string
	stamp
}

func (w *walk) folder(dir string, depth int) {
	if w.ctx.Err() != nil || w.full() {
		return
	}
	entries, err := readDir(filepath.Join(w.root, dir), w.most)
	if depth > maxNesting || (err != nil && !errors.Is(err, fs.ErrNotExist)) {
		w.add(nil, true) // a folder nobody may read: what a command can do there is not known
		return
	}
	var files []found
	partial := false
	for _, e := range entries {
		path := e.Name()
		if dir != "" {
			path = dir + string(filepath.Separator) + path
		}
		switch {
		case e.IsDir():
			select {
			case w.slots <- struct{}{}:
				w.group.Go(func() {
					w.folder(path, depth+1)
					<-w.slots
				})
			default:
				w.folder(path, depth+1)
			}
		case e.Type().IsRegular():
			info, err := e.Info()
			if err == nil {
				files = append(files, found{path, stampOf(info)})
			}
			partial = partial || (err != nil && !errors.Is(err, fs.ErrNotExist))
		}
	}
	w.add(files, partial)
}

// full reports whether there is room for no more files. What is left out is noted when the bound is passed.
func (w *walk) full() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.partial && len(w.files) >= w.most
}

// add takes the files of a folder, as far as the bound allows.
func (w *walk) add(files []found, partial bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if room := w.most - len(w.files); len(files) > room {
		files, partial = files[:max(room, 0)], true
	}
	for _, f := range files {
		w.files[f.path] = f.stamp
	}
	w.partial = w.partial || partial
}

// readDir is os.ReadDir without the sorting. A folder with more than most entries is an error.
func readDir(dir string, most int) ([]fs.DirEntry, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	entries, err := d.ReadDir(most + 1) // goes on to the end or the bound
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if len(entries) > most {
		err = errTooMany
	}
	return entries, errors.Join(err, d.Close())
}

var errTooMany = errors.New("the folder has too many entries")

// hashed is the hash that a file had when it bore a stamp.
type hashed struct {
	stamp stamp
	at    time.Time // when it was read
	hash  [sha256.Size]byte
}

// maxHashes is how many hashes are remembered; past it, those that were not used since it was passed last go.
const maxHashes = 100_000

// hasher hashes files by absolute path, as far as there is room.
type hasher struct {
	files *Files
	room  int64 // bytes left
}

func (f *Files) hasher() *hasher { return &hasher{files: f, room: f.o.MaxBytes} }

// hash returns the hash of a file that has this stamp; ok is false when it cannot be read, changes meanwhile or is beyond what there is room for.
// The caller holds the lock of Files.
func (h *hasher) hash(path string, s stamp) (sum string, ok bool) {
	f := h.files
	known, found := f.hashes[path]
	if !found {
		known, found = f.older[path]
	}
	if !found || known.stamp != s || !s.settled(known.at) {
		if s.size > h.room {
			return "", false
		}
		h.room -= s.size
		known = hashed{stamp: s, at: time.Now()}
		var err error
		if known.hash, err = hashFile(path, s); err != nil {
			return "", false
		}
	}
	if len(f.hashes) >= maxHashes {
		f.older, f.hashes = f.hashes, map[string]hashed{}
	}
	f.hashes[path] = known
	return hex.EncodeToString(known.hash[:]), true
}

// now returns the hash of a file as it is; ok is false when it cannot be read, or not with the room there is.
func (h *hasher) now(path string) (sum string, ok, there bool) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", false, !errors.Is(err, fs.ErrNotExist)
	}
	if !info.Mode().IsRegular() {
		return "", false, false // a folder or a link took its place
	}
	sum, ok = h.hash(path, stampOf(info))
	return sum, ok, true
}

var errChanged = errors.New("the file is another one by now")

func hashFile(name string, s stamp) (sum [sha256.Size]byte, err error) {
	file, err := openFile(name)
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return sum, err
	}
	if stampOf(info) != s {
		return sum, errChanged
	}
	digest := sha256.New()
	if _, err := io.Copy(digest, io.LimitReader(file, s.size+1)); err != nil {
		return sum, err
	}
	if info, err = file.Stat(); err != nil {
		return sum, err
	}
	if stampOf(info) != s {
		return sum, errChanged
	}
	digest.Sum(sum[:0])
	return sum, nil
}
