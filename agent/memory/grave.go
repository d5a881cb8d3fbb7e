package memory

import (
	"context"
	"encoding/binary"
	"math"
	"slices"

	"ash/agent"
)

const (
	// enoughPairs is the share of a tombstone's word pairs that a paraphrase has: one of three. Rather a new thing about the
	// same people is asked about than an old one learned again.
	enoughPairs = 0.33
	// sameMeaning is how near a vector must be to a tombstone's to mean the same (cosine).
	sameMeaning = 0.93
)

// tombstone makes what keeps a fact from being learned again: keyed hashes, and its meaning where there is an embedder. An embedder that
// fails leaves the hashes.
func (b *Book) tombstone(ctx context.Context, f agent.Fact) agent.Tombstone {
	t := agent.Tombstone{ID: agent.NewID(), Created: b.now(), Hashes: [][]byte{b.statement(f.Text)}}
	for _, p := range gistOf(f).pairs() {
		t.Hashes = append(t.Hashes, b.store.Keyed("pair\x00"+p))
	}
	if b.options.Meaning != nil {
		vector, space, err := b.options.Meaning.Meaning(ctx, f.Text)
		if err != nil {
			b.options.Log.WarnContext(ctx, "a tombstone has no meaning: the embedder failed", "error", err)
			return t
		}
		t.Vector, t.Space = packed(vector), space
	}
	return t
}

func (b *Book) statement(text string) []byte { return b.store.Keyed(StatementOf(text)) }

// Forgotten reports whether a text says what was forgotten: the same statement, enough of its distinctive word pairs, or
// its meaning. Learning asks before it keeps or proposes anything.
func (b *Book) Forgotten(ctx context.Context, text string) (bool, error) {
	graves, err := b.graves(ctx, text)
	return len(graves) > 0, err
}

// graves returns the tombstones a text is under.
func (b *Book) graves(ctx context.Context, text string) ([]agent.ID, error) {
	var pairs [][]byte
	for _, p := range probe(text) {
		pairs = append(pairs, b.store.Keyed("pair\x00"+p))
	}
	found, err := b.store.Buried(ctx, b.statement(text), pairs)
	if err != nil {
		return nil, err
	}
	var list []agent.ID
	for _, g := range found {
		if g.Statement || g.Of > 0 && float64(g.Pairs) >= enoughPairs*float64(g.Of) {
			list = append(list, g.ID)
		}
	}
	return b.near(ctx, text, list)
}

// near adds the tombstones whose meaning a text has. Without an embedder, or with one that fails, there are none.
func (b *Book) near(ctx context.Context, text string, list []agent.ID) ([]agent.ID, error) {
	if b.options.Meaning == nil {
		return list, nil
	}
	vector, space, err := b.options.Meaning.Meaning(ctx, text)
	if err != nil {
		b.options.Log.WarnContext(ctx, "what was forgotten is known by its words only: the embedder failed", "error", err)
		return list, nil
	}
	stones, err := b.store.Tombstones(ctx, space)
	if err != nil {
		return nil, err
	}
	for _, t := range stones {
		if !slices.Contains(list, t.ID) && cosine(vector, unpacked(t.Vector)) >= sameMeaning {
			list = append(list, t.ID)
		}
	}
	return list, nil
}

func packed(v []float32) []byte {
	out := make([]byte, 0, 4*len(v))
	for _, x := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out
}

func unpacked(raw []byte) []float32 {
	out := make([]float32, len(raw)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return out
}

// cosine is how near two vectors are; 0 for vectors of two sizes, of no length, or with NaN.
func cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	var dot, aa, bb float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	c := dot / math.Sqrt(aa*bb)
	if math.IsNaN(c) {
		return 0
	}
	return c
}
