package pages

import (
	"ash/agent"
	"ash/views/components"
	"ash/views/layouts"
)

// Spending is Settings → Spending.
type Spending struct {
	SettingsFrame
	Caps       []components.SpendCap
	Zone       string // of days: "CET, UTC+01:00"
	Forecast   Forecast
	Span       string
	Chart      components.Growth
	Total      SpendRow
	Purposes   []SpendRow
	Models     []SpendRow
	Threads    []SpendRow
	More       int    // conversations that are not shown
	Export     string // address of the same as CSV
	Groups     []SettingGroup
	Background RaisedBackground
}

// RaisedBackground is what was typed into the form that lets background work go on, when it was refused.
type RaisedBackground struct{ Amount, Problem string }

func (r RaisedBackground) amount() string {
	if r.Amount == "" && r.Problem == "" {
		return "1.00"
	}
	return r.Amount
}

// Forecast is what the month comes to.
type Forecast struct {
	Spent agent.MicroDollars
	Total agent.MicroDollars
	Days  int // it goes by; 0: none yet
}

// words says how the forecast is made.
func (f Forecast) words() string {
	switch f.Days {
	case 0:
		return "A forecast follows after a whole day of use."
	case 1:
		return "It goes by yesterday, for every day that is left."
	}
	return "It goes by the average of the last " + components.Count(f.Days) + " days, for every day that is left."
}

// SpendRow is a line of a table: what calls of one kind took.
type SpendRow struct {
	Name      string
	URL       string
	Calls     int
	Usage     agent.Usage
	Assumed   agent.MicroDollars
	Estimated agent.MicroDollars
	Unknown   bool // of a model: its price is not known
}

// SpendSpans are how far back the page can look.
func SpendSpans() []Choice {
	return []Choice{{"", "30 days"}, {"month", "This month"}, {"3m", "Three months"}, {"year", "A year"}}
}

// RaiseCap is the page of its own that offers to raise a cap.
type RaiseCap struct {
	layouts.Page
	Raise components.Raise
}
