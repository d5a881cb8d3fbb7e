// Package subagent is the tool with which the assistant gives a part of the work to a helper: a stored thread of
// its own below the call, with its own tools and budget. The call runs until the helper's turn rests.
//
// Invariants: a helper never has a tool that the thread above may not use, has no sub_agent unless it was named, and never
// ask_person: its question would wait in a lane where nobody types, holding up all above it, while the conversation above knows the
// person and can ask. Its answer bears the labels of everything its thread holds. It ends with its call, whatever ends that.
package subagent

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ash/agent"
	"ash/agent/tool"
	"ash/agent/tool/askperson"
)

//go:embed subagent.md
var description string

// Name is what the model calls the tool.
const Name = "sub_agent"

// The bounds of a helper. Tokens and cost are its share of what the turn above has left (agent.Engine.Delegate).
const (
	DefaultRounds  = 12
	MaxRounds      = 50
	DefaultMinutes = 10
	MaxMinutes     = 60
	MaxTask        = 32 << 10 // bytes
	maxTitle       = 80       // characters
)

// stopTimeout bounds how long stopping a helper may hold up the end of its call.
const stopTimeout = time.Second

// Helpers begins helpers and waits for them. Its place is cmd/ash, over the engine, the store and the feed.
type Helpers interface {
	// Delegate begins a helper (agent.Engine.Delegate): a thread that bears an id may have begun also when there is an error.
	Delegate(ctx context.Context, d agent.Delegation) (agent.Thread, error)
	// Await waits until the turn of a helper's thread has ended, telling what it does a line at a time. A turn that waits for the person
	// goes on waiting, and the time of the turn that ctx belongs to stands still meanwhile.
	Await(ctx context.Context, thread agent.ID, progress func(line string)) (Rest, error)
	Stop(ctx context.Context, thread agent.ID) error
	// Depth is how many helpers stand above what runs in t.
	Depth(ctx context.Context, t agent.Thread) (int, error)
}

// Rest is how a helper ended.
type Rest struct {
	Turn   agent.Turn
	Head   agent.Message
	Said   string       // the last text of its own, "" when there is none
	Labels agent.Labels // of everything its thread holds
}

// Options wires the tool. All but Log are required.
type Options struct {
	Helpers Helpers
	// Tools names the tools a thread may use now.
	Tools func(ctx context.Context, t agent.Thread) []string
	Log   *slog.Logger
}

// Arguments are what the model sends.
type Arguments struct {
	Task    string   `json:"task" jsonschema:"what to do, complete in itself"`
	Title   string   `json:"title,omitempty" jsonschema:"a few words that name the task, for the person"`
	Tools   []string `json:"tools,omitempty" jsonschema:"names of the tools the helper may use; leave it out for those you have"`
	Rounds  int      `json:"rounds,omitempty" jsonschema:"how often its model may be asked, 1 to 50"`
	Minutes int      `json:"minutes,omitempty" jsonschema:"how long it may work, 1 to 60"`
}

// New returns the tool.
func New(o Options) tool.Tool {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return tool.Define(tool.Definition{
		Name: Name, Title: "Ask a helper", Description: description,
		About:  "Gives a part of the work to a helper with its own tools and limits.",
		Effect: agent.EffectDelegate, Family: tool.FamilyHelpers,
	}, &subAgent{o})
}

type subAgent struct{ Options }

// Available implements tool.Available: the deepest helpers have none of their own.
func (s *subAgent) Available(ctx context.Context, t agent.Thread) error {
	if t.ParentCall == "" {
		return nil
	}
	depth, err := s.Helpers.Depth(ctx, t)
	if err == nil && depth >= agent.MaxHelperDepth {
		err = agent.Errorf(agent.CodeInvalid, "Helpers may start helpers of their own at most %d deep. Do this part yourself.", agent.MaxHelperDepth)
	}
	return err
}

// Plan implements tool.Handler.
func (s *subAgent) Plan(ctx context.Context, env tool.Env, a Arguments) (tool.Plan, error) {
	d, err := s.delegation(ctx, env, a)
	if err != nil {
		return tool.Plan{}, err
	}
	return tool.Plan{Effect: agent.Effect{
		Kind: agent.EffectDelegate, Target: d.Title, Text: d.Task + "\n\n" + limits(d),
	}}, nil
}

// limits says what a helper gets, for the person.
func limits(d agent.Delegation) string {
	tools := strings.Join(d.Tools, ", ")
	if slices.Equal(d.Tools, []string{agent.NoTools}) {
		tools = "none"
	}
	return fmt.Sprintf("[tools: %s; at most %d rounds and %d minutes]", tools, d.Budget.Rounds, int(d.Budget.Wall.Minutes()))
}

// delegation reads what the model wants.
func (s *subAgent) delegation(ctx context.Context, env tool.Env, a Arguments) (agent.Delegation, error) {
	d := agent.Delegation{
		Parent: env.Call, Task: strings.TrimSpace(a.Task), Title: agent.FirstWords(a.Title, maxTitle), Labels: env.Labels,
		Budget: agent.Budget{Rounds: DefaultRounds, Wall: DefaultMinutes * time.Minute},
	}
	switch {
	case d.Task == "":
		return d, agent.Errorf(agent.CodeInvalid, "There is no task.")
	case len(d.Task) > MaxTask || !utf8.ValidString(d.Task):
		return d, agent.Errorf(agent.CodeInvalid, "The task is longer than %d KB. Put material into a file and name it.", MaxTask>>10)
	case a.Rounds < 0 || a.Rounds > MaxRounds:
		return d, agent.Errorf(agent.CodeInvalid, "rounds is between 1 and %d.", MaxRounds)
	case a.Minutes < 0 || a.Minutes > MaxMinutes:
		return d, agent.Errorf(agent.CodeInvalid, "minutes is between 1 and %d.", MaxMinutes)
	}
	if d.Title == "" {
		d.Title = agent.FirstWords(d.Task, maxTitle)
	}
	if a.Rounds > 0 {
		d.Budget.Rounds = a.Rounds
	}
	if a.Minutes > 0 {
		d.Budget.Wall = time.Duration(a.Minutes) * time.Minute
	}
	var err error
	d.Tools, err = s.tools(ctx, env.Thread, a.Tools)
	return d, err
}

// tools returns those a helper gets: never none, which would be all.
func (s *subAgent) tools(ctx context.Context, t agent.Thread, named []string) ([]string, error) {
	var may []string
	for _, name := range s.Tools(ctx, t) {
		if name != askperson.Name {
			may = append(may, name)
		}
	}
	var out []string
	for _, name := range named {
		name = strings.TrimSpace(name)
		switch {
		case name == "" || slices.Contains(out, name):
		case name == askperson.Name:
			return nil, agent.Errorf(agent.CodeInvalid, "A helper cannot use %s: nobody reads along there. Do that yourself, before or after.", name)
		case !slices.Contains(may, name):
			return nil, agent.Errorf(agent.CodeInvalid, "There is no tool %q to give to a helper. There are: %s.", agent.Clip(name, 64), strings.Join(may, ", "))
		default:
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		out = slices.DeleteFunc(may, func(name string) bool { return name == Name })
	}
	if len(out) == 0 {
		out = []string{agent.NoTools}
	}
	return out, nil
}

// Run implements tool.Handler.
func (s *subAgent) Run(ctx context.Context, env tool.Env, a Arguments, progress tool.Progress) (agent.ToolOutcome, error) {
	d, err := s.delegation(ctx, env, a)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	t, err := s.Helpers.Delegate(ctx, d)
	ended := false
	if t.ID != "" {
		defer func() {
			if !ended {
				s.stop(ctx, t.ID)
			}
		}()
	}
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	rest, err := s.Helpers.Await(ctx, t.ID, func(line string) { progress(line + "\n") })
	if err != nil {
		return agent.ToolOutcome{Labels: rest.Labels.Union(env.Labels)}, err
	}
	ended = true
	return answer(rest), nil
}

// stop ends a helper whose call has ended.
func (s *subAgent) stop(ctx context.Context, thread agent.ID) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer done()
	if err := s.Helpers.Stop(ctx, thread); err != nil {
		s.Log.Info("a helper was not stopped", "thread", thread, "error", err) // Ash ends, and it with it
	}
}

// answer is what comes back from a helper.
func answer(r Rest) agent.ToolOutcome {
	out := agent.ToolOutcome{Labels: r.Labels}
	say := func(text string) { out.Content = append(out.Content, agent.Text{Text: text}) }
	text := strings.TrimSpace(r.Head.Text())
	if r.Turn.State == agent.TurnDone && r.Head.State == agent.MessageComplete && text != "" {
		say(text)
		return out
	}
	out.Failed = true
	switch {
	case r.Turn.State == agent.TurnStopped:
		say("[the helper was stopped before it had an answer]")
	case r.Head.Error != nil:
		say("[the helper did not finish: " + r.Head.Error.Public + "]")
	default:
		say("[the helper ended without an answer]")
	}
	if r.Said != "" {
		say("The last it said:\n\n" + r.Said)
	}
	return out
}
