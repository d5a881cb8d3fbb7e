package memory

import (
	"context"

	"ash/agent"
)

// Graves returns the tombstones a text is under, as learning would find them. What comes back with an archive is asked about.
func (b *Book) Graves(ctx context.Context, text string) ([]agent.ID, error) {
	return b.graves(ctx, text)
}

// StatementOf is what a tombstone's hash of a whole statement is made of.
func StatementOf(text string) string { return "statement\x00" + Normal(text) }
