package spend

import (
	"cmp"
	"context"
	"sort"
	"time"

	"ash/agent"
)

// Sum is what several calls took together.
type Sum struct {
	Calls     int
	Usage     agent.Usage
	Assumed   agent.MicroDollars // of the cost: at a price that is not known
	Estimated agent.MicroDollars // of the cost: of calls that did not say what they took
}

func (s Sum) with(r Row) Sum {
	s.Calls += r.Calls
	s.Usage = s.Usage.Add(r.Usage)
	s.Assumed += r.Assumed
	s.Estimated += r.Estimated
	return s
}

// Report is what was spent in some days.
type Report struct {
	From, To Day
	Days     []DaySum // every day of them, oldest first
	Total    Sum
	Models   []ModelSum   // the dearest first, then those with the most tokens
	Threads  []ThreadSum  // the same; at most MostThreads
	Among    int          // conversations there are, those that Threads leaves out too
	Purposes []PurposeSum // in the order of Purposes
}

// DaySum is one day.
type DaySum struct {
	Day  Day
	Cost map[agent.Purpose]agent.MicroDollars
}

// ModelSum is one model.
type ModelSum struct {
	Model agent.ModelRef
	Sum
}

// ThreadSum is one conversation with its helpers; "" is all that belongs to none.
type ThreadSum struct {
	Thread agent.ID
	Title  string // "" when it is gone
	Sum
}

// PurposeSum is one purpose.
type PurposeSum struct {
	Purpose agent.Purpose
	Sum
}

// Purposes lists them in the order of pages.
func Purposes() []agent.Purpose {
	return []agent.Purpose{agent.PurposeChat, agent.PurposeMemory, agent.PurposeSummary, agent.PurposeTitle, agent.PurposeCheck}
}

// maxSpan bounds a report, in days.
const maxSpan = 3 * 366

// Report sums up the days from one to another, both included. CodeInvalid for days that are none, or too many.
func (b *Book) Report(ctx context.Context, from, to Day) (Report, error) {
	days, err := daysBetween(from, to)
	if err != nil {
		return Report{}, err
	}
	if err := b.flush(ctx); err != nil {
		return Report{}, err
	}
	var parts [3][]Row
	for i, by := range []By{ByPurpose, ByModel, ByThread} {
		if parts[i], err = b.o.Store.Spending(ctx, from, to, by); err != nil {
			return Report{}, err
		}
	}
	return reportOf(days, parts[0], parts[1], parts[2]), nil
}

// Rows returns the sums by day, conversation, purpose and model, oldest first; as Report for wrong days.
func (b *Book) Rows(ctx context.Context, from, to Day) ([]Row, error) {
	if _, err := daysBetween(from, to); err != nil {
		return nil, err
	}
	if err := b.flush(ctx); err != nil {
		return nil, err
	}
	return b.o.Store.Spending(ctx, from, to, ByAll)
}

func daysBetween(from, to Day) ([]Day, error) {
	begin, err := time.Parse(time.DateOnly, string(from))
	if err != nil {
		return nil, agent.Errorf(agent.CodeInvalid, "A day is written as 2026-01-31.")
	}
	end, err := time.Parse(time.DateOnly, string(to))
	if err != nil {
		return nil, agent.Errorf(agent.CodeInvalid, "A day is written as 2026-01-31.")
	}
	if end.Before(begin) || end.Sub(begin) > maxSpan*24*time.Hour {
		return nil, agent.Errorf(agent.CodeInvalid, "Choose at most three years, the earlier day first.")
	}
	var days []Day
	for t := begin; !t.After(end); t = t.AddDate(0, 0, 1) {
		days = append(days, Day(t.Format(time.DateOnly)))
	}
	return days, nil
}

func reportOf(days []Day, byPurpose, byModel, byThread []Row) Report {
	out := Report{From: days[0], To: days[len(days)-1], Days: make([]DaySum, len(days))}
	at := make(map[Day]int, len(days))
	for i, d := range days {
		out.Days[i], at[d] = DaySum{Day: d, Cost: map[agent.Purpose]agent.MicroDollars{}}, i
	}
	purposes := map[agent.Purpose]Sum{}
	for _, r := range byPurpose {
		if i, ok := at[r.Day]; ok {
			out.Days[i].Cost[r.Purpose] += r.Usage.Cost
		}
		out.Total, purposes[r.Purpose] = out.Total.with(r), purposes[r.Purpose].with(r)
	}
	for _, r := range byModel {
		out.Models = append(out.Models, ModelSum{r.Model, Sum{}.with(r)})
	}
	for _, r := range byThread {
		out.Threads = append(out.Threads, ThreadSum{r.Root, r.Title, Sum{}.with(r)})
		out.Among = r.Among
	}
	for _, p := range Purposes() {
		if s := purposes[p]; s.Calls > 0 {
			out.Purposes = append(out.Purposes, PurposeSum{p, s})
		}
	}
	sort.Slice(out.Models, func(i, j int) bool {
		a, b := out.Models[i], out.Models[j]
		return cmp.Or(dearer(a.Sum, b.Sum), cmp.Compare(a.Model.String(), b.Model.String())) < 0
	})
	sort.Slice(out.Threads, func(i, j int) bool {
		a, b := out.Threads[i], out.Threads[j]
		return cmp.Or(dearer(a.Sum, b.Sum), cmp.Compare(a.Thread, b.Thread)) < 0
	})
	return out
}

func dearer(a, b Sum) int {
	return cmp.Or(cmp.Compare(b.Usage.Cost, a.Usage.Cost), cmp.Compare(b.Usage.Input+b.Usage.Output, a.Usage.Input+a.Usage.Output))
}

// pace is how many days before today a forecast looks at.
const pace = 7

// Forecast is what a month comes to if it goes on as in the last days.
type Forecast struct {
	Spent agent.MicroDollars // this month, so far
	Total agent.MicroDollars // at the end of the month; 0 while there is no whole day to go by
	Days  int                // before today that it goes by, at most a week; 0 while there is none
}

// Forecast goes by the days before today, a week at the most and none before the first call: what they cost on average, for every day
// that is left, and for what is left of today.
func (b *Book) Forecast(ctx context.Context) (Forecast, error) {
	now := b.o.Now().In(b.o.Zone)
	today := DayOf(now, b.o.Zone)
	first := Day(today.Month() + "-01")
	before := today.Add(-pace)
	if err := b.flush(ctx); err != nil {
		return Forecast{}, err
	}
	rows, err := b.o.Store.Spending(ctx, min(first, before), today, ByPurpose)
	if err != nil {
		return Forecast{}, err
	}
	var out Forecast
	var past, spentToday agent.MicroDollars
	begun := today
	for _, r := range rows {
		begun = min(begun, r.Day)
		if r.Day >= first {
			out.Spent += r.Usage.Cost
		}
		switch {
		case r.Day == today:
			spentToday += r.Usage.Cost
		case r.Day >= before:
			past += r.Usage.Cost
		}
	}
	for out.Days < pace && today.Add(-out.Days-1) >= begun {
		out.Days++
	}
	if out.Days == 0 {
		return out, nil
	}
	daily := past / agent.MicroDollars(out.Days)
	left := time.Date(now.Year(), now.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day() - now.Day()
	out.Total = out.Spent + daily*agent.MicroDollars(left) + max(daily-spentToday, 0)
	return out, nil
}
