//go:build unix

package main

import (
	"io/fs"
	"syscall"
)

// modesTell says whether the mode of a file says who may read it.
const modesTell = true

// fileOwner returns the user a file belongs to.
func fileOwner(info fs.FileInfo) (uid int, known bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}

// diskRoom returns the bytes of a disk that this person may use, and all of them.
func diskRoom(path string) (free, total int64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, 0, err
	}
	block := int64(s.Bsize)                                      //nolint:unconvert // the types differ between systems
	return int64(s.Bavail) * block, int64(s.Blocks) * block, nil //nolint:gosec // sizes of disks
}
