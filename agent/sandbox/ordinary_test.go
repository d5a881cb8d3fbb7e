//go:build unix

package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/sandbox"
)

// ordinary is the account of the test below.
const ordinary = 4711

// asOrdinary is what that account does: it prints how commands went.
func asOrdinary(home string) int {
	set := sandbox.Settings{Engine: sandbox.EngineBubblewrap, MinFree: 1, Memory: 64 << 20, PIDs: 32, Timeout: 10 * time.Second}
	s := sandbox.New(sandbox.Options{Home: home, Settings: func() sandbox.Settings { return set }})
	fmt.Println("ready", s.Status(context.Background()).Ready, s.Status(context.Background()).Problem)
	root := filepath.Join(home, "workspace", "files")
	for _, line := range []string{
		"id -u; touch mine; grep CapEff /proc/self/status | cut -f2; grep NoNewPrivs /proc/self/status | cut -f2",
		"touch /x || touch /usr/x || unshare -Ur true || echo contained",
		"tail /dev/zero",
		"bomb() { bomb | bomb & }; bomb; sleep 0.5; echo bombed",
	} {
		r, err := s.Run(context.Background(), sandbox.Command{Thread: agent.NewID(), Root: root, Line: line}, func(p []byte) { os.Stdout.Write(p) })
		fmt.Println("exit", r.Exit, "oom", r.OutOfMemory, err)
	}
	return 0
}

// TestBubblewrapAsAnOrdinaryUser runs Ash as somebody else, in cgroups that are delegated to them. It needs
// root to prepare that, and version 1 of cgroups, where a folder of one's own is all it takes.
func TestBubblewrapAsAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to become somebody else")
	}
	open(t, sandbox.EngineBubblewrap, sandbox.Options{})
	home, err := os.MkdirTemp("/tmp", "ash-ordinary-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	program := filepath.Join(home, "program")
	copyFile(t, os.Args[0], program)
	if err := os.MkdirAll(filepath.Join(home, "workspace", "files"), 0o700); err != nil {
		t.Fatal(err)
	}
	var enter strings.Builder
	for _, c := range []string{"memory", "pids", "cpu"} {
		dir := filepath.Join("/sys/fs/cgroup", c, "ash-test-ordinary")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Skipf("needs cgroups of version 1 (%v)", err)
		}
		t.Cleanup(func() {
			for range 100 {
				if os.Remove(dir) == nil {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
			t.Errorf("%s is still in use", dir)
		})
		for _, path := range []string{dir, filepath.Join(dir, "cgroup.procs")} {
			if err := os.Chown(path, ordinary, ordinary); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Fprintf(&enter, "echo 0 >%s/cgroup.procs && ", dir)
	}
	if err := filepath.Walk(home, func(path string, _ os.FileInfo, err error) error {
		return errors.Join(err, os.Chown(path, ordinary, ordinary))
	}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", enter.String()+fmt.Sprintf("exec setpriv --reuid=%d --regid=%d --clear-groups %s", ordinary, ordinary, program))
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "ASH_TEST_ORDINARY=" + home}
	out, err := cmd.CombinedOutput()
	want := "ready true \n4711\n0000000000000000\n1\nexit 0 oom false <nil>\ncontained\nexit 0 oom false <nil>\nexit 137 oom true <nil>\n"
	text := clean(string(out))
	// What a shell says about commands that could not be started is its own.
	if err != nil || !strings.HasPrefix(text, want) || !strings.HasSuffix(text, "oom false <nil>\n") {
		t.Errorf("%v\n%s", err, out)
	}
	if info, err := os.Stat(filepath.Join(home, "workspace", "files", "mine")); err != nil {
		t.Error(err)
	} else if got := fmt.Sprintf("%+v", info.Sys()); !strings.Contains(got, fmt.Sprintf("Uid:%d ", ordinary)) {
		t.Errorf("the file belongs to %s", got)
	}
}

// clean leaves out what programs say about being refused, and a test program about its coverage.
func clean(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "touch:") && !strings.HasPrefix(line, "unshare:") && !strings.Contains(line, "Killed") &&
			!strings.HasPrefix(line, "warning: GOCOVERDIR") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}
