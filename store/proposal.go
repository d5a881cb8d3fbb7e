package store

import (
	"context"

	"github.com/uptrace/bun"

	"ash/agent"
)

type proposalRow struct {
	bun.BaseModel `bun:"table:proposals,alias:p"`

	Seq     int64                `bun:"seq,pk,autoincrement"`
	ID      agent.ID             `bun:"id"`
	Run     agent.ID             `bun:"run,nullzero"`
	Action  agent.ProposalAction `bun:"action"`
	Thread  agent.ID             `bun:"thread,nullzero"`
	Message agent.ID             `bun:"message,nullzero"`
	Created int64                `bun:"created"`
	Why     string               `bun:"why"`
	Fact    string               `bun:"fact"`
}

func toProposal(p agent.Proposal) (proposalRow, error) {
	fact, err := encodeFact(p.Fact)
	return proposalRow{
		ID: p.ID, Run: p.Run, Action: p.Action, Thread: p.Fact.Source.Thread, Message: p.Fact.Source.Message,
		Created: micros(orNow(p.Created)), Why: clean(p.Why), Fact: fact,
	}, err
}

func fromProposal(r proposalRow) (agent.Proposal, error) {
	f, err := decodeFact(r.Fact)
	return agent.Proposal{ID: r.ID, Run: r.Run, Action: r.Action, Fact: f, Why: r.Why, Created: fromMicros(r.Created)}, err
}

func insertProposal(ctx context.Context, tx bun.IDB, p agent.Proposal) error {
	row, err := toProposal(p)
	if err != nil {
		return err
	}
	return insertRow(ctx, tx, &row)
}

// takeProposal takes a proposal off the list. The second to do so gets CodeConflict.
func takeProposal(ctx context.Context, tx bun.IDB, id agent.ID) error {
	gone, err := fixed(tx, `DELETE FROM proposals WHERE id = ?1`, id).Exec(ctx)
	if err == nil && !touched(gone) {
		return agent.Errorf(agent.CodeConflict, "This was already decided.")
	}
	return err
}

// Proposal implements memory.Records.
func (s *Store) Proposal(ctx context.Context, id agent.ID) (agent.Proposal, error) {
	var row proposalRow
	if err := fixed(s.reader, `SELECT * FROM proposals WHERE id = ?1`, id).Scan(ctx, &row); err != nil {
		return agent.Proposal{}, s.translate(err)
	}
	p, err := fromProposal(row)
	return p, s.translate(err)
}

// Proposals implements memory.Records.
func (s *Store) Proposals(ctx context.Context, after string, limit int) ([]agent.Proposal, string, error) {
	limit = min(max(limit, 1), maxPage)
	at := listPlace{seq: 1 << 62}
	if after != "" {
		var err error
		if at, err = parsePlace(after); err != nil {
			return nil, "", err
		}
	}
	var rows []proposalRow
	if err := fixed(s.reader, `SELECT * FROM proposals WHERE seq < ?1 ORDER BY seq DESC LIMIT ?2`, at.seq, limit+1).Scan(ctx, &rows); err != nil {
		return nil, "", s.translate(err)
	}
	next := ""
	if len(rows) > limit {
		rows = rows[:limit]
		next = listPlace{0, rows[limit-1].Seq}.String()
	}
	page := make([]agent.Proposal, len(rows))
	for i, row := range rows {
		var err error
		if page[i], err = fromProposal(row); err != nil {
			return nil, "", s.translate(err)
		}
	}
	return page, next, nil
}

// ProposedBy counts, by run, what runs proposed and nobody has decided yet.
func (s *Store) ProposedBy(ctx context.Context, runs []agent.ID) (map[agent.ID]int, error) {
	if len(runs) == 0 {
		return nil, nil
	}
	asked, err := toJSON(runs)
	if err != nil {
		return nil, err
	}
	var rows []struct {
		Run   agent.ID
		Count int
	}
	err = fixed(s.reader, `SELECT run, count(*) AS count FROM proposals WHERE run IN (SELECT value FROM json_each(?1)) GROUP BY run`, asked).Scan(ctx, &rows)
	waiting := make(map[agent.ID]int, len(rows))
	for _, r := range rows {
		waiting[r.Run] = r.Count
	}
	return waiting, s.translate(err)
}

// ProposalCount returns how many proposals wait for the person.
func (s *Store) ProposalCount(ctx context.Context) (int, error) {
	var n int
	err := fixed(s.reader, `SELECT count(*) FROM proposals`).Scan(ctx, &n)
	return n, s.translate(err)
}
