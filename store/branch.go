package store

import (
	"context"

	"github.com/uptrace/bun"

	"ash/agent"
)

// MoveHead implements agent.ThreadStore. Calls that were approved but not started are cancelled
// too: the approval was given for the branch that is left. A waiting turn ends with its calls.
func (s *Store) MoveHead(ctx context.Context, thread, message agent.ID) (agent.Thread, []agent.ToolCall, error) {
	var (
		t         agent.Thread
		cancelled []agent.ToolCall
	)
	err := s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		pl, err := placeOf(ctx, tx, thread, "")
		if err != nil {
			return err
		}
		if pl.busy() {
			return errRunning()
		}
		if err := pl.holds(ctx, tx, message); err != nil {
			return err
		}
		leaf, err := newestLeaf(ctx, tx, message)
		if err != nil {
			return err
		}
		if cancelled, err = pl.leaveFor(ctx, tx, leaf); err != nil {
			return err
		}
		if err := pl.moveHead(ctx, tx, leaf); err != nil {
			return err
		}
		t, err = threadByID(ctx, tx, thread)
		return err
	})
	return t, cancelled, err
}

// Begin implements agent.TurnStore. A turn begun on a reply that still has calls which have not
// ended (its own turn was stopped or failed) takes them over.
func (s *Store) Begin(ctx context.Context, thread, message agent.ID) (agent.Turn, error) {
	var turn agent.Turn
	err := s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		pl, err := placeOf(ctx, tx, thread, "")
		if err != nil {
			return err
		}
		if err := pl.open(); err != nil {
			return err
		}
		if pl.busy() {
			return errRunning()
		}
		if err := pl.holds(ctx, tx, message); err != nil {
			return err
		}
		if turn, err = pl.interrupted(ctx, tx, message); err != nil {
			return err
		}
		if _, err := pl.leaveFor(ctx, tx, message); err != nil {
			return err
		}
		if pl.Turn != "" {
			return agent.Errorf(agent.CodeConflict, "Ash waits for your decision. Answer it, or write on.")
		}
		if turn.ID != "" {
			err = setTurn(ctx, tx, &turn, agent.TurnRunning)
		} else {
			turn = agent.Turn{ID: agent.NewID(), Thread: thread, Trigger: message, State: agent.TurnRunning, Started: now()}
			err = pl.takeOver(ctx, tx, turn, message)
		}
		if err != nil {
			return err
		}
		return pl.moveHead(ctx, tx, message)
	})
	return turn, err
}

// holds refuses a message that is not part of the thread's tree.
func (pl *place) holds(ctx context.Context, tx bun.IDB, message agent.ID) error {
	found, err := tx.NewSelect().Model((*messageRow)(nil)).
		Where("id = ? AND thread = ? AND state <> 'queued'", message, pl.Thread).Exists(ctx)
	if err == nil && !found {
		err = errGone()
	}
	return err
}

// interrupted returns the newest turn when a crash broke it off and going on at message means
// going on with it: what set it off is still to be answered, or its tools still to be run.
func (pl *place) interrupted(ctx context.Context, tx bun.IDB, message agent.ID) (agent.Turn, error) {
	turn, err := newestTurn(ctx, tx, pl.Thread)
	if err != nil || turn.State != agent.TurnInterrupted || pl.Head == "" {
		return agent.Turn{}, err
	}
	var head messageRow
	err = tx.NewSelect().Model(&head).Column("id", "parent", "turn", "role", "state").Where("id = ?", pl.Head).Scan(ctx)
	if err != nil {
		return agent.Turn{}, err
	}
	own := head.Role == agent.RoleAssistant && head.Turn == turn.ID
	switch {
	case message == head.ID && turn.Trigger == message: // nothing came yet
	case message == head.ID && own && head.State == agent.MessageComplete: // between a reply and its tools
	case message == turn.Trigger && own && head.Parent == message && head.State != agent.MessageComplete: // the answer was cut off
	default:
		return agent.Turn{}, nil
	}
	return turn, nil
}

// takeOver stores a new turn and gives it the calls of message that have not ended.
func (pl *place) takeOver(ctx context.Context, tx bun.IDB, turn agent.Turn, message agent.ID) error {
	if err := insertTurn(ctx, tx, turn); err != nil {
		return err
	}
	if !pl.Unended {
		return nil
	}
	_, err := tx.NewUpdate().Model((*callRow)(nil)).Set("turn = ?", turn.ID).
		Where("message = ? AND "+unended, message).Exec(ctx)
	return err
}

// leaveFor prepares the way to another head: calls off the path to it are cancelled, and
// a turn that waited only for such calls is done.
func (pl *place) leaveFor(ctx context.Context, tx bun.IDB, head agent.ID) ([]agent.ToolCall, error) {
	cancelled, err := pl.cancelOff(ctx, tx, head)
	if err != nil || pl.Turn == "" {
		return cancelled, err
	}
	rests, err := tx.NewSelect().Model((*callRow)(nil)).Where("thread = ? AND "+unended, pl.Thread).Exists(ctx)
	if err == nil && !rests {
		_, err = pl.rest(ctx, tx)
	}
	return cancelled, err
}

// cancelOff cancels the calls whose message is not on the path that ends in head ("" for none is).
func (pl *place) cancelOff(ctx context.Context, tx bun.IDB, head agent.ID) ([]agent.ToolCall, error) {
	if !pl.Unended {
		return nil, nil
	}
	var path []agent.ID
	err := tx.NewRaw(`WITH RECURSIVE path (id, parent) AS (
			SELECT id, parent FROM messages WHERE id = ?
			UNION ALL SELECT m.id, m.parent FROM path JOIN messages m ON m.id = path.parent
		) SELECT id FROM path`, head).Scan(ctx, &path)
	if err != nil {
		return nil, err
	}
	on := make(map[agent.ID]bool, len(path))
	for _, id := range path {
		on[id] = true
	}
	return pl.closeWhere(ctx, tx, agent.CallCancelled, func(c agent.ToolCall) bool { return !on[c.Message] })
}

// newestLeaf returns the message stored last among those at or below message that have nothing below them.
func newestLeaf(ctx context.Context, tx bun.IDB, message agent.ID) (agent.ID, error) {
	var leaf agent.ID
	err := tx.NewRaw(`WITH RECURSIVE below (id, seq) AS (
			SELECT id, seq FROM messages WHERE id = ?
			UNION ALL SELECT m.id, m.seq FROM below JOIN messages m ON m.parent = below.id
		) SELECT id FROM below WHERE NOT EXISTS (SELECT 1 FROM messages c WHERE c.parent = below.id)
		ORDER BY seq DESC LIMIT 1`, message).Scan(ctx, &leaf)
	return leaf, err
}
