//go:build !unix

package vault

import (
	"io/fs"
	"os"
)

// permissionsTell says whether the mode of a file says who may read it: here that is the business of the system's own lists.
const permissionsTell = false

// ownerOf returns the user a file belongs to, -1 where that is not known.
func ownerOf(fs.FileInfo) int { return -1 }

// openFile opens an ordinary file for reading; a link is refused.
func openFile(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fs.ErrInvalid
	}
	return os.Open(path)
}
