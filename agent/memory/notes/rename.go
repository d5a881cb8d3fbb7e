package notes

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path"
	"slices"

	"ash/agent"
)

// Renamed is what Rename did.
type Renamed struct {
	Note    Note
	Updated []string // notes whose links were changed
	Failed  []string // notes whose links could not be: they were changed or are written elsewhere meanwhile
}

// Rename moves a note that is still as the caller saw it (base) to a new path and changes the links to it in other notes. Labels and
// record go along. Errors: CodeConflict when the note changed or the path is taken; CodeInvalid for the path.
func (f *Folder) Rename(ctx context.Context, from, to, base string) (Renamed, error) {
	if err := checkPath(from); err != nil {
		return Renamed{}, err
	}
	if err := checkNew(to); err != nil {
		return Renamed{}, err
	}
	root, err := f.root()
	if err != nil {
		return Renamed{}, err
	}
	defer func() { _ = root.Close() }() // a handle of the folder holds no data
	paths, err := f.paths(ctx)
	if err != nil {
		return Renamed{}, err
	}
	linking, err := f.rows.NotesLinking(ctx, namesOf(from))
	if err != nil {
		return Renamed{}, err
	}
	f.mu.Lock()
	done, err := f.rename(ctx, root, from, to, base)
	f.mu.Unlock()
	if err != nil || from == to {
		return done, err
	}
	before := newBook(paths)
	if i := slices.Index(paths, from); i >= 0 {
		paths[i] = to
	}
	f.relinkAll(ctx, root, linking, before, newBook(paths), from, to, &done)
	if slices.Contains(done.Updated, to) { // it links to itself
		f.mu.Lock()
		done.Note, _, err = f.refresh(ctx, root, to)
		f.mu.Unlock()
	}
	f.tell(append([]string{from, to}, done.Updated...)...)
	return done, err
}

// rename does the work of Rename with the lock held.
func (f *Folder) rename(ctx context.Context, root *os.Root, from, to, base string) (Renamed, error) {
	now, _, err := f.refresh(ctx, root, from)
	switch {
	case err != nil:
		return Renamed{}, err
	case now.Missing || now.Hash != base:
		return Renamed{}, errChanged(now)
	case from == to:
		return Renamed{Note: now}, nil
	}
	if err := f.carry(ctx, root, now, to); err != nil {
		return Renamed{}, err
	}
	var done Renamed
	done.Note, _, err = f.refresh(ctx, root, to)
	return done, err
}

// carry moves a note's file and what is known of where its content came from. The record is at the new path before the file is.
func (f *Folder) carry(ctx context.Context, root *os.Root, now Note, to string) error {
	if fold(now.Path) != fold(to) {
		if err := free(root, to); err != nil {
			return err
		}
	}
	there, err := look(root, to)
	if err != nil {
		return err
	}
	if !there.missing && fold(now.Path) != fold(to) {
		return errTaken(nil, to)
	}
	had, err := f.recordOf(ctx, now.Path)
	if err != nil {
		return err
	}
	before, err := f.recordOf(ctx, to) // of another note that had this path
	if err != nil {
		return err
	}
	list := []Record{{Path: to, Hash: now.Hash, Labels: strange(now.Path, now.Labels), Own: had.Own && had.Hash == now.Hash}}
	if len(before.Labels) > 0 {
		list = append(list, wandering(before.Hash, before.Labels))
	}
	if err := f.records.SaveNoteRecords(ctx, list...); err != nil {
		return err
	}
	if err := move(root, now.Path, to); err != nil {
		return errors.Join(err, f.putBack(ctx, to, before))
	}
	if err := f.records.DropNoteRecord(ctx, now.Path); err != nil {
		return err
	}
	_, _, err = f.refresh(ctx, root, now.Path)
	return err
}

// putBack makes the record of a path what it was.
func (f *Folder) putBack(ctx context.Context, name string, was Record) error {
	if was.Path == "" {
		return f.records.DropNoteRecord(ctx, name)
	}
	return f.records.SaveNoteRecords(ctx, was)
}

// relinkAll has the links to a note that was moved follow it. The lock is held for one note at a time: there may be thousands.
func (f *Folder) relinkAll(ctx context.Context, root *os.Root, linking []string, before, after book, from, to string, done *Renamed) {
	for _, name := range linking {
		if name == from {
			name = to
		}
		f.mu.Lock()
		changed, err := f.relinkNote(ctx, root, name, from, to, before, after)
		f.mu.Unlock()
		switch {
		case err != nil:
			f.log.WarnContext(ctx, "links not changed", slog.String("note", name), slog.Any("error", err))
			done.Failed = append(done.Failed, name)
		case changed:
			done.Updated = append(done.Updated, name)
		}
	}
}

// relinkNote changes the links of one note. Its labels stay: the record is made for the new text.
func (f *Folder) relinkNote(ctx context.Context, root *os.Root, name, from, to string, before, after book) (bool, error) {
	now, _, err := f.refresh(ctx, root, name)
	if err != nil || now.Missing {
		return false, err
	}
	text, n := relink(now.Text, from, to, before, after)
	if n == 0 {
		return false, nil
	}
	_, err = f.save(ctx, root, Draft{Path: name, Base: now.Hash, Text: text})
	return err == nil, err
}

// move renames a file to a free path. Only the case of its name may change on systems that ignore it.
func move(root *os.Root, from, to string) error {
	if err := makeFolder(root, path.Dir(to)); err != nil {
		return err
	}
	here, errHere := root.Lstat(from)
	there, errThere := root.Lstat(to)
	if errHere == nil && errThere == nil && os.SameFile(here, there) && fold(from) == fold(to) {
		if err := root.Rename(from, to); err != nil {
			return fileError(err, from+" cannot be moved")
		}
	} else if err := renameNew(root, from, to); err != nil {
		return err
	}
	if err := syncDir(root, path.Dir(to)); err != nil {
		return err
	}
	return syncDir(root, path.Dir(from))
}

// Backlinks returns the paths of notes with a link that means this one, sorted; where several notes bear the same name, also
// those whose link means another of them.
func (f *Folder) Backlinks(ctx context.Context, name string) ([]string, error) {
	if err := checkPath(name); err != nil {
		return nil, err
	}
	return f.rows.NotesLinking(ctx, namesOf(name))
}

// Resolve returns the note that a wiki link's target means, CodeNotFound for none.
func (f *Folder) Resolve(ctx context.Context, target string) (string, error) {
	paths, err := f.paths(ctx)
	if err != nil {
		return "", err
	}
	if found := newBook(paths).resolve(target); found != "" {
		return found, nil
	}
	return "", agent.Errorf(agent.CodeNotFound, "There is no note named %q.", agent.Clip(target, 120))
}
