package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ash/agent"
)

// What doctor and audit see of the files of a home.

// homePlaces are the folders of a home, and those outside of it that the settings name.
type homePlaces struct {
	home, workspace, notes string
	keys                   []string // files that hold keys
}

// looseFile is something that others may touch, or that is not what Ash makes.
type looseFile struct {
	path    string
	what    string      // in a few words
	command string      // sets it right
	mode    fs.FileMode // it should have; 0: no change of mode sets it right
	bad     bool        // others can read it, or change it
	size    int64
}

// maxWalk bounds how many files of a home are looked at.
const maxWalk = 200_000

// errEnough ends a walk.
var errEnough = errors.New("enough")

// loose looks at owners, modes and kinds. In notes and workspace, which other programs write too, it looks only at who may change them; what
// commands made in workspace/files is nobody's business. CodeNotFound when there is no home.
func loose(ctx context.Context, p homePlaces) (list []looseFile, err error) {
	info, err := os.Stat(p.home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, agent.Errorf(agent.CodeNotFound, "There is no home at %s yet. It is made when Ash first runs.", p.home)
	}
	if err != nil {
		return nil, agent.Wrap(agent.CodeUnavailable, err, "The home %s cannot be looked at.", p.home)
	}
	if l, is := judge(p.home, info, false); is {
		list = append(list, l)
	}
	seen := 0
	walk := func(root string, soft bool) error {
		return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if seen++; seen > maxWalk {
				return errEnough
			}
			switch {
			case err != nil && errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				list = append(list, looseFile{path: path, what: "cannot be read", command: "chmod u+rwX " + shellWord(path)})
				return fs.SkipDir
			case path == p.home:
				return nil
			case !soft && (path == p.workspace || path == p.notes), path == filepath.Join(p.workspace, "files") && soft && path != root:
				if d.IsDir() {
					return fs.SkipDir
				}
			}
			info, err := d.Info()
			if err != nil {
				return nil //nolint:nilerr // it went away meanwhile
			}
			if l, is := judge(path, info, soft); is {
				list = append(list, l)
			}
			return nil
		})
	}
	for _, root := range []struct {
		path string
		soft bool
	}{{p.home, false}, {p.workspace, true}, {p.notes, true}} {
		if err := walk(root.path, root.soft); err != nil && !errors.Is(err, errEnough) {
			return list, agent.Wrap(agent.CodeUnavailable, err, "Not all of %s could be looked at.", root.path)
		}
	}
	for _, key := range p.keys {
		if info, err := os.Stat(key); err == nil {
			if l, is := judge(key, info, false); is {
				list = append(list, l)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b looseFile) int { return strings.Compare(a.path, b.path) })
	return slices.CompactFunc(list, func(a, b looseFile) bool { return a.path == b.path }), nil
}

// judge says what is wrong with one file. soft looks only at who may change it.
func judge(path string, info fs.FileInfo, soft bool) (looseFile, bool) {
	mode := info.Mode()
	l := looseFile{path: path, size: info.Size()}
	if uid, known := fileOwner(info); known && uid != os.Geteuid() {
		l.what, l.bad = fmt.Sprintf("belongs to another user of this machine (number %d)", uid), true
		l.command = fmt.Sprintf("sudo chown %d %s", os.Geteuid(), shellWord(path))
		return l, true
	}
	switch {
	case mode&fs.ModeSymlink != 0:
		if soft {
			return l, false
		}
		to, err := os.Readlink(path)
		if err != nil {
			to = "somewhere"
		}
		l.what = "is a link to " + to
		return l, true
	case mode&(fs.ModeNamedPipe|fs.ModeDevice|fs.ModeIrregular) != 0:
		l.what = "is no ordinary file"
		return l, true
	case !modesTell:
		return l, false
	}
	others := mode.Perm() & 0o077
	if soft {
		others &= 0o022
	}
	if others == 0 {
		return l, false
	}
	l.mode = mode.Perm() &^ 0o077
	if soft {
		l.mode = mode.Perm() &^ 0o022
	}
	l.what = fmt.Sprintf("others may %s it (mode %04o)", mayWhat(others), mode.Perm())
	l.command = fmt.Sprintf("chmod %04o %s", l.mode, shellWord(path))
	l.bad = reachable(filepath.Dir(path))
	return l, true
}

func mayWhat(m fs.FileMode) string {
	switch {
	case m&0o022 != 0 && m&0o044 != 0:
		return "read and change"
	case m&0o022 != 0:
		return "change"
	case m&0o044 != 0:
		return "read"
	}
	return "enter"
}

// reachable reports whether others may get to what lies in a folder: every folder on the way lets them through.
func reachable(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err == nil && info.Mode().Perm()&0o011 == 0 {
			return false
		}
		if filepath.Dir(dir) == dir {
			return true
		}
		dir = filepath.Dir(dir)
	}
}

// shellWord makes a path one word of a shell.
func shellWord(path string) string {
	if path != "" && strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@:") == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// strayFile is a temporary file of something that was broken off.
type strayFile struct {
	path  string
	bytes int64
}

// strayAge is how old a temporary file is before nobody can be using it.
const strayAge = time.Hour

// tempFiles are how the names of temporary files begin, and end, by the folder they are made in, relative to the home.
var tempFiles = []struct{ dir, prefix, suffix string }{
	{".", ".config.toml.", ""},
	{".", ".folders-not-own.json.", ""},
	{".", archivePrefix, ""},
	{".", "session.key.", ""},
	{"backups", "", ".part"},
	{"attachments", ".put-", ""},
}

// strays finds files that a crash left behind: an hour old, and named as only Ash names them.
func strays(ctx context.Context, p homePlaces, now time.Time) (list []strayFile, err error) {
	add := func(dir, prefix, suffix string) error {
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return agent.Wrap(agent.CodeUnavailable, err, "The folder %s cannot be looked at.", dir)
		}
		for _, e := range entries {
			name := e.Name()
			if !strings.HasPrefix(name, prefix) || !strings.HasSuffix(name, suffix) || len(name) <= len(prefix)+len(suffix) {
				continue
			}
			info, err := e.Info()
			if err != nil || !info.Mode().IsRegular() || now.Sub(info.ModTime()) < strayAge {
				continue
			}
			list = append(list, strayFile{filepath.Join(dir, name), info.Size()})
		}
		return ctx.Err()
	}
	for _, t := range tempFiles {
		if err := add(filepath.Join(p.home, t.dir), t.prefix, t.suffix); err != nil {
			return list, err
		}
	}
	for _, dir := range []string{p.workspace, p.notes} { // identity and notes are written beside their files
		if err := add(dir, ".ash-", ""); err != nil {
			return list, err
		}
	}
	return list, nil
}
