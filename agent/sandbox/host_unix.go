//go:build unix

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// free returns how many bytes and inodes an ordinary user may still use on the disk of path. inodes is -1 where there is no such limit.
func free(path string) (bytes, inodes int64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, 0, err
	}
	inodes = -1
	if s.Files > 0 {
		inodes = int64(s.Ffree) //nolint:gosec // a count
	}
	return int64(s.Bavail) * int64(s.Bsize), inodes, nil //nolint:gosec,unconvert // the types differ between systems
}

// alive reports whether process pid exists.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// owner returns who owns a file.
func owner(info fs.FileInfo) (uid, gid int, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(st.Uid), int(st.Gid), true
}

// private returns an error when dir is not a folder that only this user can use.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if uid, _, ok := owner(info); !info.IsDir() || !ok || uid != os.Geteuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s is not a folder of this user alone", dir)
	}
	return nil
}
