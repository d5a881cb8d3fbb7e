package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/spend"
)

var _ spend.Store = (*Store)(nil)

// spendOpenRow is a call under way.
type spendOpenRow struct {
	bun.BaseModel `bun:"table:spend_open"`

	ID       agent.ID      `bun:"id"`
	Day      string        `bun:"day"`
	Root     string        `bun:"root"`
	Purpose  agent.Purpose `bun:"purpose"`
	Provider string        `bun:"provider"`
	Model    string        `bun:"model"`
	Input    int           `bun:"input"`
	Cost     int64         `bun:"cost"`
	Assumed  bool          `bun:"assumed"`
	Created  int64         `bun:"created"`
}

// background are the purposes of work that nobody waits for, as SQL. A purpose that nobody knows is one of them.
const background = `purpose NOT IN ('chat', 'check')`

// spent reads all that a call is decided on: what is settled and what is under way. ?1 is the day, ?2 its month, ?3 the month's end, ?4 the conversation.
const spent = `WITH counted AS (
		SELECT day, purpose, cost FROM spend_kinds WHERE day >= ?2 AND day < ?3
		UNION ALL SELECT day, purpose, cost FROM spend_open WHERE day >= ?2 AND day < ?3)
	SELECT ifnull(sum(cost) FILTER (WHERE day = ?1), 0) AS day, ifnull(sum(cost), 0) AS month,
		ifnull(sum(cost) FILTER (WHERE day = ?1 AND ` + background + `), 0) AS background,
		CASE WHEN ?4 = '' THEN 0 ELSE (SELECT ifnull(sum(cost), 0) FROM spend_days WHERE root = ?4 AND root <> '')
			+ (SELECT ifnull(sum(cost), 0) FROM spend_open WHERE root = ?4) END AS thread
	FROM counted`

// raised reads by how much caps are raised for once.
const raised = `SELECT ifnull(sum(amount) FILTER (WHERE cap = 'day' AND period = ?1), 0) AS day,
		ifnull(sum(amount) FILTER (WHERE cap = 'month' AND period = ?2), 0) AS month,
		ifnull(sum(amount) FILTER (WHERE cap = 'background' AND period = ?1), 0) AS background,
		ifnull(sum(amount) FILTER (WHERE cap = 'thread' AND period = ?3 AND ?3 <> ''), 0) AS thread
	FROM spend_raises WHERE (cap IN ('day', 'background') AND period = ?1) OR (cap = 'month' AND period = ?2) OR (cap = 'thread' AND period = ?3)`

// perCapRow is an amount for each cap, as the two statements above give it.
type perCapRow struct {
	Day, Month, Background, Thread int64
}

func (r perCapRow) amounts() spend.PerCap {
	return spend.PerCap{
		Day: agent.MicroDollars(r.Day), Month: agent.MicroDollars(r.Month),
		Thread: agent.MicroDollars(r.Thread), Background: agent.MicroDollars(r.Background),
	}
}

// sums reads what holds for calls of a day in a conversation.
func sums(ctx context.Context, db bun.IDB, day spend.Day, root string) (out spend.Sums, err error) {
	var row perCapRow
	month := day.Month()
	// Days of a month sort below its name with a letter behind.
	if err := fixed(db, spent, string(day), month, month+"~", root).Scan(ctx, &row); err != nil {
		return out, err
	}
	out.Spent = row.amounts()
	row = perCapRow{}
	err = fixed(db, raised, string(day), month, root).Scan(ctx, &row)
	out.Raised = row.amounts()
	return out, err
}

// rootOf returns the person's conversation that a thread works for; "" for none. A thread that is gone is its own.
func rootOf(ctx context.Context, db bun.IDB, thread agent.ID) (string, error) {
	if thread == "" {
		return "", nil
	}
	var ids []string
	err := fixed(db, `WITH RECURSIVE up (id, call, n) AS (
			SELECT id, parent_call, 0 FROM threads WHERE id = ?1
			UNION ALL SELECT t.id, t.parent_call, n + 1 FROM up JOIN tool_calls c ON c.id = up.call JOIN threads t ON t.id = c.thread WHERE n < 8)
		SELECT id FROM up ORDER BY n DESC LIMIT 1`, thread).Scan(ctx, &ids)
	if err != nil || len(ids) == 0 {
		return string(thread), err
	}
	return ids[0], nil
}

// ReserveSpend implements spend.Store.
func (s *Store) ReserveSpend(ctx context.Context, c spend.Call, decide func(spend.Sums) (agent.MicroDollars, error)) (spend.Call, error) {
	err := s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		root, err := rootOf(ctx, tx, c.Thread)
		if err != nil {
			return err
		}
		c.Root = agent.ID(root)
		have, err := sums(ctx, tx, c.Day, root)
		if err != nil {
			return err
		}
		if c.Cost, err = decide(have); err != nil {
			return err
		}
		return insertRow(ctx, tx, &spendOpenRow{
			ID: c.ID, Day: string(c.Day), Root: root, Purpose: c.Purpose, Provider: clean(c.Model.Provider), Model: clean(c.Model.Name),
			Input: c.Input, Cost: int64(c.Cost), Assumed: c.Assumed, Created: micros(c.Began),
		})
	})
	return c, err
}

// SettleSpend implements spend.Store.
func (s *Store) SettleSpend(ctx context.Context, list []spend.Taken) error {
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		for _, t := range list {
			if !t.Free {
				closed, err := fixed(tx, `DELETE FROM spend_open WHERE id = ?1`, t.ID).Exec(ctx)
				if err != nil {
					return err
				}
				if !touched(closed) {
					continue // counted before
				}
			} else if t.Root == "" {
				root, err := rootOf(ctx, tx, t.Thread)
				if err != nil {
					return err
				}
				t.Root = agent.ID(root)
			}
			if err := countSpending(ctx, tx, t); err != nil {
				return err
			}
		}
		return nil
	})
}

// countSpending adds one call to the sums.
func countSpending(ctx context.Context, tx bun.IDB, t spend.Taken) error {
	var assumed, estimated agent.MicroDollars
	if t.Assumed {
		assumed = t.Usage.Cost
	}
	if t.Estimated {
		estimated = t.Usage.Cost
	}
	return addSpending(ctx, tx, spend.Row{
		Day: t.Day, Root: t.Root, Purpose: t.Purpose, Model: t.Model, Calls: 1, Usage: t.Usage, Assumed: assumed, Estimated: estimated,
	})
}

func addSpending(ctx context.Context, tx bun.IDB, r spend.Row) error {
	u := toUsage(r.Usage)
	_, err := fixed(tx, `INSERT INTO spend_days (day, root, purpose, provider, model, calls, input_tokens, output_tokens, cache_read_tokens,
			cache_write_tokens, cost, assumed, estimated) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
		ON CONFLICT DO UPDATE SET calls = calls + excluded.calls, input_tokens = input_tokens + excluded.input_tokens,
			output_tokens = output_tokens + excluded.output_tokens, cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens,
			cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens, cost = cost + excluded.cost,
			assumed = assumed + excluded.assumed, estimated = estimated + excluded.estimated`,
		string(r.Day), string(r.Root), string(r.Purpose), clean(r.Model.Provider), clean(r.Model.Name), r.Calls,
		u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Cost, int64(r.Assumed), int64(r.Estimated)).Exec(ctx)
	return err
}

// ReleaseSpend implements spend.Store.
func (s *Store) ReleaseSpend(ctx context.Context, call agent.ID) error {
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		_, err := fixed(tx, `DELETE FROM spend_open WHERE id = ?1`, call).Exec(ctx)
		return err
	})
}

// RecoverSpending implements spend.Store.
func (s *Store) RecoverSpending(ctx context.Context) (int, error) {
	var rows []spendOpenRow
	err := s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		if err := fixed(tx, `SELECT * FROM spend_open`).Scan(ctx, &rows); err != nil {
			return err
		}
		for _, r := range rows {
			t := spend.Taken{Estimated: true, Usage: agent.Usage{Input: r.Input, Cost: agent.MicroDollars(r.Cost)}, Call: spend.Call{
				Day: spend.Day(r.Day), Root: agent.ID(r.Root), Purpose: r.Purpose,
				Model: agent.ModelRef{Provider: r.Provider, Name: r.Model}, Assumed: r.Assumed,
			}}
			if err := countSpending(ctx, tx, t); err != nil {
				return err
			}
		}
		_, err := fixed(tx, `DELETE FROM spend_open`).Exec(ctx)
		return err
	})
	return len(rows), err
}

// SpendSums implements spend.Store.
func (s *Store) SpendSums(ctx context.Context, day spend.Day, thread agent.ID) (out spend.Sums, err error) {
	err = s.read(ctx, func(ctx context.Context, tx bun.IDB) error {
		root, err := rootOf(ctx, tx, thread)
		if err != nil {
			return err
		}
		out, err = sums(ctx, tx, day, root)
		return err
	})
	return out, err
}

// RaiseOnce implements spend.Store.
func (s *Store) RaiseOnce(ctx context.Context, list []spend.Raise) error {
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		for _, r := range list {
			period := string(r.Day)
			switch r.Cap {
			case spend.CapMonth:
				period = r.Day.Month()
			case spend.CapThread:
				root, err := rootOf(ctx, tx, r.Thread)
				if err != nil {
					return err
				}
				period = root
			}
			_, err := fixed(tx, `INSERT INTO spend_raises (cap, period, amount, created) VALUES (?1, ?2, ?3, ?4)
				ON CONFLICT DO UPDATE SET amount = amount + excluded.amount`, string(r.Cap), period, int64(r.Amount), micros(r.Time)).Exec(ctx)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// SaidOnce implements spend.Store.
func (s *Store) SaidOnce(ctx context.Context, said spend.Said) (first bool, err error) {
	err = s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		done, err := fixed(tx, `INSERT INTO spend_said (cap, period, level, allowed, created) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING`,
			string(said.Cap), said.Period, string(said.Level), int64(said.Allowed), micros(said.Time)).Exec(ctx)
		first = err == nil && touched(done)
		return err
	})
	return first, err
}

// quarter is the step of time zones, in microseconds: within one, every call is of the same day in each of them.
const quarter = int64(15 * time.Minute / time.Microsecond)

// TakeInSpending implements spend.Store.
func (s *Store) TakeInSpending(ctx context.Context, zone *time.Location) error {
	var done int
	if err := fixed(s.reader, `SELECT count(*) FROM properties WHERE name = 'spend_past'`).Scan(ctx, &done); err != nil || done > 0 {
		return s.translate(err)
	}
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		var rows []struct {
			Quarter                                     int64
			Thread, Purpose, Provider, Model            string
			Calls, Input, Output, CacheRead, CacheWrite int
			Cost                                        int64
		}
		// Answers, summaries, and what learning and tidying asked. Titles were never kept.
		err := fixed(tx, `WITH past AS (
				SELECT created, thread, 'chat' AS purpose, provider, model, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost
					FROM messages WHERE role = 'assistant' AND input_tokens + output_tokens > 0
				UNION ALL SELECT created, thread, 'summary', provider, model, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost
					FROM summaries WHERE input_tokens + output_tokens > 0
				UNION ALL SELECT created, ifnull(thread, ''), 'memory', provider, model, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost
					FROM memory_runs WHERE provider <> '' AND input_tokens + output_tokens > 0)
			SELECT created / ?1 AS quarter, thread, purpose, provider, model, count(*) AS calls, sum(input_tokens) AS input, sum(output_tokens) AS output,
				sum(cache_read_tokens) AS cache_read, sum(cache_write_tokens) AS cache_write, sum(cost) AS cost
			FROM past GROUP BY 1, 2, 3, 4, 5`, quarter).Scan(ctx, &rows)
		if err != nil {
			return err
		}
		roots := map[string]string{}
		for _, r := range rows {
			root, known := roots[r.Thread]
			if !known {
				if root, err = rootOf(ctx, tx, agent.ID(r.Thread)); err != nil {
					return err
				}
				roots[r.Thread] = root
			}
			err := addSpending(ctx, tx, spend.Row{
				Day: spend.DayOf(fromMicros(r.Quarter*quarter), zone), Root: agent.ID(root), Purpose: agent.Purpose(r.Purpose),
				Model: agent.ModelRef{Provider: r.Provider, Name: r.Model}, Calls: r.Calls,
				Usage: agent.Usage{
					Input: r.Input, Output: r.Output, CacheRead: r.CacheRead, CacheWrite: r.CacheWrite, Cost: agent.MicroDollars(r.Cost),
				},
			})
			if err != nil {
				return err
			}
		}
		_, err = fixed(tx, `INSERT INTO properties (name, value) VALUES ('spend_past', X'01')`).Exec(ctx)
		return err
	})
}
