//go:build unix

package keypair

import (
	"io/fs"
	"os"
	"syscall"
)

// openToOthers reports whether somebody but the owner may read or change a key. A group may read one that belongs to somebody else (root, as a
// rule): that is how Ash comes to read it at all.
func openToOthers(info fs.FileInfo) bool {
	barred := fs.FileMode(0o077)
	if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() {
		barred = 0o037
	}
	return info.Mode().Perm()&barred != 0
}
