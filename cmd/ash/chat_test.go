package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/llm/llmtest"
	"ash/handlers"
)

func TestChatWithoutAServer(t *testing.T) {
	home := t.TempDir()
	m := model(t, llmtest.Text("Good ", "morning."), llmtest.Text("Again.\n"), llmtest.Text("Shorter."), llmtest.Text("Elsewhere."))
	chat := func(stdin string, args ...string) string {
		t.Helper()
		a := ash(t, stdin, slices.Concat([]string{"chat", "--home", home}, using(m), args)...).is(t, 0)
		if a.err != "" {
			t.Errorf("%v: on standard error stands %q", args, a.err)
		}
		return a.out
	}
	asked := func() string { all := m.Chats(); return string(all[len(all)-1].Body) }

	if got := chat("", "-m", "hello"); got != "Good morning.\n" {
		t.Errorf("answered %q", got)
	}
	if got := chat("\n a piped diff \n", "-m", "Review", "--last"); got != "Again.\n" {
		t.Errorf("answered %q", got)
	}
	if got := asked(); !strings.Contains(got, `"Review\n\na piped diff\n`) || !strings.Contains(got, "Good morning.") {
		t.Errorf("asked %s", got)
	}
	s := look(t, home)
	first := threads(t, s)[0]
	if first.Title != "hello" && first.Title != "A talk" || first.Origin.Channel != "cli" || first.Model != "openai/test-model" {
		t.Errorf("stored %+v", first.Thread)
	}
	must(t, s.Close())

	if got := chat("only piped"); got != "Shorter.\n" {
		t.Errorf("answered %q", got)
	}
	if got := asked(); strings.Contains(got, `"assistant"`) {
		t.Errorf("a new conversation goes on with the old one: %s", got)
	}
	if got := chat("", "-m", "go on", "--thread", string(first.ID)); got != "Elsewhere.\n" || !strings.Contains(asked(), "Good morning.") {
		t.Errorf("answered %q to %s", got, asked())
	}
	if n := len(threads(t, look(t, home))); n != 2 {
		t.Errorf("%d conversations, want 2", n)
	}
	if _, err := os.Stat(filepath.Join(home, socketName)); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestChatOffline(t *testing.T) {
	if a := ash(t, "", "chat", "--home", t.TempDir(), "-m", "help").is(t, 0); !strings.Contains(a.out, "find WORDS") {
		t.Errorf("answered %q", a.out)
	}
}

// Pinned conversations stand first in every list; the newest is another.
func TestLastIsTheNewest(t *testing.T) {
	home := t.TempDir()
	ash(t, "", "chat", "--home", home, "-m", "find pins").is(t, 0)
	s := look(t, home)
	pinned, yes := threads(t, s)[0].ID, true
	_, err := s.PatchThread(t.Context(), pinned, agent.ThreadPatch{Pinned: &yes})
	must(t, err)
	must(t, s.Close())
	ash(t, "", "chat", "--home", home, "-m", "find needles").is(t, 0)
	ash(t, "", "chat", "--home", home, "--last", "-m", "more").is(t, 0)
	all := threads(t, look(t, home))
	path, err := look(t, home).Path(t.Context(), all[1].Head, 0)
	must(t, err)
	if len(all) != 2 || all[0].ID != pinned || len(path) != 4 {
		t.Errorf("%d conversations, %d messages in the newest", len(all), len(path))
	}
}

// A flag goes before what the conversation chose.
func TestModelFlagInAnOldConversation(t *testing.T) {
	home := t.TempDir()
	m := model(t, llmtest.Text("from the model"))
	ash(t, "", "chat", "--home", home, "-m", "date").is(t, 0)
	s := look(t, home)
	offline := "offline"
	_, err := s.PatchThread(t.Context(), threads(t, s)[0].ID, agent.ThreadPatch{Model: &offline})
	must(t, err)
	must(t, s.Close())
	if a := ash(t, "", append([]string{"chat", "--home", home, "--last", "-m", "and now?"}, using(m)...)...).is(t, 0); a.out != "from the model\n" {
		t.Errorf("answered %q", a.out)
	}
}

func TestChatExitCodes(t *testing.T) {
	gone := string(agent.NewID())
	for name, tt := range map[string]struct {
		args  []string
		stdin string
		code  int
		says  string
	}{
		"an unknown flag":          {[]string{"--loud"}, "", exitUsage, "--loud"},
		"an argument":              {[]string{"hello"}, "", exitUsage, "hello"},
		"two conversations":        {[]string{"--last", "--thread", gone, "-m", "x"}, "", exitUsage, "exclude"},
		"an address of no model":   {[]string{"--base-url", "http://127.0.0.1:1", "-m", "x"}, "", exitUsage, "--model"},
		"no message":               {nil, " \n", exitFailed, "no message"},
		"a blank message":          {[]string{"-m", " "}, "", exitFailed, "no message"},
		"no conversation yet":      {[]string{"--last", "-m", "x"}, "", exitFailed, "no conversation"},
		"a conversation not there": {[]string{"--thread", gone, "-m", "x"}, "", exitFailed, "not"},
		"no id":                    {[]string{"--thread", "../x", "-m", "x"}, "", exitFailed, "does not exist"},
		"too much piped in":        {[]string{"-m", "x"}, strings.Repeat("a", maxPiped+1), exitFailed, "longer than 1 MB"},
		"no text piped in":         {[]string{"-m", "x"}, "caf\xe9", exitFailed, "UTF-8"},
		"a message too long":       {[]string{"-m", strings.Repeat("b", maxPiped)}, "more", exitFailed, "too long"},
		"an unknown provider":      {[]string{"--model", "nobody/m", "-m", "x"}, "", exitFailed, "key for nobody"},
		"a model not there":        {[]string{"--model", "openai/m", "--base-url", "http://127.0.0.1:1/v1", "-m", "x"}, "", exitUnavailable, "cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			settings(t, home, "[models]\nretries = 0\n")
			ash(t, tt.stdin, append([]string{"chat", "--home", home}, tt.args...)...).complains(t, tt.code, tt.says)
		})
	}
	for name, tt := range map[string]struct {
		reply llmtest.Reply
		code  int
	}{
		"the key is refused":  {llmtest.Unauthorized(), exitFailed},
		"the credit is spent": {llmtest.QuotaSpent(), exitUnavailable},
		"the answer is cut":   {llmtest.Broken(llmtest.StreamCut, 2, "begun ", "and"), exitUnavailable},
	} {
		for _, mode := range []string{"", "--json"} {
			t.Run(strings.TrimSpace(name+" "+mode), func(t *testing.T) {
				home := t.TempDir()
				settings(t, home, "[models]\nretries = 0\n")
				args := append([]string{"chat", "--home", home, "-m", "x"}, using(model(t, tt.reply))...)
				if mode != "" {
					args = append(args, mode)
				}
				a := ash(t, "", args...)
				a.complains(t, tt.code, "ash: ")
				if strings.Contains(a.err, "went wrong inside") {
					t.Errorf("the complaint says nothing: %s", a.err)
				}
				if mode == "" && tt.reply.Text != nil && a.out != "begun \n" {
					t.Errorf("shown %q", a.out)
				}
			})
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"nonsense"}, {"serve", "now"}, {"upgrade", "x"}, {"version", "x"}, {"serve", "--port", "1"}, {"serve", "--base-url", "http://x"}} {
		ash(t, "", append(args, "--home", t.TempDir())...).complains(t, exitUsage, "Try: ash --help")
	}
	for _, args := range [][]string{nil, {"--help"}, {"chat", "--help"}, {"db"}, {"config"}} {
		if a := ash(t, "", args...).is(t, 0); !strings.Contains(a.out, "Usage:") {
			t.Errorf("%v: %s", args, a.out)
		}
	}
}

// jsonLines reads what --json printed.
func jsonLines(t *testing.T, out string) []handlers.ControlEvent {
	t.Helper()
	var all []handlers.ControlEvent
	for line := range strings.Lines(out) {
		var ev handlers.ControlEvent
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, ev)
	}
	if len(all) == 0 {
		t.Fatal("nothing was printed")
	}
	return all
}

func TestChatJSON(t *testing.T) {
	m := model(t, llmtest.Reply{Thinking: []string{"hmm"}, Text: []string{"one\n", "two"}, Usage: &llmtest.Usage{Input: 7, Output: 5}})
	a := ash(t, "", append([]string{"chat", "--home", t.TempDir(), "--json", "-m", "count"}, using(m)...)...).is(t, 0)
	all := jsonLines(t, a.out)
	last := all[len(all)-1]
	if last.Kind != "turn" || last.State != string(agent.TurnDone) || last.Turn == "" {
		t.Errorf("the last line is %+v", last)
	}
	kinds := map[string]int{}
	for _, ev := range all {
		kinds[ev.Kind]++
		if ev.ID == "" || ev.Time.IsZero() || ev.Turn != last.Turn {
			t.Errorf("without place or time: %+v", ev)
		}
		if ev.Kind == "assistant" && ev.State == string(agent.MessageComplete) {
			if ev.Text != "one\ntwo" || ev.Usage == nil || ev.Usage.Input != 7 || ev.Usage.Output != 5 || ev.Model != "openai/test-model" {
				t.Errorf("the answer is %+v", ev)
			}
		}
		if ev.Kind == "user" && ev.Text != "count" {
			t.Errorf("the question is %+v", ev)
		}
	}
	if kinds["user"] != 1 || kinds["assistant"] == 0 || kinds["turn"] != 2 {
		t.Errorf("events: %v", kinds)
	}
}

// Ctrl-C and a request to end stop the answer, keep what came, and say so in the exit code.
func TestInterruptedAnswer(t *testing.T) {
	for name, tt := range map[string]struct {
		signal syscall.Signal
		args   []string
	}{
		"Ctrl-C":         {syscall.SIGINT, nil},
		"Ctrl-C in JSON": {syscall.SIGINT, []string{"--json"}},
		"asked to end":   {syscall.SIGTERM, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			m := model(t, stalling("begun ", "and"))
			p := start(t, slices.Concat([]string{"chat", "--home", home, "-m", "go on"}, using(m), tt.args)...)
			p.until("the answer begins", func() bool { return strings.Contains(p.out.String(), "and") })
			p.signal(tt.signal)
			code, took := p.end()
			if code != exitInterrupted || took > 5*time.Second || !strings.Contains(p.err.String(), "stopped") {
				t.Errorf("exit %d after %v: %s", code, took, p.err.String())
			}
			if tt.args == nil && p.out.String() != "begun and\n" {
				t.Errorf("shown %q", p.out.String())
			}
			if tt.args != nil {
				all := jsonLines(t, p.out.String())
				if last := all[len(all)-1]; last.Kind != "turn" || last.State != string(agent.TurnStopped) {
					t.Errorf("the last line is %+v", last)
				}
			}
			if m := head(t, look(t, home)); m.State != agent.MessageStopped || m.Text() != "begun and" {
				t.Errorf("stored %s: %q", m.State, m.Text())
			}
		})
	}
}

// Who presses Ctrl-C twice is not kept waiting by a server that does not answer.
func TestInterruptedTwice(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	server := serving(t, home, using(model(t, stalling("begun")))...)
	p := start(t, "chat", "--home", home, "-m", "go on")
	p.until("the answer begins", func() bool { return strings.Contains(p.out.String(), "begun") })
	server.signal(syscall.SIGSTOP)
	defer server.signal(syscall.SIGCONT)
	p.signal(syscall.SIGINT)
	time.Sleep(100 * time.Millisecond) // two signals in the same instant are one
	p.signal(syscall.SIGINT)
	if code, took := p.end(); code != exitInterrupted || took > 5*time.Second {
		t.Errorf("exit %d after %v", code, took)
	}
}

// seat is a place before a terminal whose lines a test types.
type seat struct {
	t          *testing.T
	in         *io.PipeWriter
	out, notes journal
	interrupts chan os.Signal
	left       chan error
}

// sit begins to converse on a home.
func sit(t *testing.T, home string, f modelFlags) *seat {
	t.Helper()
	l, err := connect(t.Context(), home, f)
	must(t, err)
	r, w := io.Pipe()
	p := &seat{t: t, in: w, interrupts: make(chan os.Signal, 1), left: make(chan error, 1)}
	term := &terminal{link: l, in: bufio.NewReader(r), out: &p.out, notes: &p.notes, interrupts: p.interrupts}
	must(t, term.choose(t.Context(), chatFlags{modelFlags: f}))
	go func() { p.left <- term.converse(context.WithoutCancel(t.Context())) }()
	t.Cleanup(func() {
		must(t, w.Close())
		must(t, l.close())
	})
	return p
}

func (p *seat) types(line string) {
	p.t.Helper()
	_, err := io.WriteString(p.in, line+"\n")
	must(p.t, err)
}

// sees waits until the terminal shows a text.
func (p *seat) sees(j *journal, text string) {
	p.t.Helper()
	for end := time.Now().Add(patience); !strings.Contains(j.String(), text); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("%q is not shown\nout: %s\nnotes: %s", text, p.out.String(), p.notes.String())
		}
	}
}

func (p *seat) leaves() {
	p.t.Helper()
	select {
	case err := <-p.left:
		must(p.t, err)
	case <-time.After(patience):
		p.t.Fatal("the prompt is not left")
	}
}

func TestPrompt(t *testing.T) {
	home := t.TempDir()
	settings(t, home, "[models]\nretries = 0\n")
	m := model(t, llmtest.Text("One."), llmtest.Broken(llmtest.StreamCut, 2, "Begun "), llmtest.Text("and ended."), stalling("For ever"), llmtest.Unauthorized())
	p := sit(t, home, modelFlags{"openai/test-model", m.URL + "/v1"})
	p.types("/continue")
	p.sees(&p.notes, "Nothing was said yet.")
	p.types("/help")
	p.sees(&p.notes, "/quit")
	p.types("/frobnicate")
	p.sees(&p.notes, "There is no command /frobnicate")
	p.types("")
	p.types("  hello  ")
	p.sees(&p.out, "One.\n")
	p.types("go on")
	p.sees(&p.out, "Begun \n")
	p.types("/continue")
	p.sees(&p.out, "and ended.\n")
	p.types("/new")
	p.types("/etc is a folder, is it not?") // a line of text may begin with a slash
	p.sees(&p.out, "For ever")
	p.interrupts <- os.Interrupt
	p.sees(&p.notes, "[stopped]")
	if strings.Contains(p.notes.String(), "went wrong") {
		t.Errorf("a stop is told as a failure: %s", p.notes.String())
	}
	p.types("once more")
	p.sees(&p.notes, "key")
	p.types("/quit")
	p.leaves()

	chats := m.Chats()
	if len(chats) != 5 || !strings.Contains(string(chats[1].Body), "One.") || strings.Contains(string(chats[3].Body), "One.") {
		t.Errorf("%d questions; the one after /new is %s", len(chats), chats[min(3, len(chats)-1)].Body)
	}
}

func TestLeavingThePrompt(t *testing.T) {
	home := t.TempDir()
	for name, leave := range map[string]func(p *seat){
		"Ctrl-C":       func(p *seat) { p.interrupts <- os.Interrupt },
		"asked to end": func(p *seat) { p.interrupts <- syscall.SIGTERM },
		"Ctrl-D":       func(p *seat) { _ = p.in.Close() },
		"/quit":        func(p *seat) { p.types("/quit") },
		"/exit":        func(p *seat) { p.types("/exit") },
		"the last line without an end": func(p *seat) {
			_, _ = io.WriteString(p.in, "date")
			_ = p.in.Close()
			p.sees(&p.out, "It is ")
		},
		"asked to end during an answer": func(p *seat) {
			p.types("hello")
			p.sees(&p.out, "For ever")
			p.interrupts <- syscall.SIGTERM
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := modelFlags{}
			if strings.HasSuffix(name, "answer") {
				f = modelFlags{"openai/test-model", model(t, stalling("For ever")).URL + "/v1"}
			}
			p := sit(t, home, f)
			p.sees(&p.notes, "› ")
			leave(p)
			p.leaves()
		})
	}
	for _, x := range threads(t, look(t, home)) {
		if x.Head == "" {
			t.Error("an empty conversation was left behind")
		}
	}
}
