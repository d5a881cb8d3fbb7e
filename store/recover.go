package store

import (
	"context"

	"github.com/uptrace/bun"

	"ash/agent"
)

// Recover implements agent.Recoverer. It looks at what has not ended, through indexes of
// that alone, and writes only when there is something.
func (s *Store) Recover(ctx context.Context) (agent.Recovery, error) {
	var found bool
	err := s.writer.NewRaw(`SELECT EXISTS (SELECT 1 FROM messages WHERE state = 'open')
		OR EXISTS (SELECT 1 FROM turns WHERE `+active+` AND state <> 'waiting')
		OR EXISTS (SELECT 1 FROM tool_calls WHERE `+unended+` AND state = 'started')`).Scan(ctx, &found)
	if err != nil || !found {
		return agent.Recovery{}, s.translate(err)
	}
	var r agent.Recovery
	err = s.write(ctx, func(ctx context.Context, tx bun.IDB) (err error) {
		if r.Replies, err = cutReplies(ctx, tx); err != nil {
			return err
		}
		if r.Calls, err = forgetCalls(ctx, tx); err != nil {
			return err
		}
		interrupted, err := tx.NewUpdate().Model((*turnRow)(nil)).
			Set("state = ?", agent.TurnInterrupted).Set("ended = ?", micros(now())).
			Where(active + " AND state <> 'waiting'").Exec(ctx)
		if err != nil {
			return err
		}
		n, err := interrupted.RowsAffected()
		r.Turns = int(n)
		return err
	})
	return r, err
}

// cutReplies closes open replies with the text that was stored of them.
func cutReplies(ctx context.Context, tx bun.IDB) (int, error) {
	var rows []messageRow
	if err := tx.NewSelect().Model(&rows).Where("state = 'open'").Order("seq").Scan(ctx); err != nil {
		return 0, err
	}
	open, err := complete(ctx, tx, rows)
	if err != nil {
		return 0, err
	}
	for _, m := range open {
		m.State, m.Finished = agent.MessageCut, now()
		m.Error = &agent.Failure{Code: agent.CodeUnavailable, Public: "Ash ended while this was being written. Continue goes on from here."}
		if err := closeReply(ctx, tx, m); err != nil {
			return 0, err
		}
	}
	return len(open), nil
}

// forgetCalls marks started calls as unknown: nobody can say how far their effects went.
func forgetCalls(ctx context.Context, tx bun.IDB) (int, error) {
	calls, err := selectCalls(ctx, tx.NewSelect().Where(unended+" AND state = 'started'"))
	if err != nil {
		return 0, err
	}
	for _, c := range calls {
		c.State, c.Finished = agent.CallUnknown, now()
		if err := updateCall(ctx, tx, c); err != nil {
			return 0, err
		}
	}
	return len(calls), nil
}
