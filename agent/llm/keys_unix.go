//go:build unix

package llm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// privateFile refuses a file that others may read or that belongs to somebody else.
func privateFile(info fs.FileInfo) error {
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		return fmt.Errorf("can be read by others (mode %04o): run chmod 600 on it", perm)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return errors.New("belongs to another user")
	}
	return nil
}
