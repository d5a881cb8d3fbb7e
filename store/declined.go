package store

import (
	"context"
	"encoding/hex"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/memory"
)

// insertDeclined keeps the hashes of what the person said no to.
func (s *Store) insertDeclined(ctx context.Context, tx bun.IDB, d memory.Declined) error {
	at := micros(now())
	for i, text := range append([]string{d.Statement}, d.Pairs...) {
		_, err := fixed(tx, `INSERT OR IGNORE INTO declined (proposal, hash, statement, created) VALUES (?1, ?2, ?3, ?4)`,
			d.Proposal, s.keyedHere(text), i == 0, at).Exec(ctx)
		if err != nil {
			return err
		}
	}
	return nil
}

// Declined implements memory.Records.
func (s *Store) Declined(ctx context.Context, statement string, pairs []string) ([]memory.Grave, error) {
	whole := s.keyedHere(statement)
	asked := []string{hex.EncodeToString(whole)}
	for _, p := range pairs {
		asked = append(asked, hex.EncodeToString(s.keyedHere(p)))
	}
	list, err := toJSON(asked)
	if err != nil {
		return nil, s.translate(err)
	}
	var rows []struct {
		Proposal  agent.ID
		Statement bool
		Hits      int
		Total     int
	}
	err = fixed(s.reader, `SELECT d.proposal, max(d.statement AND d.hash = ?2) AS statement, sum(NOT d.statement) AS hits,
			(SELECT count(*) FROM declined a WHERE a.proposal = d.proposal AND NOT a.statement) AS total
		FROM (SELECT DISTINCT unhex(value) AS hash FROM json_each(?1)) q JOIN declined d ON d.hash = q.hash
		GROUP BY d.proposal`, list, whole).Scan(ctx, &rows)
	if err != nil {
		return nil, s.translate(err)
	}
	graves := make([]memory.Grave, len(rows))
	for i, row := range rows {
		graves[i] = memory.Grave{ID: row.Proposal, Statement: row.Statement, Pairs: row.Hits, Of: row.Total}
	}
	return graves, nil
}
