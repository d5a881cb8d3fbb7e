package agent

import (
	"strconv"
	"strings"
	"time"
)

// EventID places an event: the boot of the server that published it and its
// sequence number there. Written "boot-seq" on the wire.
type EventID struct {
	Boot string
	Seq  uint64
}

// String returns the wire form, or "" for the zero id.
func (id EventID) String() string {
	if id.Boot == "" {
		return ""
	}
	return id.Boot + "-" + strconv.FormatUint(id.Seq, 10)
}

// ParseEventID reads the wire form; anything else is the zero id, which every
// reader takes as "knows nothing yet".
func ParseEventID(s string) EventID {
	boot, seq, ok := strings.Cut(s, "-")
	n, err := strconv.ParseUint(seq, 10, 64)
	if !ok || err != nil || boot == "" || len(boot) > 32 {
		return EventID{}
	}
	return EventID{Boot: boot, Seq: n}
}

// Envelope is an event with everything that places it. Publishers fill Thread,
// Turn, Correlation, Path and Event; the feed adds ID and Time.
type Envelope struct {
	ID          EventID
	Time        time.Time
	Thread      ID     // "" for events of the whole house
	Turn        ID     // "" outside a turn
	Correlation ID     // ties tool_call, progress and tool_result together
	Path        string // "ash › tools › shell": the lane
	Event       Event
}

// Event is something that happened. The set is sealed: the types below.
type Event interface {
	// Kind is the event's name on the wire and in the ledger.
	Kind() string
}

// The events of a turn.
type (
	// UserEvent – a message of the person was stored. Joined: it had waited in the queue and joined the tree now. Alone: it is known to have no
	// variants. Follows: the state of the message above it; "" when that is not known, or there is none.
	UserEvent struct {
		Message Message
		Joined  bool
		Alone   bool
		Follows MessageState
	}
	// AssistantEvent – a reply was opened or has ended; Message.State tells which. Alone: one that was opened is known to have no variants.
	AssistantEvent struct {
		Message Message
		Alone   bool
	}
	// AssistantDelta – more text of the open reply. Lossless to a reader that keeps up; coalesced otherwise.
	AssistantDelta struct {
		Message  ID
		Text     string
		Thinking bool
	}
	// ToolCallEvent – a call was proposed or changed state.
	ToolCallEvent struct{ Call ToolCall }
	// ToolProgress – live output of a running call.
	ToolProgress struct {
		Call ID
		Text string
	}
	// ToolResultEvent – a call ended.
	ToolResultEvent struct{ Call ToolCall }
	// ConfirmRequest – a call waits for the person.
	ConfirmRequest struct{ Call ToolCall }
	// ConfirmResponse – the person decided.
	ConfirmResponse struct{ Call ToolCall }
	// MemoryEvent – something was recalled or learned, or what waits for the person's word about memory changed.
	MemoryEvent struct {
		Learned bool
		Waiting bool // proposals came, were decided or went; Items is empty then
		Items   []ID
	}
	// VaultEvent – the vault was locked or unlocked, or what lies in it changed.
	VaultEvent struct{ Unlocked bool }
	// PolicyEvent – a rule decided about a call.
	PolicyEvent struct {
		Call    ID
		Verdict string
		Why     string
	}
	// AuditEvent – something the person may want to look up later.
	AuditEvent struct{ What, Detail string }
	// ProgressEvent – what Ash is doing now, for example which provider is tried.
	ProgressEvent struct {
		Message ID
		Attempt *Attempt
		Text    string
	}
	// ErrorEvent – a failure the person should read.
	ErrorEvent struct{ Failure Failure }
	// SpendEvent – a spending cap is nearly used up, or (Reached) background work stopped at one. Said once.
	SpendEvent struct {
		Cap     string
		Reached bool
		Text    string
	}
	// TurnEvent – a turn changed state.
	TurnEvent struct{ Turn Turn }
	// ThreadEvent – a thread was made, renamed, moved to another branch, archived or deleted.
	ThreadEvent struct {
		Thread ThreadSummary
		Moved  bool // the head moved: the conversation must be shown anew
		Helper bool // what changed is a conversation of one of its helpers
	}
)

// Kind implements Event.
func (UserEvent) Kind() string { return "user" }

// Kind implements Event.
func (AssistantEvent) Kind() string { return "assistant" }

// Kind implements Event.
func (AssistantDelta) Kind() string { return "assistant_delta" }

// Kind implements Event.
func (ToolCallEvent) Kind() string { return "tool_call" }

// Kind implements Event.
func (ToolProgress) Kind() string { return "tool_progress" }

// Kind implements Event.
func (ToolResultEvent) Kind() string { return "tool_result" }

// Kind implements Event.
func (ConfirmRequest) Kind() string { return "confirm_request" }

// Kind implements Event.
func (ConfirmResponse) Kind() string { return "confirm_response" }

// Kind implements Event.
func (MemoryEvent) Kind() string { return "memory" }

// Kind implements Event.
func (VaultEvent) Kind() string { return "vault" }

// Kind implements Event.
func (PolicyEvent) Kind() string { return "policy" }

// Kind implements Event.
func (AuditEvent) Kind() string { return "audit" }

// Kind implements Event.
func (ProgressEvent) Kind() string { return "progress" }

// Kind implements Event.
func (ErrorEvent) Kind() string { return "error" }

// Kind implements Event.
func (SpendEvent) Kind() string { return "spend" }

// Kind implements Event.
func (TurnEvent) Kind() string { return "turn" }

// Kind implements Event.
func (ThreadEvent) Kind() string { return "thread" }
