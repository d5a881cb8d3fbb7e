package store

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"ash/agent"
)

// Facts implements memory.Facts. A page costs the same wherever it lies. CodeInvalid for a cursor that Facts did not give out.
func (s *Store) Facts(ctx context.Context, f agent.FactFilter) ([]agent.Fact, string, error) {
	limit := min(max(f.Limit, 1), maxPage)
	var rows []factRow
	q := s.reader.NewSelect().Model(&rows).OrderExpr("f.said DESC, f.seq DESC").Limit(int64(limit + 1))
	q = factsWhere(q, f)
	if f.After != "" {
		at, err := parsePlace(f.After)
		if err != nil {
			return nil, "", err
		}
		q = q.Where("(f.said, f.seq) < (?, ?)", at.order, at.seq)
	}
	if err := q.Scan(ctx); err != nil {
		return nil, "", s.translate(err)
	}
	next := ""
	if len(rows) > limit {
		rows = rows[:limit]
		next = listPlace{rows[limit-1].Said, rows[limit-1].Seq}.String()
	}
	page, err := completeFacts(ctx, s.reader, rows)
	return page, next, s.translate(err)
}

func factsWhere(q *bun.SelectQuery, f agent.FactFilter) *bun.SelectQuery {
	if f.Entity != "" {
		q = q.Where("f.id IN (SELECT fact FROM fact_entities WHERE entity = ?)", f.Entity)
	}
	switch len(f.Statuses) {
	case 0:
	case 1:
		q = q.Where("f.status = ?", f.Statuses[0])
	default:
		q = q.Where("f.status IN (?)", bun.List(f.Statuses))
	}
	switch len(f.Kinds) {
	case 0:
	case 1:
		q = q.Where("f.kind = ?", f.Kinds[0])
	default:
		q = q.Where("f.kind IN (?)", bun.List(f.Kinds))
	}
	for _, one := range []struct{ column, value string }{
		{"owner", string(f.Owner)}, {"source", string(f.Source)}, {"thread", string(f.Thread)}, {"message", string(f.Message)},
		{"note", clean(f.Note)}, {"run", string(f.Run)},
	} {
		if one.value != "" {
			q = q.Where("f.? = ?", bun.Ident(one.column), one.value)
		}
	}
	if f.Pinned {
		q = q.Where("f.pinned = 1")
	}
	if !f.From.IsZero() {
		q = q.Where("f.said >= ?", micros(f.From))
	}
	if !f.To.IsZero() {
		q = q.Where("f.said < ?", micros(f.To))
	}
	return q
}

// listPlace is where a row stands in a list that is ordered by a number, then by seq.
type listPlace struct{ order, seq int64 }

func (p listPlace) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d.%d", p.order, p.seq))
}

func parsePlace(s string) (listPlace, error) {
	var p listPlace
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		_, err = fmt.Sscanf(string(raw), "%d.%d", &p.order, &p.seq)
	}
	if err != nil {
		return p, agent.Wrap(agent.CodeInvalid, err, "This page of the list does not exist. Go back to its beginning.")
	}
	return p, nil
}

// MemoryTotals counts what is remembered. It reads every fact: a page asks for it once, not with every change.
func (s *Store) MemoryTotals(ctx context.Context, owner agent.ID) (agent.MemoryTotals, error) {
	var t agent.MemoryTotals
	err := fixed(s.reader, `SELECT
			count(*) FILTER (WHERE status = 'current') AS current,
			count(*) FILTER (WHERE status = 'superseded') AS superseded,
			count(*) FILTER (WHERE status = 'retired') AS retired,
			count(*) FILTER (WHERE status = 'current' AND kind = 'core') AS core,
			count(*) FILTER (WHERE status = 'current' AND kind = 'fact') AS plain,
			count(*) FILTER (WHERE status = 'current' AND kind = 'pattern') AS patterns,
			count(*) FILTER (WHERE status = 'current' AND pinned = 1) AS pinned,
			count(*) FILTER (WHERE status = 'current' AND labels LIKE '%"untrusted"%') AS untrusted,
			coalesce(sum(octet_length(text)), 0) AS bytes,
			(SELECT count(*) FROM entities WHERE owner = ?1) AS entities,
			(SELECT count(*) FROM episodes) AS episodes,
			(SELECT count(*) FROM proposals) AS proposals,
			(SELECT count(*) FROM tombstones) AS tombstones
		FROM facts WHERE owner = ?1`, owner).Scan(ctx, &t)
	return t, s.translate(err)
}

// MemoryDays returns what each day from a time on added and ended, days without either left out, the oldest first.
func (s *Store) MemoryDays(ctx context.Context, owner agent.ID, from time.Time) ([]agent.MemoryDay, error) {
	const day = int64(24 * time.Hour / time.Microsecond)
	var rows []struct {
		Day            int64
		Learned, Ended int
	}
	err := fixed(s.reader, `SELECT day, sum(learned) AS learned, sum(ended) AS ended FROM (
			SELECT created / ?3 AS day, 1 AS learned, 0 AS ended FROM facts WHERE owner = ?1 AND created >= ?2
			UNION ALL
			SELECT updated / ?3, 0, 1 FROM facts WHERE owner = ?1 AND updated >= ?2 AND status <> 'current'
		) GROUP BY day ORDER BY day`, owner, micros(from), day).Scan(ctx, &rows)
	if err != nil {
		return nil, s.translate(err)
	}
	list := make([]agent.MemoryDay, len(rows))
	for i, row := range rows {
		list[i] = agent.MemoryDay{Day: time.UnixMicro(row.Day * day).UTC(), Learned: row.Learned, Ended: row.Ended}
	}
	return list, nil
}
