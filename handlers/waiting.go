package handlers

import (
	"context"
	"sync"

	"ash/agent"
)

// counted remembers how much waits, and what each conversation last said of itself: fifty pages that are told of it count once, and
// only when it may have changed. The zero value remembers nothing.
type counted struct {
	mu      sync.Mutex
	at      agent.EventID
	n       int
	threads map[agent.ID]countedThread // of those that said so since everything was counted anew
}

// countedThread is what a conversation said of itself.
type countedThread struct {
	waiting int
	deleted bool // what waits there waits for nobody
}

// maxCounted bounds the conversations that are remembered.
const maxCounted = 1000

// count returns how much waits, as of the end of b or later. anew says that what came before b is not known to have been counted.
func (k *counted) count(ctx context.Context, waiting func(context.Context) (int, error), b agent.Batch, anew bool) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if anew || b.Resync || k.at.Boot != b.Last.Boot || len(k.threads) > maxCounted {
		k.at, k.threads = agent.EventID{}, map[agent.ID]countedThread{}
	}
	stale := k.at == agent.EventID{}
	for _, e := range b.Events {
		if e.ID.Seq > k.at.Seq {
			stale = k.changes(e) || stale
		}
	}
	if stale {
		n, err := waiting(ctx)
		if err != nil {
			k.at = agent.EventID{}
			return 0, err
		}
		k.n = n
	}
	if b.Last.Seq > k.at.Seq {
		k.at = b.Last
	}
	return k.n, nil
}

// changes reports whether an event may change how much waits.
func (k *counted) changes(e agent.Envelope) bool {
	switch ev := e.Event.(type) {
	case agent.ThreadEvent:
		last, known := k.threads[ev.Thread.ID]
		now := countedThread{ev.Thread.Waiting, !ev.Thread.Deleted.IsZero()}
		k.threads[ev.Thread.ID] = now
		return ev.Helper || !known || last != now
	case agent.MemoryEvent:
		return ev.Waiting
	}
	return false
}
