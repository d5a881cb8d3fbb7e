//go:build unix

package main

import "io/fs"

// othersMayRead reports whether a file's mode lets others than its owner in.
func othersMayRead(m fs.FileMode) bool { return m.Perm()&0o077 != 0 }
