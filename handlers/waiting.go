package handlers

import (
	"context"
	"sync"

	"ash/agent"
)

// counted remembers how much waited after an event: fifty pages that are told of it
// count once. The zero value remembers nothing.
type counted struct {
	mu sync.Mutex
	at agent.EventID
	n  int
}

// count returns how much waits, as of the event at or later.
func (k *counted) count(ctx context.Context, waiting func(context.Context) (int, error), at agent.EventID) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.at.Boot == at.Boot && k.at.Seq >= at.Seq && at != (agent.EventID{}) {
		return k.n, nil
	}
	n, err := waiting(ctx)
	if err != nil {
		return 0, err
	}
	k.at, k.n = at, n
	return n, nil
}
