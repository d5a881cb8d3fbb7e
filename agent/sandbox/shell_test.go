//go:build unix

package sandbox_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/sandbox"
)

// sit opens a shell, types text and returns what was shown.
func sit(ctx context.Context, t *testing.T, k *kit, text string, hold bool) (shown string, exit int, err error) {
	t.Helper()
	in, keys, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer keys.Close()
	out, err := os.Create(filepath.Join(t.TempDir(), "shown"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := keys.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if !hold {
		keys.Close()
	}
	exit, err = k.Shell(ctx, k.root, sandbox.Terminal{In: in, Out: out})
	b, readErr := os.ReadFile(out.Name())
	if readErr != nil {
		t.Fatal(readErr)
	}
	return string(b), exit, err
}

func TestShell(t *testing.T) {
	engines(t, func(t *testing.T, k *kit) {
		shown, exit, err := sit(t.Context(), t, k, "echo made >made; pwd; echo $TERM; touch /x; exit 5\n", false)
		if err != nil || exit != 5 || !strings.Contains(shown, "/work\n") || !strings.Contains(shown, "xterm\n") || !strings.Contains(shown, "Read-only") {
			t.Errorf("exit %d, %v, %q", exit, err, shown)
		}
		if b, err := os.ReadFile(filepath.Join(k.root, "made")); err != nil || string(b) != "made\n" {
			t.Errorf("%q, %v", b, err)
		}
		if shown, exit, err := sit(t.Context(), t, k, "echo last\n", false); err != nil || exit != 0 || !strings.Contains(shown, "last\n") {
			t.Errorf("left by its end of input: exit %d, %v, %q", exit, err, shown)
		}
		soon(t, 3*time.Second, "nothing is left of it", func() bool { return len(k.Status(t.Context()).Containers) == 0 })
	})
}

// TestShellIsStopped is about a shell that its person does not leave: by the caller, by the kill switch, by a full disk.
func TestShellIsStopped(t *testing.T) {
	engines(t, func(t *testing.T, k *kit) {
		sleep := nap(8383, os.Getpid())
		for name, stop := range map[string]func(cancel context.CancelFunc){
			"by the caller":      func(cancel context.CancelFunc) { cancel() },
			"by the kill switch": func(context.CancelFunc) { _ = k.Halt(context.Background()) },
			"by a full disk":     func(context.CancelFunc) { fillDisk(t, k) },
		} {
			t.Run(name, func(t *testing.T) {
				k.settings.MinFree = 1
				if name == "by a full disk" { // others fill this disk too: elsewhere it would end what it is not about
					k.settings.MinFree = freeBytes(t, k.root) - 300<<20 // taken when the shell opens
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				stopped := make(chan time.Time, 1)
				go func() {
					for end := time.Now().Add(10 * time.Second); naps(t, sleep) == 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
					}
					stopped <- time.Now()
					stop(cancel)
				}()
				_, _, err := sit(ctx, t, k, "setsid "+sleep+" & "+sleep+"\n", true)
				if took := time.Since(<-stopped); took > 5*time.Second {
					t.Errorf("it ended %s after it was stopped", took)
				}
				switch {
				case name == "by the caller" && !errors.Is(err, context.Canceled),
					name == "by the kill switch" && agent.CodeOf(err) != agent.CodeUnavailable,
					name == "by a full disk" && agent.CodeOf(err) != agent.CodeExhausted:
					t.Errorf("ended with %v", err)
				}
				soon(t, 2*time.Second, "what it had started is gone", func() bool { return naps(t, sleep) == 0 })
				_ = os.Remove(filepath.Join(k.root, "big"))
			})
		}
	})
}

// fillDisk takes 2 GB at once: others use this disk too, and may free some at the same time.
func fillDisk(t *testing.T, k *kit) {
	path := filepath.Join(k.root, "big")
	if out, err := exec.Command("fallocate", "-l", "2G", path).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestShellsThatAreRefused(t *testing.T) {
	k := openOn(t, sandbox.Settings{Engine: sandbox.EngineOff, MinFree: 1}, sandbox.Options{})
	if _, _, err := sit(t.Context(), t, k, "", false); agent.CodeOf(err) != agent.CodeUnavailable {
		t.Errorf("switched off: %v", err)
	}
	k.root = "/proc"
	if _, _, err := sit(t.Context(), t, k, "", false); agent.CodeOf(err) != agent.CodeDenied {
		t.Errorf("a folder of the system: %v", err)
	}
}
