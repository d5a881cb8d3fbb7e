package notes

import (
	"context"
	"log/slog"
	"os"
	"path"

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
	f.mu.Lock()
	done, err := f.rename(ctx, root, from, to, base)
	f.mu.Unlock()
	if err == nil {
		f.tell(append([]string{from, to}, done.Updated...)...)
	}
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
	known, err := f.known(ctx)
	if err != nil {
		return Renamed{}, err
	}
	linking, err := f.rows.NotesLinking(ctx, namesOf(from))
	if err != nil {
		return Renamed{}, err
	}
	if err := f.moveRecord(ctx, from, to, now.Hash); err != nil {
		return Renamed{}, err
	}
	if err := move(root, from, to); err != nil {
		return Renamed{}, err
	}
	if _, _, err := f.refresh(ctx, root, from); err != nil {
		return Renamed{}, err
	}
	var done Renamed
	paths := make([]string, 0, len(known))
	for p := range known {
		paths = append(paths, p)
	}
	before := newBook(paths)
	for i, p := range paths {
		if p == from {
			paths[i] = to
		}
	}
	after := newBook(paths)
	for _, name := range linking {
		if name == from {
			name = to
		}
		changed, err := f.relinkNote(ctx, root, name, from, to, before, after)
		switch {
		case err != nil:
			f.log.WarnContext(ctx, "links not changed", slog.String("note", name), slog.Any("error", err))
			done.Failed = append(done.Failed, name)
		case changed:
			done.Updated = append(done.Updated, name)
		}
	}
	done.Note, _, err = f.refresh(ctx, root, to)
	return done, err
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

// moveRecord gives the record of a note to another path, before the file goes there.
func (f *Folder) moveRecord(ctx context.Context, from, to, hash string) error {
	found, err := f.records.NoteRecords(ctx, []string{from, to}, "")
	if err != nil {
		return err
	}
	moved := false
	for _, r := range found {
		if r.Path == from {
			r.Path, moved = to, true
			if r.Hash == "" {
				r.Hash = hash
			}
			if err := f.records.SaveNoteRecord(ctx, r); err != nil {
				return err
			}
		}
	}
	if !moved && len(found) > 0 { // of another note that had this path before
		return f.records.DropNoteRecord(ctx, to)
	}
	return nil
}

// move renames a file to a free path. Only the case of its name may change on systems that ignore it.
func move(root *os.Root, from, to string) error {
	if err := root.MkdirAll(path.Dir(to), 0o700); err != nil {
		return fileError(err, "The folder of "+to+" cannot be made")
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
	known, err := f.known(ctx)
	if err != nil {
		return "", err
	}
	paths := make([]string, 0, len(known))
	for p := range known {
		paths = append(paths, p)
	}
	if found := newBook(paths).resolve(target); found != "" {
		return found, nil
	}
	return "", agent.Errorf(agent.CodeNotFound, "There is no note named %q.", agent.Clip(target, 120))
}
