package store

import (
	"context"
	"time"

	"ash/agent"
)

// LearnSpent returns what the runs of learning and consolidation since a time have cost, and how many of them asked a model.
func (s *Store) LearnSpent(ctx context.Context, since time.Time) (agent.MicroDollars, int, error) {
	var spent struct {
		Cost  agent.MicroDollars
		Calls int
	}
	err := fixed(s.reader, `SELECT ifnull(sum(cost), 0) AS cost, count(*) AS calls FROM memory_runs WHERE created >= ?1 AND provider <> ''`,
		micros(since)).Scan(ctx, &spent)
	return spent.Cost, spent.Calls, s.translate(err)
}
