package store

import (
	"context"
	"time"

	"ash/agent"
	"ash/agent/spend"
)

// What was spent lies in spend_days, by all that is asked of it. spend_kinds (by day and kind of call) and spend_roots (by conversation, for days and
// for months) are sums of it, which triggers carry on within the transaction of each change: a page reads a year without adding up all of it.

const (
	// spendAmounts is what rows of each of these tables are summed to.
	spendAmounts = `sum(s.calls) AS calls, sum(s.input_tokens) AS input, sum(s.output_tokens) AS output, sum(s.cache_read_tokens) AS cache_read,
		sum(s.cache_write_tokens) AS cache_write, sum(s.cost) AS cost, sum(s.assumed) AS assumed, sum(s.estimated) AS estimated`

	spendByPurpose = `SELECT s.day, s.purpose, ` + spendAmounts + ` FROM spend_kinds s WHERE s.day >= ?1 AND s.day <= ?2
		GROUP BY s.day, s.purpose ORDER BY s.day, s.purpose`

	spendByModel = `SELECT s.provider, s.model, ` + spendAmounts + ` FROM spend_kinds s WHERE s.day >= ?1 AND s.day <= ?2 GROUP BY s.provider, s.model`

	// Whole months (?3 to ?4) are read as such, and only what is left before and after them by days (?1 to ?5, ?6 to ?2). ?7 is how many are wanted.
	spendByThread = `SELECT s.*, ifnull(t.title, '') AS title FROM (SELECT s.root, count(*) OVER () AS among, ` + spendAmounts + ` FROM (
				SELECT * FROM spend_roots WHERE span = 'month' AND period >= ?3 AND period <= ?4
				UNION ALL SELECT * FROM spend_roots WHERE span = 'day' AND period >= ?1 AND period < ?5
				UNION ALL SELECT * FROM spend_roots WHERE span = 'day' AND period >= ?6 AND period <= ?2) s
			GROUP BY s.root ORDER BY sum(s.cost) DESC, sum(s.input_tokens + s.output_tokens) DESC, s.root LIMIT ?7) s
		LEFT JOIN threads t ON t.id = s.root AND t.deleted = 0
		ORDER BY s.cost DESC, s.input + s.output DESC, s.root`

	spendByAll = `SELECT s.day, s.root, ifnull(t.title, '') AS title, s.purpose, s.provider, s.model, s.calls, s.input_tokens AS input,
			s.output_tokens AS output, s.cache_read_tokens AS cache_read, s.cache_write_tokens AS cache_write, s.cost, s.assumed, s.estimated
		FROM spend_days s LEFT JOIN threads t ON t.id = s.root AND t.deleted = 0
		WHERE s.day >= ?1 AND s.day <= ?2 ORDER BY s.day, s.root, s.purpose, s.provider, s.model`
)

// wholeMonths are the months that lie within some days altogether.
type wholeMonths struct {
	first, last string // as YYYY-MM; "" when there are none
	begin, end  string // the first day of first, and the first day after last: what is before and from there on is left over
}

// monthsWithin finds the months between two days, both included.
func monthsWithin(from, to spend.Day) wholeMonths {
	none := wholeMonths{begin: string(to) + "~", end: string(to) + "~"} // every day until to sorts before: all are read by days
	first, err := time.Parse(time.DateOnly, string(from))
	if err != nil {
		return none
	}
	last, err := time.Parse(time.DateOnly, string(to))
	if err != nil {
		return none
	}
	begin := first.AddDate(0, 0, 1-first.Day())
	if begin.Before(first) {
		begin = begin.AddDate(0, 1, 0)
	}
	after := last.AddDate(0, 0, 1)
	end := after.AddDate(0, 0, 1-after.Day())
	if !begin.Before(end) {
		return none
	}
	month := func(t time.Time) string { return spend.DayOf(t, time.UTC).Month() }
	return wholeMonths{first: month(begin), last: month(end.AddDate(0, -1, 0)), begin: begin.Format(time.DateOnly), end: end.Format(time.DateOnly)}
}

// spendingBy is the statement that sums up, by what is kept apart, and its arguments.
func spendingBy(from, to spend.Day, by spend.By) (text string, args []any) {
	args = []any{string(from), string(to)}
	switch by {
	case spend.ByPurpose:
		return spendByPurpose, args
	case spend.ByModel:
		return spendByModel, args
	case spend.ByThread:
		m := monthsWithin(from, to)
		return spendByThread, append(args, m.first, m.last, m.begin, m.end, spend.MostThreads)
	}
	return spendByAll, args
}

// Spending implements spend.Store.
func (s *Store) Spending(ctx context.Context, from, to spend.Day, by spend.By) ([]spend.Row, error) {
	var rows []struct {
		Day, Root, Title, Purpose, Provider, Model string
		Calls, Among                               int
		Input, Output, CacheRead, CacheWrite       int
		Cost, Assumed, Estimated                   int64
	}
	text, args := spendingBy(from, to, by)
	if err := fixed(s.reader, text, args...).Scan(ctx, &rows); err != nil {
		return nil, s.translate(err)
	}
	list := make([]spend.Row, len(rows))
	for i, r := range rows {
		list[i] = spend.Row{
			Day: spend.Day(r.Day), Root: agent.ID(r.Root), Title: r.Title, Purpose: agent.Purpose(r.Purpose),
			Model: agent.ModelRef{Provider: r.Provider, Name: r.Model}, Calls: r.Calls,
			Usage: agent.Usage{
				Input: r.Input, Output: r.Output, CacheRead: r.CacheRead, CacheWrite: r.CacheWrite, Cost: agent.MicroDollars(r.Cost),
			},
			Assumed: agent.MicroDollars(r.Assumed), Estimated: agent.MicroDollars(r.Estimated), Among: r.Among,
		}
	}
	return list, nil
}
