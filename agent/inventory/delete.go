package inventory

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"ash/agent"
)

// order is what the marker holds: what was decided, so that it can be finished without the settings.
type order struct {
	Begun   time.Time `json:"begun"`
	Folders []folder  `json:"folders,omitempty"` // of the settings, in the home
}

// maxMarker bounds the marker, in bytes.
const maxMarker = 16 << 10

// Condemn decides that everything of Ash's in the home goes. From the moment it returns nil that is durable: Finish deletes
// it, now or after the next start. CodeUnavailable when the decision could not be written; nothing goes then.
func (h Home) Condemn(at time.Time) error {
	text, err := json.Marshal(order{Begun: at.UTC(), Folders: h.folders()})
	if err == nil {
		err = writeDurably(h.Path, markerName, text)
	}
	if err != nil {
		return agent.Wrap(agent.CodeUnavailable, err, "Nothing was deleted: %s cannot be written in %s: %v.", markerName, h.Path, reason(err))
	}
	return nil
}

// writeDurably makes a file of the folder that is there whole or not at all.
func writeDurably(dir, name string, text []byte) (err error) {
	f, err := os.CreateTemp(dir, exportPrefix+"*") // goes with the rest, should it be left
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), filepath.Join(dir, name)); err != nil {
		return err
	}
	return syncFolder(dir)
}

// Condemned reports whether everything in the home at dir was decided to go and is not gone yet.
func Condemned(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, markerName))
	return err == nil && info.Mode().IsRegular() && readOrderAt(dir) == nil
}

func readOrderAt(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	_, err = readOrder(root)
	return errors.Join(err, root.Close())
}

// readOrder reads the marker. A file of that name that is none was not written by Condemn, and decides nothing.
func readOrder(root *os.Root) (order, error) {
	var o order
	info, err := root.Lstat(markerName)
	if err != nil {
		return o, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxMarker {
		return o, errors.New("it is no order to delete")
	}
	text, err := root.ReadFile(markerName)
	if err != nil {
		return o, err
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return o, err
	}
	bad := func(f folder) bool { return !filepath.IsLocal(filepath.FromSlash(f.Name)) || f.Name == "." }
	if o.Begun.IsZero() || slices.ContainsFunc(o.Folders, bad) {
		return o, errors.New("it is no order to delete")
	}
	return o, nil
}

// Finish deletes what Condemn decided, and the marker last. Whoever calls it holds the home's lock, and has nothing in the home
// open. Without a marker it does nothing. CodeUnavailable when something cannot be deleted: the rest is gone, the marker stays, and it can
// be called again.
func Finish(dir string) error { return finish(dir, nil) }

// finish is Finish; step is called before every removal, for tests.
func finish(dir string, step func(name string)) (err error) {
	if !Condemned(dir) {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return agent.Wrap(agent.CodeUnavailable, err, "The home %s cannot be opened: %v.", dir, reason(err))
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	o, err := readOrder(root)
	if err != nil {
		return agent.Wrap(agent.CodeUnavailable, err, "What is to be deleted in %s cannot be read: %v.", dir, err)
	}
	d := deleter{root: root, step: step}
	for _, f := range o.Folders {
		d.tree(f.Name)
		d.emptied(path.Dir(f.Name))
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return agent.Wrap(agent.CodeUnavailable, err, "The home %s cannot be read: %v.", dir, reason(err))
	}
	for _, p := range table() { // in the order of the table
		for _, e := range entries {
			if ok, err := path.Match(p.pattern, e.Name()); err == nil && ok {
				d.place(e, p.mine)
			}
		}
	}
	if len(d.failed) > 0 {
		return agent.Wrap(agent.CodeUnavailable, errors.Join(d.failed...),
			"Not everything in %s could be deleted: %v. Remove that by hand, or give it to your user, and start Ash again: it finishes the rest.", dir, d.failed[0])
	}
	if err := syncFolder(dir); err != nil {
		return agent.Wrap(agent.CodeUnavailable, err, "The deletion in %s is not on the disk yet: %v.", dir, reason(err))
	}
	d.remove(markerName)
	return errors.Join(append(d.failed, syncFolder(dir))...)
}

// deleter removes things of a home and remembers what it could not.
type deleter struct {
	root   *os.Root
	step   func(name string)
	failed []error
}

func (d *deleter) fail(err error) {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.failed = append(d.failed, err)
	}
}

func (d *deleter) remove(name string) {
	if d.step != nil {
		d.step(name)
	}
	d.fail(d.root.Remove(filepath.FromSlash(name)))
}

// place removes an entry of the home: a link or a file itself, of a folder what is Ash's in it.
func (d *deleter) place(e fs.DirEntry, mine func(string) bool) {
	switch {
	case !e.IsDir():
		d.remove(e.Name())
	case mine == nil:
		d.tree(e.Name())
	default:
		d.some(e.Name(), ".", mine)
		d.emptied(e.Name())
	}
}

// some removes what mine says below a folder, and folders that are empty then. Links are not followed.
func (d *deleter) some(top, rel string, mine func(string) bool) {
	entries, err := fs.ReadDir(d.root.FS(), path.Join(top, rel))
	if err != nil {
		d.fail(err)
		return
	}
	for _, e := range entries {
		below := path.Join(rel, e.Name())
		switch {
		case e.IsDir():
			d.some(top, below, mine)
			d.emptied(path.Join(top, below))
		case mine(below):
			d.remove(path.Join(top, below))
		}
	}
}

// emptied removes a folder, and those that hold it, as far as nothing is in them.
func (d *deleter) emptied(name string) {
	for ; name != "." && name != ""; name = path.Dir(name) {
		entries, err := fs.ReadDir(d.root.FS(), name)
		if err != nil || len(entries) > 0 {
			return // gone, or somebody's things are in it
		}
		d.remove(name)
	}
}

// tree removes a folder and all below it, file by file, so that a crash leaves fewer of them. A folder that was closed
// even to its owner is opened first.
func (d *deleter) tree(name string) {
	info, err := d.root.Lstat(filepath.FromSlash(name))
	if err != nil {
		d.fail(err)
		return
	}
	if !info.IsDir() {
		d.remove(name)
		return
	}
	if info.Mode().Perm()&0o700 != 0o700 {
		if err := d.root.Chmod(filepath.FromSlash(name), 0o700); err != nil {
			d.fail(err)
			return
		}
	}
	entries, err := fs.ReadDir(d.root.FS(), name)
	if err != nil {
		d.fail(err)
		return
	}
	for _, e := range entries {
		if e.IsDir() {
			d.tree(path.Join(name, e.Name()))
		} else {
			d.remove(path.Join(name, e.Name()))
		}
	}
	before := len(d.failed)
	d.remove(name)
	if before > 0 && len(d.failed) > before {
		d.failed = d.failed[:before] // what is in it was said already
	}
}

// syncFolder makes renames and removals in a folder durable. Windows cannot, and does not need to.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
