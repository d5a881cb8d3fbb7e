//go:build unix

package vault

import (
	"io/fs"
	"os"
	"syscall"
)

// permissionsTell says whether the mode of a file says who may read it.
const permissionsTell = true

// ownerOf returns the user a file belongs to, -1 where that is not known.
func ownerOf(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

// openFile opens for reading, without following a link and without waiting for the writer of a pipe.
func openFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}
