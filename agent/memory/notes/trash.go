package notes

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"ash/agent"
)

// trash is the folder of deleted notes: .trash/<id>/<path as it was>.
const trash = ".trash"

// Trashed is a deleted note.
type Trashed struct {
	ID      agent.ID
	Path    string // where it was
	Size    int64
	Deleted time.Time
}

// Delete moves a note that is still as the caller saw it (base) to the trash. CodeConflict when it changed.
func (f *Folder) Delete(ctx context.Context, name, base string) (Trashed, error) {
	if err := checkPath(name); err != nil {
		return Trashed{}, err
	}
	root, err := f.root()
	if err != nil {
		return Trashed{}, err
	}
	defer func() { _ = root.Close() }() // a handle of the folder holds no data
	f.mu.Lock()
	gone, err := f.remove(ctx, root, name, base)
	f.mu.Unlock()
	if err == nil {
		f.tell(name)
	}
	return gone, err
}

func (f *Folder) remove(ctx context.Context, root *os.Root, name, base string) (Trashed, error) {
	now, _, err := f.refresh(ctx, root, name)
	if err != nil {
		return Trashed{}, err
	}
	if now.Missing || now.Hash != base {
		return Trashed{}, errChanged(now)
	}
	gone := Trashed{ID: agent.NewID(), Path: name, Size: now.Size, Deleted: time.Now().UTC()}
	to := path.Join(trash, string(gone.ID), name)
	if err := makeFolder(root, path.Dir(to)); err != nil {
		return Trashed{}, err
	}
	if err := root.Rename(name, to); err != nil {
		return Trashed{}, fileError(err, name+" cannot be deleted")
	}
	if err := errors.Join(syncDir(root, path.Dir(to)), syncDir(root, path.Dir(name))); err != nil {
		return Trashed{}, err
	}
	_, _, err = f.refresh(ctx, root, name)
	return gone, err
}

// Trash lists deleted notes, newest first, at most limit.
func (f *Folder) Trash(_ context.Context, limit int) ([]Trashed, error) {
	root, err := f.root()
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // a handle of the folder holds no data
	entries, err := fs.ReadDir(root.FS(), trash)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fileError(err, "The trash cannot be read")
	}
	slices.Reverse(entries) // ids are in the order of time
	var out []Trashed
	for _, e := range entries {
		if len(out) == limit {
			break
		}
		if t, err := trashed(root, agent.ID(e.Name())); err == nil {
			out = append(out, t)
		}
	}
	return out, nil
}

// trashed finds the one note below an id.
func trashed(root *os.Root, id agent.ID) (Trashed, error) {
	u, err := uuid.Parse(string(id))
	if err != nil || u.String() != string(id) {
		return Trashed{}, agent.Wrap(agent.CodeNotFound, err, "That is not in the trash.")
	}
	t := Trashed{ID: id}
	if sec, nsec := u.Time().UnixTime(); u.Version() == 7 {
		t.Deleted = time.Unix(sec, nsec).UTC()
	}
	base := path.Join(trash, string(id))
	err = fs.WalkDir(root.FS(), base, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		t.Path, t.Size = strings.TrimPrefix(name, base+"/"), info.Size()
		return fs.SkipAll
	})
	if errors.Is(err, fs.ErrNotExist) || (err == nil && !isNote(t.Path)) {
		return Trashed{}, agent.Wrap(agent.CodeNotFound, err, "That is not in the trash.")
	}
	if err != nil {
		return Trashed{}, fileError(err, "The trash cannot be read")
	}
	return t, nil
}

// Restore brings a deleted note back to where it was. CodeConflict when another is there by now; CodeNotFound.
func (f *Folder) Restore(ctx context.Context, id agent.ID) (Note, error) {
	root, err := f.root()
	if err != nil {
		return Note{}, err
	}
	defer func() { _ = root.Close() }() // a handle of the folder holds no data
	f.mu.Lock()
	note, err := f.restore(ctx, root, id)
	f.mu.Unlock()
	if err == nil {
		f.tell(note.Path)
	}
	return note, err
}

func (f *Folder) restore(ctx context.Context, root *os.Root, id agent.ID) (Note, error) {
	t, err := trashed(root, id)
	if err != nil {
		return Note{}, err
	}
	if _, err := look(root, t.Path); err != nil { // it would go through a link
		return Note{}, err
	}
	if err := move(root, path.Join(trash, string(id), t.Path), t.Path); err != nil {
		return Note{}, err
	}
	note, _, err := f.refresh(ctx, root, t.Path)
	if err != nil {
		return Note{}, err
	}
	return note, discard(root, id)
}

// Purge removes a deleted note for good. CodeNotFound.
func (f *Folder) Purge(_ context.Context, id agent.ID) error {
	root, err := f.root()
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // a handle of the folder holds no data
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := trashed(root, id); err != nil {
		return err
	}
	return discard(root, id)
}

// TrashedText returns the text of a deleted note, as far as Read would show it. CodeNotFound.
func (f *Folder) TrashedText(_ context.Context, id agent.ID) (string, error) {
	root, err := f.root()
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }() // a handle of the folder holds no data
	t, err := trashed(root, id)
	if err != nil {
		return "", err
	}
	c, err := readContent(root, path.Join(trash, string(id), t.Path))
	return c.text, err
}

func discard(root *os.Root, id agent.ID) error {
	if err := root.RemoveAll(path.Join(trash, string(id))); err != nil {
		return fileError(err, "The trash cannot be emptied")
	}
	return syncDir(root, trash)
}
