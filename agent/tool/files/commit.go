package files

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"runtime"
	"strings"
	"time"

	"ash/agent"
	"ash/agent/tool"
)

// tempPrefix begins the names of files being written. What a crash leaves of them is removed by a later
// write in the same folder.
const tempPrefix = ".ash-writing-"

// tempAge is how old such a file is when nobody can be writing it any more.
const tempAge = time.Hour

// Modes of what is made, before the person's umask.
const (
	newFile   fs.FileMode = 0o666
	newFolder fs.FileMode = 0o777
)

// swap is one replacement of a file: what stands there, what is to, and what is told about it.
type swap struct {
	*spot
	was     content
	data    []byte // nil with gone
	gone    bool   // the file is to be removed
	mode    fs.FileMode
	version Version
	before  []byte       // what version keeps
	undoes  agent.ID     // version that this undoes
	labels  agent.Labels // of the new contents
}

// commit makes a change of a target, whose turn it is, and keeps what was there.
func (f *Files) commit(ctx context.Context, env tool.Env, t *target, c change, labels agent.Labels) error {
	w := &swap{spot: t.spot, was: t.was, data: c.data, mode: newFile, labels: labels}
	if t.was.info != nil {
		w.mode = t.was.mode
	}
	w.version = Version{Thread: env.Thread.ID, Call: env.Call.ID, Kept: c.kept}
	return f.swap(ctx, w)
}

// swap replaces a file as a whole. Whatever fails, and wherever the process dies, the old or the new contents are there. The version is
// stored before, and so is a record that says that a stranger had a hand in the new contents: they are never taken for the
// person's own. A harmless record comes after: without it they count as unknown.
func (f *Files) swap(ctx context.Context, w *swap) error {
	known := agent.Labels(nil)
	if w.was.info != nil {
		var err error
		if known, err = f.o.Provenance.Labels(ctx, w.base, w.path, w.was.hash); err != nil {
			return err
		}
	}
	dir, made, err := w.folder()
	if err != nil {
		return err
	}
	defer f.close(dir)
	undo := []func() error{func() error { return removeFolders(w.root, made) }}
	temp, err := f.temp(ctx, dir, w)
	if err != nil {
		return errors.Join(err, roll(undo))
	}
	if temp != "" {
		undo = append(undo, func() error { return gone(dir.Remove(temp)) })
	}
	storing := context.WithoutCancel(ctx) // what is begun here is finished or taken back
	if err := f.keepVersion(ctx, w, known); err != nil {
		return errors.Join(err, roll(undo))
	}
	undo = append(undo, func() error { return f.o.Versions.DropFileVersion(storing, w.version.ID, w.undoes) })
	record := func() error { return f.o.Provenance.Wrote(storing, w.base, w.path, w.version.After, w.labels) }
	if w.labels.Untrusted() {
		if err := record(); err != nil {
			return errors.Join(err, roll(undo))
		}
		undo = append(undo, func() error { return f.o.Provenance.Wrote(storing, w.base, w.path, w.was.hash, known) })
	}
	if err := w.place(ctx, dir, temp); err != nil {
		return errors.Join(err, roll(undo))
	}
	if !w.labels.Untrusted() {
		if err := record(); err != nil {
			f.o.Log.WarnContext(ctx, "where a file came from is not recorded: it will count as unknown", slog.String("call", string(w.version.Call)), slog.Any("error", err))
		}
	}
	for _, d := range append([]string{path.Dir(w.path)}, made...) {
		if err := syncDir(w.root, d); err != nil {
			f.o.Log.WarnContext(ctx, "a changed file may not survive a power cut", slog.String("call", string(w.version.Call)), slog.Any("error", err))
		}
	}
	return nil
}

// keepVersion stores what w replaces.
func (f *Files) keepVersion(ctx context.Context, w *swap, known agent.Labels) error {
	v := &w.version
	v.ID, v.Root, v.Path, v.Mode, v.Created, v.Labels = agent.NewID(), w.base, w.path, w.was.mode, time.Now(), known
	v.Before, v.After = w.was.hash, ""
	if !w.gone {
		v.After = hashOf(w.data)
	}
	if v.Kept && w.was.info != nil {
		w.before = w.was.raw
		if w.before == nil {
			w.before = []byte{}
		}
	}
	return f.o.Versions.AddFileVersion(ctx, *v, w.before, w.undoes)
}

// roll takes back what was begun, last first.
func roll(undo []func() error) error {
	var failed []error
	for i := len(undo) - 1; i >= 0; i-- {
		failed = append(failed, undo[i]())
	}
	return errors.Join(failed...)
}

// folder opens the folder of w, which is made if need be, and returns which folders it made, innermost first.
func (w *swap) folder() (dir *os.Root, made []string, err error) {
	at := path.Dir(w.path)
	if at != "." {
		p := ""
		for name := range strings.SplitSeq(at, "/") {
			p = path.Join(p, name)
			switch err := w.root.Mkdir(p, newFolder); {
			case err == nil:
				made = append([]string{p}, made...)
			case !errors.Is(err, fs.ErrExist):
				return nil, nil, errors.Join(fileError(err, "The folder cannot be made"), removeFolders(w.root, made))
			}
		}
	}
	dir, err = w.root.OpenRoot(at)
	if err != nil {
		return nil, nil, errors.Join(fileError(err, "The folder cannot be opened"), removeFolders(w.root, made))
	}
	return dir, made, nil
}

// removeFolders removes folders that were made for nothing. One that somebody put something in stays.
func removeFolders(root *os.Root, made []string) error {
	for _, p := range made {
		if err := root.Remove(p); err != nil && !missing(err) {
			return nil
		}
	}
	return nil
}

// temp writes the new contents beside the file, durably, and returns the name; "" when the file is to be removed.
func (f *Files) temp(ctx context.Context, dir *os.Root, w *swap) (name string, err error) {
	if w.gone {
		return "", nil
	}
	f.sweep(ctx, dir)
	name = tempPrefix + string(agent.NewID())
	mode := w.mode
	if w.was.info != nil {
		mode = 0o600 // until it is given the mode of the file
	}
	file, err := dir.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return "", fileError(err, "The file cannot be written")
	}
	_, err = file.Write(w.data)
	if err == nil && w.was.info != nil {
		err = keepLooks(file, w.was.info)
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(fileError(err, "The file cannot be written"), gone(dir.Remove(name)))
	}
	return name, nil
}

// keepLooks gives a new file the mode and, where that is allowed, the owner of the one it replaces.
func keepLooks(file *os.File, was fs.FileInfo) error {
	if uid, gid, ok := owner(was); ok && (uid != os.Geteuid() || gid != os.Getegid()) {
		if err := file.Chown(uid, gid); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return file.Chmod(was.Mode().Perm())
}

// place puts the new contents where the old ones are, if they still are.
func (w *swap) place(ctx context.Context, dir *os.Root, temp string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	name := path.Base(w.path)
	if err := w.unchanged(ctx, dir, name); err != nil {
		return err
	}
	switch {
	case w.gone:
		return wrapFile(dir.Remove(name), "The file cannot be removed")
	case w.was.info == nil:
		// A link does not replace what somebody else put there meanwhile. Not every file system has them.
		err := dir.Link(temp, name)
		if errors.Is(err, fs.ErrExist) {
			return errChanged()
		}
		if err == nil {
			return wrapFile(dir.Remove(temp), "The file cannot be written")
		}
	}
	return wrapFile(dir.Rename(temp, name), "The file cannot be replaced")
}

func wrapFile(err error, what string) error {
	if err == nil {
		return nil
	}
	return fileError(err, what)
}

// unchanged checks that what was read is what is there.
func (w *swap) unchanged(ctx context.Context, dir *os.Root, name string) error {
	info, err := dir.Lstat(name)
	switch {
	case missing(err) && w.was.info == nil:
		return nil
	case missing(err), err == nil && w.was.info == nil:
		return errChanged()
	case err != nil:
		return fileError(err, "The file cannot be read")
	case !info.Mode().IsRegular():
		return agent.Errorf(agent.CodeConflict, "Where the file was there is %s now, so nothing was written.", kindOf(info.Mode()))
	}
	sum, _, err := fingerprint(ctx, dir, name)
	if err != nil {
		return err
	}
	if sum != w.was.hash {
		return errChanged()
	}
	return nil
}

// sweep removes what crashes left of files being written in a folder.
func (f *Files) sweep(ctx context.Context, dir *os.Root) {
	d, err := dir.Open(".")
	if err != nil {
		return
	}
	defer f.close(d)
	names, err := d.Readdirnames(maxInDir)
	if err != nil {
		return // empty, or it will show in what is done next
	}
	for _, name := range names {
		if !strings.HasPrefix(name, tempPrefix) {
			continue
		}
		if info, err := dir.Lstat(name); err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < tempAge {
			continue
		}
		if err := gone(dir.Remove(name)); err != nil {
			f.o.Log.WarnContext(ctx, "what a crash left of a file cannot be removed", slog.Any("error", err))
		}
	}
}

// syncDir makes a rename durable. Windows has no such call and needs none.
func syncDir(root *os.Root, dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func gone(err error) error {
	if missing(err) {
		return nil
	}
	return err
}
