package memory

import (
	"context"

	"ash/agent"
)

// sameOffer is the share of a declined statement's word pairs that makes another one the same offer in other words. It is asked of
// proposals alone, so that it may be wider than what is the very same, and of one half, so that another thing about the same people may still
// be offered.
const sameOffer = 0.5

// Declined is what the person said no to. The store keeps keyed hashes of it, as of what was forgotten, and none of its text.
type Declined struct {
	Proposal  agent.ID
	Statement string
	Pairs     []string
}

// declinedOf returns what is kept of a proposal that was declined.
func declinedOf(p agent.Proposal) *Declined {
	if p.Action == agent.ActionRetire {
		return &Declined{Proposal: p.ID, Statement: retiring(p.Fact.ID)}
	}
	d := &Declined{Proposal: p.ID, Statement: StatementOf(p.Fact.Text)}
	for _, pair := range gistOf(p.Fact).pairs() {
		d.Pairs = append(d.Pairs, "pair\x00"+pair)
	}
	return d
}

func retiring(fact agent.ID) string { return "retire\x00" + string(fact) }

// Declined reports whether the person has said no to a statement, or to the same in other words. What they say themselves is kept all
// the same: only offers ask.
func (b *Book) Declined(ctx context.Context, text string) (bool, error) {
	var pairs []string
	for _, p := range probe(text) {
		pairs = append(pairs, "pair\x00"+p)
	}
	found, err := b.store.Declined(ctx, StatementOf(text), pairs)
	for _, g := range found {
		if g.Statement || g.Of > 1 && float64(g.Pairs) >= sameOffer*float64(g.Of) {
			return true, err
		}
	}
	return false, err
}

// DeclinedRetiring reports whether the person has said no to retiring a fact.
func (b *Book) DeclinedRetiring(ctx context.Context, fact agent.ID) (bool, error) {
	found, err := b.store.Declined(ctx, retiring(fact), nil)
	return len(found) > 0, err
}
