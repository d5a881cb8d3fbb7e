package recall

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"ash/agent"
)

const (
	// DefaultLimit is how many things are recalled when nobody says.
	DefaultLimit = 10
	// MaxLimit is the most that can be asked for.
	MaxLimit = 200
	// maxQuery bounds a question, in bytes.
	maxQuery = 4 << 10
	// maxShown bounds the text of one recollection, in bytes.
	maxShown = 2000
)

// Options are what an Engine is made of. Index is required.
type Options struct {
	Index  Index
	Ranker Ranker           // nil: words alone
	Now    func() time.Time // nil: time.Now
	Tokens func(string) int // estimates tokens; nil: four characters each
}

// Engine recalls. Its methods may be called from any goroutine.
type Engine struct {
	index   Index
	ranker  Ranker
	now     func() time.Time
	tokens  func(string) int
	weights weights

	making sync.Mutex // one outline at a time is made
	known  atomic.Pointer[outline]
}

// New makes an Engine.
func New(o Options) *Engine {
	e := &Engine{index: o.Index, ranker: o.Ranker, now: o.Now, tokens: o.Tokens, weights: standard()}
	if e.now == nil {
		e.now = time.Now
	}
	if e.tokens == nil {
		e.tokens = func(s string) int { return (utf8.RuneCountInString(s) + 3) / 4 }
	}
	return e
}

// Query is what is asked. Only Text is required.
type Query struct {
	Text   string
	Limit  int                // at most MaxLimit; 0 is DefaultLimit
	Tokens int                // of all texts together; 0 is no bound
	Kinds  []agent.MemoryKind // only these; nil is all
	Leave  func(Found) bool   // what to leave out, such as what the prompt holds anyway; nil leaves out nothing
	Own    bool               // leave out what a stranger may have written
	Stands bool               // answer from the index as it stands: whoever asks cannot wait for what was said last. See CatchUp
	Facts  int                // so many facts, at most, come before all else: what was kept to be known must not drown in what was said
}

// Recall returns what helps with a query, the best first. A query without a word that says anything recalls nothing.
func (e *Engine) Recall(ctx context.Context, query Query) ([]agent.Recollection, error) {
	text := strings.ToValidUTF8(agent.Clip(query.Text, maxQuery), "")
	limit := query.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	limit = min(limit, MaxLimit)
	o := e.known.Load()
	if !query.Stands || o == nil {
		var err error
		if o, err = e.outline(ctx); err != nil {
			return nil, err
		}
	}
	q := analyse(text, o.speakers, e.now(), e.weights)
	list, s, err := e.find(ctx, o, q, e.weights, 4*limit+20, query)
	if err != nil {
		return nil, err
	}
	if list, err = e.fuse(ctx, s, text, list, 4*limit+20); err != nil {
		return nil, err
	}
	if query.Facts > 0 {
		list = s.factsFirst(list, query.Facts)
	}
	return e.answer(ctx, s, list, query, limit)
}

// Reindex makes the whole index anew.
func (e *Engine) Reindex(ctx context.Context) error {
	if err := e.index.Reindex(ctx); err != nil {
		return err
	}
	e.known.Store(nil)
	_, err := e.outline(ctx)
	return err
}

// CatchUp brings the index up to date. Recalls do so themselves, but for those that take it as it stands.
func (e *Engine) CatchUp(ctx context.Context) error {
	_, err := e.outline(ctx)
	return err
}
