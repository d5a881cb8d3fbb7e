//go:build unix

package sandbox_test

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"

	"ash/agent"
	"ash/agent/sandbox"
)

// soon fails the test when is does not become true in time.
func soon(t *testing.T, most time.Duration, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(most); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Errorf("not within %s: %s", most, what)
}

// engineClient is a way to the engine past the package.
func engineClient(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// containersOf lists the containers of a thread, or of every one for "".
func containersOf(t *testing.T, c *client.Client, label string) (ids []string) {
	t.Helper()
	list, err := c.ContainerList(context.Background(), container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", label))})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range list {
		ids = append(ids, one.ID)
	}
	return ids
}

func TestWarmContainer(t *testing.T) {
	k := open(t, sandbox.EngineDocker, sandbox.Options{})
	c := engineClient(t)
	label := "ash.thread=" + string(k.thread)
	sleep := nap(7979, os.Getpid())
	k.line("echo kept >/tmp/file; (while :; do " + sleep + "; done) >/dev/null 2>&1 & echo $! >/tmp/pid")
	first := containersOf(t, c, label)
	if o := k.line("cat /tmp/file; kill -0 $(cat /tmp/pid) && echo alive"); o.Output != "kept\nalive\n" {
		t.Errorf("the next command: %q", o.Output)
	}
	if err := k.EndJobs(t.Context(), k.thread); err != nil {
		t.Error(err)
	}
	soon(t, time.Second, "background jobs ended", func() bool { return naps(t, sleep) == 0 })
	if o := k.line("cat /tmp/file; kill -0 $(cat /tmp/pid) 2>/dev/null || echo ended"); o.Output != "kept\nended\n" {
		t.Errorf("after the turn: %q", o.Output)
	}
	if now := containersOf(t, c, label); len(first) != 1 || len(now) != 1 || first[0] != now[0] {
		t.Errorf("containers %v, then %v", first, now)
	}
	// Another thread has another one, and does not see this one's files.
	if o := k.run(t.Context(), sandbox.Command{Thread: agent.NewID(), Line: "cat /tmp/file"}); o.Exit == 0 {
		t.Errorf("another thread: %+v", o)
	}
	st := k.Status(t.Context())
	if !st.Ready || st.Engine != sandbox.EngineDocker || !st.Image.Built || len(st.Containers) != 2 || st.Containers[0].Thread != k.thread || !st.Containers[0].Own || st.Containers[0].Busy {
		t.Errorf("status: %+v", st)
	}
	if err := k.Release(t.Context(), k.thread); err != nil {
		t.Error(err)
	}
	if now := containersOf(t, c, label); len(now) != 0 {
		t.Errorf("after Release: %v", now)
	}
	// Other settings, another container.
	k.line("true")
	k.settings.Memory = 96 << 20
	if o := k.line("cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null; cat /tmp/file"); !strings.HasPrefix(o.Output, "100663296") || strings.Contains(o.Output, "kept") {
		t.Errorf("with other settings: %q", o.Output)
	}
}

func TestBackgroundJobsDoNotHoldACommand(t *testing.T) {
	engines(t, func(t *testing.T, k *kit) {
		k.line("true")
		sleep := nap(8080, os.Getpid())
		within(t, time.Second, "a command with a job in the background", func() {
			if o := k.line(sleep + " & echo done"); o.Output != "done\n" || o.Exit != 0 {
				t.Errorf("%+v", o)
			}
		})
		if err := k.EndJobs(t.Context(), k.thread); err != nil {
			t.Error(err)
		}
		soon(t, time.Second, "the job ended", func() bool { return naps(t, sleep) == 0 })
	})
}

// TestWhatAnswersForTheKeeper is about a command that takes the questions put to the first process and answers them itself, so as to live on.
func TestWhatAnswersForTheKeeper(t *testing.T) {
	sleep := nap(8282, os.Getpid())
	thief := `setsid bash -c 'exec 3</proc/1/fd/0 4>/proc/1/fd/1; while IFS= read -r w <&3; do printf "killed\n" >&4; done' & setsid ` + sleep + ` & `
	k := open(t, sandbox.EngineDocker, sandbox.Options{})
	for range 5 { // who reads first is chance
		ctx, stop := context.WithCancel(t.Context())
		_, err := k.Run(ctx, sandbox.Command{Thread: k.thread, Root: k.root, Line: thief + "sleep 0.1; echo up; " + sleep}, func([]byte) { stop() })
		if err == nil {
			t.Error("not stopped")
		}
		soon(t, 2*time.Second, "what hides from Stop ended", func() bool { return naps(t, sleep) == 0 })
		k.line(thief + "sleep 0.1")
		if err := k.EndJobs(t.Context(), k.thread); err != nil {
			t.Error(err)
		}
		soon(t, 2*time.Second, "what hides from the end of the turn ended", func() bool { return naps(t, sleep) == 0 })
	}
	if o := k.line("echo again"); o.Output != "again\n" {
		t.Errorf("%+v", o)
	}
}

func TestIdleContainersAreReaped(t *testing.T) {
	k := open(t, sandbox.EngineDocker, sandbox.Options{})
	k.settings.Idle = 300 * time.Millisecond
	c := engineClient(t)
	k.line("sleep 0.6") // not while it runs
	if n := len(containersOf(t, c, "ash.thread="+string(k.thread))); n != 1 {
		t.Errorf("%d containers", n)
	}
	soon(t, 3*time.Second, "an idle container is gone", func() bool { return len(containersOf(t, c, "ash.thread="+string(k.thread))) == 0 })
	if o := k.line("echo again"); o.Output != "again\n" {
		t.Errorf("%+v", o)
	}
}

func TestCommandsOfAThreadTakeTurns(t *testing.T) {
	engines(t, func(t *testing.T, k *kit) {
		line := "echo $$" // in bubblewrap each command is alone, so they may overlap
		if k.settings.Engine == sandbox.EngineDocker {
			line = "mkdir /tmp/lock && sleep 0.05 && rmdir /tmp/lock"
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if o := k.run(t.Context(), sandbox.Command{Line: line}); o.Err != nil || o.Exit != 0 {
					t.Errorf("%+v", o)
				}
			})
			all.Go(func() {
				if o := k.run(t.Context(), sandbox.Command{Thread: agent.NewID(), Line: "echo apart"}); o.Output != "apart\n" {
					t.Errorf("%+v", o)
				}
			})
		}
		all.Wait()
	})
}

func TestHaltEndsEverything(t *testing.T) {
	engines(t, func(t *testing.T, k *kit) {
		sleep := nap(8181, os.Getpid())
		up := make(chan struct{}, 3)
		errs := make(chan error, 3)
		for range 3 {
			go func() {
				_, err := k.Run(t.Context(), sandbox.Command{Thread: agent.NewID(), Root: k.root, Line: "setsid " + sleep + " & echo up; " + sleep}, func([]byte) { up <- struct{}{} })
				errs <- err
			}()
		}
		for range 3 {
			select {
			case <-up:
			case err := <-errs:
				t.Fatalf("a command did not run: %v", err)
			}
		}
		within(t, 3*time.Second, "halting", func() {
			if err := k.Halt(t.Context()); err != nil {
				t.Error(err)
			}
		})
		for range 3 {
			if err := <-errs; agent.CodeOf(err) != agent.CodeUnavailable {
				t.Errorf("a halted command: %v", err)
			}
		}
		if n := naps(t, sleep); n != 0 {
			t.Errorf("%d processes live on", n)
		}
		if st := k.Status(t.Context()); len(st.Containers) != 0 {
			t.Errorf("left: %+v", st.Containers)
		}
		if o := k.line("echo again"); o.Output != "again\n" {
			t.Errorf("%+v", o)
		}
	})
}

// holder starts a process that holds a running command, for killing.
func holder(t *testing.T, k *kit, engine string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "ASH_TEST_HOLD="+k.home, "ASH_TEST_ENGINE="+engine)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held\n" {
		t.Fatalf("the holder said %q, %v", line, err)
	}
	soon(t, 5*time.Second, "its command runs", func() bool { _, err := os.Stat(filepath.Join(k.root, "started")); return err == nil })
	return cmd
}

// TestKilledServer kills a process that has a command running: everything of it ends by itself.
func TestKilledServer(t *testing.T) {
	engines(t, func(t *testing.T, k *kit) {
		sleep := nap(1000, os.Getpid())
		cmd := holder(t, k, k.settings.Engine)
		soon(t, 5*time.Second, "both processes of the command run", func() bool { return naps(t, sleep) == 2 })
		if removed, err := k.Recover(t.Context()); removed != 0 || err != nil {
			t.Errorf("what belongs to a living process was removed: %d, %v", removed, err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		soon(t, 5*time.Second, "the command ended with its server", func() bool { return naps(t, sleep) == 0 })
		if _, err := k.Recover(t.Context()); err != nil {
			t.Errorf("recover: %v", err)
		}
		if left := leftovers(t, k.home); left != "" {
			t.Errorf("left: %s", left)
		}
		soon(t, 5*time.Second, "no container is left", func() bool { return len(k.Status(t.Context()).Containers) == 0 })
	})
}

// TestRecoverRemovesWhatCouldNotEnd is about a container whose keeper never noticed that its server died.
func TestRecoverRemovesWhatCouldNotEnd(t *testing.T) {
	k := open(t, sandbox.EngineDocker, sandbox.Options{})
	c := engineClient(t)
	cmd := holder(t, k, sandbox.EngineDocker)
	st := k.Status(t.Context())
	if len(st.Containers) != 1 {
		t.Fatalf("%+v", st.Containers)
	}
	id := st.Containers[0].ID
	if err := c.ContainerPause(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if st = k.Status(t.Context()); len(st.Containers) != 1 || st.Containers[0].Own {
		t.Fatalf("it is gone already: %+v", st.Containers)
	}
	if removed, err := k.Recover(t.Context()); removed != 1 || err != nil {
		t.Errorf("removed %d, %v", removed, err)
	}
	if _, err := c.ContainerInspect(t.Context(), id); err == nil {
		t.Error("it is still there")
	}
}

func TestContainerKilledInTheMiddle(t *testing.T) {
	k := open(t, sandbox.EngineDocker, sandbox.Options{})
	c := engineClient(t)
	within(t, 5*time.Second, "noticing", func() {
		var once sync.Once
		r, err := k.Run(t.Context(), sandbox.Command{Thread: k.thread, Root: k.root, Line: "echo part; sleep 60"}, func([]byte) {
			once.Do(func() {
				for _, id := range containersOf(t, c, "ash.thread="+string(k.thread)) {
					go c.ContainerKill(context.Background(), id, "KILL")
				}
			})
		})
		if agent.CodeOf(err) != agent.CodeUnavailable || !strings.Contains(agent.PublicOf(err), "in the middle") {
			t.Errorf("%+v %v", r, err)
		}
	})
	if o := k.line("echo again"); o.Output != "again\n" {
		t.Errorf("%+v", o)
	}
}

// engineSocket is where the engine of the tests listens.
func engineSocket() string {
	return strings.TrimPrefix(cmp.Or(os.Getenv("DOCKER_HOST"), "unix:///var/run/docker.sock"), "unix://")
}

// wire is a socket that leads to the engine until it is cut.
type wire struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

func newWire(t *testing.T, path string) *wire {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{Listener: l}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("unix", engineSocket())
			if err != nil {
				in.Close()
				continue
			}
			w.mu.Lock()
			w.conns = append(w.conns, in, out)
			w.mu.Unlock()
			go func() { io.Copy(out, in); out.(*net.UnixConn).CloseWrite() }()
			go func() { io.Copy(in, out); in.Close() }()
		}
	}()
	t.Cleanup(w.cut)
	return w
}

func (w *wire) cut() {
	w.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		c.Close()
	}
}

func TestDockerStoppedInTheMiddle(t *testing.T) {
	k := open(t, sandbox.EngineDocker, sandbox.Options{})
	dir, err := os.MkdirTemp("", "ash-wire-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "d.sock")
	w := newWire(t, socket)
	k.settings.DockerHost = "unix://" + socket
	k.line("true")
	within(t, 8*time.Second, "noticing", func() {
		_, err := k.Run(t.Context(), sandbox.Command{Thread: k.thread, Root: k.root, Line: "echo part; sleep 60"}, func([]byte) { go w.cut() })
		if agent.CodeOf(err) != agent.CodeUnavailable {
			t.Errorf("ended with %v", err)
		}
	})
	if o := k.run(t.Context(), sandbox.Command{Line: "echo ran"}); agent.CodeOf(o.Err) != agent.CodeUnavailable || o.Output != "" {
		t.Errorf("without Docker: %+v", o)
	}
	if st := k.Status(t.Context()); st.Ready || st.Problem == "" {
		t.Errorf("status: %+v", st)
	}
	newWire(t, socket)
	if o := k.line("echo again"); o.Output != "again\n" {
		t.Errorf("with Docker again: %+v", o)
	}
}

func TestAutoTakesBubblewrapWithoutDocker(t *testing.T) {
	k := open(t, sandbox.EngineBubblewrap, sandbox.Options{})
	k.settings.Engine, k.settings.DockerHost = sandbox.EngineAuto, "unix:///nowhere/docker.sock"
	if o := k.line("echo here"); o.Output != "here\n" || o.Engine != sandbox.EngineBubblewrap {
		t.Errorf("%+v", o)
	}
	st := k.Status(t.Context())
	if !st.Ready || st.Engine != sandbox.EngineBubblewrap || !strings.Contains(strings.Join(st.Notes, " "), "no usable Docker") {
		t.Errorf("%+v", st)
	}
	k.settings.Engine = sandbox.EngineOff
	if o := k.run(t.Context(), sandbox.Command{Line: "true"}); agent.CodeOf(o.Err) != agent.CodeUnavailable {
		t.Errorf("switched off: %+v", o)
	}
}
