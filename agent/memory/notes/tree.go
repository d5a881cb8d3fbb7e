package notes

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path"
	"slices"
	"sort"
	"strings"
	"time"

	"ash/agent"
)

// maxListed bounds a page of a list.
const maxListed = 500

// Entry is a folder or a note in a list.
type Entry struct {
	Path     string
	Name     string // the last part of Path, of a note without ".md"
	Folder   bool
	Title    string // of a note
	Size     int64
	Modified time.Time
	Problem  string
	Labels   agent.Labels
}

// List returns what is directly in a folder ("" is the top): folders first, each kind by name, at most limit (500) entries after the
// entry whose Path is after ("" from the first), and whether there are more. CodeNotFound for a folder that is not there.
func (f *Folder) List(ctx context.Context, folder, after string, limit int) (page []Entry, more bool, err error) {
	folder = strings.Trim(folder, "/")
	if folder == "" {
		folder = "."
	} else if !readable(folder) {
		return nil, false, agent.Errorf(agent.CodeNotFound, "There is no such folder of notes.")
	}
	root, err := f.root()
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = root.Close() }() // a handle of the folder holds no data
	all, err := entriesOf(root, folder)
	if err != nil {
		return nil, false, err
	}
	all = all[behind(all, after):]
	n := min(len(all), max(limit, 0), maxListed)
	page, more = all[:n:n], len(all) > n
	for i := range page {
		if err := f.fill(ctx, root, &page[i]); err != nil {
			return nil, false, err
		}
	}
	return page, more, nil
}

// behind is where a list goes on after an entry, also when that is gone by now.
func behind(all []Entry, after string) int {
	if after == "" {
		return 0
	}
	if i := slices.IndexFunc(all, func(e Entry) bool { return e.Path == after }); i >= 0 {
		return i + 1
	}
	i, _ := slices.BinarySearchFunc(all, Entry{Path: after, Folder: !isNote(after)}, inOrder)
	return i
}

// inOrder has folders first, each kind as people look names up.
func inOrder(a, b Entry) int {
	switch {
	case a.Folder != b.Folder && a.Folder:
		return -1
	case a.Folder != b.Folder:
		return 1
	}
	return cmp.Or(strings.Compare(fold(a.Path), fold(b.Path)), strings.Compare(a.Path, b.Path))
}

func entriesOf(root *os.Root, folder string) ([]Entry, error) {
	if now, err := look(root, folder); err != nil || !now.mode.IsDir() {
		return nil, agent.Wrap(agent.CodeNotFound, err, "There is no such folder of notes.")
	}
	found, err := fs.ReadDir(root.FS(), folder)
	if missing(err) {
		return nil, agent.Wrap(agent.CodeNotFound, err, "There is no such folder of notes.")
	}
	if err != nil {
		return nil, fileError(err, "The folder cannot be read")
	}
	all := make([]Entry, 0, len(found))
	for _, e := range found {
		name := path.Join(folder, e.Name())
		switch {
		case e.IsDir() && readable(name):
			all = append(all, Entry{Path: name, Name: e.Name(), Folder: true})
		case e.Type().IsRegular() && isNote(name):
			all = append(all, Entry{Path: name, Name: stem(e.Name())})
		}
	}
	sort.Slice(all, func(i, j int) bool { return inOrder(all[i], all[j]) < 0 })
	return all, nil
}

// fill adds what the row of a note says; one without a row yet shows its name.
func (f *Folder) fill(ctx context.Context, root *os.Root, e *Entry) error {
	info, err := root.Lstat(e.Path)
	if err != nil {
		return ignoreMissing(err)
	}
	e.Size, e.Modified = info.Size(), info.ModTime().UTC()
	if e.Folder {
		e.Size = 0
		return nil
	}
	e.Title = e.Name
	row, err := f.rows.NoteRow(ctx, e.Path)
	if agent.CodeOf(err) == agent.CodeNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	e.Title, e.Problem, e.Labels = row.Title, row.Problem, row.Labels
	return nil
}
