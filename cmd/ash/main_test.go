package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/attachment"
	"ash/agent/llm/llmtest"
	"ash/store"
)

// asAsh in the environment makes the test binary be ash, for tests that need a process.
const asAsh = "BE_ASH"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(asAsh) != "":
		main()
	case len(os.Args) == 2 && os.Args[1] == pdfCommand: // asked by an ash in this process
		os.Exit(attachment.Helper(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// patience is how long something may take on a busy machine before a test gives up.
const patience = 20 * time.Second

// answered is how a command line ended.
type answered struct {
	code     int
	out, err string
}

// ash runs one command line in this process.
func ash(t *testing.T, stdin string, args ...string) answered {
	t.Helper()
	var out, notes bytes.Buffer
	code := run(t.Context(), args, strings.NewReader(stdin), &out, &notes)
	return answered{code, out.String(), notes.String()}
}

// is checks the exit code.
func (a answered) is(t *testing.T, code int) answered {
	t.Helper()
	if a.code != code {
		t.Fatalf("exit %d, want %d\nout: %s\nerr: %s", a.code, code, a.out, a.err)
	}
	return a
}

// complains checks the exit code and that standard error holds all of these.
func (a answered) complains(t *testing.T, code int, words ...string) {
	t.Helper()
	a.is(t, code)
	for _, w := range words {
		if !strings.Contains(a.err, w) {
			t.Errorf("the complaint does not say %q:\n%s", w, a.err)
		}
	}
}

// model starts a model server with a script. It names conversations beside, out of the script.
func model(t *testing.T, script ...llmtest.Reply) *llmtest.Server {
	t.Helper()
	m := llmtest.New(llmtest.OpenAIFormat{}, script...)
	titles := llmtest.New(llmtest.OpenAIFormat{}, llmtest.Reply{Text: []string{"A talk"}, Repeat: true})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client went away
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte("You name conversations")) {
			titles.Handler().ServeHTTP(w, r)
			return
		}
		m.Handler().ServeHTTP(w, r)
	}))
	m.URL = s.URL
	t.Cleanup(func() {
		m.Close()
		s.CloseClientConnections()
		s.Close()
	})
	return m
}

// stalling is a reply that says this much and then nothing.
func stalling(pieces ...string) llmtest.Reply {
	return llmtest.Broken(llmtest.StreamStall, len(pieces)+1, pieces...)
}

// using are the flags that name a model server.
func using(m *llmtest.Server) []string {
	return []string{"--model", "openai/test-model", "--base-url", m.URL + "/v1"}
}

// settings writes config.toml into a home.
func settings(t *testing.T, home, toml string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(home, "config.toml"), []byte(toml), 0o600))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// look opens the database of a home that nobody has.
func look(t *testing.T, home string) *store.Store {
	t.Helper()
	s, err := store.Open(context.Background(), store.Options{Path: databasePath(home)})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// threads returns the conversations of a store, as lists show them.
func threads(t *testing.T, s *store.Store) []agent.ThreadSummary {
	t.Helper()
	page, _, err := s.Threads(context.Background(), agent.ThreadFilter{Limit: 200})
	must(t, err)
	return page
}

// head returns the last message of the newest conversation.
func head(t *testing.T, s *store.Store) agent.Message {
	t.Helper()
	page := threads(t, s)
	if len(page) == 0 {
		t.Fatal("there is no conversation")
	}
	m, err := s.Message(context.Background(), page[0].Head)
	must(t, err)
	return m
}

// process is an ash of its own.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	gone chan struct{} // closed when it has ended
	out  journal
	err  journal
	url  string // of a server
}

// journal is what a process wrote.
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

// start runs a command line in a process of its own, which is killed with the test if it still runs.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(os.Args[0], args...), gone: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), asAsh+"=1")
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	must(t, p.cmd.Start())
	go func() {
		defer close(p.gone)
		_ = p.cmd.Wait() // how it ended is in ProcessState
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it has usually ended
		<-p.gone
		if t.Failed() {
			t.Logf("ash %v\nout: %s\nerr: %s", args, p.out.String(), p.err.String())
		}
	})
	return p
}

// serving starts a server on a home and waits until it says where it is.
func serving(t *testing.T, home string, args ...string) *process {
	t.Helper()
	p := start(t, append([]string{"serve", "--home", home, "--listen", "127.0.0.1:0"}, args...)...)
	p.said()
	return p
}

// said waits for the line that says where the server is.
func (p *process) said() {
	p.t.Helper()
	p.until("the server says where it is", func() bool { return strings.Contains(p.out.String(), "\n") })
	_, url, ok := strings.Cut(strings.TrimSpace(p.out.String()), "Ash is at ")
	if !ok {
		p.t.Fatalf("the server says %q", p.out.String())
	}
	p.url = url
}

// until waits for a condition, or for the end of the process.
func (p *process) until(what string, cond func() bool) {
	p.t.Helper()
	for end := time.Now().Add(patience); !cond(); time.Sleep(5 * time.Millisecond) {
		select {
		case <-p.gone:
			if !cond() {
				p.t.Fatalf("the process ended (%v) before: %s", p.cmd.ProcessState, what)
			}
			return
		default:
		}
		if time.Now().After(end) {
			p.t.Fatalf("it does not happen: %s", what)
		}
	}
}

// signal sends a signal.
func (p *process) signal(s os.Signal) {
	p.t.Helper()
	must(p.t, p.cmd.Process.Signal(s))
}

// end waits until the process has ended and returns its exit code and how long that took.
func (p *process) end() (code int, took time.Duration) {
	p.t.Helper()
	began := time.Now()
	select {
	case <-p.gone:
	case <-time.After(patience):
		p.t.Fatal("the process does not end")
	}
	return p.cmd.ProcessState.ExitCode(), time.Since(began)
}

// stream opens the event stream of a page; the answer's body ends with the stream.
func (p *process) stream(path string) *bufio.Reader {
	p.t.Helper()
	res, err := http.Get(p.url + path) // ends with the server
	must(p.t, err)
	p.t.Cleanup(func() { must(p.t, res.Body.Close()) })
	if res.StatusCode != http.StatusOK {
		p.t.Fatal(errors.New(res.Status))
	}
	return bufio.NewReader(res.Body)
}
