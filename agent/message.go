package agent

import (
	"encoding/json"
	"strings"
	"time"
)

// Role says whose words a message holds.
type Role string

// The roles of stored messages. Results of tools are stored with their call.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// MessageState says how far a message has come.
type MessageState string

// The states of a message.
const (
	MessageQueued   MessageState = "queued"   // sent while a turn ran; no parent yet
	MessageOpen     MessageState = "open"     // an answer being written
	MessageComplete MessageState = "complete" // finished
	MessageCut      MessageState = "cut"      // the provider or Ash died mid-sentence; Continue is offered
	MessageStopped  MessageState = "stopped"  // the person pressed Stop
	MessageFailed   MessageState = "failed"   // no answer came; Error says why
)

// Message is one node of a thread's tree. Siblings (same parent) are the
// variants made by edit and regenerate.
type Message struct {
	ID       ID
	Thread   ID
	Parent   ID // "" for a first message and while queued
	Turn     ID
	Role     Role
	State    MessageState
	Parts    []Part
	Calls    []ToolCall // of the tool_call parts, in order; filled when read
	Author   ID         // the person, for RoleUser
	Form     string     // id made by the page: the same id twice is one message
	Model    ModelRef   // for RoleAssistant
	Usage    Usage
	Stop     StopReason
	Error    *Failure // why it failed or was cut
	Created  time.Time
	Finished time.Time
	Covered  EventID        // for an open reply: the last event its stored text covers
	Recalled []Recollection // the memories the model was given for it; read apart, as a receipt
}

// Failure is an error as it is stored and shown: no internals.
type Failure struct {
	Code   Code
	Public string
	Need   Need // what would let it go on; "" for nothing in particular
}

// FailureOf makes what is stored and shown of an error.
func FailureOf(err error) Failure {
	return Failure{Code: CodeOf(err), Public: PublicOf(err), Need: NeedOf(err)}
}

// Text returns the message's text parts, joined by blank lines.
func (m Message) Text() string {
	var b strings.Builder
	for _, p := range m.Parts {
		if t, ok := p.(Text); ok && t.Text != "" {
			if b.Len() > 0 {
				b.WriteString("\n\n")
			}
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// Labels returns the union of the labels of all parts and call results.
func (m Message) Labels() Labels {
	var all []Labels
	for _, p := range m.Parts {
		all = append(all, p.PartLabels())
	}
	for _, c := range m.Calls {
		all = append(all, c.Labels)
	}
	return Labels(nil).Union(all...)
}

// Part is a piece of a message: Text, Thinking, Image, File, ToolUse or
// ToolResult. The set is sealed; the store has the one JSON codec for it.
type Part interface {
	PartLabels() Labels
	part()
}

// Text is Markdown.
type Text struct {
	Text   string
	Labels Labels
}

// Thinking is a model's reasoning. Signature and Redacted go back unchanged to
// the same model within a tool round; another model never receives the part.
type Thinking struct {
	Text      string
	Signature string
	Redacted  string // opaque data in place of Text
	Model     ModelRef
	Labels    Labels
}

// Attachment names stored bytes by content hash.
type Attachment struct {
	Hash  string // SHA-256, lower-case hex
	Name  string // as the person called it; at most 255 bytes, no path
	Media string // sniffed media type, not the claimed one
	Size  int64  // bytes
}

// Image is a picture.
type Image struct {
	Attachment Attachment
	Data       []byte // only in a Prompt, never stored
	Labels     Labels
}

// File is any other attachment. Extract is its text, bounded when it was stored.
type File struct {
	Attachment Attachment
	Extract    string
	Truncated  bool      // Extract is not the whole text
	Data       []byte    // only in a Prompt, for models that read the format; never stored
	Findings   []Finding // what is suspicious in Extract
	Labels     Labels
}

// ToolUse stands where the model asked for a tool; the call itself is stored apart.
type ToolUse struct {
	Call   ID
	Labels Labels
}

// ToolResult is the answer to a call. In stored messages the result lives with
// its ToolCall; this part appears in a Prompt and in imported conversations.
type ToolResult struct {
	Call       ID
	ProviderID string
	Name       string
	Content    []Part // Text and Image
	Failed     bool
	Labels     Labels
}

func (Text) part()       {}
func (Thinking) part()   {}
func (Image) part()      {}
func (File) part()       {}
func (ToolUse) part()    {}
func (ToolResult) part() {}

// PartLabels implements Part.
func (p Text) PartLabels() Labels { return p.Labels }

// PartLabels implements Part.
func (p Thinking) PartLabels() Labels { return p.Labels }

// PartLabels implements Part.
func (p Image) PartLabels() Labels { return p.Labels }

// PartLabels implements Part.
func (p File) PartLabels() Labels { return p.Labels }

// PartLabels implements Part.
func (p ToolUse) PartLabels() Labels { return p.Labels }

// PartLabels implements Part.
func (p ToolResult) PartLabels() Labels { return p.Labels }

// CallState is the stored state of a tool call.
type CallState string

// The states of a tool call; see docs/adr/0001. "Started" is durable before the
// effect; a started call found at start-up becomes unknown and is never run again by itself.
const (
	CallProposed   CallState = "proposed"   // the model asked; policy has not spoken
	CallWaiting    CallState = "waiting"    // the person is asked
	CallApproved   CallState = "approved"   // may run
	CallStarted    CallState = "started"    // its effect may have begun
	CallFinished   CallState = "finished"   // ended well
	CallFailed     CallState = "failed"     // ended badly; the result says how
	CallStopped    CallState = "stopped"    // ended by Stop
	CallDenied     CallState = "denied"     // refused by policy or the person
	CallSuperseded CallState = "superseded" // the person wrote on instead of answering
	CallCancelled  CallState = "cancelled"  // its branch was left, or its reply was cut off
	CallUnknown    CallState = "unknown"    // Ash died while it ran
)

// Ended reports whether the call will never change again.
func (s CallState) Ended() bool {
	switch s {
	case CallProposed, CallWaiting, CallApproved, CallStarted:
		return false
	}
	return true
}

// ToolCall is one use of a tool, from the model's wish to its result.
type ToolCall struct {
	ID         ID
	Thread     ID
	Turn       ID
	Message    ID     // the reply that asked for it
	Index      int    // position among the calls of that reply
	ProviderID string // the provider's own call id, sent back with the result
	Name       string
	Arguments  json.RawMessage // valid JSON; what the model sent otherwise is a JSON string
	Extra      json.RawMessage // provider fields that must go back unchanged (thought signatures)
	State      CallState
	Question   bool    // waits for an answer in words rather than an approval
	Locked     bool    // waits for the vault to be unlocked, and then goes on by itself
	Why        string  // one sentence: why it asks, or why it was refused
	Binding    string  // hash of the arguments and target an approval is bound to
	Effect     *Effect // what it does, as it was shown; nil until policy has spoken
	Decision   *Decision
	Result     []Part // Text and Image; File for what is too long to send
	Exit       *int
	Labels     Labels    // of the result
	Findings   []Finding // what is suspicious in the result
	Created    time.Time
	Started    time.Time
	Finished   time.Time
}

// Decision is the person's word on a waiting call.
type Decision struct {
	Approve bool
	By      ID
	At      time.Time
	Reason  string // given with a denial; the model gets it
	Answer  string // to a Question
	Form    string // id of the message that answered a Question: the same id twice is one answer
	Binding string // what was shown when deciding; must equal the call's

	Arguments json.RawMessage // the person's own arguments in place of the model's; nil: as asked
	Always    string          // Rule of the offer accepted with it, "" for this once
}

// Summary stands for a range of older messages. It lies beside the tree and
// serves only heads that descend from To; the messages themselves stay.
type Summary struct {
	ID       ID
	Thread   ID
	From, To ID // first and last message covered, on one path
	Text     string
	Labels   Labels
	Model    ModelRef
	Usage    Usage
	Disabled bool // the person took it back
	Created  time.Time
}
