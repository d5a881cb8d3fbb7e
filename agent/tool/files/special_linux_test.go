package files_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ash/agent"
)

// specials makes what is no ordinary file, as far as the person who runs the test may.
func specials(t *testing.T, d *desk) map[string]string {
	t.Helper()
	out := map[string]string{"pipe": "a named pipe"}
	d.ok(syscall.Mkfifo(d.at("pipe"), 0o644))
	if os.Getuid() == 0 && syscall.Mknod(d.at("device"), syscall.S_IFCHR|0o666, 1<<8|5) == nil { // /dev/zero
		out["device"] = "a device"
	}
	return out
}

// mounted mounts a small file system for a test, or skips it.
func mounted(t *testing.T, kind, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount(kind, dir, kind, 0, options); err != nil {
		t.Skipf("a test mount needs root (%v): run the tests as root in a container", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestKernelsFilesAreRefusedWhereverTheyAreMounted(t *testing.T) {
	d := newDesk(t)
	proc := mounted(t, "proc", "")
	d.env.Root = filepath.Dir(proc)
	d.refuses(agent.CodeDenied, "belongs to the system", "file_read", arguments{"path": filepath.Base(proc) + "/version"})
	contains(t, d.does("file_search", arguments{"pattern": "Linux"}), "Nothing matches")
}

func TestDiskFull(t *testing.T) {
	d := newDesk(t)
	d.env.Root = mounted(t, "tmpfs", "size=128k")
	d.root = d.env.Root
	d.put("keep.txt", "as it was\n")
	big := strings.Repeat("a line that takes some room on the disk\n", 8000)
	d.refuses(agent.CodeExhausted, "disk is full", "file_write", arguments{"path": "new/deep/big.txt", "content": big})
	d.refuses(agent.CodeExhausted, "disk is full", "file_write", arguments{"path": "keep.txt", "content": big})
	d.holds("keep.txt", "as it was\n")
	d.absent("new")
	d.clean()
	if all, err := d.files.Changes(t.Context(), d.lastCall()); err != nil || len(all) != 0 {
		t.Errorf("versions of what never happened: %v %v", all, err)
	}
	d.does("file_write", arguments{"path": "small.txt", "content": "still fits\n"})
}
