package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"ash/agent"
)

// Bounds on a walk.
const (
	maxVisited = 250_000 // entries
	maxInDir   = 100_000 // entries of one folder
	maxDepth   = 64      // folders below each other
)

// entry is something in a folder.
type entry struct {
	path    string // relative to the room
	mode    fs.FileMode
	ignored bool // by git, or as one of skipped
}

// walker goes through folders in the order of names, without following links.
type walker struct {
	room    *room
	depth   int  // folders below the first that are gone into; 0: only what is in the first itself
	all     bool // goes into ignored folders as well
	visited int
	cut     bool // bounds kept it from seeing all
	visit   func(e entry) error
}

// errEnough ends a walk early without being an error.
var errEnough = errors.New("enough")

// walk visits what is in the folder at from and below it. Folders come before what is in them. Folders that cannot be
// opened are passed over but for the first. The error is visit's, the context's, or about the first folder.
func (w *walker) walk(ctx context.Context, from string) error {
	rules := w.rulesAbove(from)
	err := w.folder(ctx, from, rules, 0)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// rulesAbove reads the .gitignore of the folders above one.
func (w *walker) rulesAbove(dir string) []ignoreRule {
	if dir == "." {
		return nil
	}
	rules := w.rulesIn(".")
	at := ""
	names := strings.Split(dir, "/")
	for _, name := range names[:len(names)-1] {
		at = path.Join(at, name)
		rules = append(rules, w.rulesIn(at)...)
	}
	return rules
}

func (w *walker) rulesIn(dir string) []ignoreRule {
	f, _, err := openFile(w.room.root, path.Join(dir, ".gitignore"))
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // nothing was written through it
	text, err := io.ReadAll(io.LimitReader(f, maxIgnoreFile))
	if err != nil {
		return nil
	}
	return parseIgnore(dir, text)
}

func (w *walker) folder(ctx context.Context, dir string, rules []ignoreRule, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := w.read(dir)
	if err != nil {
		if depth > 0 {
			return nil
		}
		return err
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ".gitignore" && !e.IsDir() }) {
		rules = append(slices.Clip(rules), w.rulesIn(dir)...)
	}
	for _, d := range entries {
		if strings.HasPrefix(d.Name(), tempPrefix) {
			continue
		}
		if w.visited++; w.visited > maxVisited {
			w.cut = true
			return errEnough
		}
		e := entry{path: path.Join(dir, d.Name()), mode: d.Type()}
		e.ignored = ignored(rules, e.path, e.mode.IsDir()) || e.mode.IsDir() && skipped(d.Name())
		if e.mode.IsDir() && w.room.home != nil {
			if info, err := w.room.root.Lstat(e.path); err != nil || w.room.isHome(info) {
				continue
			}
		}
		if err := w.visit(e); err != nil {
			return err
		}
		if !e.mode.IsDir() || depth >= w.depth || e.ignored && !w.all {
			continue
		}
		if depth+1 >= maxDepth {
			w.cut = true
			continue
		}
		if err := w.folder(ctx, e.path, rules, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// read returns the entries of a folder in order, bounded.
func (w *walker) read(dir string) ([]fs.DirEntry, error) {
	d, err := w.room.root.OpenFile(dir, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, fileError(err, "The folder cannot be opened")
	}
	defer func() { _ = d.Close() }() // nothing was written through it
	if ofSystem(d) {
		return nil, agent.Errorf(agent.CodeDenied, "This folder belongs to the system and cannot be used.")
	}
	var all []fs.DirEntry
	for {
		some, err := d.ReadDir(1024)
		all = append(all, some...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fileError(err, "The folder cannot be read")
		}
		if len(all) >= maxInDir {
			w.cut = true
			break
		}
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}
