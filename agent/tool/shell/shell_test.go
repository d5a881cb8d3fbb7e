package shell_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/tool"
	"ash/agent/tool/shell"
)

// bench is a workplace: a sandbox that runs real processes, without holding anything.
type bench struct {
	t       *testing.T
	root    string
	missing error
	result  func(*shell.Result, *error) // what the sandbox says beyond what happened
	asked   shell.Command

	mu      sync.Mutex
	dirs    []string
	settled []agent.Labels
	fail    error // of settling and of keeping the folder
	live    []string
	at      []time.Time
}

func (b *bench) Available(context.Context) error { return b.missing }

func (b *bench) Run(ctx context.Context, c shell.Command, out func([]byte)) (shell.Result, error) {
	b.asked = c
	cmd := exec.CommandContext(ctx, "sh", "-c", c.Line)
	cmd.Dir = filepath.Join(c.Root, c.Dir)
	cmd.Stdout = writer(out)
	cmd.Stderr = cmd.Stdout
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	r := shell.Result{Dir: c.Dir}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		r.Exit, err = exit.ExitCode(), nil
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if b.result != nil {
		b.result(&r, &err)
	}
	return r, err
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

func (b *bench) SetWorkDir(_ context.Context, _ agent.ID, dir string) error {
	b.dirs = append(b.dirs, dir)
	return b.fail
}

func (b *bench) Labels(context.Context, string, string, string) (agent.Labels, error) {
	return nil, nil
}
func (b *bench) Wrote(context.Context, string, string, string, agent.Labels) error { return nil }

func (b *bench) Watch(_ context.Context, root string) (agent.Labels, func(context.Context, agent.Labels) error, error) {
	if root != b.root {
		b.t.Errorf("watched %s", root)
	}
	return tool.Untrusted("file:mail.txt"), func(ctx context.Context, more agent.Labels) error {
		if ctx.Err() != nil {
			b.t.Error("settled with a context that has ended")
		}
		b.settled = append(b.settled, more)
		return b.fail
	}, nil
}

func newBench(t *testing.T) (*bench, tool.Tool) {
	b := &bench{t: t, root: t.TempDir()}
	return b, shell.New(shell.Options{Sandbox: b, Provenance: b, Places: b})
}

func (b *bench) env() tool.Env {
	return tool.Env{Thread: agent.Thread{ID: "t"}, Root: b.root, Labels: tool.Untrusted("example.org")}
}

func (b *bench) run(ctx context.Context, x tool.Tool, command string, more string) (agent.ToolOutcome, error) {
	quoted, err := json.Marshal(command)
	if err != nil {
		b.t.Fatal(err)
	}
	return x.Run(ctx, b.env(), json.RawMessage(`{"command":`+string(quoted)+more+`}`), func(text string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.live, b.at = append(b.live, text), append(b.at, time.Now())
	})
}

func words(o agent.ToolOutcome) string { return agent.Message{Parts: o.Content}.Text() }

func TestPlan(t *testing.T) {
	b, x := newBench(t)
	plan := func(arguments string) (tool.Plan, error) {
		return x.Plan(t.Context(), b.env(), json.RawMessage(arguments))
	}
	got, err := plan(`{"command":" ls -l\n# twice ","network":["PyPI.org.","10.0.0.1","pypi.org"]}`)
	want := agent.Effect{Kind: agent.EffectExecute, Title: "Run a command with network", Text: " ls -l\n# twice ", Hosts: []string{"10.0.0.1", "pypi.org"}}
	if err != nil || !reflect.DeepEqual(got.Effect, want) {
		t.Errorf("%+v, %v", got.Effect, err)
	}
	any, err := plan(`{"command":"x","network":["a.example","*"]}`)
	if err != nil || !reflect.DeepEqual(any.Effect.Hosts, []string{"*"}) {
		t.Errorf("%+v, %v", any.Effect, err)
	}
	env := b.env()
	env.Thread.WorkDir = "src/../src/deep"
	there, err := x.Plan(t.Context(), env, json.RawMessage(`{"command":"ls"}`))
	if err != nil || there.Effect.Target != "src/deep" {
		t.Errorf("%+v, %v", there, err)
	}
	if here, err := plan(`{"command":"ls"}`); err != nil || here.State == there.State || here.Effect.Hosts != nil {
		t.Errorf("an approval would hold in another folder: %q, %v", here.State, err)
	}
	for name, tt := range map[string]struct{ arguments, says string }{
		"no command":        {`{}`, "command"},
		"a blank one":       {`{"command":" \n"}`, "no command"},
		"a NUL":             {`{"command":"a\u0000b"}`, "no text"},
		"too long":          {`{"command":"` + strings.Repeat("a", shell.MaxLine+1) + `"}`, "longer than 64 KB"},
		"a time too long":   {`{"command":"x","timeout_seconds":1801}`, "1800"},
		"a time below zero": {`{"command":"x","timeout_seconds":-1}`, "between"},
		"a time of words":   {`{"command":"x","timeout_seconds":"5"}`, "integer"},
		"a URL":             {`{"command":"x","network":["https://pypi.org/simple"]}`, "bare name"},
		"a port":            {`{"command":"x","network":["pypi.org:443"]}`, "bare name"},
		"a pattern":         {`{"command":"x","network":["*.org"]}`, "bare name"},
		"no host at all":    {`{"command":"x","network":["localhost"]}`, "bare name"},
		"too many hosts":    {`{"command":"x","network":[` + strings.Repeat(`"a.example",`, 16) + `"b.example"]}`, "more than 16"},
		"something else":    {`{"command":"x","cwd":"/"}`, "cwd"},
		"no object":         {`"{\"command\": \"ls"`, "not a JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := plan(tt.arguments); agent.CodeOf(err) != agent.CodeInvalid || !strings.Contains(agent.PublicOf(err), tt.says) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestRun(t *testing.T) {
	b, x := newBench(t)
	b.result = func(r *shell.Result, _ *error) { r.Dir, r.Hosts = "src", []string{"pypi.org"} }
	got, err := b.run(t.Context(), x, "printf '\\033[31mred\\033[0m\\n'; echo oops >&2; exit 3", `,"network":["pypi.org","b.example"],"timeout_seconds":7`)
	said := slices.Sorted(strings.Lines(words(got))) // which of two pipes is read first is chance
	if err != nil || !slices.Equal(said, []string{"oops\n", "red\n"}) || *got.Exit != 3 || !got.Failed {
		t.Errorf("%q, %+v, %v", words(got), got, err)
	}
	network := tool.Untrusted("network: pypi.org")
	if want := tool.Untrusted("file:mail.txt").Union(network); !reflect.DeepEqual(got.Labels, want) {
		t.Errorf("labels %v", got.Labels)
	}
	if want := []agent.Labels{tool.Untrusted("example.org").Union(network)}; !reflect.DeepEqual(b.settled, want) {
		t.Errorf("settled %v", b.settled)
	}
	if len(b.dirs) != 1 || b.dirs[0] != "src" {
		t.Errorf("folders kept: %q", b.dirs)
	}
	if c := b.asked; c.Thread != "t" || c.Root != b.root || c.Timeout != 7*time.Second || len(c.Hosts) != 2 || c.ReadOnly {
		t.Errorf("asked %+v", c)
	}
	b.result = nil
	if got, err = b.run(t.Context(), x, "true", ""); err != nil || got.Failed || *got.Exit != 0 || len(got.Content) != 0 || len(b.dirs) != 1 {
		t.Errorf("%+v, %v, %q", got, err, b.dirs)
	}
}

func TestEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		result func(*shell.Result, *error)
		fail   error
		says   string
		failed bool
		code   agent.Code
	}{
		"time":           {func(r *shell.Result, _ *error) { r.TimedOut = true }, nil, "time was up", true, ""},
		"memory":         {func(r *shell.Result, _ *error) { r.OutOfMemory = true }, nil, "memory", true, ""},
		"output":         {func(r *shell.Result, _ *error) { r.Endless = true }, nil, "without end", true, ""},
		"lost output":    {func(r *shell.Result, _ *error) { r.Truncated = true }, nil, "was not kept", false, ""},
		"a missing file": {func(r *shell.Result, _ *error) { r.Truncated, r.Overflow = true, "/nowhere/x" }, nil, "was lost", false, ""},
		"no record":      {func(r *shell.Result, _ *error) { r.Dir = "x" }, errors.New("disk"), "count as a stranger's", false, ""},
		"a breakdown":    {func(_ *shell.Result, err *error) { *err = agent.Errorf(agent.CodeUnavailable, "Docker went away.") }, nil, "hello", false, agent.CodeUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			b, x := newBench(t)
			b.result, b.fail = tt.result, tt.fail
			got, err := b.run(t.Context(), x, "echo hello", "")
			if agent.CodeOf(err) != tt.code || !strings.Contains(words(got), tt.says) || !strings.HasPrefix(words(got), "hello") || got.Failed != tt.failed || len(b.settled) != 1 {
				t.Errorf("%q failed %v, %v, settled %d", words(got), got.Failed, err, len(b.settled))
			}
		})
	}
}

func TestStop(t *testing.T) {
	b, x := newBench(t)
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, stop)
	began := time.Now()
	got, err := b.run(ctx, x, "echo begun; sleep 30", "")
	if !errors.Is(err, context.Canceled) || words(got) != "begun\n" || time.Since(began) > 3*time.Second {
		t.Errorf("%q after %v: %v", words(got), time.Since(began), err)
	}
	if len(b.settled) != 1 || !got.Labels.Untrusted() {
		t.Errorf("settled %v, labels %v", b.settled, got.Labels)
	}
}

func TestWholeOutput(t *testing.T) {
	b, x := newBench(t)
	file := filepath.Join(t.TempDir(), "whole")
	if err := os.WriteFile(file, []byte(strings.Repeat("\x1b[1mline\x1b[0m\r\n", 3<<19)), 0o600); err != nil {
		t.Fatal(err)
	}
	b.result = func(r *shell.Result, _ *error) { r.Truncated, r.Overflow = true, file }
	got, err := b.run(t.Context(), x, "echo line", "")
	text := words(got)
	if err != nil || !strings.HasPrefix(text, "line\nline\n") || strings.ContainsAny(text, "\x1b\r") || len(text) < 5<<20 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if !strings.Contains(text, "first 16 MB") {
		t.Error("it does not say that it is not the whole")
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Error("the file is still there")
	}
}

func TestLiveOutput(t *testing.T) {
	b, x := newBench(t)
	began := time.Now()
	got, err := b.run(t.Context(), x, `printf 'caf\303'; sleep 0.15; printf '\251\n'; for i in 1 2 3 4 5 6 7 8; do printf "\r$i%%"; sleep 0.2; done; printf '\rdone\n'; printf 'sure? '; sleep 0.8; for i in $(seq 500); do echo $i; done`, "")
	if err != nil || !strings.HasPrefix(words(got), "café\ndone\nsure? 1\n2\n") {
		t.Fatalf("%q, %v", words(got), err)
	}
	all := strings.Join(b.live, "|")
	if !strings.HasPrefix(all, "café\n") {
		t.Errorf("told %q", all)
	}
	if strings.Count(all, "%") > 3 || !strings.Contains(all, "%") || !strings.Contains(all, "done\n") {
		t.Errorf("the progress bar was told as %q", all)
	}
	if !strings.Contains(all, "sure? |1\n2\n") {
		t.Errorf("the question was told as %q", all)
	}
	if n, most := len(b.live), int(time.Since(began)/(90*time.Millisecond))+3; n > most {
		t.Errorf("told %d times", n)
	}
}

func TestLiveOutputIsBounded(t *testing.T) {
	b, x := newBench(t)
	got, err := b.run(t.Context(), x, "yes ééééééé | head -c 400000", "")
	all := strings.Join(b.live, "")
	if err != nil || len(all) > 70<<10 || strings.ToValidUTF8(all, "?") != all || !strings.Contains(all, "more follows") || len(words(got)) < 399_000 {
		t.Errorf("told %d bytes, kept %d, %v", len(all), len(words(got)), err)
	}
}

func TestWithoutASandbox(t *testing.T) {
	b, x := newBench(t)
	b.missing = agent.Errorf(agent.CodeUnavailable, "Commands are off: install Docker or bubblewrap.")
	a, ok := x.(tool.Available)
	if !ok || agent.PublicOf(a.Available(t.Context(), agent.Thread{})) != agent.PublicOf(b.missing) {
		t.Error("the tool does not say why it cannot be used")
	}
}
