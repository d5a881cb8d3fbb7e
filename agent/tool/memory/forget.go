package remember

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"ash/agent"
	"ash/agent/tool"
)

//go:embed forget.md
var forgetText string

const maxLines = 100 // traces that are shown

// forgetArguments are those of forget.
type forgetArguments struct {
	ID string `json:"id" jsonschema:"id of the fact, as recall gives it"`
}

type forgetter struct{ kit }

func (k kit) forget() tool.Tool {
	return tool.Define(tool.Definition{
		Name: "forget", Title: "Forget for good", Description: forgetText,
		About:  "Removes a fact, what was said of it and what was made of that. It always asks and shows what would go.",
		Effect: agent.EffectRemember, Family: tool.FamilyMemory,
	}, forgetter{k})
}

func (f forgetter) plan(ctx context.Context, env tool.Env, a forgetArguments) (tool.Plan, agent.ID, Traces, error) {
	id, err := agent.ParseID(strings.TrimSpace(a.ID))
	if err != nil {
		return tool.Plan{}, "", Traces{}, agent.Errorf(agent.CodeInvalid, "That is no id of a fact. recall gives the ids.")
	}
	fact, err := f.o.Book.Fact(ctx, id) // history can be forgotten as well
	if agent.CodeOf(err) == agent.CodeNotFound || err == nil && fact.Owner != f.o.Owner {
		return tool.Plan{}, "", Traces{}, agent.Errorf(agent.CodeNotFound, "There is no fact with that id (any more). recall gives the ids.")
	}
	if err != nil {
		return tool.Plan{}, "", Traces{}, err
	}
	t, err := f.o.Book.Traces(ctx, id, env.Call.Message)
	if err != nil {
		return tool.Plan{}, "", Traces{}, err
	}
	e := agent.Effect{Kind: agent.EffectRemember, Target: "memory: forget", Text: f.o.Redact(shown(t))}
	return tool.Plan{Effect: e, State: t.State}, id, t, nil
}

// shown is what the person reads before it goes.
func shown(t Traces) string {
	var b strings.Builder
	b.WriteString("This would be forgotten:\n")
	for _, l := range t.Lines[:min(len(t.Lines), maxLines)] {
		b.WriteString("- " + oneLine(agent.Clip(l, 500)) + "\n")
	}
	if n := len(t.Lines) - maxLines; n > 0 {
		fmt.Fprintf(&b, "- and %d more\n", n)
	}
	if t.More {
		b.WriteString("- There may be further messages that say it; the memory page lists them.\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// Plan implements tool.Handler.
func (f forgetter) Plan(ctx context.Context, env tool.Env, a forgetArguments) (tool.Plan, error) {
	p, _, _, err := f.plan(ctx, env, a)
	return p, err
}

// Run implements tool.Handler.
func (f forgetter) Run(ctx context.Context, env tool.Env, a forgetArguments, _ tool.Progress) (agent.ToolOutcome, error) {
	if env.Call.Decision == nil || !env.Call.Decision.Approve {
		return agent.ToolOutcome{}, agent.Errorf(agent.CodeDenied, "Forgetting needs the person's word on this very call, and has not got it. Ask them to do it on the memory page.")
	}
	p, id, t, err := f.plan(ctx, env, a)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	if !env.Approved(p) {
		return agent.ToolOutcome{}, errChanged()
	}
	due, err := f.o.Book.Forget(ctx, id, env.Call.Message, t.State)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	text := "It is forgotten."
	if !due.IsZero() {
		text += " The person can take that back until " + due.UTC().Format("15:04") + " UTC on the memory page."
	}
	return tool.Text(text + " Do not repeat what it was."), nil
}
