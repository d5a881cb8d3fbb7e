package components

import (
	"strconv"

	"ash/agent"
)

// SpendCap is how one spending cap stands.
type SpendCap struct {
	Title   string             // "Today"
	Limit   agent.MicroDollars // 0: there is none
	Raised  agent.MicroDollars // allowed once beyond it
	Spent   agent.MicroDollars
	Near    bool
	Reached bool
}

// words is the amount beside the bar.
func (c SpendCap) words() string {
	if c.Limit == 0 {
		return cents(c.Spent) + ", no cap"
	}
	return cents(c.Spent) + " of " + cents(c.Limit+c.Raised)
}

// cents writes an amount of a cap, to the cent where it has one.
func cents(m agent.MicroDollars) string {
	if m > 0 && m < 10_000 {
		return Money(m)
	}
	return "$" + strconv.FormatFloat(float64(m)/1e6, 'f', 2, 64)
}

// width is how much of the bar is filled, of a hundred.
func (c SpendCap) width() string {
	if c.Limit+c.Raised <= 0 {
		return "0"
	}
	part := float64(c.Spent) / float64(c.Limit+c.Raised) * 100
	return strconv.FormatFloat(min(max(part, 0), 100), 'f', 1, 64)
}

func (c SpendCap) class() string {
	switch {
	case c.Reached:
		return "full"
	case c.Near:
		return "near"
	}
	return "fine-so-far"
}

// Raise is what stands where a cap stopped an answer: how to go on.
type Raise struct {
	Thread  agent.ID
	Message agent.ID
	Cap     SpendCap // without a Title: no cap hinders any more
	Words   string   // the cap in a sentence: "today's spending cap"
	Until   string   // how long a raise holds that is made once: "today"
	Once    string   // suggested amounts, in dollars
	Good    string
	Wrong   string // why an amount was refused, and which: "once" or "good"
	Way     string
	CSRF    string
}

// wrong is why the amount of one way was refused; "" when it was not.
func (r Raise) wrong(way string) string {
	if r.Way != way {
		return ""
	}
	return r.Wrong
}

// ID is the form's place on a page.
func (r Raise) ID() string { return "money-" + Short(r.Message) }

func (r Raise) path() string {
	return "/chat/" + string(r.Thread) + "/messages/" + string(r.Message) + "/spending"
}
