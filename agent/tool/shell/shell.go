// Package shell is the tool that runs commands. It runs nothing itself: a Sandbox does, and without one the tool is not offered.
//
// Invariants: what the person approves is the exact line, the folder it runs in and the hosts it may reach; every file
// a command made or changed bears the labels of the prompt it was written under and of the network it had, also when it failed or
// was stopped; live output is bounded, valid UTF-8 and free of control sequences.
package shell

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"ash/agent"
	"ash/agent/tool"
)

//go:embed shell.md
var description string

// Name is what the model calls the tool.
const Name = "shell"

// Bounds.
const (
	MaxLine    = 64 << 10         // bytes of a command
	MaxTimeout = 30 * time.Minute // of one command
	maxHosts   = 16
	maxWhole   = 16 << 20 // bytes of a long output that are kept
)

// settleTimeout bounds the recording of what a command changed.
const settleTimeout = 30 * time.Second

// Sandbox runs commands where they can do no harm. Its place is package sandbox.
type Sandbox interface {
	// Available returns nil, or why there is no sandbox and how to get one.
	Available(ctx context.Context) error
	// Run executes one command and hands its output on as it comes. A command that fails or runs into a limit is a result; an error
	// means that it was not run or that nobody knows how it ended. The result is filled in as far as it is known also then.
	Run(ctx context.Context, c Command, out func([]byte)) (Result, error)
}

// Command is one command line to run.
type Command struct {
	Thread   agent.ID
	Root     string // absolute
	ReadOnly bool
	Dir      string // working folder relative to Root; "" is Root
	Line     string
	Hosts    []string      // network wanted: none when empty; "*" is any public host
	Timeout  time.Duration // 0 leaves it to the settings
}

// Result is how a command ended.
type Result struct {
	Exit        int
	TimedOut    bool
	OutOfMemory bool
	Endless     bool   // stopped because it printed without end
	Truncated   bool   // not all output was handed on
	Dir         string // working folder afterwards, relative to Root
	Overflow    string // file with the output when it was Truncated, "" when there is none; the tool removes it
	Hosts       []string
}

// Places keeps the working folder of a thread. Its place is package store.
type Places interface {
	SetWorkDir(ctx context.Context, thread agent.ID, dir string) error
}

// Options wires the tool. All but ReadOnly and Log are required.
type Options struct {
	Sandbox    Sandbox
	Provenance tool.Provenance
	Places     Places
	ReadOnly   func(t agent.Thread) bool // whether commands may only look at the thread's root; nil: they may change it
	Log        *slog.Logger
}

// Arguments are what the model sends.
type Arguments struct {
	Command string   `json:"command" jsonschema:"the command line, exactly as it is to run"`
	Timeout int      `json:"timeout_seconds,omitempty" jsonschema:"stop it after this many seconds, at most 1800; leave it out for the usual time"`
	Network []string `json:"network,omitempty" jsonschema:"hosts the command must reach, such as pypi.org, or * for any; leave it out for no network"`
}

// New returns the tool.
func New(o Options) tool.Tool {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return tool.Define(tool.Definition{
		Name: Name, Title: "Run a command", Description: description,
		About:  "Runs a command line in a sandbox that sees only the conversation's folder.",
		Effect: agent.EffectExecute, Family: tool.FamilyCommands,
	}, &shell{o})
}

type shell struct{ Options }

// Available implements tool.Available.
func (s *shell) Available(ctx context.Context, _ agent.Thread) error { return s.Sandbox.Available(ctx) }

// Plan implements tool.Handler.
func (s *shell) Plan(_ context.Context, env tool.Env, a Arguments) (tool.Plan, error) {
	switch {
	case strings.TrimSpace(a.Command) == "":
		return tool.Plan{}, agent.Errorf(agent.CodeInvalid, "There is no command to run.")
	case len(a.Command) > MaxLine:
		return tool.Plan{}, agent.Errorf(agent.CodeInvalid, "The command is longer than %d KB. Write it to a file and run that.", MaxLine>>10)
	case strings.ContainsRune(a.Command, 0) || !utf8.ValidString(a.Command):
		return tool.Plan{}, agent.Errorf(agent.CodeInvalid, "The command is no text.")
	case a.Timeout < 0 || a.Timeout > int(MaxTimeout/time.Second):
		return tool.Plan{}, agent.Errorf(agent.CodeInvalid, "timeout_seconds is between 1 and %d. What takes longer must be split up.", int(MaxTimeout/time.Second))
	}
	hosts, err := hostsOf(a.Network)
	if err != nil {
		return tool.Plan{}, err
	}
	title := "Run a command"
	if len(hosts) > 0 {
		title = "Run a command with network"
	}
	dir := workDir(env.Thread)
	return tool.Plan{
		Effect: agent.Effect{Kind: agent.EffectExecute, Title: title, Target: dir, Text: a.Command, Hosts: hosts},
		State:  env.Root + "\n" + dir, // the same words do something else elsewhere
	}, nil
}

// workDir is the folder a command of the thread runs in, relative to its root; "" is the root.
func workDir(t agent.Thread) string {
	dir := path.Clean("/" + t.WorkDir)[1:]
	return dir
}

// Run implements tool.Handler.
func (s *shell) Run(ctx context.Context, env tool.Env, a Arguments, progress tool.Progress) (agent.ToolOutcome, error) {
	hosts, err := hostsOf(a.Network)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	labels, settle, err := s.Provenance.Watch(ctx, env.Root)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	dir := workDir(env.Thread)
	live := newLive(progress)
	res, runErr := s.Sandbox.Run(ctx, Command{
		Thread: env.Thread.ID, Root: env.Root, ReadOnly: s.ReadOnly != nil && s.ReadOnly(env.Thread), Dir: dir,
		Line: a.Command, Hosts: hosts, Timeout: time.Duration(a.Timeout) * time.Second,
	}, live.write)
	text := s.output(live.end(), res)
	network := reached(res.Hosts)
	out := agent.ToolOutcome{Labels: labels.Union(network)}
	var notes []string
	storing, done := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout) // what it changed, it changed also when it was stopped
	defer done()
	if err := settle(storing, env.Labels.Union(network)); err != nil {
		s.Log.Error("what a command changed could not be recorded", "call", env.Call.ID, "thread", env.Thread.ID, "error", err)
		notes = append(notes, "Where the contents of the files it changed come from could not be recorded: they count as a stranger's.")
	}
	if res.Dir != dir && runErr == nil {
		if err := s.Places.SetWorkDir(storing, env.Thread.ID, res.Dir); err != nil {
			s.Log.Warn("the working folder could not be kept", "call", env.Call.ID, "thread", env.Thread.ID, "error", err)
			notes = append(notes, "The working folder could not be kept: the next command runs where this one did.")
		}
	}
	if runErr == nil {
		out.Exit = &res.Exit
		out.Failed = res.Exit != 0 || res.TimedOut || res.OutOfMemory || res.Endless
		notes = append(ended(res), notes...)
	}
	out.Content = content(text, notes)
	return out, runErr
}

// content is the output and what Ash has to say about it.
func content(text string, notes []string) []agent.Part {
	var out []agent.Part
	if text != "" {
		out = append(out, agent.Text{Text: text})
	}
	for _, n := range notes {
		out = append(out, agent.Text{Text: "[" + n + "]"})
	}
	return out
}

// ended says which limit a command ran into.
func ended(r Result) []string {
	switch {
	case r.TimedOut:
		return []string{"Its time was up: it was stopped. What it had done until then stands."}
	case r.Endless:
		return []string{"It printed without end and was stopped. What it had done until then stands."}
	case r.OutOfMemory:
		return []string{"It used up its memory, and a process of it was ended."}
	}
	return nil
}

// output returns the cleaned output: what was seen live, or the whole when that was less.
func (s *shell) output(seen string, r Result) string {
	if !r.Truncated {
		return seen
	}
	if r.Overflow == "" {
		return seen + "\n[… the rest of the output was not kept …]\n"
	}
	defer func() {
		if err := os.Remove(r.Overflow); err != nil {
			s.Log.Warn("the whole output of a command is left on disk", "error", err)
		}
	}()
	raw, more, err := beginning(r.Overflow, maxWhole)
	if err != nil {
		s.Log.Warn("the whole output of a command cannot be read", "error", err)
		return seen + "\n[… the rest of the output was lost …]\n"
	}
	var sc screen
	sc.write(raw)
	text := sc.text()
	if more {
		text += fmt.Sprintf("\n[… only the first %d MB of the output are kept …]\n", maxWhole>>20)
	}
	return text
}

// beginning reads the first n bytes of a file and reports whether there are more.
func beginning(name string, n int64) (b []byte, more bool, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, false, err
	}
	b, err = io.ReadAll(io.LimitReader(f, n+1))
	err = errors.Join(err, f.Close())
	if int64(len(b)) > n {
		return b[:n], true, err
	}
	return b, false, err
}

// reached is the label of what came over the network.
func reached(hosts []string) agent.Labels {
	var all agent.Labels
	for _, h := range hosts {
		all = all.Union(tool.Untrusted("network: " + h))
	}
	return all
}
