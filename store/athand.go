package store

import (
	"context"
	"time"

	"ash/agent"
)

// AtHand is a conversation that rests, in short.
type AtHand struct {
	Thread agent.ID
	Title  string // "" where a stranger's words may have gone into it
	Text   string
	Labels agent.Labels
	Ended  time.Time
}

// LatestAtHand returns the n conversations that ended last, the newest first, without thread except, those deleted, and those whose
// summary a stranger's text went into.
func (s *Store) LatestAtHand(ctx context.Context, n int, except agent.ID) ([]AtHand, error) {
	var rows []struct {
		Thread agent.ID
		Title  string
		Text   string
		Labels string
		Ended  int64
	}
	err := fixed(s.reader, `SELECT e.thread, e.text, e.labels, e.ended,
			CASE WHEN t.title_source <> ?3 AND (EXISTS (SELECT 1 FROM messages m WHERE m.thread = e.thread AND m.labels LIKE '%"untrusted"%')
				OR EXISTS (SELECT 1 FROM tool_calls c WHERE c.thread = e.thread AND c.labels LIKE '%"untrusted"%')) THEN '' ELSE t.title END AS title
		FROM episodes e JOIN threads t ON t.id = e.thread AND t.deleted = 0
		WHERE e.thread <> ?1 AND e.text <> '' AND e.labels NOT LIKE '%"untrusted"%' ORDER BY e.ended DESC LIMIT ?2`,
		except, max(n, 0), agent.TitlePerson).Scan(ctx, &rows)
	if err != nil {
		return nil, s.translate(err)
	}
	list := make([]AtHand, len(rows))
	for i, r := range rows {
		list[i] = AtHand{Thread: r.Thread, Title: r.Title, Text: r.Text, Ended: fromMicros(r.Ended)}
		if list[i].Labels, err = decodeLabels(r.Labels); err != nil {
			return nil, s.translate(err)
		}
	}
	return list, nil
}
