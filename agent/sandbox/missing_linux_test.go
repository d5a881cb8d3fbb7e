package sandbox_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/sandbox"
)

// program writes a shell script that stands in for one.
func program(t *testing.T, dir, name, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestBubblewrapThatCannotBeUsed is about programs that are missing, too old or broken: commands are off, and why is said.
func TestBubblewrapThatCannotBeUsed(t *testing.T) {
	const options = `[ "$1" = --help ] && { echo "--size --perms"; exit; }; [ "$1" = --version ] && { echo "bubblewrap 0.8.0"; exit; }; `
	for name, test := range map[string]struct {
		script, says string
		root         bool // about Ash as root
	}{
		"not installed":           {says: "not installed either"},
		"too old":                 {script: "echo --bind", says: "too old"},
		"does not start":          {script: "exit 1", says: "does not start"},
		"without a version":       {script: `[ "$1" = --help ] && { echo "--size --perms"; exit; }; exit 1`, says: "does not start"},
		"root without setpriv":    {script: options, says: "needs setpriv", root: true},
		"root, setpriv of a user": {script: options, says: "needs setpriv", root: true},
	} {
		t.Run(name, func(t *testing.T) {
			if test.root && os.Geteuid() != 0 {
				t.Skip("is about Ash as root")
			}
			dir := t.TempDir()
			if test.script != "" {
				program(t, dir, "bwrap", test.script)
			}
			if strings.HasSuffix(name, "of a user") {
				program(t, dir, "setpriv", "exit 0")
			}
			t.Setenv("PATH", dir)
			k := openOn(t, sandbox.Settings{Engine: sandbox.EngineAuto, DockerHost: "unix:///nowhere/docker.sock", MinFree: 1}, sandbox.Options{})
			o := k.run(t.Context(), sandbox.Command{Line: "touch ran"})
			if says := agent.PublicOf(o.Err); agent.CodeOf(o.Err) != agent.CodeUnavailable || !strings.Contains(says, test.says) || !strings.Contains(says, "Docker is not running here") {
				t.Errorf("got %v", o.Err)
			}
			if _, err := os.Stat(filepath.Join(k.root, "ran")); err == nil {
				t.Error("it ran")
			}
		})
	}
}

// TestBubblewrapThatDoesNotWork is about one that is there, and in which nothing runs.
func TestBubblewrapThatDoesNotWork(t *testing.T) {
	open(t, sandbox.EngineBubblewrap, sandbox.Options{}) // there are cgroups
	for name, script := range map[string]string{
		"no namespaces": `echo "bwrap: No permissions to create new namespace" >&2; exit 1`,
		"runs nothing":  "exit 0",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			program(t, dir, "bwrap", `case $1 in --help) echo "--size --perms"; exit;; --version) echo bubblewrap 0.8.0; exit;; esac; `+script)
			t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
			k := openOn(t, sandbox.Settings{Engine: sandbox.EngineAuto, DockerHost: "unix:///nowhere/docker.sock", MinFree: 1}, sandbox.Options{})
			o := k.run(t.Context(), sandbox.Command{Line: "touch ran"})
			if agent.CodeOf(o.Err) != agent.CodeUnavailable || !strings.Contains(agent.PublicOf(o.Err), "does not work") {
				t.Errorf("got %v", o.Err)
			}
		})
	}
}

// TestStatusShowsWhatRunsInBubblewrap also holds that it is over when the command is.
func TestStatusShowsWhatRunsInBubblewrap(t *testing.T) {
	k := open(t, sandbox.EngineBubblewrap, sandbox.Options{})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	up, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		_, _ = k.Run(ctx, sandbox.Command{Thread: k.thread, Root: k.root, Line: "echo up; sleep 60"}, func([]byte) { close(up) })
	}()
	<-up
	st := k.Status(t.Context())
	if len(st.Containers) != 1 || st.Containers[0].Thread != k.thread || !st.Containers[0].Busy || st.Containers[0].Use != "command" {
		t.Errorf("%+v", st.Containers)
	}
	stop()
	<-done
	if st := k.Status(t.Context()); len(st.Containers) != 0 {
		t.Errorf("afterwards: %+v", st.Containers)
	}
}

// TestRecoverRemovesFiles is about the folders of processes: those of the dead go, those of the living stay, and so does what is not ours.
func TestRecoverRemovesFiles(t *testing.T) {
	home := t.TempDir()
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{ // whether it stays
		"run-" + strconv.Itoa(dead.Process.Pid) + "-1": false,
		"run-" + strconv.Itoa(os.Getppid()) + "-1":     true,
		"run-" + strconv.Itoa(os.Getpid()) + "-1":      false, // of an earlier process with this id
		"other":    true,
		"run-x-1":  true,
		"run-none": true,
	}
	for name := range names {
		if err := os.MkdirAll(filepath.Join(home, "sandbox", name, "deep"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s := sandbox.New(sandbox.Options{Home: home, Settings: func() sandbox.Settings { return sandbox.Settings{Engine: sandbox.EngineOff} }})
	if err := os.Chmod(filepath.Join(home, "sandbox"), 0o755); err != nil {
		t.Fatal(err)
	}
	if removed, err := s.Recover(t.Context()); removed != 0 || err != nil {
		t.Errorf("in a folder that others may use: %d, %v", removed, err)
	}
	if err := os.Chmod(filepath.Join(home, "sandbox"), 0o700); err != nil {
		t.Fatal(err)
	}
	if removed, err := s.Recover(t.Context()); removed != 2 || err != nil {
		t.Errorf("removed %d, %v", removed, err)
	}
	for name, stays := range names {
		if _, err := os.Stat(filepath.Join(home, "sandbox", name)); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOpenFolder is about a folder for sockets that others may use too. (The name is short: so must the path be.)
func TestOpenFolder(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	k := open(t, sandbox.EngineBubblewrap, sandbox.Options{Gateway: &gateway{}, Self: self})
	dir := filepath.Join(k.home, "sandbox")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	o := k.run(t.Context(), sandbox.Command{Line: "touch ran", Hosts: []string{"*"}})
	if agent.CodeOf(o.Err) != agent.CodeUnavailable || !strings.Contains(agent.PublicOf(o.Err), "cannot make the folder") {
		t.Errorf("%v", o.Err)
	}
	if _, err := os.Stat(filepath.Join(k.root, "ran")); err == nil {
		t.Error("it ran")
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
}

// TestClosedSandboxRunsNothing also holds that Close waits for what runs.
func TestClosedSandboxRunsNothing(t *testing.T) {
	engines(t, func(t *testing.T, k *kit) {
		sleep := nap(8484, os.Getpid())
		up, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			_, err := k.Run(t.Context(), sandbox.Command{Thread: k.thread, Root: k.root, Line: "echo up; " + sleep}, func([]byte) { close(up) })
			ended <- err
		}()
		<-up
		within(t, 5*time.Second, "closing", func() {
			if err := k.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
		if n := naps(t, sleep); n != 0 {
			t.Errorf("%d processes live on", n)
		}
		if err := <-ended; agent.CodeOf(err) != agent.CodeUnavailable {
			t.Errorf("the command: %v", err)
		}
		if o := k.run(t.Context(), sandbox.Command{Line: "touch ran"}); agent.CodeOf(o.Err) != agent.CodeUnavailable || !strings.Contains(agent.PublicOf(o.Err), "being stopped") {
			t.Errorf("afterwards: %+v", o)
		}
		if _, _, err := sit(t.Context(), t, k, "", false); agent.CodeOf(err) != agent.CodeUnavailable {
			t.Errorf("a shell afterwards: %v", err)
		}
	})
}
