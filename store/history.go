package store

import (
	"context"
	"math"
	"slices"

	"github.com/uptrace/bun"

	"ash/agent"
)

// Path implements agent.HistoryStore. A limit below 1 means no limit; head "" is the empty path.
func (s *Store) Path(ctx context.Context, head agent.ID, limit int) ([]agent.Message, error) {
	if head == "" {
		return nil, nil
	}
	if limit < 1 {
		limit = math.MaxInt32
	}
	var path []agent.Message
	err := s.read(ctx, func(ctx context.Context, tx bun.IDB) error {
		rows, err := pathRows(ctx, tx, head, limit)
		if err == nil && len(rows) == 0 {
			err = errGone()
		}
		if err != nil {
			return err
		}
		path, err = complete(ctx, tx, rows)
		return err
	})
	return path, err
}

// pathRows walks from a message towards the root, at most limit steps, and returns what it
// met oldest first. Each step is one look into the index of ids.
func pathRows(ctx context.Context, db bun.IDB, from agent.ID, limit int) ([]messageRow, error) {
	var rows []messageRow
	err := fixed(db, `WITH RECURSIVE path (seq, parent, depth) AS (
			SELECT seq, parent, 1 FROM messages WHERE id = ?1
			UNION ALL SELECT m.seq, m.parent, depth + 1 FROM path JOIN messages m ON m.id = path.parent WHERE depth < ?2
		) SELECT m.* FROM path CROSS JOIN messages m ON m.seq = path.seq ORDER BY depth`, from, limit).Scan(ctx, &rows)
	slices.Reverse(rows)
	return rows, err
}

// Window implements agent.Reader. A limit below 1 is taken as 1.
func (s *Store) Window(ctx context.Context, thread, before agent.ID, limit int) ([]agent.Node, bool, error) {
	var (
		nodes   []agent.Node
		earlier bool
	)
	limit = max(limit, 1)
	err := s.read(ctx, func(ctx context.Context, tx bun.IDB) error {
		end, err := windowEnd(ctx, tx, thread, before)
		if err != nil {
			return err
		}
		// One more than asked for tells whether there are earlier ones.
		rows, err := pathRows(ctx, tx, end, limit+1)
		if err != nil {
			return err
		}
		if earlier = len(rows) > limit; earlier {
			rows = rows[1:]
		}
		if before == "" {
			var queued []messageRow
			err := tx.NewSelect().Model(&queued).Where("thread = ? AND state = 'queued'", thread).Order("seq").Scan(ctx)
			if err != nil {
				return err
			}
			rows = append(rows, queued...)
		}
		nodes, err = toNodes(ctx, tx, rows)
		return err
	})
	return nodes, earlier, err
}

// windowEnd returns the last message of a window: the thread's head, or the one above before.
func windowEnd(ctx context.Context, db bun.IDB, thread, before agent.ID) (agent.ID, error) {
	var end agent.ID
	if before == "" {
		err := db.NewSelect().Model((*threadRow)(nil)).Column("head").Where("id = ?", thread).Scan(ctx, &end)
		return end, err
	}
	err := db.NewSelect().Model((*messageRow)(nil)).Column("parent").
		Where("id = ? AND thread = ?", before, thread).Scan(ctx, &end)
	return end, err
}

// Following returns the message n steps after message on the way to the head of its thread, "" when
// the conversation ends before. onPath is false when the way does not lead over message: it is in
// another variant, waits in the queue, or is of another thread. Cost grows with how far back message stands.
func (s *Store) Following(ctx context.Context, thread, message agent.ID, n int) (following agent.ID, onPath bool, err error) {
	var steps []struct {
		ID    agent.ID
		Depth int
	}
	err = s.reader.NewRaw(`WITH RECURSIVE path (id, parent, depth) AS (
			SELECT m.id, m.parent, 1 FROM threads t JOIN messages m ON m.id = t.head WHERE t.id = ?0
			UNION ALL SELECT m.id, m.parent, depth + 1 FROM path JOIN messages m ON m.id = path.parent WHERE path.id <> ?1
		), hit AS (SELECT depth FROM path WHERE id = ?1)
		SELECT id, depth FROM path WHERE depth IN (SELECT depth FROM hit UNION ALL SELECT depth - ?2 FROM hit) ORDER BY depth`,
		thread, message, n).Scan(ctx, &steps)
	if err != nil || len(steps) == 0 {
		return "", false, s.translate(err)
	}
	if len(steps) == 2 {
		following = steps[0].ID
	}
	return following, true, nil
}

// Node implements agent.Reader.
func (s *Store) Node(ctx context.Context, message agent.ID) (agent.Node, error) {
	var node agent.Node
	err := s.read(ctx, func(ctx context.Context, tx bun.IDB) error {
		var row messageRow
		if err := fixed(tx, `SELECT * FROM messages WHERE id = ?1`, message).Scan(ctx, &row); err != nil {
			return err
		}
		nodes, err := toNodes(ctx, tx, []messageRow{row})
		if err == nil {
			node = nodes[0]
		}
		return err
	})
	return node, err
}

type siblingRow struct {
	ID       agent.ID
	Siblings int
	Position int
	Previous agent.ID
	Next     agent.ID
}

// toNodes places messages among their siblings, all of them in one query.
func toNodes(ctx context.Context, db bun.IDB, rows []messageRow) ([]agent.Node, error) {
	list, err := complete(ctx, db, rows)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	if err := receiptsOf(ctx, db, list); err != nil {
		return nil, err
	}
	var ids []agent.ID
	for _, m := range list {
		if m.State != agent.MessageQueued {
			ids = append(ids, m.ID)
		}
	}
	places := map[agent.ID]siblingRow{}
	if len(ids) > 0 {
		const sibling = `FROM messages s WHERE s.parent IS m.parent AND s.thread = m.thread AND s.state <> 'queued'`
		asked, err := toJSON(ids)
		if err != nil {
			return nil, err
		}
		var found []siblingRow
		err = fixed(db, `SELECT m.id,
				(SELECT count(*) `+sibling+`) AS siblings,
				(SELECT count(*) `+sibling+` AND s.seq <= m.seq) AS position,
				(SELECT s.id `+sibling+` AND s.seq < m.seq ORDER BY s.seq DESC LIMIT 1) AS previous,
				(SELECT s.id `+sibling+` AND s.seq > m.seq ORDER BY s.seq LIMIT 1) AS next
			FROM messages m WHERE m.id IN (SELECT value FROM json_each(?1))`, asked).Scan(ctx, &found)
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			places[p.ID] = p
		}
	}
	nodes := make([]agent.Node, len(list))
	for i, m := range list {
		nodes[i] = agent.Node{Message: m, Index: 1, Siblings: 1} // a queued one has no place yet
		if p, ok := places[m.ID]; ok {
			nodes[i] = agent.Node{Message: m, Index: p.Position, Siblings: p.Siblings, Previous: p.Previous, Next: p.Next}
		}
	}
	return nodes, nil
}
