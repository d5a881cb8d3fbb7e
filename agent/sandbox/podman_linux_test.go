package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/sandbox"
)

// podmanService starts Podman's service and returns the address of its socket. The base image is taken over from Docker where Podman has
// none.
func podmanService(t *testing.T) string {
	t.Helper()
	_, err := exec.LookPath("podman")
	need(t, "podman", err, "needs Podman: apt install podman uidmap slirp4netns crun")
	dir, err := os.MkdirTemp("", "ash-podman-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "podman.sock")
	cmd := exec.Command("sh", "-c", `umount /sys/fs/cgroup/unified 2>/dev/null; exec podman system service --time=0 "unix://$1"`, "sh", socket)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = time.Second
	if os.Geteuid() == 0 { // crun refuses cgroups of both versions at once: the service, and nobody else, sees only those of version 1
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		// Where root may not raise limits, Podman's own for files and processes are too high.
		conf := filepath.Join(dir, "containers.conf")
		if err := os.WriteFile(conf, []byte("[containers]\ndefault_ulimits = [\"nofile=4096:4096\", \"nproc=4096:4096\"]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd.Env = append(os.Environ(), "CONTAINERS_CONF="+conf)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("unix", socket)
		if err == nil {
			_ = c.Close()
			break
		}
		if time.Now().After(end) {
			_ = cmd.Process.Kill()
			need(t, "podman", fmt.Errorf("%w: %s", err, &said), "Podman's service does not start")
		}
	}
	const base = "debian:bookworm-slim"
	if exec.Command("podman", "image", "exists", base).Run() != nil {
		out, err := exec.Command("sh", "-c", "docker save "+base+" | podman load").CombinedOutput()
		if err != nil {
			t.Logf("the base image is not taken over from Docker, so it is pulled: %v: %s", err, out)
		}
	}
	return "unix://" + socket
}

// TestPodman holds over Podman's socket what the other tests hold over Docker's.
func TestPodman(t *testing.T) {
	host := podmanService(t)
	t.Setenv("DOCKER_HOST", host) // for the processes and clients of the test
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello") }))
	t.Cleanup(server.Close)
	g := &gateway{to: server.Listener.Addr().String()}
	k := openOn(t, sandbox.Settings{Engine: sandbox.EngineDocker, DockerHost: host, MinFree: 1, Memory: 64 << 20, PIDs: 48, Disk: 4 << 20, Timeout: 20 * time.Second},
		sandbox.Options{Gateway: g, Self: self})
	var last string
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	need(t, "podman", k.Build(ctx, func(line string) { last = line }), "Podman cannot build the sandbox here")
	if !strings.HasPrefix(last, "The sandbox is ready: ash-sandbox:") {
		t.Errorf("the build ended with %q", last)
	}
	st := k.Status(t.Context())
	if !st.Ready || !strings.HasPrefix(st.Name, "Podman") || !st.Image.Built || !st.Network {
		t.Fatalf("status: %+v", st)
	}
	for name, test := range map[string]func(*testing.T, *kit){
		"commands":   podmanCommands,
		"limits":     podmanLimits,
		"nothing":    podmanNothingElse,
		"stop":       podmanStop,
		"network":    podmanNetwork,
		"leftovers":  podmanLeftovers,
		"old images": podmanPrune,
	} {
		t.Run(name, func(t *testing.T) {
			k.t = t
			test(t, k)
		})
	}
	k.t = t
}

func podmanCommands(t *testing.T, k *kit) {
	o := k.run(t.Context(), sandbox.Command{Line: "cat; echo two >&2; mkdir -p sub; touch mine; cd sub; exit 7", Stdin: []byte("one\n")})
	if o.Err != nil || o.Output != "one\ntwo\n" || o.Exit != 7 || o.Dir != "sub" {
		t.Errorf("%+v", o)
	}
	info, err := os.Stat(filepath.Join(k.root, "mine"))
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); fmt.Sprintf("%d:%d", st.Uid, st.Gid) != k.Status(t.Context()).User {
		t.Errorf("the file belongs to %d:%d", st.Uid, st.Gid)
	}
	c := engineClient(t)
	label := "ash.thread=" + string(k.thread)
	first := containersOf(t, c, label)
	sleep := nap(9191, os.Getpid())
	if o := k.line("echo kept >/tmp/kept; " + sleep + " & echo left"); o.Output != "left\n" || naps(t, sleep) != 1 {
		t.Errorf("a job in the background: %+v", o)
	}
	if err := k.EndJobs(t.Context(), k.thread); err != nil {
		t.Error(err)
	}
	soon(t, time.Second, "the job ended", func() bool { return naps(t, sleep) == 0 })
	if o := k.line("cat /tmp/kept"); o.Output != "kept\n" {
		t.Errorf("after the turn: %+v", o)
	}
	if now := containersOf(t, c, label); len(first) != 1 || len(now) != 1 || first[0] != now[0] {
		t.Errorf("containers %v, then %v", first, now)
	}
}

func podmanLimits(t *testing.T, k *kit) {
	if o := k.line("tail /dev/zero"); !o.OutOfMemory || o.Exit == 0 {
		t.Errorf("memory: %+v", o)
	}
	if o := k.line(`bomb() { bomb | bomb & }; bomb; sleep 0.5; echo bombed`); o.TimedOut {
		t.Errorf("processes: %+v", o)
	}
	if err := k.EndJobs(t.Context(), k.thread); err != nil {
		t.Error(err)
	}
	// What Podman would make writable by itself counts as well.
	for _, dir := range []string{"/tmp", "/home", "/dev/shm", "/var/tmp"} {
		if o := k.line("rm -f /tmp/*; head -c 40M /dev/zero >" + dir + "/big; stat -c %s " + dir + "/big; rm " + dir + "/big"); !strings.Contains(o.Output, "No space left") || !strings.Contains(o.Output, "\n4194304\n") {
			t.Errorf("%s: %q", dir, o.Output)
		}
	}
	for _, path := range []string{"/x", "/usr/x", "/etc/x", "/run/x", "/run/lock/x", "/dev/x", "/var/x"} {
		if o := k.line("echo x >" + path + " && echo written"); strings.Contains(o.Output, "written") {
			t.Errorf("%s can be written", path)
		}
	}
	if o := k.line("ulimit -n; ulimit -c"); o.Output != "4096\n0\n" {
		t.Errorf("files and dumps: %q", o.Output)
	}
}

func podmanNothingElse(t *testing.T, k *kit) {
	for name, line := range map[string]string{
		"capabilities":           "grep Cap /proc/self/status | grep -v 0000000000000000 | grep -v CapBnd",
		"new privileges":         "grep NoNewPrivs /proc/self/status | grep -v 1$",
		"no filter of calls":     "grep Seccomp: /proc/self/status | grep -v 2$",
		"namespaces":             "unshare -Ur true",
		"mounting":               "mount -t tmpfs none /tmp",
		"the kernel's log":       "dmesg | head -1 | grep .",
		"tracing":                "python3 -c 'import ctypes; exit(0 if ctypes.CDLL(None, use_errno=True).ptrace(0,0,0,0)==0 else 1)'",
		"sockets of other kinds": "python3 -c 'import socket; socket.socket(38, 5)'",
		"processes of others":    "grep -l '[c]onmon\\|[p]odman\\|[s]andbox.test' /proc/[0-9]*/cmdline",
		"interfaces":             "ls /sys/class/net | grep -v '^lo$'",
	} {
		if o := k.line(line); o.Exit == 0 {
			t.Errorf("%s: %q", name, o.Output)
		}
	}
	if o := k.line("python3 -c 'import threading, socket; t = threading.Thread(target=print, args=(1,)); t.start(); t.join(); socket.socket()'"); o.Output != "1\n" {
		t.Errorf("threads and sockets: %+v", o)
	}
}

func podmanStop(t *testing.T, k *kit) {
	k.line("true")
	sleep := nap(9292, os.Getpid())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var stopped time.Time
	_, err := k.Run(ctx, sandbox.Command{Thread: k.thread, Root: k.root, Line: "(setsid sh -c 'trap \"\" TERM; " + sleep + " & " + sleep + "' &); echo up; " + sleep}, func([]byte) {
		time.AfterFunc(100*time.Millisecond, func() { stopped = time.Now(); stop() })
	})
	if took := time.Since(stopped); !errors.Is(err, context.Canceled) || took > time.Second || naps(t, sleep) != 0 {
		t.Errorf("%v after %s, %d processes live on", err, took, naps(t, sleep))
	}
	if o := k.line("echo again"); o.Output != "again\n" {
		t.Errorf("%+v", o)
	}
}

func podmanNetwork(t *testing.T, k *kit) {
	if o := k.run(t.Context(), sandbox.Command{Line: "curl -sS http://one.example/; exit 6", Hosts: []string{"one.example"}}); o.Err != nil || o.Output != "hello" || o.Exit != 6 || len(o.Hosts) != 1 {
		t.Errorf("granted: %+v", o)
	}
	if o := k.run(t.Context(), sandbox.Command{Line: "curl -sS http://two.example/", Hosts: []string{"one.example"}}); o.Err != nil || strings.Contains(o.Output, "hello") || len(o.Hosts) != 0 {
		t.Errorf("not granted: %+v", o)
	}
	if o := k.line("curl -sm 2 http://one.example/; ls /run/ash"); strings.Contains(o.Output, "hello") || strings.Contains(o.Output, "gateway") {
		t.Errorf("afterwards: %+v", o)
	}
}

func podmanLeftovers(t *testing.T, k *kit) {
	if err := k.Release(t.Context(), k.thread); err != nil {
		t.Fatal(err)
	}
	soon(t, 5*time.Second, "a released container is gone", func() bool { return len(k.Status(t.Context()).Containers) == 0 })
	c := engineClient(t)
	_ = os.Remove(filepath.Join(k.root, "started"))
	cmd := holder(t, k, sandbox.EngineDocker)
	sleep := nap(1000, os.Getpid())
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	soon(t, 5*time.Second, "the command ended with its server", func() bool { return naps(t, sleep) == 0 })
	soon(t, 5*time.Second, "its container too", func() bool { return len(k.Status(t.Context()).Containers) == 0 })
	// One that cannot notice.
	_ = os.Remove(filepath.Join(k.root, "started"))
	cmd = holder(t, k, sandbox.EngineDocker)
	st := k.Status(t.Context())
	if len(st.Containers) != 1 {
		t.Fatalf("%+v", st.Containers)
	}
	if err := c.ContainerPause(t.Context(), st.Containers[0].ID); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if removed, err := k.Recover(t.Context()); removed < 1 || err != nil {
		t.Errorf("removed %d, %v", removed, err)
	}
	if left := k.Status(t.Context()).Containers; len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
}

func podmanPrune(t *testing.T, k *kit) {
	c := engineClient(t)
	now := k.Status(t.Context()).Image.Tag
	old := "ash-sandbox:test" + strings.ReplaceAll(string(agent.NewID()), "-", "")
	if err := c.ImageTag(t.Context(), now, old); err != nil {
		t.Fatal(err)
	}
	if err := k.Prune(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := c.ImageInspect(t.Context(), old); err == nil {
		t.Error("an image of another version is still there")
	}
	if !k.Status(t.Context()).Ready {
		t.Error("the image in use is gone")
	}
}
