package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/memory"
)

var _ memory.Facts = (*Store)(nil)

// ApplyMemory implements memory.Facts.
func (s *Store) ApplyMemory(ctx context.Context, step memory.Step) ([]agent.MemoryChange, error) {
	var applied []agent.MemoryChange
	err := s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		at := now()
		applied = make([]agent.MemoryChange, 0, len(step.Changes))
		for _, c := range step.Changes {
			done, err := applyChange(ctx, tx, c, at, step.Undoes != "")
			if err != nil {
				return err
			}
			applied = append(applied, done)
		}
		if err := s.applyRest(ctx, tx, step); err != nil {
			return err
		}
		if step.Run == nil {
			return nil
		}
		run := *step.Run
		run.Changes, run.Created = applied, orNow(run.Created)
		return insertRun(ctx, tx, run)
	})
	if err != nil {
		return nil, err
	}
	return applied, nil
}

// applyRest does what a step does beside its changes of facts.
func (s *Store) applyRest(ctx context.Context, tx bun.IDB, step memory.Step) error {
	for _, p := range step.Propose {
		if err := insertProposal(ctx, tx, p); err != nil {
			return err
		}
	}
	if step.Decides != "" {
		if err := takeProposal(ctx, tx, step.Decides); err != nil {
			return err
		}
	}
	if step.Declines != nil {
		if err := s.insertDeclined(ctx, tx, *step.Declines); err != nil {
			return err
		}
	}
	if step.Undoes != "" {
		if err := markUndone(ctx, tx, step.Undoes); err != nil {
			return err
		}
		if _, err := fixed(tx, `DELETE FROM proposals WHERE run = ?1`, step.Undoes).Exec(ctx); err != nil {
			return err
		}
	}
	for _, id := range step.Lifts {
		if _, err := tx.NewRaw("DELETE FROM tombstones WHERE id = ?", id).Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

func errChanged() error {
	return agent.Errorf(agent.CodeConflict, "That memory has changed since you looked at it. Look at it again.")
}

// applyChange does one change and returns it as it was done: what stood before is read from the database, and what
// stands afterwards has its times and entities. What is undone gets its old time of change back too: who looked at it before the run
// saw just what is there again.
func applyChange(ctx context.Context, tx bun.IDB, c agent.MemoryChange, at time.Time, undo bool) (agent.MemoryChange, error) {
	if c.Before == nil && c.After == nil {
		return c, agent.Errorf(agent.CodeInternal, "A change of memory without a fact.")
	}
	if c.Before == nil {
		return addFact(ctx, tx, *c.After, at)
	}
	stored, err := factByID(ctx, tx, c.Before.ID)
	if err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			return c, errChanged()
		}
		return c, err
	}
	if !stored.Updated.Equal(c.Before.Updated) {
		return c, errChanged()
	}
	done := agent.MemoryChange{Fact: stored.ID, Before: &stored}
	if c.After == nil {
		return done, dropFact(ctx, tx, stored.ID)
	}
	after := *c.After
	after.ID, after.Owner, after.Created = stored.ID, stored.Owner, stored.Created
	// A clock that steps back must not make a change look like none.
	after.Updated = later(at, stored.Updated)
	if undo {
		after.Updated = c.After.Updated
	}
	row, err := toFact(after)
	if err != nil {
		return c, err
	}
	if err := updateRow(ctx, tx, &row, factColumns[:]...); err != nil {
		return c, err
	}
	if err := unlist(ctx, tx, stored.ID); err != nil {
		return c, err
	}
	if after.Entities, err = linkEntities(ctx, tx, after); err != nil {
		return c, err
	}
	done.After = &after
	return done, nil
}

func later(at, than time.Time) time.Time {
	if at.After(than) {
		return at
	}
	return than.Add(time.Microsecond)
}

func addFact(ctx context.Context, tx bun.IDB, f agent.Fact, at time.Time) (agent.MemoryChange, error) {
	f.Created = orAt(f.Created, at)
	f.Updated = at
	f.Said = orAt(f.Said, at)
	row, err := toFact(f)
	if err != nil {
		return agent.MemoryChange{}, err
	}
	if err := insertRow(ctx, tx, &row); err != nil {
		return agent.MemoryChange{}, err
	}
	if f.Entities, err = linkEntities(ctx, tx, f); err != nil {
		return agent.MemoryChange{}, err
	}
	return agent.MemoryChange{Fact: f.ID, After: &f}, nil
}

func orAt(t, at time.Time) time.Time {
	if t.IsZero() {
		return at
	}
	return t.UTC().Truncate(time.Microsecond)
}

func dropFact(ctx context.Context, tx bun.IDB, id agent.ID) error {
	if err := unlist(ctx, tx, id); err != nil {
		return err
	}
	_, err := fixed(tx, `DELETE FROM facts WHERE id = ?1`, id).Exec(ctx)
	return err
}

// unlist takes a fact out of what recall reads; its indexer makes the row anew.
func unlist(ctx context.Context, tx bun.IDB, id agent.ID) error {
	_, err := fixed(tx, `DELETE FROM recall_items WHERE kind = 'fact' AND ref = ?1`, id).Exec(ctx)
	return err
}
