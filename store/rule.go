package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/policy"
)

var _ policy.RuleStore = (*Store)(nil)

type ruleRow struct {
	bun.BaseModel `bun:"table:policy_rules,alias:r"`

	Seq     int64         `bun:"seq,pk,autoincrement"`
	ID      agent.ID      `bun:"id"`
	Tool    string        `bun:"tool"`
	Match   string        `bun:"match"`
	Verdict agent.Verdict `bun:"verdict"`
	Thread  agent.ID      `bun:"thread,nullzero"`
	Sources string        `bun:"sources"` // a JSON list
	Uses    int           `bun:"uses"`
	Used    int64         `bun:"used"`
	Created int64         `bun:"created"`
}

func toRule(r policy.Rule) (ruleRow, error) {
	sources, err := toJSON(cleanSources(r.Sources))
	return ruleRow{
		ID: r.ID, Tool: clean(r.Tool), Match: clean(r.Match), Verdict: r.Verdict, Thread: r.Thread, Sources: sources,
		Uses: r.Uses, Used: micros(r.Used), Created: micros(r.Created),
	}, err
}

func fromRule(row ruleRow) (policy.Rule, error) {
	r := policy.Rule{
		ID: row.ID, Tool: row.Tool, Match: row.Match, Verdict: row.Verdict, Thread: row.Thread,
		Uses: row.Uses, Used: fromMicros(row.Used), Created: fromMicros(row.Created),
	}
	err := fromJSON(row.Sources, &r.Sources)
	return r, err
}

// cleanSources returns sources as they are stored: clean, sorted, each once.
func cleanSources(sources []string) []string {
	out := make([]string, 0, len(sources))
	for _, s := range sources {
		out = append(out, clean(s))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Rules implements policy.RuleStore.
func (s *Store) Rules(ctx context.Context, threads ...agent.ID) ([]policy.Rule, error) {
	return s.rulesWhere(ctx, func(q *bun.SelectQuery) *bun.SelectQuery {
		if len(threads) == 0 {
			return q.Where("thread IS NULL")
		}
		return q.Where("thread IS NULL OR thread IN (?)", bun.List(threads))
	})
}

// AllRules implements policy.RuleStore.
func (s *Store) AllRules(ctx context.Context) ([]policy.Rule, error) {
	return s.rulesWhere(ctx, func(q *bun.SelectQuery) *bun.SelectQuery { return q })
}

func (s *Store) rulesWhere(ctx context.Context, cond func(*bun.SelectQuery) *bun.SelectQuery) ([]policy.Rule, error) {
	var rows []ruleRow
	if err := cond(s.reader.NewSelect().Model(&rows)).Order("seq").Scan(ctx); err != nil {
		return nil, s.translate(err)
	}
	list := make([]policy.Rule, len(rows))
	for i, row := range rows {
		var err error
		if list[i], err = fromRule(row); err != nil {
			return nil, s.translate(err)
		}
	}
	return list, nil
}

// SaveRule implements policy.RuleStore.
func (s *Store) SaveRule(ctx context.Context, r policy.Rule) (policy.Rule, error) {
	r.Created = orNow(r.Created)
	row, err := toRule(r)
	if err != nil {
		return policy.Rule{}, s.translate(err)
	}
	var saved policy.Rule
	err = s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		var known ruleRow
		err := tx.NewSelect().Model(&known).
			Where("tool = ? AND match = ? AND ifnull(thread, '') = ?", row.Tool, row.Match, row.Thread).Limit(1).Scan(ctx)
		if errors.Is(err, sql.ErrNoRows) {
			saved, err = fromRule(row)
			if err == nil {
				_, err = tx.NewInsert().Model(&row).Returning("NULL").Exec(ctx)
			}
			return err
		}
		if err != nil {
			return err
		}
		if saved, err = fromRule(known); err != nil {
			return err
		}
		saved.Verdict, saved.Sources = r.Verdict, cleanSources(slices.Concat(saved.Sources, r.Sources))
		sources, err := toJSON(saved.Sources)
		if err != nil {
			return err
		}
		_, err = tx.NewUpdate().Model((*ruleRow)(nil)).Set("verdict = ?", saved.Verdict).Set("sources = ?", sources).Where("id = ?", saved.ID).Exec(ctx)
		return err
	})
	return saved, err
}

// DeleteRule implements policy.RuleStore.
func (s *Store) DeleteRule(ctx context.Context, id agent.ID) error {
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		result, err := tx.NewDelete().Model((*ruleRow)(nil)).Where("id = ?", id).Exec(ctx)
		if err == nil && !touched(result) {
			return errGone()
		}
		return err
	})
}

// UseRule implements policy.RuleStore. A rule that was revoked in the same instant is not counted.
func (s *Store) UseRule(ctx context.Context, id agent.ID, at time.Time) error {
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		_, err := tx.NewUpdate().Model((*ruleRow)(nil)).Set("uses = uses + 1").Set("used = ?", micros(at)).Where("id = ?", id).Exec(ctx)
		return err
	})
}
