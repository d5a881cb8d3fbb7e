//go:build unix

package sandbox_test

import (
	"syscall"
	"testing"
)

func freeBytes(t *testing.T, path string) int64 {
	t.Helper()
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		t.Fatal(err)
	}
	return int64(s.Bavail) * int64(s.Bsize) //nolint:unconvert // differs between systems
}
