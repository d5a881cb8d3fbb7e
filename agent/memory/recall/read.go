package recall

import (
	"context"

	"ash/agent"
)

// Read returns items by number, as recollections without a score. Those that are gone are left out.
func (e *Engine) Read(ctx context.Context, seqs []int64) ([]agent.Recollection, error) {
	items, err := e.index.Items(ctx, seqs)
	if err != nil {
		return nil, err
	}
	out := make([]agent.Recollection, len(items))
	for i, it := range items {
		out[i] = recollection(it, scored{}, nil)
	}
	return out, nil
}
