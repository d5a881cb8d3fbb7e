package sandbox

import (
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	mountsV1 = `30 24 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755
31 30 0:27 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory
32 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
33 30 0:29 /box /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
34 30 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
`
	selfV1   = "9:memory:/user/a\n5:cpu,cpuacct:/\n4:pids:/box/one\n0::/\n"
	mountsV2 = "35 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\nbroken line\n"
	selfV2   = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-1.scope\n"
)

func TestPlacesForGroups(t *testing.T) {
	v1 := places(hierarchies(mountsV1, selfV1))
	if len(v1) != 2 || v1[0].version != 1 || v1[0].dirs["memory"] != "/sys/fs/cgroup/memory/user/a" ||
		v1[0].dirs["pids"] != "/sys/fs/cgroup/pids/one" || v1[0].dirs["cpu"] != "/sys/fs/cgroup/cpu,cpuacct" || v1[1].dirs["memory"] != "/sys/fs/cgroup/memory" {
		t.Errorf("version 1: %+v", v1)
	}
	v2 := places(hierarchies(mountsV2, selfV2))
	const top = "/sys/fs/cgroup"
	want := []string{
		top + "/user.slice/user-1000.slice/user@1000.service/app.slice/run-1.scope", top + "/user.slice/user-1000.slice/user@1000.service/app.slice",
		top + "/user.slice/user-1000.slice/user@1000.service", top + "/user.slice/user-1000.slice", top + "/user.slice", top,
	}
	var got []string
	for _, g := range v2 {
		got = append(got, g.dirs["cpu"])
	}
	if !slices.Equal(got, want) || v2[0].version != 2 {
		t.Errorf("version 2: %v", got)
	}
	if none := places(hierarchies("", "")); none != nil {
		t.Errorf("without any: %v", none)
	}
	if space := hierarchies("1 2 0:3 / /a\\040b rw - cgroup2 c rw\n", "0::/\n"); space[""].mount != "/a b" {
		t.Errorf("escapes: %+v", space)
	}
}

// dead is the id of a process that has ended.
func dead(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("/bin/true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

// TestRecoverEndsWhatLivesOn is about a group whose server is dead, but not what runs in it, and about one that was removed halfway.
func TestRecoverEndsWhatLivesOn(t *testing.T) {
	b := newBubblewrap(strings.ToLower(rand.Text()[:12]), slog.New(slog.DiscardHandler))
	place, err := findGroups(b.prefix + "-" + strconv.Itoa(os.Getpid()))
	if err != nil {
		if strings.Contains(os.Getenv("ASH_TEST_REQUIRE"), "bubblewrap") {
			t.Fatal(err)
		}
		t.Skipf("needs a cgroup: run as root or below a delegated cgroup (%v)", err)
	}
	living, err := place.open(b.prefix+"-"+strconv.Itoa(dead(t))+"-1", Settings{}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-c", prelude, "sh"}, append(living.entries(), "--", "/bin/sh", "-c", "trap '' TERM; sleep 60 & echo up; wait")...)
	cmd := exec.Command("/bin/sh", args...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	want := 1
	if place.version == 1 {
		half, err := place.open(b.prefix+"-"+strconv.Itoa(dead(t))+"-2", Settings{}.withDefaults())
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{half.memory, half.pids} {
			if err := os.Remove(dir); err != nil {
				t.Fatal(err)
			}
		}
		want++
	}
	mine, err := place.open(b.prefix+"-"+strconv.Itoa(os.Getpid())+"-3", Settings{}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	if removed, err := b.recover(); removed != want || err != nil {
		t.Errorf("removed %d of %d, %v", removed, want, err)
	}
	if _, err := os.Stat(mine.pids); err != nil {
		t.Errorf("the group of a living process: %v", err)
	}
	if err := errors.Join(mine.close(), living.close()); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != -1 {
		t.Errorf("what lived on was not killed: %v", err)
	}
	if again := place.leftover(b.prefix); len(again) != 0 {
		t.Errorf("left: %v", again[0].dirs)
	}
}

func FuzzHierarchies(f *testing.F) {
	f.Add(mountsV1, selfV1)
	f.Add(mountsV2, selfV2)
	f.Add("1 2 0:3 /../../.. / rw - cgroup2 c rw", "0::/../../..")
	f.Fuzz(func(t *testing.T, mountinfo, self string) {
		for _, g := range places(hierarchies(mountinfo, self)) {
			if len(g.dirs) != 3 {
				t.Errorf("%+v", g)
			}
		}
	})
}

// fill makes the files a kernel would have in a new folder of version 2.
func fill(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLimitsOfVersion2 writes to a copy of the file tree: not every machine that builds Ash has version 2.
func TestLimitsOfVersion2(t *testing.T) {
	dir := t.TempDir()
	one := &group{version: 2, memory: dir, pids: dir, cpu: dir, dirs: []string{dir}}
	set := Settings{Memory: 1 << 20, CPUs: 1.5, PIDs: 7}
	if err := one.limit(set); err == nil {
		t.Error("limits were set without the files for them")
	}
	fill(t, dir, "memory.max", "pids.max", "cpu.max", "cgroup.kill")
	if err := one.limit(set); err != nil {
		t.Errorf("without the counting of swap: %v", err)
	}
	fill(t, dir, "memory.swap.max")
	if err := one.limit(set); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{"memory.max": "1048576", "memory.swap.max": "0", "pids.max": "7", "cpu.max": "150000 100000"} {
		if got, _ := os.ReadFile(filepath.Join(dir, name)); string(got) != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "memory.events"), []byte("low 0\nhigh 0\nmax 4\noom 2\noom_kill 2\noom_group_kill 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if one.ooms() != 2 {
		t.Errorf("%d processes out of memory", one.ooms())
	}
	one.kill()
	if got, _ := os.ReadFile(filepath.Join(dir, "cgroup.kill")); string(got) != "1" {
		t.Errorf("kill wrote %q", got)
	}
}

func TestControllersAreHandedDown(t *testing.T) {
	dir := t.TempDir()
	if err := enable(dir); err == nil {
		t.Error("enabled where there is no cgroup")
	}
	control := filepath.Join(dir, "cgroup.subtree_control")
	if err := os.WriteFile(control, []byte("cpuset cpu io memory pids"), 0o400); err != nil {
		t.Fatal(err)
	}
	if err := enable(dir); err != nil {
		t.Error(err)
	}
	if got, _ := os.ReadFile(control); !strings.Contains(string(got), "memory pids") {
		t.Errorf("what was on already was written again: %q", got)
	}
}
