package prompt

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"ash/agent"
)

// Identity gives the text that stands at the head of every prompt.
type Identity interface {
	System(ctx context.Context) (string, error)
}

// Blobs gives the bytes of an attachment by its content hash.
type Blobs interface {
	Load(hash string) ([]byte, error)
}

// Memory fills the two slots for what Ash remembers.
type Memory interface {
	// Core is what is always present. It should change rarely: every change costs the provider's cache.
	Core(ctx context.Context, t agent.Thread) (agent.Text, error)
	// Recall is what may help with the newest message of the person. It must give the same answer for
	// the same message, since a turn with tools asks once per round.
	Recall(ctx context.Context, r agent.PromptRequest) ([]agent.Recollection, error)
}

// Settings are read anew for every prompt.
type Settings struct {
	MaxMessages int // the most messages of history sent; 0: as many as fit
	MaxTokens   int // the longest reply asked for, in tokens; 0: the model's own limit
}

// Options say what a Builder draws on. Every field may be left out.
type Options struct {
	Identity Identity
	Memory   Memory
	Blobs    Blobs                    // without it pictures and documents are only named
	Redact   func(text string) string // takes secrets out of what is sent; must be deterministic
	Settings func() Settings
	Location *time.Location // of the person; nil is the machine's
	Log      *slog.Logger
}

// Builder implements agent.Prompter. It is safe for concurrent use.
type Builder struct {
	options Options
	log     *slog.Logger
	offered atomic.Pointer[offer]
}

var _ agent.Prompter = (*Builder)(nil)

// New returns a Builder.
func New(o Options) *Builder {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Builder{options: o, log: o.Log}
}

func (b *Builder) settings() Settings {
	if b.options.Settings == nil {
		return Settings{}
	}
	return b.options.Settings()
}

func (b *Builder) zone() *time.Location {
	if b.options.Location == nil {
		return time.Local
	}
	return b.options.Location
}

func (b *Builder) redact(text string) string {
	if b.options.Redact == nil {
		return text
	}
	return b.options.Redact(text)
}

// Bounds on the text of one file, tool result or recalled item in a prompt, in bytes. Build begins with the
// largest and halves it until the newest message fits.
const (
	maxData = 256 << 10
	minData = 1 << 10
)

// Build implements agent.Prompter. Errors: CodeInvalid when there is nothing to
// answer; those of the identity and of memory.
//
// When even the newest message does not fit with its files and results cut short, it is sent all
// the same: the estimate may err, and the provider's refusal is then what the person reads.
func (b *Builder) Build(ctx context.Context, r agent.PromptRequest) (agent.BuiltPrompt, error) {
	if len(r.Path) == 0 {
		return agent.BuiltPrompt{}, agent.Errorf(agent.CodeInvalid, "There is nothing to answer yet.")
	}
	tools := b.offer(r.Tools, window(r.Model))
	r.Tools = tools.slim
	f := newFence(r.Thread.ID)
	system, labels, err := b.system(ctx, r, f)
	if err != nil {
		return agent.BuiltPrompt{}, err
	}
	late, recalled, err := b.late(ctx, r, f)
	if err != nil {
		return agent.BuiltPrompt{}, err
	}
	fixed := perMessage + Tokens(system) + tools.tokens + Tokens(late)
	room := window(r.Model) - reserve(r.Model, b.settings()) - fixed

	h := history{path: r.Path, messages: b.settings().MaxMessages, tokens: max(room, 0), summaries: r.Summaries}
	var chosen choice
	for limit := maxData; ; limit /= 2 {
		rd := b.renderer(r, f, limit)
		rd.blobs = rd.blobs && limit > minData // pictures give way last
		h.blocks = rd.blocks(r.Path)
		if len(h.blocks) == 0 {
			return agent.BuiltPrompt{}, agent.Errorf(agent.CodeInvalid, "There is nothing to answer yet.")
		}
		if chosen = h.choose(rd); chosen.fits || limit <= minData {
			break
		}
	}
	a := newAssembly(late)
	a.summary(chosen.summaryText)
	for n, i := range chosen.kept {
		gap := n+1 < len(chosen.kept) && chosen.kept[n+1] != i+1
		a.add(h.blocks[i], i == chosen.trigger, gap)
		labels = labels.Union(h.blocks[i].labels)
	}
	if chosen.summary != nil {
		labels = labels.Union(chosen.summary.Labels)
	}
	messages := a.finish()
	b.attach(ctx, messages)

	built := agent.BuiltPrompt{
		Prompt:   agent.Prompt{System: system, Messages: messages, Tools: r.Tools, MaxTokens: b.settings().MaxTokens},
		Tokens:   perMessage + Tokens(system) + tools.tokens,
		Overflow: chosen.overflow,
		Summary:  chosen.summary,
		Labels:   labels,
		Recalled: recalled,
	}
	for _, x := range recalled {
		built.Labels = built.Labels.Union(x.Labels)
	}
	for _, m := range messages {
		built.Tokens += messageTokens(m)
	}
	return built, nil
}

// Sizes assumed of models the catalog does not know, in tokens.
const (
	unknownWindow = 32 << 10
	unknownOutput = 4 << 10
)

func window(m agent.ModelInfo) int {
	if m.ContextWindow <= 0 {
		return unknownWindow
	}
	return m.ContextWindow
}

// reserve is what of the window must stay free: the reply, and a twentieth for errors of the estimate.
func reserve(m agent.ModelInfo, s Settings) int {
	w := window(m)
	out := unknownOutput
	if m.MaxOutput > 0 {
		out = m.MaxOutput
	}
	if s.MaxTokens > 0 {
		out = s.MaxTokens
	}
	return min(out, w/4) + w/20
}
