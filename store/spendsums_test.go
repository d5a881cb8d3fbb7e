package store

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/spend"
)

// folded sums rows up by what is kept apart, as the database's own sums should be.
func folded(rows []spend.Row, by spend.By) []spend.Row {
	at := map[string]*spend.Row{}
	for _, r := range rows {
		var key string
		sum := spend.Row{}
		switch by {
		case spend.ByPurpose:
			key, sum.Day, sum.Purpose = string(r.Day)+" "+string(r.Purpose), r.Day, r.Purpose
		case spend.ByModel:
			key, sum.Model = r.Model.String(), r.Model
		case spend.ByThread:
			key, sum.Root, sum.Title = string(r.Root), r.Root, r.Title
		}
		if at[key] == nil {
			at[key] = &sum
		}
		s := at[key]
		s.Calls += r.Calls
		s.Usage = s.Usage.Add(r.Usage)
		s.Assumed += r.Assumed
		s.Estimated += r.Estimated
	}
	var out []spend.Row
	for _, s := range at {
		if by == spend.ByThread {
			s.Among = len(at)
		}
		out = append(out, *s)
	}
	return sorted(out)
}

func sorted(rows []spend.Row) []spend.Row {
	slices.SortFunc(rows, func(a, b spend.Row) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Purpose, b.Purpose), cmp.Compare(a.Model.String(), b.Model.String()), cmp.Compare(a.Root, b.Root))
	})
	return rows
}

// agrees compares every way to sum up with what the rows say, over days that begin and end anywhere.
func (f *fixture) agrees(days []spend.Day, pick *rand.Rand) {
	f.t.Helper()
	for range 25 {
		from, to := days[pick.IntN(len(days))], days[pick.IntN(len(days))]
		if to < from {
			from, to = to, from
		}
		all, err := f.Spending(f.ctx, from, to, spend.ByAll)
		f.ok(err)
		for _, by := range []spend.By{spend.ByPurpose, spend.ByModel, spend.ByThread} {
			got, err := f.Spending(f.ctx, from, to, by)
			f.ok(err)
			if got, want := fmt.Sprintf("%+v", sorted(got)), fmt.Sprintf("%+v", folded(all, by)); got != want {
				f.t.Fatalf("%s to %s, by %d:\n got %s\nwant %s", from, to, by, got, want)
			}
		}
		month, background := agent.MicroDollars(0), agent.MicroDollars(0)
		rows, err := f.Spending(f.ctx, spend.Day(to.Month()+"-01"), spend.Day(to.Month()+"-31"), spend.ByAll)
		f.ok(err)
		for _, r := range rows {
			month += r.Usage.Cost
			if r.Day == to && r.Purpose.Background() {
				background += r.Usage.Cost
			}
		}
		have, err := f.SpendSums(f.ctx, to, "")
		f.ok(err)
		if have.Spent.Month != month || have.Spent.Background != background {
			f.t.Fatalf("caps of %s: %+v, want %d and %d", to, have.Spent, month, background)
		}
	}
}

// The sums that pages and caps read say at any time what the rows they are made from say, whatever happened to those.
func TestSumsOfSpendingAgreeWithTheirRows(t *testing.T) {
	f := newFixture(t)
	pick := rand.New(rand.NewPCG(7, 11))
	var days []spend.Day
	for d := time.Date(2025, 10, 20, 0, 0, 0, 0, time.UTC); len(days) < 150; d = d.AddDate(0, 0, 1) { // with a new year, and a February
		days = append(days, spend.DayOf(d, time.UTC))
	}
	roots := []agent.ID{"", f.thread, agent.NewID(), agent.NewID()}
	call := func() spend.Call {
		c := spendCall(days[pick.IntN(len(days))], "")
		c.Root = roots[pick.IntN(len(roots))]
		c.Purpose = spend.Purposes()[pick.IntN(len(spend.Purposes()))]
		c.Model.Name = fmt.Sprint("m", pick.IntN(3))
		c.Assumed = pick.IntN(3) == 0
		return c
	}
	taken := func(c spend.Call) spend.Taken {
		cost := agent.MicroDollars(pick.IntN(1000))
		return spend.Taken{Call: c, Estimated: pick.IntN(4) == 0, Usage: agent.Usage{
			Input: pick.IntN(100), Output: pick.IntN(100), CacheRead: pick.IntN(10), CacheWrite: pick.IntN(10), Cost: cost,
		}}
	}
	for range 8 {
		var list []spend.Taken
		for range 60 {
			c := call()
			c.Free = true // counted without a reservation
			list = append(list, taken(c))
		}
		f.ok(f.SettleSpend(f.ctx, list))
		for range 20 {
			c := call()
			c.Thread = c.Root
			c, err := f.ReserveSpend(f.ctx, c, costs(agent.MicroDollars(pick.IntN(500))))
			f.ok(err)
			switch pick.IntN(4) {
			case 0:
				f.ok(f.ReleaseSpend(f.ctx, c.ID))
			case 1: // left to a restart
			case 2:
				f.ok(f.SettleSpend(f.ctx, []spend.Taken{taken(c), taken(c)})) // said twice
			default:
				f.ok(f.SettleSpend(f.ctx, []spend.Taken{taken(c)}))
			}
		}
		_, err := f.RecoverSpending(f.ctx)
		f.ok(err)
		// Nothing takes rows away today. What will, need not think of the sums.
		_, err = f.writer.ExecContext(f.ctx, `DELETE FROM spend_days WHERE day = ? OR (root = ? AND purpose = 'title')`, string(days[pick.IntN(len(days))]), string(roots[2]))
		f.ok(err)
		f.agrees(days, pick)
	}
	if _, err := f.writer.ExecContext(f.ctx, `UPDATE spend_days SET day = '2026-01-01'`); err == nil {
		t.Error("what a sum counts for was changed")
	}
	_, err := f.writer.ExecContext(f.ctx, `DELETE FROM spend_days`)
	f.ok(err)
	var left int
	f.ok(f.writer.NewRaw(`SELECT (SELECT count(*) FROM spend_kinds) + (SELECT count(*) FROM spend_roots)`).Scan(f.ctx, &left))
	if left != 0 {
		t.Errorf("%d sums of nothing are left", left)
	}
}

// The step of the schema that makes the sums makes them of what is there, and its way back takes nothing else along.
func TestSumsOfSpendingAreMadeOfWhatIsThere(t *testing.T) {
	o, _ := closed(t)
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var list []spend.Taken
	for i := range 40 {
		c := spendCall(spend.DayOf(time.Date(2026, 10, 25+i/4, 0, 0, 0, 0, time.UTC), time.UTC), "")
		c.Free, c.Root, c.Purpose = true, agent.ID(fmt.Sprint("r", i%3)), spend.Purposes()[i%5]
		list = append(list, spend.Taken{Call: c, Usage: agent.Usage{Input: i, Cost: agent.MicroDollars(i)}})
	}
	if err := s.SettleSpend(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	dump := func(s *Store) (out string) {
		t.Helper()
		for _, by := range []spend.By{spend.ByAll, spend.ByPurpose, spend.ByModel, spend.ByThread} {
			rows, err := s.Spending(t.Context(), "2026-10-20", "2026-12-02", by)
			if err != nil {
				t.Fatal(err)
			}
			out += fmt.Sprintf("%+v\n", sorted(rows))
		}
		return out
	}
	before := dump(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// Back to the schema before the sums, whatever came after them.
	const without = 11
	schema, err := Status(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Rollback(t.Context(), o, schema.Version-without); err != nil {
		t.Fatal(err)
	}
	if after := dump(openAt(t, o.Path)); after != before {
		t.Errorf("made anew:\n%s\nwant:\n%s", after, before)
	}
}

func TestWholeMonths(t *testing.T) {
	for _, c := range []struct {
		from, to spend.Day
		want     wholeMonths
	}{
		{"2025-11-23", "2026-11-22", wholeMonths{"2025-12", "2026-10", "2025-12-01", "2026-11-01"}},
		{"2026-02-01", "2026-02-28", wholeMonths{"2026-02", "2026-02", "2026-02-01", "2026-03-01"}},
		{"2024-02-01", "2024-02-28", wholeMonths{"", "", "2024-02-28~", "2024-02-28~"}}, // a leap year
		{"2026-01-31", "2026-03-01", wholeMonths{"2026-02", "2026-02", "2026-02-01", "2026-03-01"}},
		{"2026-11-01", "2026-11-22", wholeMonths{"", "", "2026-11-22~", "2026-11-22~"}},
		{"2026-10-31", "2026-11-01", wholeMonths{"", "", "2026-11-01~", "2026-11-01~"}},
		{"2025-12-01", "2026-01-31", wholeMonths{"2025-12", "2026-01", "2025-12-01", "2026-02-01"}},
		{"2026-11-22", "2026-11-22", wholeMonths{"", "", "2026-11-22~", "2026-11-22~"}},
	} {
		if got := monthsWithin(c.from, c.to); got != c.want {
			t.Errorf("%s to %s: %+v, want %+v", c.from, c.to, got, c.want)
		}
	}
}

// A page shows the dearest conversations: those that cost the same, the ones with the most tokens.
func TestDearestConversationsFirst(t *testing.T) {
	f := newFixture(t)
	var list []spend.Taken
	for i := range spend.MostThreads + 10 {
		c := spendCall("2026-11-22", "")
		c.Free, c.Root = true, agent.ID(fmt.Sprintf("r%02d", i))
		list = append(list, spend.Taken{Call: c, Usage: agent.Usage{Input: i, Cost: agent.MicroDollars(i / 4)}})
	}
	f.ok(f.SettleSpend(f.ctx, list))
	rows, err := f.Spending(f.ctx, "2026-11-01", "2026-11-30", spend.ByThread)
	f.ok(err)
	if len(rows) != spend.MostThreads {
		t.Fatalf("%d conversations", len(rows))
	}
	for i, r := range rows {
		if want := fmt.Sprintf("r%02d", len(list)-1-i); string(r.Root) != want || r.Among != len(list) {
			t.Errorf("%d: %s among %d, want %s among %d", i, r.Root, r.Among, want, len(list))
		}
	}
}
