package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"ash/agent"
	"ash/store"
)

// sizesFresh is how old the newest sizes are that a page shows without asking for new ones.
const sizesFresh = time.Hour

// sizes are the sizes of memory for its page. They are taken beside, a few times a day and when a page finds them old: a page waits
// for them only when there are none yet.
type sizes struct {
	store *store.Store
	log   *slog.Logger
	asked chan struct{}
	one   sync.Mutex // one look at the database at a time
}

func newSizes(s *store.Store, log *slog.Logger) *sizes {
	return &sizes{store: s, log: log, asked: make(chan struct{}, 1)}
}

// run takes sizes until ctx ends.
func (s *sizes) run(ctx context.Context) {
	timer := time.NewTimer(upkeepDelay)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-s.asked:
		}
		if _, err := s.take(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("the sizes of memory could not be taken", "error", err)
		}
		timer.Reset(upkeepEvery)
	}
}

func (s *sizes) take(ctx context.Context) (agent.MemorySizes, error) {
	s.one.Lock()
	defer s.one.Unlock()
	return s.store.MeasureMemory(ctx, time.Now())
}

// MemoryRoom implements handlers.SizeReader.
func (s *sizes) MemoryRoom(ctx context.Context, from time.Time) ([]agent.MemorySizes, error) {
	list, err := s.store.MemoryRoom(ctx, from)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		now, err := s.take(ctx)
		return []agent.MemorySizes{now}, err
	}
	if time.Since(list[len(list)-1].Taken) > sizesFresh {
		select {
		case s.asked <- struct{}{}:
		default: // it is on its way
		}
	}
	return list, nil
}
