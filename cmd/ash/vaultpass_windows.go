package main

import (
	"io/fs"
	"os"
)

// othersMayRead cannot be told from a mode here.
func othersMayRead(fs.FileMode) bool { return false }

// openPrivate opens an ordinary file for reading; a link is refused.
func openPrivate(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fs.ErrInvalid
	}
	return os.Open(path)
}
