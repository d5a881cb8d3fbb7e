package notes

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"

	"ash/agent"
)

// straight refuses a path one of whose folders is a link: the same note would be there twice, and a link
// may be turned to another place between two looks at it.
func straight(root *os.Root, name string) error {
	for dir := range folders(name) {
		info, err := root.Lstat(dir)
		if missing(err) {
			return nil
		}
		if err != nil {
			return fileError(err, dir+" cannot be read")
		}
		if !info.IsDir() && !info.Mode().IsRegular() {
			return agent.Errorf(agent.CodeInvalid, "%s is not an ordinary folder (links are not followed).", dir)
		}
	}
	return nil
}

// folders yields the folders a path stands in, the uppermost first.
func folders(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i, r := range name {
			if r == '/' && !yield(name[:i]) {
				return
			}
		}
	}
}

func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// spelling returns a path as the folders list it: what they do not have under this very name, but under one that differs
// only in case or in how its letters are put together, is spelled as it is there. What is not there stays as it is.
func spelling(root *os.Root, name string) (string, error) {
	at := "."
	parts := strings.Split(name, "/")
	for i, part := range parts {
		entries, err := fs.ReadDir(root.FS(), at)
		if missing(err) {
			break
		}
		if err != nil {
			return "", fileError(err, "The folder of "+name+" cannot be read")
		}
		parts[i] = spelled(entries, part)
		at = path.Join(at, parts[i])
	}
	return strings.Join(parts, "/"), nil
}

func spelled(entries []fs.DirEntry, part string) string {
	alike, folded := part, fold(part)
	for _, e := range entries {
		switch {
		case e.Name() == part:
			return part
		case alike == part && fold(e.Name()) == folded:
			alike = e.Name()
		}
	}
	return alike
}

// free refuses a new name beside which there is one that differs only in case or in how its letters are put
// together: other systems, and people, take them for the same.
func free(root *os.Root, name string) error {
	there, err := spelling(root, name)
	if err != nil || there == name {
		return err
	}
	for i, part := range strings.Split(there, "/") {
		if wanted := strings.Split(name, "/")[i]; wanted != part {
			return agent.Errorf(agent.CodeConflict, "There is already something named %s, which some systems take for the same as %s. Use that name, or choose another.", part, wanted)
		}
	}
	return nil
}

// indifferent reports whether the system takes names that differ only in case for the same where dir is.
func indifferent(dir string) bool {
	dir = filepath.Clean(dir)
	swapped := strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, filepath.Base(dir))
	here, err := os.Stat(dir)
	if err != nil || swapped == filepath.Base(dir) {
		return false
	}
	there, err := os.Stat(filepath.Join(filepath.Dir(dir), swapped))
	return err == nil && os.SameFile(here, there)
}

// makeFolder makes the folder of a note. What it makes is there after a crash too.
func makeFolder(root *os.Root, dir string) error {
	var made []string // folders in which another was made
	above := "."
	for part := range strings.SplitSeq(dir, "/") {
		if part == "." {
			break
		}
		next := path.Join(above, part)
		err := root.Mkdir(next, 0o700)
		if err == nil {
			made = append(made, above)
		} else if !errors.Is(err, fs.ErrExist) {
			return fileError(err, "The folder "+next+" cannot be made")
		}
		above = next
	}
	if info, err := root.Lstat(dir); err != nil || !info.IsDir() {
		return fileError(errors.Join(err, fs.ErrExist), "The folder "+dir+" cannot be made")
	}
	for _, dir := range made {
		if err := syncDir(root, dir); err != nil {
			return err
		}
	}
	return nil
}
