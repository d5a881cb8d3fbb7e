package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestServiceIsWrittenShownAndRemoved runs against a home of its own, and a systemctl that notes what it is asked.
func TestServiceIsWrittenShownAndRemoved(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this test is about systemd")
	}
	dir := t.TempDir()
	home := filepath.Join(dir, "a home with 100% \"quotes\"")
	must(t, os.Mkdir(home, 0o700))
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	t.Setenv("XDG_RUNTIME_DIR", dir)
	bin, asked := filepath.Join(dir, "bin"), filepath.Join(dir, "asked")
	must(t, os.Mkdir(bin, 0o700))
	must(t, os.WriteFile(filepath.Join(bin, "systemctl"), []byte("#!/bin/sh\necho \"$@\" >> '"+asked+"'\n"), 0o700))
	t.Setenv("PATH", bin)
	unit := filepath.Join(dir, "config", "systemd", "user", "ash.service")

	if out := ash(t, "", "service", "status", "--home", home).is(t, 0).out; !strings.Contains(out, "There is no service") {
		t.Error(out)
	}
	printed := ash(t, "", "service", "install", "--print", "--home", home).is(t, 0).out
	if _, err := os.Stat(unit); !os.IsNotExist(err) {
		t.Error("--print wrote a file")
	}
	first := ash(t, "", "service", "install", "--home", home).is(t, 0)
	b, err := os.ReadFile(unit)
	must(t, err)
	if string(b) != printed || !strings.Contains(first.out, printed) || !strings.Contains(first.out, "enable-linger") {
		t.Errorf("wrote %s\nsaid %s", b, first.out)
	}
	if !strings.Contains(string(b), `a home with 100%% \"quotes\"`) || !strings.Contains(string(b), "NoNewPrivileges=yes") {
		t.Errorf("the unit is %s", b)
	}
	before, err := os.Stat(unit)
	must(t, err)
	if out := ash(t, "", "service", "install", "--home", home).is(t, 0).out; !strings.Contains(out, "is there already") {
		t.Error(out)
	}
	after, err := os.Stat(unit)
	must(t, err)
	if !after.ModTime().Equal(before.ModTime()) {
		t.Error("installing again wrote it anew")
	}
	ash(t, "", "service", "remove", "--home", home).is(t, 0)
	if _, err := os.Stat(unit); !os.IsNotExist(err) {
		t.Error("the unit is still there")
	}
	ash(t, "", "service", "remove", "--home", home).is(t, 0)
	said, err := os.ReadFile(asked)
	must(t, err)
	for _, want := range []string{"--user daemon-reload", "--user enable ash.service", "--user restart ash.service", "--user disable --now ash.service"} {
		if !strings.Contains(string(said), want) {
			t.Errorf("systemctl was not asked to %s: %s", want, said)
		}
	}

	t.Setenv("PATH", filepath.Join(dir, "nothing"))
	without := ash(t, "", "service", "install", "--home", home).is(t, 0).out
	if _, err := os.Stat(unit); err != nil || !strings.Contains(without, "systemctl is not here") || !strings.Contains(without, "systemctl --user enable ash.service") {
		t.Errorf("without systemctl: %v, %s", err, without)
	}
	failing := filepath.Join(dir, "failing")
	must(t, os.Mkdir(failing, 0o700))
	must(t, os.WriteFile(filepath.Join(failing, "systemctl"), []byte("#!/bin/sh\necho 'Failed to connect to bus' >&2\nexit 1\n"), 0o700))
	t.Setenv("PATH", failing)
	ash(t, "", "service", "install", "--home", home).complains(t, exitUnavailable, "Failed to connect to bus")
}
