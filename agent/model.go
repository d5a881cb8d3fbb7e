package agent

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// ModelRef names a model at a provider, written "provider/name". The name may
// itself hold slashes.
type ModelRef struct {
	Provider string
	Name     string
}

// String returns "provider/name", or "" for the zero ref.
func (r ModelRef) String() string {
	if r.Provider == "" {
		return ""
	}
	return r.Provider + "/" + r.Name
}

// ModelInfo is what the catalog knows of a model. Zero fields are unknown.
type ModelInfo struct {
	Ref           ModelRef
	Title         string // for people; "" falls back to Ref.Name
	ContextWindow int    // tokens
	MaxOutput     int    // tokens
	Tools         bool
	Vision        bool
	Documents     bool // reads PDFs itself
	Thinking      bool
	Local         bool // runs on this machine; costs nothing
	Price         Price
}

// Price is in micro-dollars per million tokens, so that a price of $3 per
// million is 3_000_000.
type Price struct {
	Input      MicroDollars
	Output     MicroDollars
	CacheRead  MicroDollars
	CacheWrite MicroDollars
}

// Cost returns what u costs at this price, rounded to the nearest micro-dollar.
func (p Price) Cost(u Usage) MicroDollars {
	plain := max(u.Input-u.CacheRead-u.CacheWrite, 0)
	sum := int64(plain)*int64(p.Input) + int64(u.Output)*int64(p.Output) +
		int64(u.CacheRead)*int64(p.CacheRead) + int64(u.CacheWrite)*int64(p.CacheWrite)
	return MicroDollars((sum + 500_000) / 1_000_000)
}

// ToolSpec is a tool as the model sees it.
type ToolSpec struct {
	Name        string
	Description string          // Markdown
	Schema      json.RawMessage // JSON Schema of the arguments
}

// Prompt is everything a model call sends. The order is the order on the wire:
// what changes least stands first, so that provider caches hit.
type Prompt struct {
	System      string // the stable part: identity, rules, core memory
	Messages    []PromptMessage
	Tools       []ToolSpec
	MaxTokens   int      // 0: the model's own limit
	Temperature *float64 // nil: the provider's default
	Charge      Charge   // what it is counted as; not sent
}

// PromptMessage is one message as sent. Tool results are parts of a RoleUser
// message that holds nothing else.
type PromptMessage struct {
	Role  Role
	Parts []Part
	Calls []ToolCall // behind the ToolUse parts
	Cache bool       // a good place for a cache breakpoint
}

// Model is the one port to language models. Stream yields deltas until the reply ends; an
// error ends it and is an *Error, by default with CodeUnavailable. The caller may stop at any time by
// breaking off or by cancelling ctx; the connection is then closed before the iterator returns.
type Model interface {
	Stream(ctx context.Context, p Prompt) iter.Seq2[Delta, error]
}

// Embedder is the second small port: texts to vectors.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	Dimensions() int
}

// DeltaKind tells the kinds of delta apart.
type DeltaKind uint8

// The kinds of delta.
const (
	DeltaText     DeltaKind = iota + 1 // Text: more of the answer
	DeltaThinking                      // Text: more reasoning
	DeltaThought                       // Thinking: a reasoning block ended; Signature or Redacted are set
	DeltaCall                          // Call: a piece of a tool call
	DeltaUsage                         // Usage: counts so far, replacing earlier ones
	DeltaStop                          // Stop: why the model ended
	DeltaAttempt                       // Attempt: a provider is tried, failed, or is waited for
	DeltaSource                        // Model: the model that answers from here on
)

// Delta is one piece of a streamed reply. Only the field of its kind is set; it
// is a flat value so that a token costs no allocation.
type Delta struct {
	Kind     DeltaKind
	Text     string
	Thinking *Thinking
	Call     *CallPiece
	Usage    *Usage
	Stop     StopReason
	Attempt  *Attempt
	Model    *ModelInfo
}

// CallPiece is a part of a tool call. The first piece of an index bears Name;
// Arguments of later pieces are appended.
type CallPiece struct {
	Index      int
	ProviderID string
	Name       string
	Arguments  string
	Extra      json.RawMessage
}

// StopReason says why a model ended.
type StopReason string

// The reasons.
const (
	StopEnd       StopReason = "end"        // it was finished
	StopTools     StopReason = "tools"      // it wants tools
	StopMaxTokens StopReason = "max_tokens" // the output limit cut it off
	StopRefusal   StopReason = "refusal"    // it declined, or a filter did
)

// Attempt is one try at one provider.
type Attempt struct {
	Model  ModelRef
	Number int           // from 1, over the whole chain
	Failed *Failure      // nil while it is being tried
	Wait   time.Duration // before the next try of the same model, if any
	Next   *ModelRef     // the model tried next, if another
}

// Models finds the model a thread uses. Pick returns the chain that begins with ref
// ("provider/name"; "" is the default) and what is known of its first model.
// Errors: CodeInvalid for a ref that names no configured provider.
type Models interface {
	Pick(ctx context.Context, ref string) (Model, ModelInfo, error)
}
