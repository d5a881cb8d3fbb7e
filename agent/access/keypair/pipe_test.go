//go:build unix

package keypair

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"ash/agent"
)

// TestPipe names a pipe that nobody writes to: it is not waited for.
func TestPipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("this file system has no pipes")
	}
	if _, err := Load(Files{Certificate: path}, time.Now()); agent.CodeOf(err) != agent.CodeInvalid {
		t.Error(err)
	}
}
