package spend

import (
	"context"
	"time"

	"ash/agent"
)

// Call is one request to a model. Thread is as the caller named it; Root is filled in by the store.
type Call struct {
	ID      agent.ID
	Day     Day
	Thread  agent.ID
	Root    agent.ID // the person's conversation that Thread belongs to; "" for none
	Purpose agent.Purpose
	Model   agent.ModelRef
	Input   int                // tokens, as estimated
	Cost    agent.MicroDollars // the most it may cost
	Assumed bool               // the price is not known
	Free    bool               // never reserved: costs nothing
	Began   time.Time
}

// Taken is a call that ended, and what it took.
type Taken struct {
	Call
	Usage     agent.Usage // its Cost counts
	Estimated bool        // the provider did not say what it took
}

// Sums are what is spent, with what is reserved by calls under way, and by how much caps are raised for once.
type Sums struct{ Spent, Raised PerCap }

// Store keeps what is spent. Each method is one transaction, durable when it returns.
type Store interface {
	CallStore
	CapStore
}

// CallStore keeps calls.
type CallStore interface {
	// ReserveSpend reads the sums that hold for the call, asks decide what it may cost at the most, and keeps that as an open
	// reservation: in one transaction, so that no two calls are decided on the same sums. decide must be pure; its error is returned, and
	// nothing is kept. The call comes back with Root and Cost.
	ReserveSpend(ctx context.Context, c Call, decide func(Sums) (agent.MicroDollars, error)) (Call, error)
	// SettleSpend counts calls that ended, and closes their reservations. One that was counted already is left alone.
	SettleSpend(ctx context.Context, list []Taken) error
	// ReleaseSpend takes a reservation back: its call cost nothing.
	ReleaseSpend(ctx context.Context, call agent.ID) error
	// RecoverSpending counts the reservations that a dead process left, in full, and returns how many there were.
	RecoverSpending(ctx context.Context) (int, error)
	// TakeInSpending counts, once in the life of a database, what was spent before there was a book: zone places it in days.
	TakeInSpending(ctx context.Context, zone *time.Location) error
	// Spending returns sums from one day to another, both included, in the order of days. What they are not kept apart by is zero.
	Spending(ctx context.Context, from, to Day, by By) ([]Row, error)
}

// CapStore keeps how caps stand.
type CapStore interface {
	// SpendSums returns what holds for a call of that day in that thread ("" for none).
	SpendSums(ctx context.Context, day Day, thread agent.ID) (Sums, error)
	// RaiseOnce adds to what a cap allows in one day, month or conversation, several in one transaction.
	RaiseOnce(ctx context.Context, list []Raise) error
	// SaidOnce notes that the person is told of a cap; false when they have been.
	SaidOnce(ctx context.Context, s Said) (bool, error)
}

// By says what sums are kept apart by.
type By int

// The ways to sum up.
const (
	ByAll     By = iota // by everything there is
	ByPurpose           // by day and purpose
	ByModel             // by model
	ByThread            // by conversation: only the MostThreads dearest, or with the most tokens at the same cost, in that order
)

// MostThreads is how many conversations are kept apart; the export has all.
const MostThreads = 50

// Raise is an addition to a cap that ends with its period.
type Raise struct {
	Cap    Cap
	Day    Day      // of which it is, or whose month
	Thread agent.ID // of CapThread
	Amount agent.MicroDollars
	Time   time.Time
}

// Level is what is said of a cap.
type Level string

// The levels.
const (
	LevelNear    Level = "near"    // most of it is used up
	LevelReached Level = "reached" // background work stopped
)

// Said is one thing told to the person.
type Said struct {
	Cap     Cap
	Period  string
	Level   Level
	Allowed agent.MicroDollars
	Time    time.Time
}

// Row is what calls of one kind took in one day.
type Row struct {
	Day       Day
	Root      agent.ID
	Title     string // of the conversation; "" when there is none, or it is gone
	Purpose   agent.Purpose
	Model     agent.ModelRef
	Calls     int
	Usage     agent.Usage
	Assumed   agent.MicroDollars // of the cost: at a price that is not known
	Estimated agent.MicroDollars // of the cost: of calls that did not say what they took
	Among     int                // ByThread: how many conversations there are, those that are left out too
}
