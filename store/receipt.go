package store

import (
	"context"

	"github.com/uptrace/bun"

	"ash/agent"
)

type receiptRow struct {
	bun.BaseModel `bun:"table:receipts,alias:r"`

	Message agent.ID         `bun:"message"`
	N       int              `bun:"n"`
	Kind    agent.MemoryKind `bun:"kind"`
	Ref     string           `bun:"ref"`
	Score   float64          `bun:"score"`
	Why     string           `bun:"why"` // a JSON list
}

// SaveReceipt stores which memories a reply was given, in order: references, never their text. It replaces
// what was stored of the reply before. CodeNotFound for a reply that does not exist.
func (s *Store) SaveReceipt(ctx context.Context, message agent.ID, items []agent.Recollection) error {
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error { return saveReceipt(ctx, tx, message, items) })
}

// saveReceipt does SaveReceipt in a transaction that is under way, such as the one that opens the reply.
func saveReceipt(ctx context.Context, tx bun.IDB, message agent.ID, items []agent.Recollection) error {
	if _, err := fixed(tx, `DELETE FROM receipts WHERE message = ?1`, message).Exec(ctx); err != nil {
		return err
	}
	for i, item := range items {
		why, err := toJSON(item.Why)
		if err != nil {
			return err
		}
		row := receiptRow{Message: message, N: i, Kind: item.Kind, Ref: clean(item.Ref), Score: item.Score, Why: clean(why)}
		if err := insertRow(ctx, tx, &row); err != nil {
			return err
		}
	}
	return nil
}

// Receipt returns the memories a reply was given, in order, with Kind, Ref, Score and Why. What they say now is
// for the caller to look up: a fact may have been corrected or forgotten since.
func (s *Store) Receipt(ctx context.Context, message agent.ID) ([]agent.Recollection, error) {
	var rows []receiptRow
	if err := fixed(s.reader, `SELECT * FROM receipts WHERE message = ?1 ORDER BY n`, message).Scan(ctx, &rows); err != nil {
		return nil, s.translate(err)
	}
	list := make([]agent.Recollection, len(rows))
	for i, row := range rows {
		item, err := fromReceipt(row)
		if err != nil {
			return nil, s.translate(err)
		}
		list[i] = item
	}
	return list, nil
}

// receiptsOf fills what replies were given, as references: pages say so beside them.
func receiptsOf(ctx context.Context, db bun.IDB, list []agent.Message) error {
	at := map[agent.ID]int{}
	var ids []agent.ID
	for i, m := range list {
		if m.Role == agent.RoleAssistant {
			at[m.ID] = i
			ids = append(ids, m.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	asked, err := toJSON(ids)
	if err != nil {
		return err
	}
	var rows []receiptRow
	err = fixed(db, `SELECT r.* FROM json_each(?1) j CROSS JOIN receipts r ON r.message = j.value ORDER BY r.message, r.n`, asked).Scan(ctx, &rows)
	if err != nil {
		return err
	}
	for _, row := range rows {
		item, err := fromReceipt(row)
		if err != nil {
			return err
		}
		m := &list[at[row.Message]]
		m.Recalled = append(m.Recalled, item)
	}
	return nil
}

func fromReceipt(row receiptRow) (agent.Recollection, error) {
	r := agent.Recollection{Kind: row.Kind, Ref: row.Ref, Score: row.Score}
	return r, fromJSON(row.Why, &r.Why)
}

// UsedIn returns the replies that were given a memory, the newest first, at most limit.
func (s *Store) UsedIn(ctx context.Context, kind agent.MemoryKind, ref string, limit int) ([]agent.ID, error) {
	var ids []agent.ID
	err := fixed(s.reader, `SELECT m.id FROM receipts r JOIN messages m ON m.id = r.message WHERE r.ref = ?1 AND r.kind = ?2
		ORDER BY m.seq DESC LIMIT ?3`, clean(ref), kind, max(limit, 1)).Scan(ctx, &ids)
	return ids, s.translate(err)
}
