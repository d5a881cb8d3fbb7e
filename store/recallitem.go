package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/memory/lexis"
	"ash/agent/memory/recall"
)

const (
	// maxRecallText bounds how much of one item is indexed and kept, in bytes.
	maxRecallText = 16 << 10
	// sitting is the pause after which a conversation counts as taken up anew.
	sitting = 3 * time.Hour
)

var _ recall.Index = (*Store)(nil)

type recallRow struct {
	bun.BaseModel `bun:"table:recall_items,alias:i"`

	Seq     int64            `bun:"seq,pk,autoincrement"`
	Kind    agent.MemoryKind `bun:"kind"`
	Ref     string           `bun:"ref"`
	Part    int              `bun:"part"`
	Thread  agent.ID         `bun:"thread,nullzero"`
	Place   int64            `bun:"place"`
	Section int64            `bun:"section"`
	Time    int64            `bun:"time"`
	Weight  float64          `bun:"weight"`
	Marks   int              `bun:"marks"`
	Words   int              `bun:"words"`
	Speaker string           `bun:"speaker"`
	Labels  string           `bun:"labels"`
	Body    string           `bun:"body"`
	Context string           `bun:"context"`
	Text    string           `bun:"text"`
}

// putItems stores items that are not there yet.
func putItems(ctx context.Context, tx bun.IDB, items []recall.Item) error {
	rows := make([]recallRow, len(items))
	for i, it := range items {
		var err error
		if rows[i], err = toRecall(it); err != nil {
			return err
		}
	}
	return insertRows(ctx, tx, rows)
}

func toRecall(it recall.Item) (recallRow, error) {
	labels, err := encodeLabels(it.Labels)
	if err != nil {
		return recallRow{}, err
	}
	text := agent.Clip(clean(it.Text), maxRecallText)
	body, words, marks := lexis.Index(text)
	lead, _, _ := lexis.Index(agent.Clip(clean(it.Lead), maxRecallText))
	return recallRow{
		Kind: it.Kind, Ref: clean(it.Ref), Part: it.Part, Thread: it.Thread, Place: it.Place, Section: it.Section,
		Time: micros(it.Time), Weight: it.Weight, Marks: int(marks), Words: words, Speaker: clean(it.Speaker),
		Labels: labels, Body: body, Context: lead, Text: text,
	}, nil
}

// Reindex implements recall.Index. Notes are not made from rows of the store: their passages stay, with their words made anew.
func (s *Store) Reindex(ctx context.Context) error {
	return s.write(ctx, reindex)
}

func reindex(ctx context.Context, tx bun.IDB) error {
	if _, err := fixed(tx, `DELETE FROM recall_items WHERE kind <> ?1`, agent.MemoryNote).Exec(ctx); err != nil {
		return err
	}
	var notes []recallRow
	if err := fixed(tx, `SELECT * FROM recall_items WHERE kind = ?1`, agent.MemoryNote).Scan(ctx, &notes); err != nil {
		return err
	}
	for _, n := range notes {
		body, words, marks := lexis.Index(n.Text)
		_, err := fixed(tx, `UPDATE recall_items SET body = ?2, words = ?3, marks = ?4 WHERE seq = ?1`,
			n.Seq, body, words, int(marks)).Exec(ctx)
		if err != nil {
			return err
		}
	}
	_, err := fixed(tx, `UPDATE recall_state SET floor = 0, words = ?1`, lexis.Version).Exec(ctx)
	return err
}

// backlog says what of each kind is not indexed.
type backlog struct {
	Messages bool `bun:"messages"`
	Facts    bool `bun:"facts"`
	Episodes bool `bun:"episodes"`
	Words    int  `bun:"words"`
}

// CatchUp implements recall.Index. With nothing to do it only reads.
func (s *Store) CatchUp(ctx context.Context, limit int) (more bool, err error) {
	var b backlog
	err = fixed(s.reader, `SELECT
		(SELECT ifnull(max(seq), 0) FROM messages) > (SELECT floor FROM recall_state) AS messages,
		(SELECT count(*) FROM facts WHERE status = 'current') <> (SELECT count(*) FROM recall_items WHERE kind = 'fact') AS facts,
		(SELECT count(*) FROM episodes) <> (SELECT count(*) FROM recall_items WHERE kind = 'episode') AS episodes,
		(SELECT words FROM recall_state) AS words WHERE ?1`, true).Scan(ctx, &b)
	if err != nil {
		return false, s.translate(err)
	}
	if b.Words != lexis.Version {
		if err := s.Reindex(ctx); err != nil {
			return false, err
		}
		return true, nil
	}
	if !b.Messages && !b.Facts && !b.Episodes {
		return false, nil
	}
	err = s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		for _, index := range []struct {
			due bool
			fn  func(context.Context, bun.IDB, int) (bool, error)
		}{{b.Messages, indexMessages}, {b.Facts, indexFacts}, {b.Episodes, indexEpisodes}} {
			if !index.due {
				continue
			}
			rest, err := index.fn(ctx, tx, limit)
			if err != nil {
				return err
			}
			more = more || rest
		}
		return nil
	})
	return more, err
}

// Settle implements recall.Index: the pieces of the full-text index become one, a little in each transaction, so that
// others can write between.
func (s *Store) Settle(ctx context.Context) error {
	const (
		pages = 256 // written in one step
		steps = 10_000
	)
	at := -pages // below zero it begins
	for range steps {
		var changes int
		err := s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
			var from, to int
			if err := fixed(tx, `SELECT total_changes() WHERE ?1`, true).Scan(ctx, &from); err != nil {
				return err
			}
			if _, err := fixed(tx, `INSERT INTO recall_fts (recall_fts, rank) VALUES ('merge', ?1)`, at).Exec(ctx); err != nil {
				return err
			}
			err := fixed(tx, `SELECT total_changes() WHERE ?1`, true).Scan(ctx, &to)
			changes = to - from
			return err
		})
		if err != nil {
			return err
		}
		if changes < 2 { // as SQLite documents it: nothing is left to merge
			return nil
		}
		at = pages
	}
	return nil
}

// factBatch is how many facts are indexed for each message: those that are not indexed are looked for among all.
const factBatch = 8

// indexFacts makes the items of current facts that have none, and takes away those of facts that are not current.
func indexFacts(ctx context.Context, tx bun.IDB, limit int) (bool, error) {
	limit *= factBatch
	var rows []struct {
		ID     agent.ID `bun:"id"`
		Thread agent.ID `bun:"thread"`
		Weight float64  `bun:"importance"`
		Said   int64    `bun:"said"`
		Labels string   `bun:"labels"`
		Text   string   `bun:"text"`
		Names  string   `bun:"names"`
	}
	err := fixed(tx, `SELECT f.id, f.importance, f.said, f.labels, f.text, f.subject || ' ' || ifnull((SELECT group_concat(e.name || ' ' ||
			ifnull((SELECT group_concat(a.alias, ' ') FROM entity_aliases a WHERE a.entity = e.id), ''), ' ')
			FROM fact_entities l JOIN entities e ON e.id = l.entity WHERE l.fact = f.id), '') AS names
		FROM facts f WHERE f.status = 'current' AND NOT EXISTS (SELECT 1 FROM recall_items i WHERE i.kind = 'fact' AND i.ref = f.id)
		ORDER BY f.seq LIMIT ?1`, limit).Scan(ctx, &rows)
	if err != nil {
		return false, err
	}
	items := make([]recall.Item, len(rows))
	for i, r := range rows {
		labels, err := decodeLabels(r.Labels)
		if err != nil {
			return false, err
		}
		items[i] = recall.Item{
			Kind: agent.MemoryFact, Ref: string(r.ID), Time: fromMicros(r.Said), Weight: r.Weight, Labels: labels, Text: r.Text, Lead: r.Names,
		}
	}
	if err := putItems(ctx, tx, items); err != nil || len(rows) == limit {
		return true, err
	}
	return false, dropFacts(ctx, tx)
}

// dropFacts takes away items of facts that are not current. Whoever changes a fact takes its item away; this is for what was missed.
func dropFacts(ctx context.Context, tx bun.IDB) error {
	var more bool
	if err := fixed(tx, `SELECT (SELECT count(*) FROM recall_items WHERE kind = 'fact') > (SELECT count(*) FROM facts WHERE status = 'current') WHERE ?1`,
		true).Scan(ctx, &more); err != nil || !more {
		return err
	}
	_, err := fixed(tx, `DELETE FROM recall_items WHERE kind = 'fact' AND ?1
		AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.id = ref AND f.status = 'current')`, true).Exec(ctx)
	return err
}

// indexEpisodes makes the items of episodes that have none. An episode is of no thread here: it is not one of its turns.
func indexEpisodes(ctx context.Context, tx bun.IDB, limit int) (bool, error) {
	if _, err := fixed(tx, `DELETE FROM recall_items WHERE kind = 'episode' AND ?1
		AND NOT EXISTS (SELECT 1 FROM episodes e WHERE e.thread = ref)`, true).Exec(ctx); err != nil {
		return false, err
	}
	var rows []struct {
		Thread agent.ID `bun:"thread"`
		Ended  int64    `bun:"ended"`
		Labels string   `bun:"labels"`
		Text   string   `bun:"text"`
	}
	err := fixed(tx, `SELECT e.thread, e.ended, e.labels, e.text FROM episodes e
		WHERE NOT EXISTS (SELECT 1 FROM recall_items i WHERE i.kind = 'episode' AND i.ref = e.thread)
		ORDER BY e.ended LIMIT ?1`, limit).Scan(ctx, &rows)
	if err != nil {
		return false, err
	}
	items := make([]recall.Item, len(rows))
	for i, r := range rows {
		labels, err := decodeLabels(r.Labels)
		if err != nil {
			return false, err
		}
		items[i] = recall.Item{Kind: agent.MemoryEpisode, Ref: string(r.Thread), Time: fromMicros(r.Ended), Weight: 0.5, Labels: labels, Text: r.Text}
	}
	return len(rows) == limit, putItems(ctx, tx, items)
}
