package tool

import (
	"context"
	"encoding/json"

	"ash/agent"
)

// Family groups tools that draw on the same resource: at most so many of a
// family run at once (see Options.Parallel).
type Family string

// The families.
const (
	FamilyFiles    Family = "files"
	FamilyCommands Family = "commands"
	FamilyWeb      Family = "web"
	FamilyPerson   Family = "person"
	FamilyHelpers  Family = "helpers"
	FamilyMemory   Family = "memory"
)

// Definition is what a tool says of itself.
type Definition struct {
	Name        string           // for the model: a-z and _, at most 64 bytes
	Title       string           // for people: "Run a command"
	About       string           // for people: one sentence on the Tools page
	Description string           // for the model: Markdown
	Effect      agent.EffectKind // the gravest thing it can do
	Family      Family
}

// Env is what a call finds around it.
type Env struct {
	Thread agent.Thread
	Call   agent.ToolCall // with the Decision, once the person has made one
	Labels agent.Labels   // of all that was in the prompt: what the call writes carries them
	Root   string         // absolute folder the thread may see
}

// Plan is what a call would do.
type Plan struct {
	Effect agent.Effect // Kind, Title, Target, Text, Diff, Hosts, Choices; policy fills in the rest
	// State is a hash (or any short text) of what the call applies to, such as the file it changes. An approval is
	// bound to it: when it differs at the start, the person is asked again. "" when nothing matters but the arguments.
	State string
}

// Progress takes live output. It may be called from any goroutine until Run returns.
type Progress func(text string)

// Tool is one thing the assistant can do. Define makes one.
type Tool interface {
	Definition() Definition
	// Schema is the JSON Schema of the arguments.
	Schema() json.RawMessage
	// Plan returns CodeInvalid, in words for the model, for arguments that cannot be carried out.
	Plan(ctx context.Context, env Env, arguments json.RawMessage) (Plan, error)
	// Run does what Plan said. An error's Public text is what the model and the person read.
	Run(ctx context.Context, env Env, arguments json.RawMessage, progress Progress) (agent.ToolOutcome, error)
}

// Available is implemented by tools that cannot always be used: one that is not available is not offered to the model.
type Available interface {
	// Available returns nil, or why not and how to get it.
	Available(ctx context.Context, t agent.Thread) error
}

// Handler is the two halves of a tool with arguments A.
type Handler[A any] interface {
	Plan(ctx context.Context, env Env, arguments A) (Plan, error)
	Run(ctx context.Context, env Env, arguments A, progress Progress) (agent.ToolOutcome, error)
}

// Define makes a Tool of its definition and its handler. Fields of A bear `json` and `jsonschema` tags (the latter is
// the description the model reads); a field without omitempty is required. When A has no schema, a mistake in the program,
// the tool panics as soon as its schema is asked for.
func Define[A any](d Definition, h Handler[A]) Tool {
	return &defined[A]{definition: d, handler: h, arguments: newArguments[A]()}
}

type defined[A any] struct {
	definition Definition
	handler    Handler[A]
	arguments  arguments[A]
}

func (t *defined[A]) Definition() Definition { return t.definition }

func (t *defined[A]) Schema() json.RawMessage { return t.arguments.schema() }

func (t *defined[A]) Plan(ctx context.Context, env Env, raw json.RawMessage) (Plan, error) {
	a, err := t.arguments.parse(raw)
	if err != nil {
		return Plan{}, err
	}
	return t.handler.Plan(ctx, env, a)
}

func (t *defined[A]) Run(ctx context.Context, env Env, raw json.RawMessage, progress Progress) (agent.ToolOutcome, error) {
	a, err := t.arguments.parse(raw)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	return t.handler.Run(ctx, env, a, progress)
}

func (t *defined[A]) Available(ctx context.Context, thread agent.Thread) error {
	if h, ok := t.handler.(Available); ok {
		return h.Available(ctx, thread)
	}
	return nil
}

// Text returns an outcome that is one text.
func Text(text string) agent.ToolOutcome {
	return agent.ToolOutcome{Content: []agent.Part{agent.Text{Text: text}}}
}

// Failed returns the outcome of a call that ran and did not succeed.
func Failed(text string) agent.ToolOutcome {
	o := Text(text)
	o.Failed = true
	return o
}

// Untrusted returns the label of content from source that a stranger may have written.
func Untrusted(source string) agent.Labels {
	return agent.Labels{{Source: agent.Clip(source, 256), Kind: agent.LabelUntrusted}}
}

// Private returns the label of the person's own content from source, which is not to leave the machine unasked.
func Private(source string) agent.Labels {
	return agent.Labels{{Source: agent.Clip(source, 256), Kind: agent.LabelPrivate, Private: true}}
}
