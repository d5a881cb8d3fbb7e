package main

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ash/agent/doctor"
)

// TestDoctorOnAFullDisk has the home on a disk of its own whose room is taken away, until nothing is left: the doctor says so beside a
// running Ash, through it, and on its page, although the report itself cannot be stored.
func TestDoctorOnAFullDisk(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	room := func(size string, flags uintptr) error {
		return syscall.Mount("tmpfs", disk, "tmpfs", flags, "size="+size)
	}
	if err := room("2g", 0); err != nil {
		t.Skipf("this needs the right to mount a tmpfs (run it as root, outside of a container or in one with CAP_SYS_ADMIN): %v", err)
	}
	t.Cleanup(func() { must(t, syscall.Unmount(disk, syscall.MNT_DETACH)) })
	w := ward{t, filepath.Join(disk, "home")}
	must(t, os.Mkdir(w.home, 0o700))
	settings(t, w.home, "[sandbox]\nengine = \"off\"\n[server]\nlisten = \"127.0.0.1:0\"\n")
	ash(t, "", "token", "list", "--home", w.home).is(t, 0)
	is := func(what string, code int, severity doctor.Severity, says string) {
		t.Helper()
		f := of(t, w.examine(code, "--offline"), "Disk space")
		if f.Severity != severity || !strings.Contains(f.Text, says) || !strings.Contains(f.Text, w.home) || severity != doctor.OK && f.Fix == "" {
			t.Errorf("%s: %+v", what, f)
		}
	}
	is("room enough", exitOK, doctor.OK, "free at")
	must(t, room("700m", syscall.MS_REMOUNT))
	is("little room", exitWarnings, doctor.Warning, "commands are stopped")
	must(t, room("40m", syscall.MS_REMOUNT))
	is("hardly any", exitFailed, doctor.Problem, "nothing can be stored")
	server := serving(t, w.home)
	fill(t, w.path("filler"))
	is("none, told by the running Ash", exitFailed, doctor.Problem, "Only 0 KB are free")
	server.post("/settings/health", url.Values{})
	server.until("the page says so", func() bool { return strings.Contains(server.get("/settings/health"), "Only 0 KB are free") })
	server.signal(os.Interrupt)
	server.end()
	is("next to none, and no Ash runs", exitFailed, doctor.Problem, " KB are free") // what the stop gave back
	must(t, os.Remove(w.path("filler")))
	must(t, room("2g", syscall.MS_REMOUNT))
	is("room again", exitOK, doctor.OK, "free at")
}

// fill writes until the disk takes no more.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	must(t, err)
	block := make([]byte, 4<<10)
	for n := 0; ; n++ {
		if _, err := f.Write(block); err != nil {
			break
		}
		if n > 64<<8 {
			t.Fatal("the disk is larger than it should be")
		}
	}
	must(t, f.Close())
}
