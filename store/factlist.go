package store

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"ash/agent"
)

// Facts implements memory.Facts. A page costs the same wherever it lies. CodeInvalid for a cursor that Facts did not give out.
func (s *Store) Facts(ctx context.Context, f agent.FactFilter) ([]agent.Fact, string, error) {
	limit := min(max(f.Limit, 1), maxPage)
	var at listPlace
	if f.After != "" {
		var err error
		if at, err = parsePlace(f.After); err != nil {
			return nil, "", err
		}
	}
	// The indexes have the order of the list within a status: each is read in its order, then they are put together.
	statuses := f.Statuses
	if len(statuses) == 0 {
		statuses = []agent.FactStatus{agent.FactCurrent, agent.FactSuperseded, agent.FactRetired}
	}
	order, err := s.orderOf(ctx, f)
	if err != nil {
		return nil, "", err
	}
	var rows []factRow
	for _, status := range statuses {
		var some []factRow
		q := s.reader.NewSelect().Model(&some).Limit(int64(limit + 1))
		q = factsOf(q, f, status, order)
		if f.After != "" {
			q = q.Where("(?0.said, ?0.seq) < (?1, ?2)", order, at.order, at.seq)
		}
		if err := q.Scan(ctx); err != nil {
			return nil, "", s.translate(err)
		}
		rows = append(rows, some...)
	}
	if len(statuses) > 1 {
		slices.SortFunc(rows, func(a, b factRow) int { return cmp.Or(cmp.Compare(b.Said, a.Said), cmp.Compare(b.Seq, a.Seq)) })
	}
	next := ""
	if len(rows) > limit {
		rows = rows[:limit]
		next = listPlace{rows[limit-1].Said, rows[limit-1].Seq}.String()
	}
	page, err := completeFacts(ctx, s.reader, rows)
	return page, next, s.translate(err)
}

// rareSource is how many facts a source has at most when a list of somebody's facts goes through them rather than through all
// that is about that name.
const rareSource = 2000

const (
	inOrder bun.Ident = "f" // of all facts, or of those an index of facts has
	ofOne   bun.Ident = "l" // of those that are about an entity
)

// orderOf says in which order a list is read: facts about somebody in the order of that list, unless they are to be from a source that has few.
func (s *Store) orderOf(ctx context.Context, f agent.FactFilter) (bun.Ident, error) {
	if f.Entity == "" {
		return inOrder, nil
	}
	if f.Source == "" {
		return ofOne, nil
	}
	var n int
	err := fixed(s.reader, `SELECT count(*) FROM (SELECT 1 FROM facts WHERE source = ?1 LIMIT ?2)`, f.Source, rareSource+1).Scan(ctx, &n)
	if err != nil {
		return "", s.translate(err)
	}
	if n > rareSource {
		return ofOne, nil
	}
	return inOrder, nil
}

// factsOf selects the facts of a status that a filter takes, in the order of the list.
func factsOf(q *bun.SelectQuery, f agent.FactFilter, status agent.FactStatus, order bun.Ident) *bun.SelectQuery {
	switch {
	case order == ofOne:
		// The cross join keeps SQLite from reading all facts instead.
		q = q.ModelTableExpr("fact_entities AS l CROSS JOIN facts AS f ON f.id = l.fact").Where("l.entity = ?", f.Entity)
	case f.Entity != "":
		q = q.Where("EXISTS (SELECT 1 FROM fact_entities AS l WHERE l.fact = f.id AND l.entity = ?)", f.Entity)
	}
	if f.Thread != "" || f.Message != "" || f.Run != "" {
		q = q.Where("+?.status = ?", order, status) // few facts, with an index of their own
	} else {
		q = q.Where("?.status = ?", order, status)
	}
	q = q.OrderExpr("?0.said DESC, ?0.seq DESC", order)
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
		q = q.Where("?.said >= ?", order, micros(f.From))
	}
	if !f.To.IsZero() {
		q = q.Where("?.said < ?", order, micros(f.To))
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

// MemoryTotals counts what is remembered, from counts that are kept as facts change.
func (s *Store) MemoryTotals(ctx context.Context, owner agent.ID) (agent.MemoryTotals, error) {
	var t agent.MemoryTotals
	err := fixed(s.reader, `SELECT
			coalesce(sum(n) FILTER (WHERE status = 'current'), 0) AS current,
			coalesce(sum(n) FILTER (WHERE status = 'superseded'), 0) AS superseded,
			coalesce(sum(n) FILTER (WHERE status = 'retired'), 0) AS retired,
			coalesce(sum(n) FILTER (WHERE status = 'current' AND kind = 'core'), 0) AS core,
			coalesce(sum(n) FILTER (WHERE status = 'current' AND kind = 'fact'), 0) AS plain,
			coalesce(sum(n) FILTER (WHERE status = 'current' AND kind = 'pattern'), 0) AS patterns,
			coalesce(sum(n) FILTER (WHERE status = 'current' AND pinned = 1), 0) AS pinned,
			coalesce(sum(n) FILTER (WHERE status = 'current' AND untrusted = 1), 0) AS untrusted,
			coalesce(sum(bytes), 0) AS bytes,
			(SELECT count(*) FROM entities WHERE owner = ?1) AS entities,
			(SELECT count(*) FROM episodes) AS episodes,
			(SELECT count(*) FROM proposals) AS proposals,
			(SELECT count(*) FROM tombstones) AS tombstones
		FROM fact_counts WHERE owner = ?1`, owner).Scan(ctx, &t)
	return t, s.translate(err)
}

// MemoryDays returns what each day from a time on added and ended of each kind, days without either left out, the oldest first.
func (s *Store) MemoryDays(ctx context.Context, owner agent.ID, from time.Time) ([]agent.MemoryDay, error) {
	const day = int64(24 * time.Hour / time.Microsecond)
	var rows []struct {
		Day            int64
		Kind           agent.FactKind
		Learned, Ended int
	}
	err := fixed(s.reader, `SELECT day, kind, learned, ended FROM fact_days
		WHERE owner = ?1 AND day >= ?2 AND (learned <> 0 OR ended <> 0) ORDER BY day, kind`, owner, micros(from)/day).Scan(ctx, &rows)
	if err != nil {
		return nil, s.translate(err)
	}
	list := make([]agent.MemoryDay, len(rows))
	for i, row := range rows {
		list[i] = agent.MemoryDay{Day: time.UnixMicro(row.Day * day).UTC(), Kind: row.Kind, Learned: row.Learned, Ended: row.Ended}
	}
	return list, nil
}
