package memory

import (
	"context"
	"time"

	"ash/agent"
)

// Step is a change of memory that happens as a whole or not at all.
type Step struct {
	Changes []agent.MemoryChange
	// Run is stored with Changes as they were applied; nil for a change by hand.
	Run *agent.MemoryRun
	// Propose waits for the person from then on.
	Propose []agent.Proposal
	// Decides names a proposal that is taken off the list.
	Decides agent.ID
	// Declines is what is not offered again, because the person said no; nil for nothing.
	Declines *Declined
	// Undoes names a run that is undone by it: facts get back the very rows they had, and what it proposed and still waits goes.
	Undoes agent.ID
	// Lifts names tombstones that are taken away, because the person told the thing again.
	Lifts []agent.ID
}

// Facts keeps facts.
type Facts interface {
	// Fact returns one fact, whatever its status, with Supersedes filled.
	Fact(ctx context.Context, id agent.ID) (agent.Fact, error)
	// Facts returns a page of facts; next is "" on the last one.
	Facts(ctx context.Context, f agent.FactFilter) (page []agent.Fact, next string, err error)
	// FactChain returns a fact with all that led to it and all that took its place, the oldest first.
	FactChain(ctx context.Context, id agent.ID) ([]agent.Fact, error)
	// SameFacts returns the facts of an owner whose text has the given Fingerprint, current ones first.
	SameFacts(ctx context.Context, owner agent.ID, fingerprint string) ([]agent.Fact, error)
	// Expired returns current facts whose time has passed, at most limit.
	Expired(ctx context.Context, at time.Time, limit int) ([]agent.Fact, error)
	// ApplyMemory does a step in one transaction and returns the changes as they were applied: times and the ids of
	// entities are filled. A change whose Before is not what is stored (Updated says so), a new fact whose id is
	// taken, a proposal decided before and a run undone before are CodeConflict; nothing is changed then.
	ApplyMemory(ctx context.Context, s Step) ([]agent.MemoryChange, error)
}

// History knows what holds no longer.
type History interface {
	// Overtaken returns the facts that hold no longer among those that Past asks about. What expired by itself is left out: that
	// it was so is still true.
	Overtaken(ctx context.Context, p Past) ([]Overtaken, error)
}

// Records keeps what was done and what waits.
type Records interface {
	MemoryRun(ctx context.Context, id agent.ID) (agent.MemoryRun, error)
	// MemoryRuns returns a page of runs, the newest first. kind "" is any.
	MemoryRuns(ctx context.Context, kind agent.RunKind, after string, limit int) (page []agent.MemoryRun, next string, err error)
	Proposal(ctx context.Context, id agent.ID) (agent.Proposal, error)
	// Declined returns the proposals the person said no to that share a hash: of the statement, or of pairs of its words.
	Declined(ctx context.Context, statement string, pairs []string) ([]Grave, error)
	// Proposals returns a page of proposals, the newest first.
	Proposals(ctx context.Context, after string, limit int) (page []agent.Proposal, next string, err error)
}

// Tombstones keeps what may not come back.
type Tombstones interface {
	// Keyed returns the keyed hash of a text. It is the same for ever in one home.
	Keyed(text string) []byte
	// Buried returns the tombstones that hold any of the hashes; statement is the one of the whole statement.
	Buried(ctx context.Context, statement []byte, pairs [][]byte) ([]Grave, error)
	// Tombstones returns those of an embedder that have a vector.
	Tombstones(ctx context.Context, space string) ([]agent.Tombstone, error)
}

// Grave is a tombstone that a text may be under.
type Grave struct {
	ID        agent.ID
	Statement bool // the very statement
	Pairs     int  // pairs of words they share
	Of        int  // pairs the tombstone has
}

// Trail finds where a thing was said.
type Trail interface {
	// Saying returns messages with at least two of the words (beginnings of words, folded), or with all when there is one, as they
	// are shown now: masked. more says that there are further ones than limit.
	Saying(ctx context.Context, words []string, limit int) (list []agent.Message, more bool, err error)
	// Around returns the messages at most n steps from message on the tree, itself first.
	Around(ctx context.Context, message agent.ID, n int) ([]agent.Message, error)
	// ThreadMessages returns all messages of a thread, the oldest first.
	ThreadMessages(ctx context.Context, thread agent.ID) ([]agent.Message, error)
	// Derived returns what was made of messages and may repeat them: facts, episodes, summaries, titles, proposals, receipts of facts,
	// versions of identity files. It holds any of the words.
	Derived(ctx context.Context, words []string, facts []agent.ID) (Derived, error)
	// Snapshots lists copies of the database that were made at or after a time.
	Snapshots(ctx context.Context, since time.Time) ([]Snapshot, error)
}

// Derived is text that was made of other text.
type Derived struct {
	Facts     []agent.Fact
	Episodes  []agent.Episode
	Summaries []agent.Summary
	Threads   []agent.Thread // whose title it is
	Proposals []agent.Proposal
	Versions  []Version
	Receipts  []agent.ID // replies that were given one of the facts
}

// Version is a state of an identity file.
type Version struct {
	ID      agent.ID
	File    string
	Text    string
	Newest  bool // it is what the file holds now
	Created time.Time
}

// Snapshot is a copy of the database in backups/.
type Snapshot struct {
	Name    string
	Size    int64 // bytes
	Created time.Time
}

// Act is what forgetting does: what Traces found and the person left ticked.
type Act struct {
	ID         agent.ID
	Facts      []agent.ID // removed with nothing left of them
	Masks      []agent.Mask
	Threads    []agent.ID // removed whole
	Episodes   []agent.ID // by their thread
	Summaries  []agent.ID
	Titles     []agent.ID // threads that lose their title
	Proposals  []agent.ID
	Versions   []agent.ID // of identity files, removed when final
	Snapshots  []string   // removed when final
	Tombstones []agent.Tombstone
	Due        time.Time // when it becomes final by itself
	Created    time.Time
	During     agent.ID   // the message with the call that does it: what waits or runs there is no obstacle
	Left       []agent.ID // messages that may say it and were not chosen
}

// Forgetting is an act that can still be taken back.
type Forgetting struct {
	ID       agent.ID
	Facts    []agent.Fact // as they were
	Messages int          // with a passage masked
	Threads  []agent.ID   // removed whole
	Left     []agent.ID   // messages that may say it and were not chosen
	Created  time.Time
	Due      time.Time
}

// Touched is what an act changed, for the index and the pages.
type Touched struct {
	Facts    []agent.ID
	Messages []agent.ID
	Threads  []agent.ID // of the messages, and those removed whole
	Episodes []agent.ID
	// Proposals says that some may have come, been decided or gone.
	Proposals bool
}

// Forgetter forgets in two steps. What is hidden is gone for every reader at once, and can be taken back; what is final
// is gone from the file.
type Forgetter interface {
	// Hide does an act in one transaction. CodeConflict while an answer is written or a call waits in one of the messages.
	Hide(ctx context.Context, a Act) (Touched, error)
	// Unhide takes a hidden act back: facts, passages and all else are as they were. CodeNotFound once it is final.
	Unhide(ctx context.Context, id agent.ID) (Touched, error)
	// Finish makes an act final: its text is overwritten in the database and its log, and the snapshots it names are removed.
	Finish(ctx context.Context, id agent.ID) (Touched, error)
	// Forgettings lists what is hidden, the oldest first.
	Forgettings(ctx context.Context) ([]Forgetting, error)
	// Unfinished returns the acts that a crash kept from the end of Finish: it is to be called again.
	Unfinished(ctx context.Context) ([]agent.ID, error)
}

// Store is all that a Book keeps.
type Store interface {
	Facts
	History
	Records
	Tombstones
	Trail
	Forgetter
}

// Index is what recall reads, which is made of what the store keeps. Rows of facts, messages and
// episodes that changed are removed by the store in the transaction that changes them; Refresh makes them anew.
type Index interface {
	Refresh(ctx context.Context, t Touched) error
}

// Meaning turns a text into a vector. space names the embedder and its dimensions.
type Meaning interface {
	Meaning(ctx context.Context, text string) (vector []float32, space string, err error)
}
