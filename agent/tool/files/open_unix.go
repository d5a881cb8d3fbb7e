//go:build unix && !linux

package files

import (
	"os"
	"syscall"
)

// noWait keeps opening a pipe from waiting for its other end.
const noWait = syscall.O_NONBLOCK

func ofSystem(*os.File) bool { return false }

// owner returns who a file belongs to.
func owner(info os.FileInfo) (uid, gid int, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(st.Uid), int(st.Gid), true
}
