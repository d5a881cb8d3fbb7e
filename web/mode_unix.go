//go:build !windows

package web

import "io/fs"

// unsafeMode reports whether others may read a file of this mode.
func unsafeMode(m fs.FileMode) bool { return m.Perm()&0o077 != 0 }
