//go:build unix

package sandbox_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/sandbox"
)

// TestMain lets the test binary be the ash binary inside a sandbox, and a process that dies with a container in its hands.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 2 && os.Args[1] == sandbox.RelayCommand:
		// Not os.Exit: a test binary that counts coverage would complain into the command's output.
		syscall.Exit(sandbox.Relay(context.Background(), os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	case os.Getenv("ASH_TEST_HOLD") != "":
		os.Exit(hold(os.Getenv("ASH_TEST_HOLD"), os.Getenv("ASH_TEST_ENGINE")))
	}
	if home := os.Getenv("ASH_TEST_ORDINARY"); home != "" {
		os.Exit(asOrdinary(home))
	}
	os.Exit(m.Run())
}

// hold runs a command that does not end, says so, and waits to be killed.
func hold(home, engine string) int {
	s := sandbox.New(sandbox.Options{Home: home, Settings: func() sandbox.Settings { return sandbox.Settings{Engine: engine, MinFree: 1} }})
	sleep := nap(1000, os.Getppid())
	_, err := s.Run(context.Background(), sandbox.Command{
		Thread: agent.NewID(), Root: filepath.Join(home, "workspace", "files"), Line: "echo held; setsid " + sleep + " & touch started; " + sleep,
	}, func(p []byte) { fmt.Print(string(p)) })
	fmt.Println("ended", err)
	return 1
}

// need skips a test without a tool, or fails it when ASH_TEST_REQUIRE names the tool.
func need(t testing.TB, word string, err error, fix string) {
	t.Helper()
	if err == nil {
		return
	}
	if slices.Contains(strings.Split(os.Getenv("ASH_TEST_REQUIRE"), ","), word) {
		t.Fatalf("%s is required: %v", word, err)
	}
	t.Skipf("%s (%v)", fix, err)
}

// image builds the image once per run of the tests.
var image = sync.OnceValue(func() error { //nolint:gochecknoglobals // shared by the tests, built when first needed
	s := sandbox.New(sandbox.Options{Home: os.TempDir(), Settings: func() sandbox.Settings { return sandbox.Settings{Engine: sandbox.EngineDocker} }})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if s.Status(ctx).Ready {
		return nil
	}
	var last []string
	if err := s.Build(ctx, func(line string) { last = append(last, line) }); err != nil {
		return fmt.Errorf("%w\n%s", err, strings.Join(last[max(0, len(last)-20):], "\n"))
	}
	return nil
})

// kit is a sandbox over a home of its own.
type kit struct {
	*sandbox.Sandbox
	t        testing.TB
	home     string
	root     string
	thread   agent.ID
	settings *sandbox.Settings
}

// engines runs test on each engine there is.
func engines(t *testing.T, test func(t *testing.T, k *kit)) {
	t.Helper()
	for _, engine := range []string{sandbox.EngineDocker, sandbox.EngineBubblewrap} {
		t.Run(engine, func(t *testing.T) { test(t, open(t, engine, sandbox.Options{})) })
	}
}

// open makes a kit, or skips the test when the engine is not there.
func open(t testing.TB, engine string, o sandbox.Options) *kit {
	t.Helper()
	if engine == sandbox.EngineDocker {
		need(t, "docker", image(), "needs Docker: apt install docker.io, start dockerd")
	}
	return openOn(t, sandbox.Settings{Engine: engine, MinFree: 1}, o)
}

// openOn makes a kit with these settings, or skips the test when bubblewrap is asked for and not there.
func openOn(t testing.TB, set sandbox.Settings, o sandbox.Options) *kit {
	t.Helper()
	engine := set.Engine
	k := &kit{t: t, home: t.TempDir(), thread: agent.NewID(), settings: &set}
	k.root = filepath.Join(k.home, "workspace", "files")
	if err := os.MkdirAll(k.root, 0o700); err != nil {
		t.Fatal(err)
	}
	o.Home = k.home
	o.Settings = func() sandbox.Settings { return *k.settings }
	k.Sandbox = sandbox.New(o)
	t.Cleanup(func() {
		if info, err := os.Stat(filepath.Join(k.home, "sandbox")); err == nil && info.Mode().Perm() != 0o700 {
			t.Errorf("the folder of the sandbox's files is open: %v", info.Mode())
		}
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := k.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		if left := leftovers(t, k.home); left != "" {
			t.Errorf("left behind: %s", left)
		}
	})
	if engine == sandbox.EngineBubblewrap {
		if runtime.GOOS != "linux" {
			t.Skip("bubblewrap is for Linux only")
		}
		st := k.Status(t.Context())
		var err error
		if !st.Ready {
			err = errors.New(st.Problem)
		}
		need(t, "bubblewrap", err, "needs bubblewrap and a cgroup: apt install bubblewrap, and run as root or below a delegated cgroup")
	}
	return k
}

// leftovers lists what a closed or recovered sandbox of this home should not have left: folders and cgroups. Others
// on this machine have their own.
func leftovers(t testing.TB, home string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(home))
	name := "ash-" + hex.EncodeToString(sum[:6]) + "-*"
	found, _ := filepath.Glob(filepath.Join(home, "sandbox", "run-*"))
	dirs := "/sys/fs/cgroup"
	for range 6 {
		dirs += "/*"
		more, _ := filepath.Glob(filepath.Join(filepath.Dir(dirs), name))
		found = append(found, more...)
	}
	return strings.Join(found, " ")
}

// outcome is a result with the output that was handed on.
type outcome struct {
	sandbox.Result
	Output string
	Err    error
}

// run executes c in the kit's root.
func (k *kit) run(ctx context.Context, c sandbox.Command) outcome {
	k.t.Helper()
	if c.Root == "" {
		c.Root = k.root
	}
	if c.Thread == "" {
		c.Thread = k.thread
	}
	var b strings.Builder
	r, err := k.Run(ctx, c, func(p []byte) { b.Write(p) })
	if r.Overflow != "" {
		k.t.Cleanup(func() { _ = os.Remove(r.Overflow) })
	}
	return outcome{r, b.String(), err}
}

// line runs a line that must be run.
func (k *kit) line(line string) outcome {
	k.t.Helper()
	o := k.run(k.t.Context(), sandbox.Command{Line: line})
	if o.Err != nil {
		k.t.Fatalf("%s: %v", line, o.Err)
	}
	return o
}

// nap is a command that does nothing for long, told from those of others on this machine by the process of the tests, pid.
func nap(seconds, pid int) string { return fmt.Sprintf("sleep %d.%d", seconds, pid) }

// naps counts the processes of the host that are nap.
func naps(t testing.TB, nap string) int {
	t.Helper()
	out, err := exec.Command("pgrep", "-fc", "^"+strings.ReplaceAll(nap, ".", `\.`)+"$").Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	var n int
	_, _ = fmt.Sscan(string(out), &n)
	return n
}
