package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/memory"
)

type factRow struct {
	bun.BaseModel `bun:"table:facts,alias:f"`

	Seq        int64            `bun:"seq,pk,autoincrement"`
	ID         agent.ID         `bun:"id"`
	Kind       agent.FactKind   `bun:"kind"`
	Status     agent.FactStatus `bun:"status"`
	Owner      agent.ID         `bun:"owner"`
	Subject    string           `bun:"subject"`
	Confidence float64          `bun:"confidence"`
	Importance float64          `bun:"importance"`
	Said       int64            `bun:"said"`
	TrueFrom   int64            `bun:"true_from"`
	TrueUntil  int64            `bun:"true_until"`
	Expires    int64            `bun:"expires"`
	Pinned     bool             `bun:"pinned"`
	Successor  agent.ID         `bun:"successor,nullzero"`
	Source     agent.SourceKind `bun:"source"`
	Thread     agent.ID         `bun:"thread,nullzero"`
	Message    agent.ID         `bun:"message,nullzero"`
	Note       string           `bun:"note"`
	Run        agent.ID         `bun:"run,nullzero"`
	Created    int64            `bun:"created"`
	Updated    int64            `bun:"updated"`
	Via        string           `bun:"via"`
	Labels     string           `bun:"labels"`
	Fold       string           `bun:"fold"`
	Quote      string           `bun:"quote"`
	Text       string           `bun:"text"`
}

// factColumns are those that a change may set: all but seq, id, owner and created.
var factColumns = [...]string{
	"kind", "status", "subject", "confidence", "importance", "said", "true_from", "true_until", "expires", "pinned", "successor",
	"source", "thread", "message", "note", "run", "via", "updated", "labels", "fold", "quote", "text",
}

func toFact(f agent.Fact) (factRow, error) {
	labels, err := encodeLabels(f.Labels)
	text := clean(f.Text)
	return factRow{
		ID: f.ID, Kind: f.Kind, Status: f.Status, Owner: f.Owner, Subject: clean(f.Subject),
		Confidence: f.Confidence, Importance: f.Importance, Said: micros(f.Said), TrueFrom: micros(f.From), TrueUntil: micros(f.Until),
		Expires: micros(f.Expires), Pinned: f.Pinned, Successor: f.Successor, Source: f.Source.Kind,
		Thread: f.Source.Thread, Message: f.Source.Message, Note: clean(f.Source.Note), Run: f.Source.Run, Via: clean(f.Source.Via),
		Created: micros(f.Created), Updated: micros(f.Updated), Labels: labels, Fold: memory.Fingerprint(text),
		Quote: clean(f.Source.Quote), Text: text,
	}, err
}

func fromFact(r factRow) (agent.Fact, error) {
	labels, err := decodeLabels(r.Labels)
	return agent.Fact{
		ID: r.ID, Kind: r.Kind, Status: r.Status, Text: r.Text, Owner: r.Owner, Subject: r.Subject,
		Confidence: r.Confidence, Importance: r.Importance, Said: fromMicros(r.Said), From: fromMicros(r.TrueFrom),
		Until: fromMicros(r.TrueUntil), Expires: fromMicros(r.Expires), Pinned: r.Pinned, Successor: r.Successor,
		Source: agent.Provenance{Kind: r.Source, Thread: r.Thread, Message: r.Message, Note: r.Note, Quote: r.Quote, Run: r.Run, Via: r.Via},
		Labels: labels, Created: fromMicros(r.Created), Updated: fromMicros(r.Updated),
	}, err
}

// Fact implements memory.Facts.
func (s *Store) Fact(ctx context.Context, id agent.ID) (agent.Fact, error) {
	f, err := factByID(ctx, s.reader, id)
	return f, s.translate(err)
}

func factByID(ctx context.Context, db bun.IDB, id agent.ID) (agent.Fact, error) {
	var row factRow
	if err := fixed(db, `SELECT * FROM facts WHERE id = ?1`, id).Scan(ctx, &row); err != nil {
		return agent.Fact{}, err
	}
	list, err := completeFacts(ctx, db, []factRow{row})
	if err != nil {
		return agent.Fact{}, err
	}
	return list[0], nil
}

// completeFacts turns rows into facts with their entities and predecessors, in two queries.
func completeFacts(ctx context.Context, db bun.IDB, rows []factRow) ([]agent.Fact, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	ids := make([]agent.ID, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	entities, err := entitiesOf(ctx, db, ids)
	if err != nil {
		return nil, err
	}
	asked, err := toJSON(ids)
	if err != nil {
		return nil, err
	}
	var earlier []struct{ ID, Successor agent.ID }
	err = fixed(db, `SELECT id, successor FROM facts WHERE successor IN (SELECT value FROM json_each(?1)) ORDER BY seq`, asked).Scan(ctx, &earlier)
	if err != nil {
		return nil, err
	}
	list := make([]agent.Fact, len(rows))
	at := make(map[agent.ID]*agent.Fact, len(rows))
	for i, row := range rows {
		if list[i], err = fromFact(row); err != nil {
			return nil, err
		}
		list[i].Entities = entities[row.ID]
		at[row.ID] = &list[i]
	}
	for _, e := range earlier {
		at[e.Successor].Supersedes = append(at[e.Successor].Supersedes, e.ID)
	}
	return list, nil
}

// FactChain implements memory.Facts. A chain is short; one that closes into a ring ends.
func (s *Store) FactChain(ctx context.Context, id agent.ID) ([]agent.Fact, error) {
	var chain []agent.Fact
	err := s.read(ctx, func(ctx context.Context, tx bun.IDB) error {
		rows, err := chainRows(ctx, tx, id)
		if err == nil && len(rows) == 0 {
			err = errGone()
		}
		if err != nil {
			return err
		}
		chain, err = completeFacts(ctx, tx, rows)
		return err
	})
	return chain, err
}

// chainQuery follows a chain both ways from ?1. The cross joins keep SQLite from going through all facts for each link.
const chainQuery = `WITH RECURSIVE chain (id) AS (
		SELECT id FROM facts WHERE id = ?1
		UNION SELECT f.id FROM chain CROSS JOIN facts f ON f.successor = chain.id
		UNION SELECT f.successor FROM chain CROSS JOIN facts f ON f.id = chain.id WHERE f.successor IS NOT NULL
	) SELECT f.* FROM chain CROSS JOIN facts f ON f.id = chain.id ORDER BY f.said, f.seq`

func chainRows(ctx context.Context, db bun.IDB, id agent.ID) ([]factRow, error) {
	var rows []factRow
	err := fixed(db, chainQuery, id).Scan(ctx, &rows)
	return rows, err
}

// SameFacts implements memory.Facts.
func (s *Store) SameFacts(ctx context.Context, owner agent.ID, fingerprint string) ([]agent.Fact, error) {
	var rows []factRow
	err := fixed(s.reader, `SELECT * FROM facts WHERE fold = ?1 AND owner = ?2 ORDER BY status <> 'current', seq DESC`, fingerprint, owner).Scan(ctx, &rows)
	if err != nil {
		return nil, s.translate(err)
	}
	list, err := completeFacts(ctx, s.reader, rows)
	return list, s.translate(err)
}

// Expired implements memory.Facts.
func (s *Store) Expired(ctx context.Context, at time.Time, limit int) ([]agent.Fact, error) {
	var rows []factRow
	err := fixed(s.reader, `SELECT * FROM facts WHERE expires <> 0 AND status = 'current' AND expires <= ?1 ORDER BY expires LIMIT ?2`,
		micros(at), max(limit, 1)).Scan(ctx, &rows)
	if err != nil {
		return nil, s.translate(err)
	}
	list, err := completeFacts(ctx, s.reader, rows)
	return list, s.translate(err)
}
