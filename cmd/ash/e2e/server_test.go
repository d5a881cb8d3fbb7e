package e2e

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	startLimit = 20 * time.Second // for a machine that is busy with other tests
	stopLimit  = 6 * time.Second
)

// server is a running ash with a home of its own.
type server struct {
	t    *testing.T
	home string
	env  []string
	args []string
	url  string // as it said itself
	port string // "0" until it has one; a restart takes the same
	cmd  *exec.Cmd
	gone chan struct{} // closed when the process has ended
	log  journal
}

// journal is what the server wrote to standard error.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.String()
}

// serve starts ash on an empty home, with args after "serve". It is stopped with the
// test, and must then end in good order and have logged no error.
func serve(t *testing.T, env []string, args ...string) *server {
	t.Helper()
	return serveConfig(t, "", env, args...)
}

// serveConfig is serve with a config.toml in the home.
func serveConfig(t *testing.T, config string, env []string, args ...string) *server {
	t.Helper()
	needBrowser(t)
	s := &server{t: t, home: t.TempDir(), env: env, args: args, port: "0"}
	if config != "" {
		if err := os.WriteFile(filepath.Join(s.home, "config.toml"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.start()
	t.Cleanup(s.end)
	return s
}

// serveModel starts ash with m as its only model.
func serveModel(t *testing.T, m *model) *server {
	t.Helper()
	return serve(t, []string{"OPENAI_API_KEY=sk-of-no-use"}, "--model", "openai/test", "--base-url", m.url+"/v1")
}

// start runs the process and waits for the line that says where it is.
func (s *server) start() {
	s.t.Helper()
	s.cmd = exec.Command(rig.binary, append([]string{"serve", "--listen", "127.0.0.1:" + s.port}, s.args...)...)
	s.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "ASH_HOME=" + s.home, "TZ=Europe/Berlin"}, s.env...)
	s.cmd.Stderr = &s.log
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	said, gone := make(chan string, 1), make(chan struct{})
	s.gone = gone
	go func() {
		defer close(gone)
		lines := bufio.NewReader(out)
		line, _ := lines.ReadString('\n')
		said <- line
		_, _ = io.Copy(io.Discard, lines)
		_ = s.cmd.Wait() // how it ended is in ProcessState
	}()
	select {
	case line := <-said:
		_, url, ok := strings.Cut(strings.TrimSpace(line), "Ash is at ")
		if !ok {
			<-gone
			s.t.Fatalf("ash serve said %q\n%s", line, s.log.String())
		}
		s.url = url
		s.port = url[strings.LastIndexByte(url, ':')+1:]
	case <-time.After(startLimit):
		_ = s.cmd.Process.Kill()
		s.t.Fatalf("ash serve did not start in %v\n%s", startLimit, s.log.String())
	}
}

// kill ends the process as a power cut would.
func (s *server) kill() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		s.t.Fatal(err)
	}
	<-s.gone
}

// stop asks the process to end and returns how long that took.
func (s *server) stop() time.Duration {
	s.t.Helper()
	began := time.Now()
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	select {
	case <-s.gone:
	case <-time.After(stopLimit):
		_ = s.cmd.Process.Kill()
		<-s.gone
		s.t.Errorf("ash serve did not end in %v after SIGTERM", stopLimit)
	}
	return time.Since(began)
}

// end stops the process and looks at how it went.
func (s *server) end() {
	s.stop()
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		s.t.Errorf("ash serve ended with %v", s.cmd.ProcessState)
	}
	log := s.log.String()
	for line := range strings.Lines(log) {
		if strings.Contains(line, "level=ERROR") || strings.HasPrefix(line, "panic:") {
			s.t.Errorf("the server logged: %s", line)
		}
	}
	if s.t.Failed() {
		s.t.Logf("log of the server:\n%s", log)
	}
}

// eventually waits for something outside of the browser.
func eventually(t *testing.T, what string, true func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if true() {
			return
		}
	}
	t.Fatalf("never happened: %s", what)
}
