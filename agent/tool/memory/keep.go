package remember

import (
	"context"
	_ "embed"
	"strings"
	"time"

	"ash/agent"
	"ash/agent/tool"
)

//go:embed remember.md
var rememberText string

//go:embed correct.md
var correctText string

// Thing is somebody or something a fact is about.
type Thing struct {
	Name string `json:"name" jsonschema:"as the person calls it"`
	Kind string `json:"kind,omitempty" jsonschema:"person, place, project or thing"`
}

// rememberArguments are those of remember.
type rememberArguments struct {
	Text    string  `json:"text" jsonschema:"one statement, complete by itself, in the person's own words and language"`
	About   []Thing `json:"about,omitempty" jsonschema:"people, places, projects and things it is about"`
	Core    bool    `json:"core,omitempty" jsonschema:"true only for names and for how the person wants to be addressed and answered"`
	Expires string  `json:"expires,omitempty" jsonschema:"YYYY-MM-DD from which it no longer matters"`
}

const maxAbout = 8

type rememberer struct{ kit }

func (k kit) remember() tool.Tool {
	return tool.Define(tool.Definition{
		Name: "remember", Title: "Remember something", Description: rememberText,
		About:  "Keeps a fact you told it in memory.",
		Effect: agent.EffectRemember, Family: tool.FamilyMemory,
	}, rememberer{k})
}

// fact makes a fact of the arguments. Its source and labels come when it is kept.
func (r rememberer) fact(a rememberArguments) (agent.Fact, error) {
	text, err := r.statement(a.Text)
	if err != nil {
		return agent.Fact{}, err
	}
	f := agent.Fact{ID: agent.NewID(), Kind: agent.FactPlain, Status: agent.FactCurrent, Text: text, Owner: r.o.Owner, Confidence: 1, Importance: 0.7, Said: r.o.Now().UTC()}
	if a.Core {
		f.Kind, f.Importance = agent.FactCore, 0.9
	}
	if f.Entities, err = entities(a.About); err != nil {
		return f, err
	}
	if a.Expires != "" {
		if f.Expires, err = time.Parse(time.DateOnly, a.Expires); err != nil || !f.Expires.After(r.o.Now()) {
			return f, agent.Errorf(agent.CodeInvalid, "expires is no day to come. Write it as YYYY-MM-DD, or leave it out.")
		}
	}
	return f, nil
}

// entities checks what a fact is about.
func entities(list []Thing) ([]agent.Entity, error) {
	if len(list) > maxAbout {
		return nil, agent.Errorf(agent.CodeInvalid, "At most %d names in about.", maxAbout)
	}
	var out []agent.Entity
	for _, t := range list {
		name := strings.Join(strings.Fields(t.Name), " ")
		if name == "" || len(name) > 120 {
			return nil, agent.Errorf(agent.CodeInvalid, "A name in about is empty or longer than 120 bytes.")
		}
		kind := agent.EntityKind(t.Kind)
		switch kind {
		case agent.EntityPerson, agent.EntityPlace, agent.EntityProject, agent.EntityThing:
		case "":
			kind = agent.EntityThing
		default:
			return nil, agent.Errorf(agent.CodeInvalid, "The kind of a name in about is one of person, place, project, thing.")
		}
		out = append(out, agent.Entity{Name: name, Kind: kind})
	}
	return out, nil
}

// Plan implements tool.Handler.
func (r rememberer) Plan(_ context.Context, _ tool.Env, a rememberArguments) (tool.Plan, error) {
	f, err := r.fact(a)
	if err != nil {
		return tool.Plan{}, err
	}
	text := f.Text
	if f.Kind == agent.FactCore {
		text += "\n(in every conversation)"
	}
	keeps := []string{f.Text}
	if len(f.Entities) > 0 {
		var about []string
		for _, e := range f.Entities {
			about = append(about, e.Name)
		}
		text += "\n(about " + strings.Join(about, ", ") + ")"
		keeps = append(keeps, about...)
	}
	if !f.Expires.IsZero() {
		text += "\n(until " + f.Expires.Format(time.DateOnly) + ")"
		keeps = append(keeps, f.Expires.Format(time.DateOnly))
	}
	return tool.Plan{Effect: agent.Effect{Kind: agent.EffectRemember, Target: "memory", Text: text, Keeps: keeps}}, nil
}

// Run implements tool.Handler.
func (r rememberer) Run(ctx context.Context, env tool.Env, a rememberArguments, _ tool.Progress) (agent.ToolOutcome, error) {
	f, err := r.fact(a)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	var told bool
	f.Source, f.Labels, told = r.source(ctx, env.Labels, env.Call, f.Text)
	kept, known, err := r.o.Book.Remember(ctx, f, told)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	if known {
		return tool.Text("That was remembered already, with the id " + string(kept.ID) + "."), nil
	}
	return tool.Text("Remembered, with the id " + string(kept.ID) + "."), nil
}

// correctArguments are those of correct.
type correctArguments struct {
	ID   string `json:"id" jsonschema:"id of the fact, as recall gives it"`
	Text string `json:"text" jsonschema:"the statement as it is right, complete by itself"`
}

type corrector struct{ kit }

func (k kit) correct() tool.Tool {
	return tool.Define(tool.Definition{
		Name: "correct", Title: "Correct what is remembered", Description: correctText,
		About:  "Replaces a fact by what is right; the old one stays as its history.",
		Effect: agent.EffectRemember, Family: tool.FamilyMemory,
	}, corrector{k})
}

// current finds a fact that holds.
func (k kit) current(ctx context.Context, id string) (agent.Fact, error) {
	parsed, err := agent.ParseID(strings.TrimSpace(id))
	if err != nil {
		return agent.Fact{}, agent.Errorf(agent.CodeInvalid, "That is no id of a fact. recall gives the ids.")
	}
	f, err := k.o.Book.Fact(ctx, parsed)
	if agent.CodeOf(err) == agent.CodeNotFound || err == nil && f.Owner != k.o.Owner {
		return agent.Fact{}, agent.Errorf(agent.CodeNotFound, "There is no fact with that id (any more). recall gives the ids.")
	}
	if err != nil {
		return agent.Fact{}, err
	}
	if f.Status != agent.FactCurrent {
		return agent.Fact{}, agent.Errorf(agent.CodeConflict, "That fact is history already. Use recall for what holds now.")
	}
	return f, nil
}

func (c corrector) plan(ctx context.Context, a correctArguments) (tool.Plan, agent.Fact, error) {
	text, err := c.statement(a.Text)
	if err != nil {
		return tool.Plan{}, agent.Fact{}, err
	}
	old, err := c.kit.current(ctx, a.ID)
	if err != nil {
		return tool.Plan{}, old, err
	}
	if old.Text == text {
		return tool.Plan{}, old, agent.Errorf(agent.CodeInvalid, "It says exactly this already.")
	}
	diff := "--- a/memory\n+++ b/memory\n@@ -1 +1 @@\n-" + oneLine(old.Text) + "\n+" + text + "\n"
	e := agent.Effect{Kind: agent.EffectRemember, Target: "memory", Text: text, Diff: c.o.Redact(diff)}
	if !old.Pinned { // what is pinned changes by the person's decision on it alone
		e.Keeps = []string{text}
	}
	return tool.Plan{Effect: e, State: old.Updated.UTC().Format(time.RFC3339Nano)}, old, nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Plan implements tool.Handler.
func (c corrector) Plan(ctx context.Context, _ tool.Env, a correctArguments) (tool.Plan, error) {
	p, _, err := c.plan(ctx, a)
	return p, err
}

// Run implements tool.Handler.
func (c corrector) Run(ctx context.Context, env tool.Env, a correctArguments, _ tool.Progress) (agent.ToolOutcome, error) {
	p, old, err := c.plan(ctx, a)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	if !env.Approved(p) {
		return agent.ToolOutcome{}, errChanged()
	}
	f := agent.Fact{Text: p.Effect.Text, Owner: c.o.Owner, Confidence: 1, Said: c.o.Now().UTC()}
	f.Source, f.Labels, _ = c.source(ctx, env.Labels, env.Call, f.Text)
	kept, err := c.o.Book.Correct(ctx, old.ID, old.Updated, f)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	return tool.Text("Corrected. The fact has the id " + string(kept.ID) + " now."), nil
}

func errChanged() error {
	return agent.Errorf(agent.CodeConflict, "It was changed by something else in the meantime, so nothing was done. Look at it again.")
}
