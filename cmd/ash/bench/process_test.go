//go:build linux

package bench

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a program that said where it is.
type process struct {
	t    testing.TB
	cmd  *exec.Cmd
	url  string
	gone chan struct{} // closed when it has ended
	log  journal
}

// journal is what a program wrote to standard error.
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

// startLimit is for a machine that is busy with other tests.
const startLimit = 20 * time.Second

// launch starts a program and waits for the line that says where it is. It is killed with the test.
func launch(t testing.TB, env []string, path string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(path, args...), gone: make(chan struct{})}
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	p.cmd.Stderr = &p.log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 1)
	go func() {
		defer close(p.gone)
		lines := bufio.NewReader(out)
		line, _ := lines.ReadString('\n')
		said <- line
		_, _ = io.Copy(io.Discard, lines)
		_ = p.cmd.Wait() // how it ended is in ProcessState
	}()
	t.Cleanup(p.kill)
	select {
	case line := <-said:
		_, url, ok := strings.Cut(strings.TrimSpace(line), " is at ")
		if !ok {
			t.Fatalf("%s said %q\n%s", filepath.Base(path), line, p.log.String())
		}
		p.url = url
	case <-time.After(startLimit):
		t.Fatalf("%s did not start in %v\n%s", filepath.Base(path), startLimit, p.log.String())
	}
	return p
}

// ash starts the program on a home, with m as its only model.
func ash(t testing.TB, home string, m *model) *process {
	t.Helper()
	binary, err := ashBinary()
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + home, "ASH_HOME=" + home, "OPENAI_API_KEY=sk-of-no-use"}
	// A model whose window the catalog knows: an unknown one of this machine is taken for so small that long conversations are summarised.
	return launch(t, env, binary, "serve", "--listen", "127.0.0.1:0", "--model", "openai/gpt-4o-mini", "--base-url", m.url+"/v1")
}

// bare starts the proxy that is the baseline.
func bare(t testing.TB, m *model) *process {
	t.Helper()
	binary, err := bareBinary()
	if err != nil {
		t.Fatal(err)
	}
	return launch(t, nil, binary, m.url)
}

// kill ends the process as a power cut would. Killing it twice does nothing.
func (p *process) kill() {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Error(err)
	}
	<-p.gone
}

// stop asks the process to end and returns how long that took.
func (p *process) stop() time.Duration {
	p.t.Helper()
	began := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	select {
	case <-p.gone:
	case <-time.After(startLimit):
		p.t.Fatalf("still there %v after SIGTERM\n%s", startLimit, p.log.String())
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		p.t.Errorf("ended with %v\n%s", p.cmd.ProcessState, p.log.String())
	}
	return time.Since(began)
}

// wellBehaved fails the test when the program logged an error.
func (p *process) wellBehaved() {
	p.t.Helper()
	for line := range strings.Lines(p.log.String()) {
		if strings.Contains(line, "level=ERROR") || strings.HasPrefix(line, "panic:") {
			p.t.Errorf("the server logged: %s", line)
		}
	}
}

func (p *process) proc(name string) string {
	return filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), name)
}

// pss returns the proportional set size in MiB: all that the process adds to what the machine holds.
func (p *process) pss() float64 {
	p.t.Helper()
	return p.memory("Pss:")
}

// memory returns a line of /proc/PID/smaps_rollup in MiB.
func (p *process) memory(line string) float64 {
	p.t.Helper()
	data, err := os.ReadFile(p.proc("smaps_rollup"))
	if err != nil {
		p.t.Fatal(err)
	}
	for l := range strings.Lines(string(data)) {
		var kib float64
		if rest, ok := strings.CutPrefix(l, line); ok {
			if _, err := fmt.Sscan(rest, &kib); err != nil {
				p.t.Fatal(err)
			}
			return kib / 1024
		}
	}
	p.t.Fatalf("no %s in %s", line, data)
	return 0
}

// settled waits until the program has come to rest and given back what it does not need, and returns the PSS.
func (p *process) settled() float64 {
	p.t.Helper()
	time.Sleep(12 * time.Second)
	return p.pss()
}

// restsWithin waits until the program, come to rest, takes no more than limit MiB for three seconds. It gives back what it does not need some
// seconds after it was last asked for something.
func (p *process) restsWithin(limit float64) {
	p.t.Helper()
	since := time.Now()
	for patience := since.Add(startLimit + 20*time.Second); time.Now().Before(patience); time.Sleep(250 * time.Millisecond) {
		if p.pss() > limit {
			since = time.Now()
		} else if time.Since(since) > 3*time.Second {
			p.t.Logf("%.1f MiB at rest, %g allowed", p.pss(), limit)
			return
		}
	}
	p.t.Errorf("%.1f MiB at rest, %g allowed: %.1f of its own, %.1f of files", p.pss(), limit, p.memory("Pss_Anon:"), p.memory("Pss_File:"))
}

// cpu returns the processor time the process's threads took so far.
func (p *process) cpu() time.Duration {
	p.t.Helper()
	tasks, err := filepath.Glob(p.proc("task/*/schedstat"))
	if err != nil {
		p.t.Fatal(err)
	}
	var sum time.Duration
	for _, task := range tasks {
		data, err := os.ReadFile(task)
		if err != nil {
			continue // the thread has ended
		}
		var took time.Duration
		if _, err := fmt.Sscan(string(data), &took); err != nil {
			p.t.Fatal(err)
		}
		sum += took
	}
	return sum
}

// open lists what the process has open, by kind: files with their path, sockets and pipes counted.
func (p *process) open() map[string]int {
	p.t.Helper()
	dir := p.proc("fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		p.t.Fatal(err)
	}
	out := map[string]int{}
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(dir, e.Name()))
		if errors.Is(err, os.ErrNotExist) {
			continue // closed meanwhile
		}
		if err != nil {
			p.t.Fatal(err)
		}
		kind, _, _ := strings.Cut(target, ":[")
		out[kind]++
	}
	return out
}

// goroutines ends the process and returns where each goroutine it had was begun, sorted.
func (p *process) goroutines() []string {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		p.t.Fatal(err)
	}
	<-p.gone
	var out []string
	for stack := range strings.SplitSeq(p.log.String(), "\n\n") {
		if !strings.HasPrefix(stack, "goroutine ") {
			continue
		}
		lines := strings.Split(strings.TrimSpace(stack), "\n")
		out = append(out, lines[max(0, len(lines)-2)])
	}
	if len(out) == 0 {
		p.t.Fatalf("no goroutines in what the process said:\n%s", p.log.String())
	}
	slices.Sort(out)
	return out
}

// threads counts the threads of the operating system.
func (p *process) threads() int {
	p.t.Helper()
	entries, err := os.ReadDir(p.proc("task"))
	if err != nil {
		p.t.Fatal(err)
	}
	return len(entries)
}

// answers asks for an address until it is answered with 200.
func answers(t testing.TB, url string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %v", url, resp.StatusCode, err)
	}
}
