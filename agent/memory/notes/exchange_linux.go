package notes

import (
	"errors"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// exchange has two files of one folder change places in one step. errors.ErrUnsupported where the file system cannot.
func exchange(root *os.Root, a, b string) (err error) {
	dir, err := root.Open(path.Dir(a))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	at := int(dir.Fd()) //nolint:gosec // a descriptor is small
	err = unix.Renameat2(at, path.Base(a), at, path.Base(b), unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return errors.ErrUnsupported
	}
	return err
}
