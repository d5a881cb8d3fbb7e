// Package offline is the model Ash has built in: no network, no weights, no
// pretence. It says that no language model is set up for the chat and how to
// change that, finds and quotes what is stored, and takes commands in a small
// grammar (docs/offline.md) of which one produces real tool calls. It is a dialect of agent/llm
// and the default while nothing else is configured.
//
// What holds here: an answer depends on what the person wrote, what the
// conversation holds, what is stored and the clock, and on nothing else; what it quotes stands in a
// blockquote with every mark of Markdown and HTML escaped, so that stored text
// stays text; what strangers may have written of what is remembered is counted, not quoted, since an answer has no labels; only the person's newest words are read as a command, never what a tool, a file or a
// page said.
package offline

import (
	"context"
	"iter"
	"time"

	"ash/agent"
	"ash/agent/llm"
)

// Name is the name of the only model: "offline/offline" in full.
const Name = "offline"

// window is what is told of the model's context, in tokens. It reads the whole prompt; the figure only
// keeps the history from being fitted to something small.
const window = 1 << 20

// Library finds what is stored. agent.Reader is one.
type Library interface {
	// Search looks through titles and messages; query is plain text. At most limit hits, best first.
	Search(ctx context.Context, query string, limit int) ([]agent.SearchHit, error)
	// Message returns a stored message. CodeNotFound when it is gone.
	Message(ctx context.Context, id agent.ID) (agent.Message, error)
}

// Memory gives what is remembered.
type Memory interface {
	// Recall returns the facts, notes and episodes (kinds nil) that a question brings back, the best first; at most limit.
	Recall(ctx context.Context, query string, kinds []agent.MemoryKind, limit int) ([]agent.Recollection, error)
	// Mine returns what is remembered of the person: the core, then the latest facts; at most limit.
	Mine(ctx context.Context, limit int) ([]agent.Recollection, error)
}

// Wish is something that a message asks to be remembered.
type Wish struct {
	Text string
	Core bool
}

// Options say what the model draws on. Every field may be left out: then nothing is found there, and the answers say so.
type Options struct {
	Library Library
	Memory  Memory
	Asked   func(text string) []Wish // reads what a message asks to be remembered in so many words; nil: nothing is
	Now     func() time.Time         // the time in the person's zone; nil is time.Now
}

// New returns the dialect.
func New(o Options) llm.Dialect {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Asked == nil {
		o.Asked = func(string) []Wish { return nil }
	}
	return func(c llm.Connection) (llm.Client, error) {
		return &client{name: c.Settings.Name, o: o}, nil
	}
}

type client struct {
	name string
	o    Options
}

// Models implements llm.Client.
func (c *client) Models(context.Context) ([]agent.ModelInfo, error) {
	return []agent.ModelInfo{{
		Ref: agent.ModelRef{Provider: c.name, Name: Name}, Title: "Offline (built in)", ContextWindow: window, Tools: true, Local: true,
	}}, nil
}

// Stream implements llm.Client. The only error is a *llm.Fault for a cancelled ctx; whatever else goes wrong is said in the answer.
func (c *client) Stream(ctx context.Context, _ agent.ModelInfo, p agent.Prompt) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		a := answer{ctx: ctx, library: c.o.Library, memory: c.o.Memory, asked: c.o.Asked, now: c.o.Now(), talk: listen(p.Messages), tools: p.Tools}
		a.compose()
		if err := ctx.Err(); err != nil {
			yield(agent.Delta{}, llm.TransportFault(err))
			return
		}
		for piece := range pieces(a.text.String()) {
			if err := ctx.Err(); err != nil {
				yield(agent.Delta{}, llm.TransportFault(err))
				return
			}
			if !yield(agent.Delta{Kind: agent.DeltaText, Text: piece}, nil) {
				return
			}
		}
		stop := agent.StopEnd
		if a.call != nil {
			stop = agent.StopTools
			if !yield(agent.Delta{Kind: agent.DeltaCall, Call: a.call}, nil) {
				return
			}
		}
		yield(agent.Delta{Kind: agent.DeltaStop, Stop: stop}, nil)
	}
}
