package archive

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"maps"

	"ash/agent"
)

// Unpack writes the files of an archive into an empty folder that nobody else can read: the same archive, unpacked.
func (a *Archive) Unpack(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(a.source.files)) {
		if err := a.unpack(root, name); err != nil {
			return errors.Join(agent.Wrap(agent.CodeUnavailable, err, "%s cannot be written: %v.", filepath.Join(dir, name), err), root.Close())
		}
	}
	return root.Close()
}

func (a *Archive) unpack(root *os.Root, name string) (err error) {
	if err := root.MkdirAll(filepath.Dir(filepath.FromSlash(name)), 0o700); err != nil {
		return err
	}
	r, err := a.open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Sync(), f.Close())
}

// open opens any file of the archive; those that are read back are checked on the way.
func (a *Archive) open(name string) (io.ReadCloser, error) {
	if f, ok := a.files[name]; ok {
		return a.source.checked(f)
	}
	return a.source.files[name].open()
}
