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
	s := &snapshot{taken: f.o.Now(), files: map[string]stamp{}}
	err := walk(ctx, root, "", func(path string, info fs.FileInfo, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			s.partial = true // a folder nobody may read: what a command can do there is not known
		case len(s.files) >= f.o.MaxFiles:
			s.partial = true
			return fs.SkipAll
		default:
			s.files[path] = stampOf(info)
		}
		return nil
	})
	if errors.Is(err, fs.SkipAll) {
		err = nil
	}
	return s, err
}

// maxNesting bounds how deep folders are followed.
const maxNesting = 128

// walk calls visit for every regular file below dir, and for every folder that cannot be read.
func walk(ctx context.Context, root, dir string, visit func(path string, info fs.FileInfo, err error) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if nesting(dir) > maxNesting {
		return visit(dir, nil, errTooDeep)
	}
	entries, err := readDir(filepath.Join(root, dir))
	if err != nil {
		return visit(dir, nil, err)
	}
	for _, e := range entries {
		path := e.Name()
		if dir != "" {
			path = dir + string(filepath.Separator) + path
		}
		switch {
		case e.IsDir():
			err = walk(ctx, root, path, visit)
		case e.Type().IsRegular():
			var info fs.FileInfo
			if info, err = e.Info(); err == nil || !errors.Is(err, fs.ErrNotExist) {
				err = visit(path, info, err)
			} else {
				err = nil
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var errTooDeep = errors.New("folders are nested too deep")

func nesting(dir string) int {
	n := 0
	for i := range len(dir) {
		if dir[i] == filepath.Separator {
			n++
		}
	}
	return n
}

// readDir is os.ReadDir without the sorting.
func readDir(dir string) ([]fs.DirEntry, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	entries, err := d.ReadDir(-1)
	return entries, errors.Join(err, d.Close())
}

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
