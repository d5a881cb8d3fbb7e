package agent

import "time"

// What Ash remembers. Facts and their kin are rows of their own; messages and notes are memory as they stand.
// Package agent/memory learns, recalls and forgets; the store keeps.

// FactKind says how a fact is used.
type FactKind string

// The kinds of fact.
const (
	FactCore    FactKind = "core"    // who the person is and how they want things: in every prompt
	FactPlain   FactKind = "fact"    // recalled when it helps
	FactPattern FactKind = "pattern" // a recurring thing noticed over conversations: offered, not asserted
)

// FactStatus says whether a fact holds.
type FactStatus string

// The statuses of a fact. Only current ones are recalled.
const (
	FactCurrent    FactStatus = "current"
	FactSuperseded FactStatus = "superseded" // a newer one took its place; kept as history
	FactRetired    FactStatus = "retired"    // expired, or taken back without a successor; kept as history
)

// MaxFact bounds the text of a fact, in bytes.
const MaxFact = 2000

// Fact is one statement that Ash remembers.
type Fact struct {
	ID         ID
	Kind       FactKind
	Status     FactStatus
	Text       string   // one statement, complete by itself; at most MaxFact bytes
	Owner      ID       // the person whose memory it is
	Subject    string   // whom or what it is about, one of Entities by name; "" for the owner
	Entities   []Entity // people, places, projects and things it is about
	Confidence float64  // 0–1: how sure it is that this was meant
	Importance float64  // 0–1
	Said       time.Time
	From       time.Time // true from; zero: open
	Until      time.Time // true until; zero: open
	Expires    time.Time // not recalled from then on; zero: never
	Pinned     bool      // never retired or merged by Ash itself
	Supersedes []ID      // the facts this one took the place of
	Successor  ID        // the fact that took its place, "" for none
	Source     Provenance
	Labels     Labels
	Created    time.Time
	Updated    time.Time
}

// SourceKind says where a fact came from.
type SourceKind string

// Where a fact may come from.
const (
	SourceMessage  SourceKind = "message"  // learned from what was said
	SourcePerson   SourceKind = "person"   // entered or edited by hand
	SourceNote     SourceKind = "note"     // a note
	SourceImport   SourceKind = "import"   // an archive
	SourceMemories SourceKind = "memories" // consolidated from other facts
	SourceAPI      SourceKind = "api"      // a program that acts for the person
)

// Provenance is where a fact came from.
type Provenance struct {
	Kind    SourceKind
	Thread  ID
	Message ID     // the message that says it
	Note    string // path below notes/
	Quote   string // the passage, as it stands there; at most MaxFact bytes
	Run     ID     // the run of learning or consolidation that made it; "" for none
	Via     string // by what means, for people: "API token NAME"; "" when nothing stood between
}

// EntityKind says what an entity is.
type EntityKind string

// The kinds of entity.
const (
	EntityPerson  EntityKind = "person"
	EntityPlace   EntityKind = "place"
	EntityProject EntityKind = "project"
	EntityThing   EntityKind = "thing"
)

// Entity is somebody or something that facts are about. Its name is unique per owner, ignoring case.
type Entity struct {
	ID      ID
	Name    string // at most 120 bytes
	Kind    EntityKind
	Aliases []string
	Facts   int // current facts about it; filled when read
}

// EntityLink joins two entities that facts mention together.
type EntityLink struct {
	A, B  ID
	Facts int
}

// Proposal is a change to memory that waits for the person's word: what learning or consolidation would do.
type Proposal struct {
	ID      ID
	Run     ID
	Action  ProposalAction
	Fact    Fact // what is to be kept; with ActionRetire the fact as it is
	Why     string
	Created time.Time
}

// ProposalAction is what a proposal would do.
type ProposalAction string

// What a proposal may do. Fact.Supersedes says which facts a kept one replaces.
const (
	ActionKeep   ProposalAction = "keep"
	ActionRetire ProposalAction = "retire"
)

// RunKind says what a run over memory was for.
type RunKind string

// The kinds of run.
const (
	RunLearn       RunKind = "learn"
	RunConsolidate RunKind = "consolidate"
)

// MemoryRun is one pass of learning or consolidation: a diff that can be undone.
type MemoryRun struct {
	ID      ID
	Kind    RunKind
	Thread  ID // learned from; "" for consolidation
	Through ID // the last message it looked at
	Model   ModelRef
	Usage   Usage
	Changes []MemoryChange
	Failure *Failure
	Undone  time.Time // zero: it stands
	Created time.Time
}

// MemoryChange is one fact before and after a run. Before is nil for a new one, After for one taken away.
type MemoryChange struct {
	Fact   ID
	Before *Fact
	After  *Fact
}

// Episode is what a conversation was about, made when it rests.
type Episode struct {
	Thread   ID
	Through  ID // the last message it covers
	Text     string
	Entities []Entity
	Labels   Labels
	Model    ModelRef
	Usage    Usage
	Began    time.Time // first and last message covered
	Ended    time.Time
	Created  time.Time
}

// MemoryKind says what kind of thing was recalled.
type MemoryKind string

// What may be recalled.
const (
	MemoryFact    MemoryKind = "fact"
	MemoryMessage MemoryKind = "message"
	MemoryEpisode MemoryKind = "episode"
	MemoryNote    MemoryKind = "note"
)

// Recollection is one thing recalled: a hit of a search, an item put before the model, a line of a receipt.
type Recollection struct {
	Kind     MemoryKind
	Ref      string // id of the fact or message; of an episode its thread's; path of a note
	External string // id a message had where it was imported from
	Archive  string // the conversation's name where it was imported from
	Thread   ID     // of a message or episode
	Speaker  string // of a message, "" of others: "you", "Ash", or the name an import gave
	Text     string // what was found, clipped
	Source   string // where it is from, for people: "you, 3 May 2023", "notes/garden.md"
	Why      []string
	Score    float64
	Time     time.Time
	Said     string // the time as an import gave it, when that is no date
	Labels   Labels
}

// Mask hides a passage of a stored message from every later prompt and from recall.
type Mask struct {
	Message ID
	Passage string // as it stands in the text; "" hides the whole message
	Created time.Time
}

// Tombstone keeps what was forgotten from being learned again, without holding it.
type Tombstone struct {
	ID      ID
	Hashes  [][]byte // keyed: of the statement, normalised, and of its distinctive word pairs
	Vector  []byte   // its meaning, where there was an embedder; nil for none
	Space   string   // the embedder the vector is of
	Created time.Time
}

// FactFilter selects facts for a list, the latest said first. Zero fields select nothing away.
type FactFilter struct {
	Owner    ID
	Statuses []FactStatus
	Kinds    []FactKind
	Entity   ID
	Source   SourceKind
	Thread   ID // learned in
	Message  ID // learned from
	Note     string
	Run      ID
	Pinned   bool      // only pinned ones
	From, To time.Time // of Said: from (included) up to (excluded)
	After    string    // cursor from the previous page; "" for the first
	Limit    int       // 1–200
}

// EntityFilter selects entities for a list, those with most current facts first.
type EntityFilter struct {
	Owner ID
	Kind  EntityKind // "" for all
	Name  string     // begins with this, ignoring case; aliases count
	After string     // cursor from the previous page; "" for the first
	Limit int        // 1–200
}

// MemoryTotals is how much is remembered.
type MemoryTotals struct {
	Current    int // facts by status
	Superseded int
	Retired    int
	Core       int // current facts by kind
	Plain      int
	Patterns   int
	Pinned     int // current
	Untrusted  int // current, with a label that says so
	Bytes      int // text of all facts
	Entities   int
	Episodes   int
	Proposals  int
	Tombstones int
}

// MemoryDay is what one day (UTC) added and ended of one kind.
type MemoryDay struct {
	Day     time.Time
	Kind    FactKind
	Learned int // facts first kept that day
	Ended   int // facts superseded or retired that day
}

// MemorySizes is how much room memory took at a time.
type MemorySizes struct {
	Taken    time.Time
	Store    int64 // bytes of the database: all of it, what follows but Noted included
	Words    int64 // bytes of the index of words
	Meaning  int64 // bytes of what finds by meaning
	Noted    int64 // bytes of the files of notes
	Notes    int
	Episodes int
	Messages int
	Vectors  int // items that are found by meaning
}
