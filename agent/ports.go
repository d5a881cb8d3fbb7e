package agent

import (
	"context"
	"iter"
	"time"
)

// The ports of the core to the store. Each method is one transaction, durable
// (fsynced) when it returns. All return CodeNotFound for ids that do not exist, CodeExhausted
// for a full disk, CodeUnavailable while writing is turned off because of damage.

// ThreadStore keeps threads.
type ThreadStore interface {
	CreateThread(ctx context.Context, t Thread) error
	Thread(ctx context.Context, id ID) (Thread, error)
	// Summary returns a thread as the list shows it.
	Summary(ctx context.Context, id ID) (ThreadSummary, error)
	// PatchThread changes the named fields and Updated, and returns the result.
	PatchThread(ctx context.Context, id ID, p ThreadPatch) (Thread, error)
	// MoveHead makes the newest leaf below (or at) message the head and cancels waiting and proposed calls off
	// the new path, in one step. CodeConflict while a turn of the thread runs.
	MoveHead(ctx context.Context, thread, message ID) (Thread, []ToolCall, error)
}

// Tail is the end of a conversation: all that Advance looks at.
type Tail struct {
	Thread Thread
	Turn   Turn    // the newest turn; zero when there was none
	Head   Message // with its Calls; zero when nothing has been said
}

// NewMessage is a message of the person about to be stored.
type NewMessage struct {
	Thread ID
	Parts  []Part
	Author ID
	Form   string // idempotency key; "" for none
	Title  string // names the thread if nothing has yet; "" leaves it
	Lent   *Lent  // the turn asks its provider with this key; nil: with Ash's own. It is not stored
	// Reply is the open reply to begin below it in the same step, when it begins a turn; nil: that is opened later. Its Parent and
	// Turn are the ids that the message and the turn get, and its Created is their time.
	Reply *Message
}

// Posted tells what became of a NewMessage.
type Posted struct {
	Message    Message
	Again      bool       // Form was known: this is the message stored then, nothing changed
	Turn       Turn       // the turn it began, or the running one it waits for
	Reply      *Message   // NewMessage.Reply as it was opened, and is the head now; nil when it was not
	Superseded []ToolCall // approvals it closed
	Alone      bool       // Message has no variants
	Joined     []Message  // queued messages that joined the tree ahead of it, because no turn was left to wait for
	Answered   *ToolCall  // it was the answer to this waiting question: there is no Message
}

// TurnStore keeps what Advance does: messages, turns and summaries.
type TurnStore interface {
	Tail(ctx context.Context, thread ID) (Tail, error)
	// Post stores a message of the person. While a turn runs it is queued without a parent;
	// otherwise it becomes the head, waiting calls of the old head are closed as superseded (and their turn as done),
	// and a new running turn begins, with its open reply if m brings one, all in one transaction.
	Post(ctx context.Context, m NewMessage) (Posted, error)
	// Begin starts a running turn below message: under a user message to answer it anew (the head moves there; its old answer becomes a
	// sibling), under a reply to go on after it. An interrupted turn whose trigger and head fit is
	// taken up again rather than doubled. Waiting calls off the path are cancelled. CodeConflict while a turn runs.
	Begin(ctx context.Context, thread, message ID) (Turn, error)
	// Edit stores m as a sibling of the user message old, makes it the head and begins a turn. CodeConflict while a turn runs.
	Edit(ctx context.Context, old ID, m NewMessage) (Posted, error)
	// EndTurn moves an active turn to state, and joins queued messages to the tree
	// (each below the one before, the first below the head); when it joined any, it begins the next turn and returns it with them.
	// The states TurnWaiting and TurnStopping join nothing and begin nothing: the turn is still active. CodeConflict when the turn had already ended.
	EndTurn(ctx context.Context, turn Turn, state TurnState) (EndedTurn, error)
	// Conclude stores the end of a turn's last reply and the end of the turn: CloseReply and EndTurn, in one transaction.
	Conclude(ctx context.Context, reply Message, state TurnState) (EndedTurn, error)
}

// EndedTurn is what EndTurn did.
type EndedTurn struct {
	Turn       Turn
	Joined     []Message
	Superseded []ToolCall // calls of the old head that the joined messages left without an answer
	Next       *Turn
}

// ReplyStore keeps a reply while it is written.
type ReplyStore interface {
	// OpenReply stores an open assistant message below m.Parent and makes it the head. CodeConflict when the turn is not running.
	OpenReply(ctx context.Context, m Message) error
	// SaveProgress appends text to open replies, several in one transaction. Work is linear in the appended text.
	SaveProgress(ctx context.Context, p []ReplyProgress) error
	// CloseReply stores the final parts, state, usage, stop reason and failure of an open reply together with the calls
	// it proposes (cancelled ones when it was cut), replaces the progress kept so far, and adds its usage and a round to the turn.
	CloseReply(ctx context.Context, m Message) error
}

// ReplyProgress is text to append to an open reply. Text and Thinking are the new pieces only.
type ReplyProgress struct {
	Message  ID
	Text     string
	Thinking string
	Covered  EventID // the last event the reply's stored text covers now
}

// CallStore keeps tool calls. Transitions are compare-and-swap.
type CallStore interface {
	// MoveCall changes a call from one of the states in from to c.State and stores the fields that go with it
	// (Why, Binding, Question, Decision, Result, Exit, Labels, times). Going to CallStarted also needs the turn to be running.
	// CodeConflict when the call is in none of those states.
	MoveCall(ctx context.Context, c ToolCall, from ...CallState) (ToolCall, error)
	Call(ctx context.Context, id ID) (ToolCall, error)
	// Resume moves a waiting turn to running, after a decision. CodeConflict when it is not waiting.
	Resume(ctx context.Context, turn ID) (Turn, error)
}

// HistoryStore reads conversations.
type HistoryStore interface {
	// Path returns the messages from the root to head, oldest first, with their calls; at
	// most the last limit of them. Cost grows with limit, not with the thread.
	Path(ctx context.Context, head ID, limit int) ([]Message, error)
	// Summaries returns the summaries of a thread, newest first.
	Summaries(ctx context.Context, thread ID) ([]Summary, error)
	AddSummary(ctx context.Context, s Summary) error
}

// Prompter builds what is sent to a model.
type Prompter interface {
	// Build fits a conversation into the model's window. When older messages do not fit and no summary covers
	// them, Build names them in Overflow: the caller may summarise and build again, or send as is.
	Build(ctx context.Context, r PromptRequest) (BuiltPrompt, error)
	// Summarise returns the prompt that asks for a summary of messages, following earlier ("" for none).
	Summarise(ctx context.Context, earlier string, messages []Message) (Prompt, error)
}

// PromptRequest is the material for one model call.
type PromptRequest struct {
	Thread    Thread
	Path      []Message // oldest first; ends with the message to answer
	Summaries []Summary
	Model     ModelInfo
	Tools     []ToolSpec
	Continue  bool // the last message is a reply that was cut off: ask to go on after it
	Now       time.Time
}

// BuiltPrompt is a prompt and what did not fit.
type BuiltPrompt struct {
	Prompt   Prompt
	Tokens   int            // estimate of the whole
	Overflow []Message      // oldest messages left out that no summary covers
	Summary  *Summary       // the summary used, if any
	Labels   Labels         // of everything in the prompt
	Recalled []Recollection // what memory gave to it
}

// Publisher puts events on the feed.
type Publisher interface {
	Publish(e Envelope) EventID
}

// Tools is what the loop needs of tools; nil means there are none.
type Tools interface {
	// Specs lists the tools a thread may use.
	Specs(ctx context.Context, t Thread) []ToolSpec
	// Judge says whether a call may run, must be asked about, or is refused. It changes nothing, and is asked
	// again right before an approved call starts: another Binding then means that what it applies to has changed.
	Judge(ctx context.Context, s Situation, c ToolCall) (Judgement, error)
	// Permit makes the standing permission that the person gave together with an approval of c.
	Permit(ctx context.Context, s Situation, c ToolCall, o Offer) error
	// Run executes an approved call. CodeLocked says that it needs the vault, which is locked, and that nothing has been done. Progress may be called from any goroutine until Run returns. Run must return soon after ctx is cancelled.
	Run(ctx context.Context, s Situation, c ToolCall, progress func(text string)) (ToolOutcome, error)
}

// Reader is what pages and the command line read beyond the loop's own ports.
type Reader interface {
	Threads(ctx context.Context, f ThreadFilter) (page []ThreadSummary, next string, err error)
	// Search looks through titles and messages, newest first within rank; query is the person's plain text. At most limit hits.
	Search(ctx context.Context, query string, limit int) ([]SearchHit, error)
	// Window returns up to limit nodes of the path to the thread's head, ending before message before ("" for the end), oldest first,
	// and whether there are earlier ones; queued messages follow the path at the end.
	Window(ctx context.Context, thread, before ID, limit int) (nodes []Node, earlier bool, err error)
	Node(ctx context.Context, message ID) (Node, error)
	Message(ctx context.Context, message ID) (Message, error)
}

// Node is a message with its place among its siblings.
type Node struct {
	Message
	Index    int // 1-based among the siblings, in order of time
	Siblings int // including itself
	Previous ID  // sibling before, "" at the first
	Next     ID  // sibling after, "" at the last
}

// Recovery is what start-up found unfinished.
type Recovery struct {
	Turns   int // now interrupted
	Replies int // closed as cut, with what was stored of them
	Calls   int // now unknown
}

// Recoverer puts the store in order before anything runs.
type Recoverer interface {
	// Recover closes what a crash left open: running turns become interrupted, open replies cut, started calls unknown. Nothing is resumed.
	Recover(ctx context.Context) (Recovery, error)
}

// PersonStore keeps persons.
type PersonStore interface {
	// Owner returns the person Ash belongs to, created by the first migration.
	Owner(ctx context.Context) (Person, error)
	Person(ctx context.Context, id ID) (Person, error)
	SavePerson(ctx context.Context, p Person) error
}

// Ledger keeps the trace of events: ids, states, sizes and hashes, never text.
type Ledger interface {
	AppendEvents(ctx context.Context, e []Envelope) error
}

// Feed is how subscribers read events.
type Feed interface {
	// Last returns the id of the newest event. A page takes it before it reads the
	// store, and subscribes from there: what happens in between is then told twice rather than missed.
	Last() EventID
	// Subscribe follows one thread ("" for none) and the events of the whole house from
	// after since. When the feed no longer has what was missed, the first batch says Resync. A reply that is open is always told from
	// its opening on, so that a reader can rebuild it. The sequence ends with ctx or the feed.
	Subscribe(ctx context.Context, thread ID, since EventID) iter.Seq[Batch]
}

// Batch is what a subscriber has not seen yet. Consecutive deltas of a reply are
// one AssistantDelta. A batch without events is a heartbeat.
type Batch struct {
	Resync bool // the subscriber missed something: read the store anew, then go on with Events
	Events []Envelope
	Last   EventID // after this batch
}
