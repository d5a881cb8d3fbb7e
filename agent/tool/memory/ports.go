package remember

import (
	"context"
	"log/slog"
	"time"

	"ash/agent"
	"ash/agent/tool"
)

// Book keeps facts. Its place is package memory.
type Book interface {
	Fact(ctx context.Context, id agent.ID) (agent.Fact, error)
	// Remember keeps a fact, ends those in f.Supersedes as its history, and returns it; known says that it was there already. told
	// says that the person asked for it in so many words, which brings back even what was forgotten; else that is CodeDenied.
	Remember(ctx context.Context, f agent.Fact, told bool) (kept agent.Fact, known bool, err error)
	// Correct puts f in the place of a current fact that was last changed at base. CodeConflict when it changed since.
	Correct(ctx context.Context, id agent.ID, base time.Time, f agent.Fact) (agent.Fact, error)
	// Traces lists what forgetting a fact removes. State is another one when the list is. The message during, whose call asks, goes with
	// it and is not listed: its effect will repeat the list.
	Traces(ctx context.Context, fact, during agent.ID) (Traces, error)
	// Forget removes what Traces listed, and says until when that can be taken back. CodeConflict when State is another one now.
	Forget(ctx context.Context, fact, during agent.ID, state string) (due time.Time, err error)
}

// Traces is what forgetting would remove.
type Traces struct {
	Lines []string // one for people each: what, when, the text of it, clipped
	More  bool     // there is more than was looked at
	State string
}

// Recaller finds memories. Its place is package memory/recall.
type Recaller interface {
	// Recall returns what a question brings back, the best first; at most limit.
	Recall(ctx context.Context, thread agent.Thread, query string, limit int) ([]agent.Recollection, error)
}

// Notes keeps the person's notes. Its place is package memory/notes. Paths are below the folder, with slashes.
type Notes interface {
	// Read returns a note. One that does not exist is Missing, no error.
	Read(ctx context.Context, path string) (Note, error)
	// Write stores a note that was made from what had the hash base ("" for a new one), with the labels of what the new text was
	// made from. CodeConflict when it is another one now.
	Write(ctx context.Context, path, base, text string, labels agent.Labels) error
}

// Note is a note as it is.
type Note struct {
	Path    string
	Text    string
	Hash    string
	Labels  agent.Labels
	Missing bool
	Fixed   string // why it cannot be changed here, "" when it can
}

// Options wires the tools. Owner is required; without Book, Recall or Notes their tools are not made.
type Options struct {
	Owner  agent.ID
	Book   Book
	Recall Recaller
	Notes  Notes
	// Asked returns the message of the person that a call's turn answers; nil: there is none to be found.
	Asked  func(ctx context.Context, c agent.ToolCall) (agent.Message, error)
	Redact func(text string) string // takes secrets out of what is shown and kept; nil knows none
	Now    func() time.Time         // nil is time.Now
	Log    *slog.Logger             // nil discards
}

// New returns the tools.
func New(o Options) []tool.Tool {
	if o.Redact == nil {
		o.Redact = func(text string) string { return text }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	k := kit{o}
	var out []tool.Tool
	if o.Book != nil {
		out = append(out, k.remember(), k.correct(), k.forget())
	}
	if o.Recall != nil {
		out = append(out, k.recall())
	}
	if o.Notes != nil {
		out = append(out, k.noteRead(), k.noteWrite())
	}
	return out
}

// kit is what all of them use.
type kit struct{ o Options }
