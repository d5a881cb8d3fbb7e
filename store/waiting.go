package store

import (
	"context"
	"time"

	"ash/agent"
)

// What the engine asks about calls and turns that wait for the person.

// Unanswered implements agent.WaitingStore.
func (s *Store) Unanswered(ctx context.Context, before time.Time) ([]agent.ID, error) {
	var ids []agent.ID
	err := s.reader.NewRaw(`SELECT c.id FROM tool_calls c JOIN threads t ON t.id = c.thread
		WHERE c.state = 'waiting' AND c.question = 0 AND c.locked = 0 AND c.created < ? AND t.deleted = 0 ORDER BY c.seq`, micros(before)).Scan(ctx, &ids)
	return ids, s.translate(err)
}

// Sent implements agent.WaitingStore.
func (s *Store) Sent(ctx context.Context, thread agent.ID, form string) (agent.ToolCall, bool, error) {
	var found struct {
		Call   agent.ID
		Stored bool
	}
	err := fixed(s.reader, `SELECT EXISTS (SELECT 1 FROM messages WHERE thread = ?1 AND form = ?2) AS stored,
		(SELECT id FROM tool_calls WHERE thread = ?1 AND question = 1 AND json_extract(decision, '$.form') = ?2 LIMIT 1) AS call`,
		thread, clean(form)).Scan(ctx, &found)
	if err != nil || found.Call == "" {
		return agent.ToolCall{}, found.Stored, s.translate(err)
	}
	call, err := s.Call(ctx, found.Call)
	return call, false, err
}

// Orphans implements agent.WaitingStore.
func (s *Store) Orphans(ctx context.Context) ([]agent.ID, error) {
	var ids []agent.ID
	err := s.reader.NewRaw(`SELECT u.thread FROM turns u JOIN threads t ON t.id = u.thread
		JOIN tool_calls c ON c.id = t.parent_call
		WHERE u.`+active+` AND c.state NOT IN ('proposed', 'waiting', 'approved', 'started') ORDER BY u.seq`).Scan(ctx, &ids)
	return ids, s.translate(err)
}

// LockedCalls implements agent.LockedStore.
func (s *Store) LockedCalls(ctx context.Context) ([]agent.Place, error) {
	return s.places(ctx, `SELECT c.thread AS thread, c.id AS id FROM tool_calls c JOIN threads t ON t.id = c.thread
		WHERE c.state = 'waiting' AND c.locked = 1 AND t.deleted = 0 ORDER BY c.seq`)
}

// LockedReplies implements agent.LockedStore.
func (s *Store) LockedReplies(ctx context.Context, since time.Time, limit int) ([]agent.Place, error) {
	return s.places(ctx, `SELECT m.thread AS thread, m.id AS id FROM threads t JOIN messages m ON m.id = t.head
		WHERE m.state = 'failed' AND m.failure_code = 'locked' AND m.created >= ? AND t.deleted = 0 AND t.parent_call IS NULL
		ORDER BY m.seq LIMIT ?`, micros(since), max(limit, 1))
}

func (s *Store) places(ctx context.Context, query string, args ...any) ([]agent.Place, error) {
	var rows []struct {
		Thread agent.ID `bun:"thread"`
		ID     agent.ID `bun:"id"`
	}
	err := s.reader.NewRaw(query, args...).Scan(ctx, &rows)
	out := make([]agent.Place, len(rows))
	for i, r := range rows {
		out[i] = agent.Place(r)
	}
	return out, s.translate(err)
}

// below selects the turns that work for turn ?1, itself included: those of the helpers its calls began, and of theirs.
const below = `WITH RECURSIVE below (id, thread) AS (
		SELECT id, thread FROM turns WHERE id = ?1
		UNION
		SELECT u.id, u.thread FROM below b
			CROSS JOIN tool_calls c ON c.thread = b.thread AND c.turn = b.id
			CROSS JOIN threads t ON t.parent_call = c.id
			CROSS JOIN turns u ON u.thread = t.id
	) `

// Waits implements agent.WaitingStore.
func (s *Store) Waits(ctx context.Context, turn agent.ID) (bool, error) {
	var waits bool
	err := fixed(s.reader, below+`SELECT EXISTS (SELECT 1 FROM turns JOIN below USING (id) WHERE turns.state = 'waiting')`, turn).Scan(ctx, &waits)
	return waits, s.translate(err)
}

// Helped implements agent.WaitingStore.
func (s *Store) Helped(ctx context.Context, turn agent.ID) (agent.Usage, error) {
	var row struct {
		Input  int   `bun:"input"`
		Output int   `bun:"output"`
		Cost   int64 `bun:"cost"`
	}
	err := fixed(s.reader, below+`SELECT coalesce(sum(u.input_tokens), 0) AS input, coalesce(sum(u.output_tokens), 0) AS output, coalesce(sum(u.cost), 0) AS cost
		FROM turns u JOIN below b ON b.id = u.id WHERE u.id <> ?1`, turn).Scan(ctx, &row)
	return agent.Usage{Input: row.Input, Output: row.Output, Cost: agent.MicroDollars(row.Cost)}, s.translate(err)
}
