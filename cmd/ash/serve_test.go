package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/llm/llmtest"
	"ash/handlers"
)

func TestSecondServerIsRefused(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	p := serving(t, home)
	pid := fmt.Sprint(p.cmd.Process.Pid)
	ash(t, "", "serve", "--home", home, "--listen", "127.0.0.1:0").complains(t, exitFailed, "already running", home, p.url, pid, "--home")
	ash(t, "", "upgrade", "--home", home).complains(t, exitFailed, "already running", p.url)
	ash(t, "", "db", "status", "--home", home).complains(t, exitFailed, "already running", p.url)
	ash(t, "", "chat", "--home", home, "--base-url", "http://127.0.0.1:1/v1", "--model", "openai/m", "-m", "x").complains(t, exitFailed, "--base-url")
}

// The lock is written to: what a link of its name leads to must not be.
func TestLockThatIsALinkIsRefused(t *testing.T) {
	t.Parallel()
	home, precious := t.TempDir(), filepath.Join(t.TempDir(), "precious")
	must(t, os.Chmod(home, 0o700))
	must(t, os.WriteFile(precious, []byte("precious"), 0o600))
	must(t, os.Symlink(precious, filepath.Join(home, "ash.lock")))
	ash(t, "", "serve", "--home", home, "--listen", "127.0.0.1:0").complains(t, exitFailed, "ash.lock", "Remove it")
	if b, err := os.ReadFile(precious); err != nil || string(b) != "precious" {
		t.Errorf("the link's target is %q (%v)", b, err)
	}
}

func TestSocketOfACrashIsReplaced(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	p := serving(t, home)
	p.signal(syscall.SIGKILL)
	<-p.gone
	info, err := os.Stat(filepath.Join(home, socketName))
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the socket is %v", info.Mode())
	}
	again := serving(t, home)
	ash(t, "", "chat", "--home", home, "-m", "date").is(t, 0)
	if got := again.get("/chat"); !strings.Contains(got, `class="row"`) {
		t.Errorf("what was said on the socket is not on the page:\n%s", got)
	}
	again.signal(syscall.SIGTERM)
	if code, _ := again.end(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if _, err := os.Stat(filepath.Join(home, socketName)); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
	ash(t, "", "chat", "--home", home, "--last", "-m", "date").is(t, 0)
}

// get reads a page.
func (p *process) get(path string) string {
	p.t.Helper()
	res, err := http.Get(p.url + path) // a test's
	must(p.t, err)
	defer func() { must(p.t, res.Body.Close()) }()
	b, err := io.ReadAll(res.Body)
	must(p.t, err)
	if res.StatusCode != http.StatusOK {
		p.t.Fatalf("%s: %s\n%s", path, res.Status, b)
	}
	return string(b)
}

func TestChatJoinsTheServer(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	m := model(t, llmtest.Text("hello from the server"), llmtest.Text("by another name"))
	serving(t, home, using(m)...)
	if a := ash(t, "", "chat", "--home", home, "-m", "are you there?").is(t, 0); a.out != "hello from the server\n" {
		t.Errorf("answered %q", a.out)
	}
	a := ash(t, "", "chat", "--home", home, "--last", "--model", "openai/other", "-m", "and now?").is(t, 0)
	if body := string(m.Chats()[1].Body); a.out != "by another name\n" || !strings.Contains(body, `"model":"other"`) || !strings.Contains(body, "are you there?") {
		t.Errorf("answered %q to %s", a.out, body)
	}
}

// The socket's API is on the socket alone.
func TestControlIsNotOnTheNetwork(t *testing.T) {
	t.Parallel()
	p := serving(t, t.TempDir())
	for _, path := range []string{"/control/status", "/control/threads", "/control/waiting", "/control/places?folder=/tmp", "/control/stop"} {
		res, err := http.Get(p.url + path) // a test's
		must(t, err)
		must(t, res.Body.Close())
		if res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
}

// A chat that is cut off by the end of the server says so and keeps what came.
func TestServerEndsDuringAChat(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	server := serving(t, home, using(model(t, stalling("begun")))...)
	p := start(t, "chat", "--home", home, "-m", "go on")
	p.until("the answer begins", func() bool { return strings.Contains(p.out.String(), "begun") })
	server.signal(syscall.SIGTERM)
	code, _ := p.end()
	if code != exitUnavailable || p.out.String() != "begun\n" || p.err.String() == "" {
		t.Errorf("exit %d: %q, %q", code, p.out.String(), p.err.String())
	}
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	// When the usual port is not free, somebody else has it, which is the same.
	if l, err := net.Listen("tcp", "127.0.0.1:8080"); err == nil {
		defer func() { must(t, l.Close()) }()
	}
	p := start(t, "serve", "--home", t.TempDir())
	p.said()
	port := p.url[strings.LastIndexByte(p.url, ':')+1:]
	if port == "8080" || !strings.HasPrefix(p.url, "http://localhost:80") {
		t.Errorf("Ash is at %s", p.url)
	}
	if notes := p.err.String(); !strings.Contains(notes, "PORT 8080 IS IN USE") || !strings.Contains(notes, "takes "+port) {
		t.Errorf("it says %q", notes)
	}
	p.get("/healthz")

	taken := strings.TrimPrefix(p.url, "http://")
	taken = strings.Replace(taken, "localhost", "127.0.0.1", 1)
	ash(t, "", "serve", "--home", t.TempDir(), "--listen", taken).complains(t, exitUnavailable, taken, "--listen")
	home := t.TempDir()
	settings(t, home, "[server]\nlisten = \""+taken+"\"\n")
	ash(t, "", "serve", "--home", home).complains(t, exitUnavailable, taken, "in use")
	if _, err := os.Stat(filepath.Join(home, socketName)); !os.IsNotExist(err) {
		t.Errorf("a server that did not start left its socket: %v", err)
	}
}

func TestOnlyThisMachine(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:0", "[::]:0", "192.0.2.1:8080", "example.org:80"} {
		ash(t, "", "serve", "--home", t.TempDir(), "--listen", listen).complains(t, exitFailed, "passphrase", "127.0.0.1")
	}
	for _, listen := range []string{":0", "localhost", "127.0.0.1:notaport", "127.0.0.1:70000"} {
		a := ash(t, "", "serve", "--home", t.TempDir(), "--listen", listen)
		if a.code == 0 || a.err == "" || strings.Contains(a.err, "went wrong inside") {
			t.Errorf("--listen %s: exit %d: %s", listen, a.code, a.err)
		}
	}
}

func TestHomeTooLongForASocket(t *testing.T) {
	home := filepath.Join(t.TempDir(), strings.Repeat("h", 120))
	ash(t, "", "serve", "--home", home, "--listen", "127.0.0.1:0").complains(t, exitUnavailable, "shorter --home")
	ash(t, "", "chat", "--home", home, "-m", "x").complains(t, exitUnavailable, "shorter --home")
}

// A request to end is obeyed within 5 s, whatever goes on: what was said is kept, and open pages are told.
func TestEndsInTime(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	p := serving(t, home, using(model(t, stalling("begun ", "and")))...)
	house := p.stream("/events")
	c, err := dial(t.Context(), filepath.Join(home, socketName))
	must(t, err)
	defer c.close()
	made, err := c.create(t.Context(), handlers.ControlNewThread{})
	must(t, err)
	page := p.stream("/chat/" + string(made.ID) + "/events?since=")
	stream, err := c.follow(t.Context(), made.ID)
	must(t, err)
	defer stream.close()
	_, err = c.post(t.Context(), made.ID, handlers.ControlMessage{Text: "go on"})
	must(t, err)
	for ev, err := range stream.events() {
		must(t, err)
		if strings.HasSuffix(ev.Text, "and") {
			break
		}
	}
	p.signal(syscall.SIGTERM)
	code, took := p.end()
	if code != 0 || took > 5*time.Second {
		t.Errorf("exit %d after %v", code, took)
	}
	t.Logf("ended after %v", took.Round(time.Millisecond))
	for name, body := range map[string]io.Reader{"the house": house, "the conversation": page} {
		b, err := io.ReadAll(body)
		must(t, err)
		if !strings.HasSuffix(string(b), "event: ash:bye\ndata: {}\n\n") {
			t.Errorf("the stream of %s ends with %q", name, b[max(0, len(b)-200):])
		}
		if name == "the conversation" && !strings.Contains(string(b), "cut off") {
			t.Error("the page is not told that the answer was cut off")
		}
	}
	s := look(t, home)
	if m := head(t, s); m.State != agent.MessageCut || m.Text() != "begun and" {
		t.Errorf("stored %s: %q", m.State, m.Text())
	}
	if tail, err := s.Tail(t.Context(), made.ID); err != nil || tail.Turn.State != agent.TurnInterrupted {
		t.Errorf("the turn is %s, %v", tail.Turn.State, err)
	}
}

// What an editor writes into config.toml counts while the server runs; what makes no sense does not.
func TestSettingsChangeWhileItRuns(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	one, two := model(t, llmtest.Reply{Text: []string{"I am one."}, Repeat: true}), model(t, llmtest.Reply{Text: []string{"I am two."}, Repeat: true})
	toml := func(order string) string {
		return fmt.Sprintf("[models]\norder = [%q]\nretries = 0\n[providers.one]\nbase_url = %q\n[providers.two]\nbase_url = %q\n", order, one.URL+"/v1", two.URL+"/v1")
	}
	settings(t, home, toml("one/m"))
	p := serving(t, home)
	ask := func() string { return ash(t, "", "chat", "--home", home, "-m", "who are you?").is(t, 0).out }
	if got := ask(); got != "I am one.\n" {
		t.Fatalf("answered %q", got)
	}
	settings(t, home, toml("two/m"))
	p.until("the other model answers", func() bool { return ask() == "I am two.\n" })
	settings(t, home, "[models\norder = 7")
	p.until("the log tells of the mistake", func() bool { return strings.Contains(p.err.String(), "cannot be used") })
	if got := ask(); got != "I am two.\n" {
		t.Errorf("after a broken edit it answers %q", got)
	}
	settings(t, home, toml("nobody/m"))
	time.Sleep(configPoll + 200*time.Millisecond)
	if a := ash(t, "", "chat", "--home", home, "-m", "who are you?"); a.code == 0 && a.out != "I am two.\n" {
		t.Errorf("with a model of nobody it answers %q", a.out)
	}
}

func TestUpgrade(t *testing.T) {
	home := t.TempDir()
	ash(t, "", "chat", "--home", home, "-m", "date").is(t, 0)
	if a := ash(t, "", "upgrade", "--home", home).is(t, 0); !strings.Contains(a.out, "Nothing else is due") {
		t.Errorf("%s", a.out)
	}
	settings(t, home, "[models]\nfrobnicate = 1\n")
	ash(t, "", "upgrade", "--home", home).complains(t, exitFailed, "frobnicate")
	broken := t.TempDir()
	must(t, os.WriteFile(databasePath(broken), []byte(strings.Repeat("this is no database ", 500)), 0o600))
	if a := ash(t, "", "upgrade", "--home", broken); a.code == 0 || strings.Contains(a.err, "went wrong inside") {
		t.Errorf("a broken database: exit %d: %s", a.code, a.err)
	}
}

// The stamp is set where the Makefile sets it.
func TestVersion(t *testing.T) {
	if a := ash(t, "", "version").is(t, 0); !strings.HasPrefix(a.out, "ash "+versionString()+" ") {
		t.Errorf("%q", a.out)
	}
	makefile, err := os.ReadFile("../../Makefile")
	must(t, err)
	if !strings.Contains(string(makefile), "-X main.version=$(VERSION)") {
		t.Error("the Makefile does not stamp main.version")
	}
	binary := filepath.Join(t.TempDir(), "ash")
	build := exec.Command("go", "build", "-ldflags", "-s -w -X main.version=v9.8.7-test", "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(binary, "version").Output()
	must(t, err)
	if !strings.HasPrefix(string(out), "ash v9.8.7-test ") {
		t.Errorf("the stamped binary says %q", out)
	}
}

// The hidden command reads one PDF from a file that is its standard input, and knows nothing of homes.
func TestPDFCommand(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"a text":  {onePage("Hello from a page"), "Hello from a page"},
		"no PDF":  {"%PDF-nonsense", `"`},
		"nothing": {"", `"`},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], pdfCommand)
			cmd.Env = []string{asAsh + "=1"}
			file := filepath.Join(t.TempDir(), "in.pdf")
			must(t, os.WriteFile(file, []byte(tt.in), 0o600))
			in, err := os.Open(file)
			must(t, err)
			defer func() { must(t, in.Close()) }()
			cmd.Stdin = in
			out, err := cmd.Output()
			if err != nil || !strings.Contains(string(out), tt.want) {
				t.Errorf("%v: %q", err, out)
			}
		})
	}
	if a := ash(t, "", pdfCommand); a.code != exitUsage {
		t.Errorf("as a command line it is exit %d: %s", a.code, a.err)
	}
	if a := ash(t, "", "--help"); strings.Contains(a.out, pdfCommand) {
		t.Error("the help names the hidden command")
	}
}

// onePage is a PDF of one page with one line.
func onePage(line string) string {
	var b strings.Builder
	content := "BT /F1 12 Tf 20 100 Td (" + line + ") Tj ET"
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
	}
	b.WriteString("%PDF-1.4\n")
	var places []int
	for i, o := range objects {
		places = append(places, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	at := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, p := range places {
		fmt.Fprintf(&b, "%010d 00000 n \n", p)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, at)
	return b.String()
}
