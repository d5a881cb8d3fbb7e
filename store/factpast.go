package store

import (
	"context"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/memory"
)

var _ memory.History = (*Store)(nil)

// mostOvertaken bounds the facts that one recall is compared with: the newest count.
const mostOvertaken = 500

// Overtaken implements memory.History.
func (s *Store) Overtaken(ctx context.Context, p memory.Past) ([]memory.Overtaken, error) {
	var out []memory.Overtaken
	err := s.read(ctx, func(ctx context.Context, tx bun.IDB) error {
		given, err := givenOvertaken(ctx, tx, p.Messages)
		if err != nil {
			return err
		}
		rows, err := overtakenRows(ctx, tx, p, given)
		if err != nil || len(rows) == 0 {
			return err
		}
		facts := make([]factRow, len(rows))
		for i, row := range rows {
			facts[i] = row.factRow
		}
		list, err := completeFacts(ctx, tx, facts)
		if err != nil {
			return err
		}
		for i, f := range list {
			out = append(out, memory.Overtaken{Fact: f, Now: rows[i].Now, Given: given[f.ID]})
		}
		return nil
	})
	return out, err
}

// givenOvertaken returns the replies among messages that were given facts which hold no longer, by those facts.
func givenOvertaken(ctx context.Context, tx bun.IDB, messages []agent.ID) (map[agent.ID][]agent.ID, error) {
	asked, err := toJSON(messages)
	if err != nil {
		return nil, err
	}
	var rows []struct{ Message, Ref agent.ID }
	err = fixed(tx, `SELECT r.message, r.ref FROM receipts r JOIN facts f ON f.id = r.ref AND f.status <> 'current'
		WHERE r.kind = 'fact' AND r.message IN (SELECT value FROM json_each(?1))`, asked).Scan(ctx, &rows)
	given := map[agent.ID][]agent.ID{}
	for _, row := range rows {
		given[row.Ref] = append(given[row.Ref], row.Message)
	}
	return given, err
}

type overtakenRow struct {
	factRow
	Now string `bun:"now"`
}

func overtakenRows(ctx context.Context, tx bun.IDB, p memory.Past, given map[agent.ID][]agent.ID) ([]overtakenRow, error) {
	also := make([]agent.ID, 0, len(given))
	for id := range given {
		also = append(also, id)
	}
	var asked [4]string
	for i, list := range [][]agent.ID{p.Facts, p.Messages, p.Threads, also} {
		var err error
		if asked[i], err = toJSON(list); err != nil {
			return nil, err
		}
	}
	var rows []overtakenRow
	// A line of facts ends in the one that has no successor; one that was forgotten since is nobody's successor.
	err := fixed(tx, `WITH RECURSIVE led (id) AS (
			SELECT value FROM json_each(?1)
			UNION SELECT f.id FROM led JOIN facts f ON f.successor = led.id
		), past (id) AS (
			SELECT id FROM led
			UNION SELECT id FROM facts WHERE message IN (SELECT value FROM json_each(?2))
			UNION SELECT id FROM facts WHERE thread IN (SELECT value FROM json_each(?3)) AND status <> 'current'
			UNION SELECT value FROM json_each(?4)
		) SELECT f.*, ifnull((WITH RECURSIVE line (id, next, n) AS (
				SELECT f.id, f.successor, 0
				UNION ALL SELECT s.id, s.successor, n + 1 FROM line JOIN facts s ON s.id = line.next WHERE n < 100
			) SELECT l.text FROM line JOIN facts l ON l.id = line.id WHERE n > 0 ORDER BY n DESC LIMIT 1), '') AS now
		FROM past JOIN facts f ON f.id = past.id
		WHERE f.status = 'superseded' OR f.status = 'retired' AND f.expires = 0
		ORDER BY f.seq DESC LIMIT ?5`, asked[0], asked[1], asked[2], asked[3], mostOvertaken).Scan(ctx, &rows)
	return rows, err
}
