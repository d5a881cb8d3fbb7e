package spend

import (
	"fmt"
	"time"

	"ash/agent"
)

// Cap is one of the limits of the person.
type Cap string

// The caps.
const (
	CapDay        Cap = "day"
	CapMonth      Cap = "month"
	CapThread     Cap = "thread"     // of one conversation, with its helpers, for as long as it lasts
	CapBackground Cap = "background" // of a day, for what nobody waits for
)

// caps lists them in the order of pages.
func caps() []Cap { return []Cap{CapDay, CapMonth, CapThread, CapBackground} }

// Settings are the limits, in micro-dollars; 0 is none. They are read anew for every call.
type Settings struct {
	PerCap
	// What models cost whose price is not known, per million tokens.
	UnknownInput, UnknownOutput agent.MicroDollars
}

// PerCap is an amount for each cap.
type PerCap struct{ Day, Month, Thread, Background agent.MicroDollars }

// Of returns the amount of one cap.
func (p PerCap) Of(c Cap) agent.MicroDollars {
	switch c {
	case CapDay:
		return p.Day
	case CapMonth:
		return p.Month
	case CapThread:
		return p.Thread
	case CapBackground:
		return p.Background
	}
	return 0
}

// Day is a day of the person's time zone, as YYYY-MM-DD.
type Day string

// Month returns the month of the day, as YYYY-MM.
func (d Day) Month() string { return string(d[:min(len(d), 7)]) }

// DayOf returns the day that t is of in a zone.
func DayOf(t time.Time, zone *time.Location) Day { return Day(t.In(zone).Format(time.DateOnly)) }

// Add returns the day n days after d, before it for a negative n. Days are counted on the calendar: no clock that is put forward at midnight loses
// one. What is no day stays as it is.
func (d Day) Add(n int) Day {
	t, err := time.Parse(time.DateOnly, string(d))
	if err != nil {
		return d
	}
	return DayOf(t.AddDate(0, 0, n), time.UTC)
}

// beginOf returns when a day begins in a zone: at midnight, or after it where clocks are put forward then.
func beginOf(year int, month time.Month, day int, zone *time.Location) time.Time {
	want := DayOf(time.Date(year, month, day, 0, 0, 0, 0, time.UTC), time.UTC)
	t := time.Date(year, month, day, 0, 0, 0, 0, zone)
	for DayOf(t, zone) < want {
		t = t.Add(15 * time.Minute)
	}
	return t
}

// period names what a cap is raised for and told of: the day, the month, the conversation.
func period(c Cap, day Day, root agent.ID) string {
	switch c {
	case CapMonth:
		return day.Month()
	case CapThread:
		return string(root)
	}
	return string(day)
}

// Allowance is how one cap stands.
type Allowance struct {
	Cap    Cap
	Limit  agent.MicroDollars // of the settings; 0: there is none
	Raised agent.MicroDollars // added once, for this day, month or conversation
	Spent  agent.MicroDollars // with what is reserved by calls under way
	Until  time.Time          // when it begins anew; zero for a conversation
}

// Allowed is how much may be spent in all.
func (a Allowance) Allowed() agent.MicroDollars { return a.Limit + a.Raised }

// Left is what may still be spent; negative when more was than is allowed. It means nothing without a Limit.
func (a Allowance) Left() agent.MicroDollars { return a.Allowed() - a.Spent }

// approaching is the part of a cap, in percent, from which on the person is told.
const approaching = 80

// Near reports whether most of the cap is used up.
func (a Allowance) Near() bool { return a.Limit > 0 && a.Spent*100 >= a.Allowed()*approaching }

// Name is the cap in a sentence: "today's cap".
func (c Cap) Name() string {
	switch c {
	case CapDay:
		return "today's spending cap"
	case CapMonth:
		return "this month's spending cap"
	case CapThread:
		return "the spending cap of this conversation"
	case CapBackground:
		return "today's spending cap for background work"
	}
	return "a spending cap"
}

// ends says until when a cap holds what it holds.
func (a Allowance) ends() string {
	switch a.Cap {
	case CapMonth:
		return "It begins anew on " + a.Until.Format("2 January") + "."
	case CapThread:
		return "It holds for as long as the conversation lasts."
	}
	return "It begins anew at midnight (" + a.Until.Format("MST") + ")."
}

// Dollars writes an amount: cents, and more digits below one.
func Dollars(m agent.MicroDollars) string {
	switch {
	case m < 0:
		return "-" + Dollars(-m)
	case m == 0 || m >= 10_000:
		return fmt.Sprintf("$%.2f", float64(m)/1e6)
	}
	return fmt.Sprintf("$%.4f", float64(m)/1e6)
}

// Refusal is a call that a cap did not let through. Nothing was sent, or no more than the cap allows.
type Refusal struct {
	Allowance
	Needs agent.MicroDollars // the least the call may cost
}

// Error implements error with the words for the person.
func (r *Refusal) Error() string {
	if r.Left() <= 0 {
		return fmt.Sprintf("%s of %s is reached, with %s spent. %s", capital(r.Cap.Name()), Dollars(r.Allowed()), Dollars(r.Spent), r.ends())
	}
	return fmt.Sprintf("This would go beyond %s of %s. %s is spent or set aside, and an answer may cost %s or more. %s",
		r.Cap.Name(), Dollars(r.Allowed()), Dollars(r.Spent), Dollars(r.Needs), r.ends())
}

// failure is the refusal as the one error type of the house.
func (r *Refusal) failure() *agent.Error {
	return &agent.Error{Code: agent.CodeExhausted, Public: r.Error(), Err: r, Need: agent.NeedMoney}
}

func capital(s string) string {
	if s == "" {
		return ""
	}
	return string(s[0]-'a'+'A') + s[1:]
}
