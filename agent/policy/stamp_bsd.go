//go:build darwin || freebsd || netbsd

package policy

import (
	"io/fs"
	"os"
	"syscall"
	"time"
)

func stampOf(info fs.FileInfo) stamp {
	s := stamp{size: info.Size(), mode: info.Mode(), content: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.inode, s.device = uint64(st.Ino), uint64(st.Dev)                                 //nolint:gosec,unconvert // only compared
		s.status = time.Unix(int64(st.Ctimespec.Sec), int64(st.Ctimespec.Nsec)).UnixNano() //nolint:unconvert // narrower on some machines
	}
	return s
}

// openFile opens a regular file: no link is followed, and nothing that waits for a writer is waited for.
func openFile(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
}

// changedAt returns when the status of a file last changed; ok is false where that cannot be told.
func changedAt(name string) (time.Time, bool) {
	info, err := os.Lstat(name)
	if err != nil {
		return time.Time{}, false
	}
	return time.Unix(0, stampOf(info).status), true
}
