package tool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strconv"

	"ash/agent"
)

// Policy says whether a call may run. Its place is package policy.
type Policy interface {
	// Judge decides about an effect in a situation. It returns the effect with sources, private passages and offers filled in.
	Judge(ctx context.Context, s agent.Situation, c agent.ToolCall, e agent.Effect) (agent.Judgement, error)
	// Permit makes a standing permission of an offer of c.
	Permit(ctx context.Context, s agent.Situation, c agent.ToolCall, o agent.Offer) error
}

// Inspector looks for instructions to the assistant inside data. Its place is package guard.
type Inspector interface {
	// Inspect looks through a result of c.
	Inspect(ctx context.Context, c agent.ToolCall, text string) []agent.Finding
}

// Files keeps what is too long for a result. Its place is package attachment.
type Files interface {
	// Keep stores text under a name and returns what a File part names.
	Keep(ctx context.Context, name string, text []byte) (agent.Attachment, error)
}

// Options wires a Box. Policy and Root are required.
type Options struct {
	Policy    Policy
	Inspector Inspector                // nil: nothing is scanned
	Files     Files                    // nil: what is too long is cut
	Redact    func(text string) string // takes secrets out before anything is kept; nil: none are known
	Root      func(t agent.Thread) string
	Parallel  func() map[Family]int // calls of a family at once; 0 or absent is defaultParallel
	Log       *slog.Logger
}

// defaultParallel is how many calls of a family run at once unless the settings say otherwise.
const defaultParallel = 4

// Box holds the tools and implements agent.Tools. It is safe for concurrent use.
type Box struct {
	options Options
	tools   []Tool
	lanes   lanes
}

var _ agent.Tools = (*Box)(nil)

// NewBox returns a Box of tools, which must have different names.
func NewBox(o Options, tools ...Tool) *Box {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Box{options: o, tools: tools}
}

// Tools returns the tools in the order they were given.
func (b *Box) Tools() []Tool { return slices.Clone(b.tools) }

// Find returns the tool of that name.
func (b *Box) Find(name string) (Tool, bool) {
	i := slices.IndexFunc(b.tools, func(t Tool) bool { return t.Definition().Name == name })
	if i < 0 {
		return nil, false
	}
	return b.tools[i], true
}

// Why says why a tool cannot be used in a thread now; nil when it can.
func (b *Box) Why(ctx context.Context, t agent.Thread, tool Tool) error {
	if a, ok := tool.(Available); ok {
		return a.Available(ctx, t)
	}
	return nil
}

// may reports whether a thread may use a tool at all: a helper has only some.
func may(t agent.Thread, name string) bool {
	return len(t.Tools) == 0 || slices.Contains(t.Tools, name)
}

// Specs implements agent.Tools.
func (b *Box) Specs(ctx context.Context, t agent.Thread) []agent.ToolSpec {
	var out []agent.ToolSpec
	for _, tool := range b.tools {
		d := tool.Definition()
		if may(t, d.Name) && b.Why(ctx, t, tool) == nil {
			out = append(out, agent.ToolSpec{Name: d.Name, Description: d.Description, Schema: tool.Schema()})
		}
	}
	return out
}

// Judge implements agent.Tools.
func (b *Box) Judge(ctx context.Context, s agent.Situation, c agent.ToolCall) (agent.Judgement, error) {
	tool, why := b.pick(ctx, s.Thread, c.Name)
	if why != "" {
		return invalid(why), nil
	}
	if n := repeats(s, c); n >= maxRepeats {
		return invalid("You have made this very call " + strconv.Itoa(n) + " times in this turn already, and nothing has changed since. Use what you have, or say what is missing."), nil
	}
	plan, err := b.plan(ctx, tool, s, c)
	if err != nil {
		if ctx.Err() != nil {
			return agent.Judgement{}, ctx.Err()
		}
		return invalid(agent.PublicOf(err)), nil
	}
	if plan.Effect.Title == "" {
		plan.Effect.Title = tool.Definition().Title
	}
	j, err := b.options.Policy.Judge(ctx, s, c, plan.Effect)
	if err != nil {
		return agent.Judgement{}, err
	}
	if plan.Effect.Kind == agent.EffectAsk && j.Verdict != agent.Deny {
		j.Verdict, j.Question = agent.Ask, true
	}
	j.Binding = binding(c, plan)
	return j, nil
}

// plan asks a tool what a call would do. A panic is an error like any other.
func (b *Box) plan(ctx context.Context, tool Tool, s agent.Situation, c agent.ToolCall) (p Plan, err error) {
	defer func() {
		if r := recover(); r != nil {
			b.options.Log.Error("tool panicked while looking", "tool", c.Name, "call", c.ID, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			err = agent.Errorf(agent.CodeInternal, "The tool %s broke when it looked at this. Nothing was done.", c.Name)
		}
	}()
	return tool.Plan(ctx, b.env(s, c), c.Arguments)
}

func invalid(why string) agent.Judgement { return agent.Judgement{Verdict: agent.Invalid, Why: why} }

// pick finds the tool a thread may use under that name, or says in words for the model why there is none.
func (b *Box) pick(ctx context.Context, t agent.Thread, name string) (Tool, string) {
	tool, ok := b.Find(name)
	if !ok || !may(t, name) {
		return nil, "There is no tool of that name here. Use one of those you were given."
	}
	if err := b.Why(ctx, t, tool); err != nil {
		return nil, agent.PublicOf(err)
	}
	return tool, ""
}

// Permit implements agent.Tools.
func (b *Box) Permit(ctx context.Context, s agent.Situation, c agent.ToolCall, o agent.Offer) error {
	return b.options.Policy.Permit(ctx, s, c, o)
}

// Run implements agent.Tools. What a tool says went wrong is content like any other: bounded, scanned and labelled.
func (b *Box) Run(ctx context.Context, s agent.Situation, c agent.ToolCall, progress func(text string)) (agent.ToolOutcome, error) {
	tool, why := b.pick(ctx, s.Thread, c.Name)
	if why != "" {
		return agent.ToolOutcome{}, agent.Errorf(agent.CodeUnavailable, "%s", why)
	}
	family := tool.Definition().Family
	leave, err := b.lanes.enter(ctx, laneOf(family, s.Thread), b.parallel(family))
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	defer leave()
	out, err := tool.Run(ctx, b.env(s, c), c.Arguments, progress)
	if agent.CodeOf(err) == agent.CodeLocked { // it has done nothing yet: the call rests until the vault is unlocked
		return agent.ToolOutcome{}, err
	}
	if err != nil && ctx.Err() == nil {
		b.options.Log.Info("tool failed", "tool", c.Name, "call", c.ID, "code", agent.CodeOf(err))
		b.options.Log.Debug("tool failed", "tool", c.Name, "call", c.ID, "error", err) // may quote what it worked on
		out.Failed, out.Content = true, append(slices.Clone(out.Content), agent.Text{Text: agent.PublicOf(err)})
		err = nil
	}
	return b.finish(ctx, c, out), err
}

func (b *Box) env(s agent.Situation, c agent.ToolCall) Env {
	return Env{Thread: s.Thread, Call: c, Labels: s.Labels, Root: b.options.Root(s.Thread)}
}

func (b *Box) parallel(f Family) int {
	if b.options.Parallel != nil {
		if n := b.options.Parallel()[f]; n > 0 {
			return n
		}
	}
	return defaultParallel
}

// binding hashes what an approval is given for: the tool, its exact arguments, and what they apply to.
func binding(c agent.ToolCall, p Plan) string {
	h := sha256.New()
	for _, field := range []string{c.Name, string(c.Arguments), string(p.Effect.Kind), p.Effect.Target, p.State} {
		h.Write([]byte(strconv.Itoa(len(field))))
		h.Write([]byte{0})
		h.Write([]byte(field))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// maxRepeats is how often one call may be made with the same arguments within a turn, while nothing else happens.
const maxRepeats = 5

// repeats counts the calls of this turn before c that are the same, since the last other one that can have changed
// what c would find: a test that is run after each edit is no loop.
func repeats(s agent.Situation, c agent.ToolCall) int {
	n := 0
	for _, m := range s.Path {
		for _, x := range m.Calls {
			if x.Turn != c.Turn || (m.ID == c.Message && x.Index >= c.Index) {
				continue
			}
			switch {
			case x.Name == c.Name && same(x.Arguments, c.Arguments):
				n++
			case changes(x):
				n = 0
			}
		}
	}
	return n
}

// changes reports whether a call may have changed something.
func changes(c agent.ToolCall) bool {
	if c.Started.IsZero() || c.Effect == nil {
		return false
	}
	return c.Effect.Kind != agent.EffectRead && c.Effect.Kind != agent.EffectFetch
}

func same(a, b json.RawMessage) bool { return string(a) == string(b) }
