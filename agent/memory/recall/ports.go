package recall

import (
	"context"
	"time"

	"ash/agent"
	"ash/agent/memory/lexis"
)

// Upkeep brings an index up to date.
type Upkeep interface {
	// CatchUp makes the items of what is not indexed yet, at most limit of them, and says whether there is more.
	CatchUp(ctx context.Context, limit int) (more bool, err error)
	// Settle puts in order what CatchUp added in bulk: questions are answered quicker.
	Settle(ctx context.Context) error
	// Reindex forgets every item, so that CatchUp makes them anew.
	Reindex(ctx context.Context) error
}

// Index keeps the items. The store implements it.
type Index interface {
	Upkeep
	// Extent says how many items there are and the highest number of one: cheap, to see whether anything changed.
	Extent(ctx context.Context) (Extent, error)
	// Outline hands over the lines of the items numbered above after, by number.
	Outline(ctx context.Context, after int64, each func(Line)) error
	// Postings returns, for each of words, the numbers of the newest items that hold it, at most as many as its limit says, the newest first.
	Postings(ctx context.Context, words []string, limits []int) ([][]int64, error)
	// Items returns items by number. Those that are gone, or of deleted threads, are left out.
	Items(ctx context.Context, seqs []int64) ([]Found, error)
}

// Extent is the size of the index.
type Extent struct {
	Count int64
	Last  int64
}

// Item is something to be indexed.
type Item struct {
	Kind    agent.MemoryKind
	Ref     string // id of the fact, message or thread; path of the note
	Part    int    // passage of a note
	Thread  agent.ID
	Place   int64 // order within the thread
	Section int64 // place at which the sitting began
	Time    time.Time
	Weight  float64 // importance, 0–1
	Speaker string
	Labels  agent.Labels
	Text    string
	Lead    string // words that lead to it and are not in it: a title, names
}

// Line is what ranking needs to know of an item without reading it.
type Line struct {
	Seq     int64
	Kind    agent.MemoryKind
	Thread  agent.ID
	Place   int64
	Section int64
	Time    time.Time // zero: unknown
	Weight  float64
	Words   int
	Marks   lexis.Marks
	Speaker string
}

// Found is an item as it is read back.
type Found struct {
	Seq      int64
	Kind     agent.MemoryKind
	Ref      string
	Part     int
	Thread   agent.ID
	Time     time.Time
	Said     string // the time as an import gave it
	External string // id it had where it was imported from
	Archive  string // the conversation's name there
	Speaker  string
	Labels   agent.Labels
	Body     string // the words as they are indexed
	Text     string
}

// Candidate is an item that a dense ranker takes to be near a question.
type Candidate struct {
	Item  int64   // its number
	Score float64 // higher is nearer; only the order counts across questions
}

// Ranker finds items by meaning. A nil Ranker is none.
type Ranker interface {
	// Nearest returns at most k items, the nearest first.
	Nearest(ctx context.Context, query string, k int) ([]Candidate, error)
}
