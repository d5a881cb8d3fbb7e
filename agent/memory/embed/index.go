package embed

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"ash/agent"
)

// Item is something that waits for a vector.
type Item struct {
	Seq  int64  // recall_items.seq
	Text string // what is embedded
}

// Vectors keeps vectors; the store implements it.
type Vectors interface {
	// UseSpace makes a space the present one. When it was not, every item without a vector of it becomes pending.
	UseSpace(ctx context.Context, space Space) error
	// PendingItems returns up to limit items that lack a vector of the present space, newest first.
	PendingItems(ctx context.Context, limit int) ([]Item, error)
	// CountVectors says how many items have a vector of space and how many are pending.
	CountVectors(ctx context.Context, space Space) (have, pending int, err error)
	// SaveVectors stores vectors of space and takes items off the pending ones. A vector without Bytes has
	// no meaning: nothing is stored of it. An item whose text is no longer that of its Item stays pending and keeps none.
	SaveVectors(ctx context.Context, space Space, items []Item, vectors []Vector) error
	// Codes calls yield with the codes of space, some at a time, without Bytes.
	Codes(ctx context.Context, space Space, yield func([]Vector)) error
	// VectorBytes returns those of items that have a vector of space.
	VectorBytes(ctx context.Context, space Space, items []int64) ([]Vector, error)
}

// Near is an item found by its meaning.
type Near struct {
	Item  int64   // recall_items.seq
	Score float64 // cosine, -1 to 1
}

// Status says how the index stands.
type Status struct {
	Space    Space
	Have     int       // items with a vector
	Pending  int       // items that wait for one
	Resident int       // bytes of codes in memory
	Indexing bool      // vectors are being made
	Problem  string    // why they are not, for the person; "" when all is well
	Since    time.Time // of Problem
}

// Options adjust an Index. The zero value is ready for use.
type Options struct {
	Log      *slog.Logger // nil discards
	OnStatus func(Status) // told of progress, some times a second at most; no lock is held
	Batch    int          // items embedded at once; 0 is 64
	// Rest is how long Run waits after a failure before it tries again; it doubles up to twenty times that. 0 is 15 s.
	Rest time.Duration
}

// candidates bounds from below how many codes are ranked again by their bytes, oversample is how many for each wanted.
const (
	candidates = 400
	oversample = 8
)

// maxNearest bounds k.
const maxNearest = 500

// errDimensions is inside the error of a vector of another length than the space's.
var errDimensions = errors.New("another number of dimensions")

// Index finds items by meaning. It is safe for concurrent use. Use sets the embedder, Run keeps it up to date.
type Index struct {
	vectors Vectors
	options Options
	wake    chan struct{}
	working sync.Mutex // one Sync at a time

	mu       sync.RWMutex
	embedder Embedder
	space    Space  // zero until the embedder has told
	codes    *codes // nil until loaded
	status   Status
}

// NewIndex makes an index without an embedder: Nearest finds nothing.
func NewIndex(vectors Vectors, o Options) *Index {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Batch <= 0 {
		o.Batch = 64
	}
	if o.Rest <= 0 {
		o.Rest = 15 * time.Second
	}
	return &Index{vectors: vectors, options: o, wake: make(chan struct{}, 1)}
}

// Use makes e the embedder; nil switches search by meaning off and gives its memory back. Vectors of another
// space are replaced in the background.
func (x *Index) Use(e Embedder) {
	x.mu.Lock()
	x.embedder, x.space, x.codes, x.status = e, Space{}, nil, Status{}
	x.mu.Unlock()
	x.Wake()
}

// Wake makes Run look for new items now.
func (x *Index) Wake() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// Status tells how the index stands.
func (x *Index) Status() Status {
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := x.status
	s.Space = x.space
	if x.codes != nil {
		s.Resident = x.codes.resident()
	}
	return s
}

// ready returns the embedder with its space, whose codes it loads on first use. Without an embedder all are zero.
func (x *Index) ready(ctx context.Context) (Embedder, Space, *codes, error) {
	x.mu.RLock()
	e, space, loaded := x.embedder, x.space, x.codes
	x.mu.RUnlock()
	if e == nil || loaded != nil {
		return e, space, loaded, nil
	}
	space, err := e.Space(ctx)
	if err != nil {
		return e, Space{}, nil, err
	}
	if err := x.vectors.UseSpace(ctx, space); err != nil {
		return e, Space{}, nil, err
	}
	loaded = newCodes(space.Dimensions)
	if err := x.vectors.Codes(ctx, space, loaded.put); err != nil {
		return e, Space{}, nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.embedder != e {
		return x.embedder, Space{}, nil, agent.Errorf(agent.CodeUnavailable, "The embedding model was changed just now. Ask again.")
	}
	if x.codes == nil { // otherwise another was faster, and may have added to it
		x.space, x.codes = space, loaded
	}
	return e, x.space, x.codes, nil
}

// Nearest returns the k items whose meaning is nearest to query, best first; at most 500. Without an embedder there are
// none. While an index is made anew it finds those that are done. Errors: CodeUnavailable when the embedder does not answer, at
// once while it is known not to; CodeConflict when its vectors have another length than the index.
func (x *Index) Nearest(ctx context.Context, query string, k int) ([]Near, error) {
	k = min(k, maxNearest)
	e, space, loaded, err := x.ready(ctx)
	if err != nil {
		x.failed(e, err)
		return nil, err
	}
	if e == nil || k <= 0 {
		return nil, nil
	}
	q, err := e.Query(ctx, agent.Clip(query, maxText))
	if err == nil {
		err = check([][]float32{q}, 1, space.Dimensions, space.Name)
	}
	if err != nil {
		x.failed(e, err)
		return nil, err
	}
	if zero(q) {
		return nil, nil
	}
	x.mu.RLock()
	found := loaded.nearest(q, max(candidates, oversample*k))
	x.mu.RUnlock()
	return x.rank(ctx, space, loaded, q, found, k)
}

// rank orders candidates by their bytes. Those that have none any more are dropped from memory.
func (x *Index) rank(ctx context.Context, space Space, loaded *codes, q []float32, found []candidate, k int) ([]Near, error) {
	items := make([]int64, len(found))
	for i, c := range found {
		items[i] = c.item
	}
	slices.Sort(items) // the disk is read in its order
	kept, err := x.vectors.VectorBytes(ctx, space, items)
	if err != nil {
		return nil, err
	}
	near := make([]Near, 0, len(kept))
	for _, v := range kept {
		near = append(near, Near{Item: v.Item, Score: cosine(q, v.Bytes)})
	}
	if len(kept) < len(items) {
		gone := make(map[int64]bool, len(items)-len(kept))
		for _, item := range items {
			gone[item] = true
		}
		for _, v := range kept {
			delete(gone, v.Item)
		}
		x.mu.Lock()
		loaded.drop(gone)
		x.mu.Unlock()
	}
	slices.SortFunc(near, func(a, b Near) int {
		if a.Score != b.Score {
			if a.Score > b.Score {
				return -1
			}
			return 1
		}
		return int(a.Item - b.Item)
	})
	return near[:min(len(near), k)], nil
}

// Meaning returns a text's vector in signed bytes and the space it is of, as tombstones keep them; nil and "" without an
// embedder or for a text without meaning. Compare with Similarity.
func (x *Index) Meaning(ctx context.Context, text string) (vector []byte, space string, err error) {
	e, now, _, err := x.ready(ctx)
	if err != nil || e == nil {
		return nil, "", err
	}
	found, err := e.Documents(ctx, []string{agent.Clip(text, maxText)})
	if err == nil {
		err = check(found, 1, now.Dimensions, now.Name)
	}
	if err != nil {
		return nil, "", err
	}
	if vector = bytesOf(found[0]); vector == nil {
		return nil, "", nil
	}
	return vector, now.String(), nil
}

func zero(v []float32) bool {
	return !slices.ContainsFunc(v, func(x float32) bool { return x != 0 })
}
