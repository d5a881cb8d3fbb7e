//go:build unix

package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/sandbox"
)

// within fails the test when fn takes longer.
func within(t *testing.T, most time.Duration, what string, fn func()) {
	t.Helper()
	began := time.Now()
	fn()
	if took := time.Since(began); took > most {
		t.Errorf("%s took %s, more than %s", what, took, most)
	}
}

// TestStopKillsTheWholeTree holds the promise of one second, also for what left its session and its parents.
func TestStopKillsTheWholeTree(t *testing.T) {
	engines(t, func(t *testing.T, k *kit) {
		k.line("true")
		for name, line := range map[string]string{
			"sleeping":      "echo up; %s",
			"grandchildren": "(setsid sh -c 'trap \"\" TERM HUP INT; %s & %s' &); nohup setsid %s & echo up; wait; %s",
			"busy":          "trap '' TERM INT HUP; %s & echo up; while :; do :; done",
			"loud":          "%s & echo up; while :; do echo loud; done",
		} {
			t.Run(name, func(t *testing.T) {
				sleep := nap(7700+len(name), os.Getpid())
				ctx, stop := context.WithCancel(t.Context())
				var stopped time.Time
				_, err := k.Run(ctx, sandbox.Command{Thread: k.thread, Root: k.root, Line: strings.ReplaceAll(line, "%s", sleep)}, func(p []byte) {
					if stopped.IsZero() && strings.Contains(string(p), "up") {
						stopped = time.Now().Add(100 * time.Millisecond)
						time.AfterFunc(100*time.Millisecond, stop)
					}
				})
				took := time.Since(stopped)
				if !errors.Is(err, context.Canceled) || stopped.IsZero() {
					t.Fatalf("ended with %v", err)
				}
				if took > time.Second {
					t.Errorf("stopped after %s", took)
				}
				if n := naps(t, sleep); n != 0 {
					t.Errorf("%d processes live on", n)
				}
			})
		}
		if o := k.line("echo again"); o.Output != "again\n" {
			t.Errorf("after stopping: %+v", o)
		}
	})
}

func TestTimeIsBounded(t *testing.T) {
	engines(t, func(t *testing.T, k *kit) {
		k.line("true")
		within(t, 2*time.Second, "a command of half a second", func() {
			o := k.run(t.Context(), sandbox.Command{Line: "echo partly; sleep 60", Timeout: 500 * time.Millisecond})
			if o.Err != nil || !o.TimedOut || o.Exit != 137 || o.Output != "partly\n" {
				t.Errorf("%+v", o)
			}
		})
	})
}

func TestForkBombIsContained(t *testing.T) {
	engines(t, func(t *testing.T, k *kit) {
		k.settings.PIDs = 64
		k.settings.Timeout = 2 * time.Second
		within(t, 5*time.Second, "a fork bomb", func() {
			o := k.line(`bomb() { bomb | bomb & }; bomb; while :; do sleep 0.1; done`)
			if !o.TimedOut {
				t.Errorf("%+v", o)
			}
		})
		// And one that goes on in the background when its command is over.
		within(t, 5*time.Second, "a fork bomb in the background", func() { k.line(`(while :; do (sleep 60 &) ; done) >/dev/null 2>&1 & sleep 0.5; echo left`) })
		within(t, 10*time.Second, "a command beside a fork bomb", func() {
			if o := k.line("echo still here"); o.Output != "still here\n" {
				t.Errorf("%+v", o)
			}
		})
		if err := k.EndJobs(t.Context(), k.thread); err != nil {
			t.Error(err)
		}
		if o := k.line("ls -d /proc/[0-9]* | wc -l"); strings.TrimSpace(o.Output) > "9" || len(strings.TrimSpace(o.Output)) > 1 {
			t.Errorf("%s processes afterwards", o.Output)
		}
	})
}

func TestMemoryBombIsContained(t *testing.T) {
	engines(t, func(t *testing.T, k *kit) {
		k.settings.Memory = 64 << 20
		k.settings.Timeout = 20 * time.Second
		o := k.line(`tail /dev/zero; code=$?; echo after; exit $code`)
		if !o.OutOfMemory || o.Exit == 0 {
			t.Errorf("tail: %+v", o)
		}
		if o := k.line("echo again"); o.Output != "again\n" || o.OutOfMemory {
			t.Errorf("afterwards: %+v", o)
		}
		if o := k.line(`x=a; while :; do x=$x$x; done`); !o.OutOfMemory || o.Exit != 137 {
			t.Errorf("the shell itself: %+v", o)
		}
		if o := k.line("echo again"); o.Output != "again\n" {
			t.Errorf("afterwards: %+v", o)
		}
	})
}

func TestEndlessOutputIsContained(t *testing.T) {
	engines(t, func(t *testing.T, k *kit) {
		k.settings.Output = 1 << 20
		k.line("true")
		for _, line := range []string{"yes", "head -c 10G /dev/zero"} {
			t.Run(line, func(t *testing.T) {
				runtime.GC()
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				var handed int
				var o sandbox.Result
				var err error
				within(t, 10*time.Second, line, func() {
					o, err = k.Run(t.Context(), sandbox.Command{Thread: k.thread, Root: k.root, Line: line}, func(p []byte) { handed += len(p) })
				})
				runtime.GC()
				runtime.ReadMemStats(&after)
				if err != nil || !o.Endless || !o.Truncated || handed != 1<<20 {
					t.Fatalf("%d bytes handed on, %+v, %v", handed, o, err)
				}
				if grown := int64(after.Sys) - int64(before.Sys); grown > 32<<20 {
					t.Errorf("memory grew by %d bytes", grown)
				}
				info, err := os.Stat(o.Overflow)
				if err != nil || info.Size() != 64<<20 {
					t.Errorf("the whole output: %v, %v", info, err)
				}
				_ = os.Remove(o.Overflow)
			})
		}
		o := k.line("head -c 2M /dev/zero | tr '\\0' a; echo end")
		text, err := os.ReadFile(o.Overflow)
		if err != nil || len(text) != 2<<20+4 || !strings.HasSuffix(string(text), "aend\n") || o.Endless || !o.Truncated || len(o.Output) != 1<<20 {
			t.Errorf("two megabytes: %d bytes kept, %d handed on, %+v, %v", len(text), len(o.Output), o.Result, err)
		}
	})
}

func TestDiskInsideIsBounded(t *testing.T) {
	engines(t, func(t *testing.T, k *kit) {
		k.settings.Disk = 4 << 20
		for _, dir := range []string{"/tmp", "/home", "/dev/shm"} {
			o := k.line("head -c 100M /dev/zero >" + dir + "/big; echo exit $?; stat -c %s " + dir + "/big; rm " + dir + "/big")
			if !strings.Contains(o.Output, "No space left") || !strings.Contains(o.Output, "exit 1\n4194304\n") {
				t.Errorf("%s: %q", dir, o.Output)
			}
		}
		for _, path := range []string{"/x", "/usr/x", "/etc/x", "/var/x", "/run/x", "/dev/x", "/proc/sys/kernel/hostname"} {
			if o := k.line("echo x >" + path + " && echo written"); strings.Contains(o.Output, "written") {
				t.Errorf("%s can be written", path)
			}
		}
	})
}

func TestLowDiskStopsCommands(t *testing.T) {
	engines(t, func(t *testing.T, k *kit) {
		k.line("true")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		full := make(chan struct{})
		k.settings.MinFree = 1 // taken by the command below when it starts
		within(t, 3*time.Second, "stopping on a full disk", func() {
			free := freeBytes(t, k.root)
			k.settings.MinFree = free - 300<<20 // others use this disk too
			defer close(full)
			o := k.run(ctx, sandbox.Command{Line: "head -c 2G /dev/zero >big; echo written; sleep 60"})
			if agent.CodeOf(o.Err) != agent.CodeExhausted {
				t.Errorf("a command that fills the disk: %+v", o)
			}
		})
		<-full
		if o := k.run(ctx, sandbox.Command{Line: "echo ran"}); agent.CodeOf(o.Err) != agent.CodeExhausted || o.Output != "" {
			t.Errorf("a new one: %+v", o)
		}
		if err := os.Remove(filepath.Join(k.root, "big")); err != nil {
			t.Error(err)
		}
		k.settings.MinFree = 1
		if o := k.line("echo ran"); o.Output != "ran\n" {
			t.Errorf("with room again: %+v", o)
		}
	})
}

// TestLowDiskStopsBackgroundJobs is about what fills the disk when its command is long over.
func TestLowDiskStopsBackgroundJobs(t *testing.T) {
	k := open(t, sandbox.EngineDocker, sandbox.Options{})
	k.settings.MinFree = freeBytes(t, k.root) - 300<<20
	sleep := nap(7474, os.Getpid())
	if o := k.line("(" + sleep + " & sleep 0.5; head -c 2G /dev/zero >big; wait) >/dev/null 2>&1 & echo left"); o.Output != "left\n" {
		t.Fatalf("%+v", o)
	}
	soon(t, 5*time.Second, "the job began", func() bool { return naps(t, sleep) > 0 })
	soon(t, 5*time.Second, "a job on a full disk ended", func() bool { return naps(t, sleep) == 0 })
	if err := os.Remove(filepath.Join(k.root, "big")); err != nil {
		t.Error(err)
	}
	k.settings.MinFree = 1
	if o := k.line("echo ran"); o.Output != "ran\n" {
		t.Errorf("with room again: %+v", o)
	}
}

// TestCPUIsBounded counts the time that two busy loops were given in two seconds.
func TestCPUIsBounded(t *testing.T) {
	engines(t, func(t *testing.T, k *kit) {
		k.settings.CPUs = 0.25
		o := k.line(`TIMEFORMAT="%U %S"; time { timeout 2 sh -c 'while :; do :; done' & timeout 2 sh -c 'while :; do :; done'; wait; }`)
		var user, system float64
		if _, err := fmt.Sscan(o.Output, &user, &system); err != nil {
			t.Fatalf("%q: %v", o.Output, err)
		}
		if user+system > 0.8 || user+system == 0 {
			t.Errorf("%.2f s of CPU, more than 0.25 of 2 s", user+system)
		}
	})
}

// TestNothingElseIsThere looks for what a command must not see or have.
func TestNothingElseIsThere(t *testing.T) {
	engines(t, func(t *testing.T, k *kit) {
		secret := filepath.Join(k.home, "secret")
		if err := os.WriteFile(secret, []byte("token"), 0o644); err != nil {
			t.Fatal(err)
		}
		for name, target := range map[string]string{"file": secret, "folder": "/", "home": "/root", "above": "../../secret", "loop": "loop"} {
			if err := os.Symlink(target, filepath.Join(k.root, "link-"+name)); err != nil {
				t.Fatal(err)
			}
		}
		for name, line := range map[string]string{
			"a link to a file":       "cat link-file",
			"a link to a loop":       "cat link-loop",
			"a link upwards":         "cat link-above",
			"a link to the machine":  "cat link-folder" + secret,
			"the person's files":     "ls -A link-home/ 2>/dev/null | grep .",
			"other homes":            "ls -A /root /home 2>/dev/null | grep -v : | grep .",
			"sockets":                "find / -xdev -type s 2>/dev/null | grep .",
			"the engine's socket":    "ls /var/run/docker.sock /run/docker.sock",
			"the machine's accounts": "grep -c . /etc/shadow",
			"processes of others":    "grep -l '[g]o-build\\|[d]ockerd\\|[s]andbox.test' /proc/[0-9]*/cmdline",
			"capabilities":           "grep Cap /proc/self/status | grep -v 0000000000000000 | grep -v CapBnd",
			"new privileges":         "grep NoNewPrivs /proc/self/status | grep -v 1$",
			"no filter of calls":     "grep Seccomp: /proc/self/status | grep -v 2$",
			"becoming root":          "su -c true || sudo true",
			"mounting":               "mount -t tmpfs none /tmp",
			"namespaces":             "unshare -Ur true",
			"devices":                "mknod /tmp/d b 254 0 && cat /tmp/d",
			"the kernel's log":       "dmesg | head -1 | grep .",
			"its own cgroup":         "for f in $(find /sys/fs/cgroup -name cgroup.procs 2>/dev/null); do echo $$ >$f && echo moved; done 2>/dev/null | grep moved",
		} {
			t.Run(name, func(t *testing.T) {
				if o := k.line(line); o.Exit == 0 || strings.Contains(o.Output, "token") {
					t.Errorf("%s: exit %d, %q", line, o.Exit, o.Output)
				}
			})
		}
	})
}

func TestHostileFileNames(t *testing.T) {
	engines(t, func(t *testing.T, k *kit) {
		names := []string{"-rf", "a\nb", "$(touch pwned)", "`touch pwned`", "; touch pwned", "\x1b[31mred", "\xff\xfe", "'\"\\", " ", "CON", "…ü", strings.Repeat("n", 255)}
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(k.root, name), []byte("x"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if o := k.line("for f in ./*; do cat \"$f\"; done"); o.Output != strings.Repeat("x", len(names)) {
			t.Errorf("%q", o.Output)
		}
		if _, err := os.Stat(filepath.Join(k.root, "pwned")); err == nil {
			t.Error("a name was executed")
		}
	})
}

func TestReadOnlyRoot(t *testing.T) {
	engines(t, func(t *testing.T, k *kit) {
		if err := os.WriteFile(filepath.Join(k.root, "file"), []byte("text"), 0o644); err != nil {
			t.Fatal(err)
		}
		if o := k.run(t.Context(), sandbox.Command{Line: "cat file; echo no >file", ReadOnly: true}); o.Err != nil || o.Exit == 0 || !strings.HasPrefix(o.Output, "text") {
			t.Errorf("read-only: %+v", o)
		}
		if o := k.line("echo yes >file && cat file"); o.Output != "yes\n" {
			t.Errorf("and writable again: %+v", o)
		}
	})
}
