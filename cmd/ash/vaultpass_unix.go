//go:build unix

package main

import (
	"io/fs"
	"os"
	"syscall"
)

// othersMayRead reports whether a file's mode lets others than its owner in.
func othersMayRead(m fs.FileMode) bool { return m.Perm()&0o077 != 0 }

// openPrivate opens for reading, without following a link and without waiting for the writer of a pipe.
func openPrivate(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}
