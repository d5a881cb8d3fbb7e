package store

import (
	"context"
	"encoding/base64"
	"fmt"

	"ash/agent"
)

// maxPage bounds a page of the thread list.
const maxPage = 200

// listedRow is a thread with what the list shows beside it.
type listedRow struct {
	threadRow
	Snippet string `bun:"snippet"`
	Running bool   `bun:"running"`
	Waiting int    `bun:"waiting"`
}

// What a list shows of a thread, and where it is from. A head that has no text yet (an open reply)
// shows what it answers.
const (
	listed = `t.*, coalesce(nullif(h.preview, ''), p.preview, '') AS snippet,
		EXISTS (SELECT 1 FROM turns WHERE thread = t.id AND ` + active + ` AND state <> 'waiting') AS running,
		(SELECT count(*) FROM tool_calls WHERE thread = t.id AND ` + unended + ` AND state = 'waiting') AS waiting`
	listedFrom = `threads AS t LEFT JOIN messages AS h ON h.id = t.head LEFT JOIN messages AS p ON p.id = h.parent`
)

func fromListed(r listedRow) (agent.ThreadSummary, error) {
	t, err := fromThread(r.threadRow)
	return agent.ThreadSummary{Thread: t, Snippet: r.Snippet, Running: r.Running, Waiting: r.Waiting}, err
}

// Summary implements agent.ThreadStore.
func (s *Store) Summary(ctx context.Context, id agent.ID) (agent.ThreadSummary, error) {
	var row listedRow
	if err := fixed(s.reader, `SELECT `+listed+` FROM `+listedFrom+` WHERE t.id = ?1`, id).Scan(ctx, &row); err != nil {
		return agent.ThreadSummary{}, s.translate(err)
	}
	sum, err := fromListed(row)
	return sum, s.translate(err)
}

// Threads implements agent.Reader. Threads of sub-agents are not listed. A page costs the same wherever
// it lies. CodeInvalid for a cursor that Threads did not give out; next is "" on the last page.
func (s *Store) Threads(ctx context.Context, f agent.ThreadFilter) ([]agent.ThreadSummary, string, error) {
	limit := int64(min(max(f.Limit, 1), maxPage))
	kind := "t.archived = 0"
	if f.Archived {
		kind = "t.archived <> 0"
	}
	q := s.reader.NewSelect().TableExpr(listedFrom).ColumnExpr(listed).Where("t.deleted = 0 AND " + kind + " AND t.parent_call IS NULL").
		OrderExpr("t.pinned DESC, t.updated DESC, t.seq DESC").Limit(limit + 1)
	if f.After != "" {
		after, err := parseCursor(f.After)
		if err != nil {
			return nil, "", err
		}
		q = q.Where("(t.pinned, t.updated, t.seq) < (?, ?, ?)", after.pinned, after.updated, after.seq)
	}
	var rows []listedRow
	if err := q.Scan(ctx, &rows); err != nil {
		return nil, "", s.translate(err)
	}
	next := ""
	if int64(len(rows)) > limit {
		rows = rows[:limit]
		last := rows[limit-1]
		next = cursor{last.Pinned, last.Updated, last.Seq}.String()
	}
	page := make([]agent.ThreadSummary, len(rows))
	for i, row := range rows {
		sum, err := fromListed(row)
		if err != nil {
			return nil, "", s.translate(err)
		}
		page[i] = sum
	}
	return page, next, nil
}

// cursor is the place of a thread in the list.
type cursor struct {
	pinned  bool
	updated int64
	seq     int64
}

func (c cursor) String() string {
	pinned := 0
	if c.pinned {
		pinned = 1
	}
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d.%d.%d", pinned, c.updated, c.seq))
}

func parseCursor(s string) (cursor, error) {
	var (
		c      cursor
		pinned int
	)
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		_, err = fmt.Sscanf(string(raw), "%d.%d.%d", &pinned, &c.updated, &c.seq)
	}
	if err != nil {
		return c, agent.Wrap(agent.CodeInvalid, err, "This page of the list does not exist. Go back to its beginning.")
	}
	c.pinned = pinned != 0
	return c, nil
}
