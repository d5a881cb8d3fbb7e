package store

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"ash/agent"
)

// place is where a conversation stands when a step on it begins: all that
// decides what the step may do. It is read and used inside one write transaction.
type place struct {
	Thread  agent.ID
	Head    agent.ID
	Deleted int64
	Turn    agent.ID        // the active turn, if any
	State   agent.TurnState // of Turn
	Known   agent.ID        // the message stored for the form asked about
	Queued  bool            // messages wait for the end of a turn
	Unended bool            // calls of the thread have not ended
	Beside  bool            // messages stand below Head already
}

// placeOf reads the place of a thread; form is the idempotency key to look up, if any.
func placeOf(ctx context.Context, tx bun.IDB, thread agent.ID, form string) (place, error) {
	var pl place
	err := fixed(tx, `SELECT t.id AS thread, t.head, t.deleted, u.id AS turn, u.state,
			(SELECT id FROM messages WHERE thread = t.id AND form = ?2) AS known,
			EXISTS (SELECT 1 FROM messages WHERE thread = t.id AND state = 'queued') AS queued,
			EXISTS (SELECT 1 FROM messages WHERE parent IS t.head AND thread = t.id AND state <> 'queued') AS beside,
			EXISTS (SELECT 1 FROM tool_calls WHERE thread = t.id AND `+unended+`) AS unended
		FROM threads t LEFT JOIN turns u ON u.thread = t.id AND u.`+active+`
		WHERE t.id = ?1`, thread, orNull(clean(form))).Scan(ctx, &pl)
	return pl, err
}

// busy reports whether a turn of the thread is being advanced.
func (pl *place) busy() bool {
	return pl.State == agent.TurnRunning || pl.State == agent.TurnStopping
}

// open refuses threads that are deleted.
func (pl *place) open() error {
	if pl.Deleted != 0 {
		return agent.Errorf(agent.CodeConflict, "This conversation is deleted. Restore it to write in it.")
	}
	return nil
}

// rest refuses while a turn runs and ends one that waits; its queued messages
// join below the head they were written for.
func (pl *place) rest(ctx context.Context, tx bun.IDB) ([]agent.Message, error) {
	if pl.busy() {
		return nil, errRunning()
	}
	if pl.Turn != "" {
		turn := agent.Turn{ID: pl.Turn}
		if err := setTurn(ctx, tx, &turn, agent.TurnDone); err != nil {
			return nil, err
		}
		pl.Turn, pl.State = "", ""
	}
	return pl.join(ctx, tx, "")
}

// join puts queued messages into the tree, each below the one before, the first
// below the head, which moves along. They become part of turn.
func (pl *place) join(ctx context.Context, tx bun.IDB, turn agent.ID) ([]agent.Message, error) {
	if !pl.Queued {
		return nil, nil
	}
	var rows []messageRow
	err := tx.NewSelect().Model(&rows).Where("thread = ? AND state = 'queued'", pl.Thread).Order("seq").Scan(ctx)
	if err != nil {
		return nil, err
	}
	joined, err := complete(ctx, tx, rows)
	if err != nil {
		return nil, err
	}
	for i := range joined {
		m := &joined[i]
		m.State, m.Parent, m.Turn = agent.MessageComplete, pl.Head, turn
		_, err := tx.NewUpdate().Model((*messageRow)(nil)).Set("state = ?", m.State).
			Set("parent = ?", bun.NullZero(m.Parent)).Set("turn = ?", bun.NullZero(m.Turn)).
			Where("id = ?", m.ID).Exec(ctx)
		if err != nil {
			return nil, err
		}
		pl.Head = m.ID
	}
	pl.Queued = false
	return joined, nil
}

// closeCalls ends the calls of a message ("" for all of the thread) that wait, were proposed, or were
// approved but not started.
func (pl *place) closeCalls(ctx context.Context, tx bun.IDB, to agent.CallState, message agent.ID) ([]agent.ToolCall, error) {
	return pl.closeWhere(ctx, tx, to, func(c agent.ToolCall) bool { return message == "" || c.Message == message })
}

func (pl *place) closeWhere(ctx context.Context, tx bun.IDB, to agent.CallState, cond func(agent.ToolCall) bool) ([]agent.ToolCall, error) {
	if !pl.Unended {
		return nil, nil
	}
	calls, err := selectCalls(ctx, tx.NewSelect().Where("thread = ? AND "+unended, pl.Thread).Order("seq"))
	if err != nil {
		return nil, err
	}
	calls = slices.DeleteFunc(calls, func(c agent.ToolCall) bool { return c.State == agent.CallStarted || !cond(c) })
	for i := range calls {
		calls[i].State, calls[i].Finished = to, now()
		if err := updateCall(ctx, tx, calls[i]); err != nil {
			return nil, err
		}
	}
	return calls, nil
}

// moveHead makes message the end of the conversation.
func (pl *place) moveHead(ctx context.Context, tx bun.IDB, message agent.ID) error {
	pl.Head = message
	_, err := fixed(tx, `UPDATE threads SET head = ?2, updated = ?3 WHERE id = ?1`,
		pl.Thread, orNull(message), micros(now())).Exec(ctx)
	return err
}
