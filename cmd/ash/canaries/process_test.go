//go:build linux

package canaries

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// folder holds the binary for the length of the run.
var folder string

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "ash-canaries-"); err != nil {
		fmt.Fprintln(os.Stderr, "canaries:", err)
		os.Exit(1)
	}
	code := m.Run()
	if err := os.RemoveAll(folder); err != nil {
		fmt.Fprintln(os.Stderr, "canaries:", err)
		code = 1
	}
	os.Exit(code)
}

// binary builds the program, once. ASH_TEST_BINARY names one that is already there.
var binary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("ASH_TEST_BINARY"); path != "" {
		return filepath.Abs(path)
	}
	out := filepath.Join(folder, "ash")
	cmd := exec.Command("go", "build", "-o", out, "ash/cmd/ash")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building: %w\n%s", err, said)
	}
	return out, nil
})

// number reads a whole number from the environment.
func number(t *testing.T, name string, otherwise, most int) int {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > most {
		t.Fatalf("%s=%q is no number from 1 to %d", name, s, most)
	}
	return n
}

// home is a home of Ash with its settings.
type home struct {
	t    *testing.T
	path string
	m    *model
	runs bool // commands run
}

// hasBubblewrap reports whether commands can be tried.
func hasBubblewrap(t *testing.T) bool {
	t.Helper()
	_, err := exec.LookPath("bwrap")
	if err != nil && strings.Contains(os.Getenv("ASH_TEST_REQUIRE"), "bubblewrap") {
		t.Fatal("bubblewrap is required: install the package bubblewrap")
	}
	if err != nil {
		t.Log("install bubblewrap to try the output of commands as well")
	}
	return err == nil
}

// settings log everything, have conversations learned from soon, and take the provider's key out of the vault.
const settings = `[models]
order = ["openai/test"]

[log]
level = "debug"

[memory]
rest = "1s"

[providers.openai]
base_url = "%[1]s/v1"
key_secret = "provider/openai"

[search]
backend = "searxng"
searxng_url = "%[1]s"

[sandbox]
engine = "%[2]s"

[[catalog]]
ref = "openai/test"
context_window = 64000
max_output = 1000
local = false
abilities = ["tools", "thinking"]
`

func newHome(t *testing.T, m *model) *home {
	t.Helper()
	h := &home{t: t, path: t.TempDir(), m: m, runs: hasBubblewrap(t)}
	engine := "off"
	if h.runs {
		engine = "bubblewrap"
	}
	if err := os.WriteFile(filepath.Join(h.path, "config.toml"), fmt.Appendf(nil, settings, m.url, engine), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(h.temp(), 0o700); err != nil {
		t.Fatal(err)
	}
	return h
}

// temp is where the program puts temporary files.
func (h *home) temp() string { return filepath.Join(h.path, "tmp") }

// command makes a call of the program.
func (h *home) command(args ...string) *exec.Cmd {
	h.t.Helper()
	path, err := binary()
	if err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.path, "ASH_HOME=" + h.path, "TMPDIR=" + h.temp()}
	return cmd
}

// process is a running server.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	url  string
	gone chan struct{} // closed when it has ended
	mu   sync.Mutex    // guards log
	log  bytes.Buffer
}

// Write keeps what the server logs.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(b)
}

func (p *process) logged() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// startLimit is for a machine that is busy with other tests.
const startLimit = 30 * time.Second

// serve starts the server. It is killed with the test.
func (h *home) serve() *process {
	h.t.Helper()
	p := &process{t: h.t, cmd: h.command("serve", "--listen", "127.0.0.1:0"), gone: make(chan struct{})}
	p.cmd.Stderr = p
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	first := make(chan string, 1)
	go func() {
		defer close(p.gone)
		lines := bufio.NewReader(out)
		line, _ := lines.ReadString('\n')
		first <- line
		_, _ = io.Copy(io.Discard, lines)
		_ = p.cmd.Wait() // it was killed
	}()
	h.t.Cleanup(p.kill)
	select {
	case line := <-first:
		_, url, ok := strings.Cut(strings.TrimSpace(line), " is at ")
		if !ok {
			h.t.Fatalf("the program said %q\n%s", line, p.logged())
		}
		p.url = url
	case <-time.After(startLimit):
		h.t.Fatalf("the program did not start in %v\n%s", startLimit, p.logged())
	}
	return p
}

// kill ends the server as a power cut would. Killing it twice does nothing.
func (p *process) kill() {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Error(err)
	}
	<-p.gone
}
