package store

import (
	"context"

	"github.com/uptrace/bun"

	"ash/agent"
)

type turnRow struct {
	bun.BaseModel `bun:"table:turns,alias:u"`

	Seq     int64           `bun:"seq,pk,autoincrement"`
	ID      agent.ID        `bun:"id"`
	Thread  agent.ID        `bun:"thread"`
	Trigger agent.ID        `bun:"trigger_message"`
	State   agent.TurnState `bun:"state"`
	Rounds  int             `bun:"rounds"`
	usageColumns
	Started int64 `bun:"started"`
	Ended   int64 `bun:"ended"`
}

func toTurn(t agent.Turn) turnRow {
	return turnRow{
		ID: t.ID, Thread: t.Thread, Trigger: t.Trigger, State: t.State, Rounds: t.Rounds,
		usageColumns: toUsage(t.Usage), Started: micros(t.Started), Ended: micros(t.Ended),
	}
}

func fromTurn(r turnRow) agent.Turn {
	return agent.Turn{
		ID: r.ID, Thread: r.Thread, Trigger: r.Trigger, State: r.State, Rounds: r.Rounds,
		Usage: fromUsage(r.usageColumns), Started: fromMicros(r.Started), Ended: fromMicros(r.Ended),
	}
}

// active is the condition for a turn that may still change; it is written as the
// index turns_active has it, so that the index serves it.
const active = "state IN ('running', 'waiting', 'stopping')"

// Tail implements agent.TurnStore.
func (s *Store) Tail(ctx context.Context, thread agent.ID) (agent.Tail, error) {
	var tail agent.Tail
	err := s.read(ctx, func(ctx context.Context, tx bun.IDB) (err error) {
		if tail.Thread, err = threadByID(ctx, tx, thread); err != nil {
			return err
		}
		if tail.Turn, err = newestTurn(ctx, tx, thread); err != nil {
			return err
		}
		if tail.Thread.Head == "" {
			return nil
		}
		tail.Head, err = messageByID(ctx, tx, tail.Thread.Head)
		return err
	})
	return tail, err
}

// newestTurn returns the newest turn of a thread, zero when there is none.
func newestTurn(ctx context.Context, db bun.IDB, thread agent.ID) (agent.Turn, error) {
	var rows []turnRow
	if err := fixed(db, `SELECT * FROM turns WHERE thread = ?1 ORDER BY seq DESC LIMIT 1`, thread).Scan(ctx, &rows); err != nil {
		return agent.Turn{}, err
	}
	if len(rows) == 0 {
		return agent.Turn{}, nil
	}
	return fromTurn(rows[0]), nil
}

func turnByID(ctx context.Context, db bun.IDB, id agent.ID) (agent.Turn, error) {
	var row turnRow
	if err := fixed(db, `SELECT * FROM turns WHERE id = ?1`, id).Scan(ctx, &row); err != nil {
		return agent.Turn{}, err
	}
	return fromTurn(row), nil
}

func insertTurn(ctx context.Context, tx bun.IDB, t agent.Turn) error {
	row := toTurn(t)
	return insertRow(ctx, tx, &row)
}

// setTurn moves a turn to a state; ended is kept with it, zero while it is active.
func setTurn(ctx context.Context, tx bun.IDB, t *agent.Turn, state agent.TurnState) error {
	t.State = state
	if t.Active() {
		t.Ended = fromMicros(0)
	} else {
		t.Ended = now()
	}
	_, err := fixed(tx, `UPDATE turns SET state = ?2, ended = ?3 WHERE id = ?1`, t.ID, t.State, micros(t.Ended)).Exec(ctx)
	return err
}

// EndTurn implements agent.TurnStore. A stop is not taken back: a turn that is
// stopping and would come to rest waiting is stopped, and its unanswered calls with it.
func (s *Store) EndTurn(ctx context.Context, turn agent.Turn, state agent.TurnState) (agent.EndedTurn, error) {
	var ended agent.EndedTurn
	err := s.write(ctx, func(ctx context.Context, tx bun.IDB) (err error) {
		ended, err = endTurn(ctx, tx, turn.ID, state)
		return err
	})
	return ended, err
}

// Conclude implements agent.TurnStore.
func (s *Store) Conclude(ctx context.Context, reply agent.Message, state agent.TurnState) (agent.EndedTurn, error) {
	var ended agent.EndedTurn
	err := s.write(ctx, func(ctx context.Context, tx bun.IDB) (err error) {
		if err = closeReply(ctx, tx, reply); err != nil {
			return err
		}
		ended, err = endTurn(ctx, tx, reply.Turn, state)
		return err
	})
	return ended, err
}

func endTurn(ctx context.Context, tx bun.IDB, id agent.ID, state agent.TurnState) (ended agent.EndedTurn, err error) {
	stored, err := turnByID(ctx, tx, id)
	if err != nil {
		return ended, err
	}
	if !stored.Active() {
		return ended, agent.Errorf(agent.CodeConflict, "This turn has already ended.")
	}
	pl, err := placeOf(ctx, tx, stored.Thread, "")
	if err != nil {
		return ended, err
	}
	if stored.State == agent.TurnStopping && state == agent.TurnWaiting {
		state = agent.TurnStopped
	}
	if state == agent.TurnStopped { // nothing of it is to be decided any more
		if ended.Superseded, err = pl.closeCalls(ctx, tx, agent.CallStopped, ""); err != nil {
			return ended, err
		}
	}
	if err := setTurn(ctx, tx, &stored, state); err != nil {
		return ended, err
	}
	ended.Turn = stored
	if stored.Active() || !pl.Queued {
		return ended, nil
	}
	err = pl.beginQueued(ctx, tx, &ended)
	return ended, err
}

// beginQueued joins what waited for the end of a turn to the tree and begins the turn that answers it.
func (pl *place) beginQueued(ctx context.Context, tx bun.IDB, ended *agent.EndedTurn) error {
	superseded, err := pl.closeCalls(ctx, tx, agent.CallSuperseded, pl.Head)
	if err != nil {
		return err
	}
	ended.Superseded = append(ended.Superseded, superseded...)
	next := agent.Turn{ID: agent.NewID(), Thread: pl.Thread, State: agent.TurnRunning, Started: now()}
	if ended.Joined, err = pl.join(ctx, tx, next.ID); err != nil {
		return err
	}
	next.Trigger = pl.Head
	if err := insertTurn(ctx, tx, next); err != nil {
		return err
	}
	ended.Next = &next
	return pl.moveHead(ctx, tx, pl.Head)
}

// Resume implements agent.CallStore.
func (s *Store) Resume(ctx context.Context, id agent.ID) (agent.Turn, error) {
	var turn agent.Turn
	err := s.write(ctx, func(ctx context.Context, tx bun.IDB) (err error) {
		if turn, err = turnByID(ctx, tx, id); err != nil {
			return err
		}
		if turn.State != agent.TurnWaiting {
			return agent.Errorf(agent.CodeConflict, "This turn does not wait for a decision.")
		}
		return setTurn(ctx, tx, &turn, agent.TurnRunning)
	})
	return turn, err
}
