package store

import (
	"context"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/policy"
)

var _ policy.SecurityLog = (*Store)(nil)

// securityRow is a line of the security log: ids, rules and sources, never text.
type securityRow struct {
	bun.BaseModel `bun:"table:security_log,alias:l"`

	Seq    int64            `bun:"seq,pk,autoincrement"`
	Time   int64            `bun:"time"`
	Kind   policy.EventKind `bun:"kind"`
	Thread agent.ID         `bun:"thread,nullzero"`
	Call   agent.ID         `bun:"call,nullzero"`
	Tool   string           `bun:"tool"`
	Rule   string           `bun:"rule"`
	Source string           `bun:"source"`
	Detail string           `bun:"detail"`
}

// LogSecurity implements policy.SecurityLog.
func (s *Store) LogSecurity(ctx context.Context, events ...policy.SecurityEvent) error {
	rows := make([]securityRow, len(events))
	for i, e := range events {
		rows[i] = securityRow{
			Time: micros(orNow(e.Time)), Kind: e.Kind, Thread: e.Thread, Call: e.Call,
			Tool: clean(e.Tool), Rule: clean(e.Rule), Source: clean(e.Source), Detail: clean(e.Detail),
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		_, err := tx.NewInsert().Model(&rows).Returning("NULL").Exec(ctx)
		return err
	})
}

// SecurityEvents returns the lines of the security log before a place, newest first, and the place of the last of them ("before"
// for the next page; 0 for the first page, and at the end). limit is at least 1.
func (s *Store) SecurityEvents(ctx context.Context, before int64, limit int) (events []policy.SecurityEvent, next int64, err error) {
	var rows []securityRow
	q := s.reader.NewSelect().Model(&rows).Order("seq DESC").Limit(int64(max(limit, 1)) + 1)
	if before > 0 {
		q = q.Where("seq < ?", before)
	}
	if err := q.Scan(ctx); err != nil {
		return nil, 0, s.translate(err)
	}
	if limit = max(limit, 1); len(rows) > limit {
		rows = rows[:limit]
		next = rows[limit-1].Seq
	}
	events = make([]policy.SecurityEvent, len(rows))
	for i, r := range rows {
		events[i] = policy.SecurityEvent{
			Time: fromMicros(r.Time), Kind: r.Kind, Thread: r.Thread, Call: r.Call, Tool: r.Tool, Rule: r.Rule, Source: r.Source, Detail: r.Detail,
		}
	}
	return events, next, nil
}
