package spend

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"ash/agent"
)

// Options are what a Book needs. Store, Settings, Size and Tokens are required.
type Options struct {
	Store    Store
	Settings func() Settings
	Zone     *time.Location         // of the person; nil is the machine's
	Size     func(agent.Prompt) int // estimates the tokens of a prompt, rather too many
	Tokens   func(string) int       // estimates the tokens of a text
	Unbilled func(error) bool       // the error says that the provider charges nothing; nil: never known
	Tell     func(agent.SpendEvent) // says something to the person, once; nil: nobody listens
	Now      func() time.Time       // nil is time.Now
	Log      *slog.Logger           // nil discards
}

// Book keeps calls within the caps. Its methods may be called from any goroutine.
type Book struct {
	o Options

	flushing sync.Mutex // one flush at a time; Close waits for it

	mu     sync.Mutex // guards what follows
	free   []Taken    // calls that cost nothing and are not stored yet
	timing bool       // a flush is on its way
	said   map[Said]bool
}

// New returns a book. Begin it before the first call, and Close it to store what is counted.
func New(o Options) *Book {
	if o.Zone == nil {
		o.Zone = time.Local
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Unbilled == nil {
		o.Unbilled = func(error) bool { return false }
	}
	return &Book{o: o, said: map[Said]bool{}}
}

// Begin counts what was spent before there was a book, and what a process that died left reserved.
func (b *Book) Begin(ctx context.Context) error {
	if err := b.o.Store.TakeInSpending(ctx, b.o.Zone); err != nil {
		return err
	}
	n, err := b.o.Store.RecoverSpending(ctx)
	if n > 0 {
		b.o.Log.Warn("model calls were under way when the last run ended; each counts as the most it may have cost", "calls", n)
	}
	return err
}

// Close stores what is counted and not stored yet.
func (b *Book) Close(ctx context.Context) error {
	return b.flush(ctx)
}

// Zone is where days begin and end.
func (b *Book) Zone() *time.Location { return b.o.Zone }

// Today is the day it is for the person.
func (b *Book) Today() Day { return DayOf(b.o.Now(), b.o.Zone) }

// Allowances returns how every cap stands, those without a limit too; CapThread only with a thread.
func (b *Book) Allowances(ctx context.Context, thread agent.ID) ([]Allowance, error) {
	now := b.o.Now()
	sums, err := b.o.Store.SpendSums(ctx, DayOf(now, b.o.Zone), thread)
	if err != nil {
		return nil, err
	}
	var out []Allowance
	for _, a := range b.standing(now, sums) {
		if a.Cap != CapThread || thread != "" {
			out = append(out, a)
		}
	}
	return out, nil
}

// standing puts settings and sums together, in the order of caps.
func (b *Book) standing(now time.Time, sums Sums) []Allowance {
	limits := b.o.Settings()
	local := now.In(b.o.Zone)
	midnight := beginOf(local.Year(), local.Month(), local.Day()+1, b.o.Zone)
	next := beginOf(local.Year(), local.Month()+1, 1, b.o.Zone)
	list := make([]Allowance, 0, len(caps()))
	for _, c := range caps() {
		a := Allowance{Cap: c, Limit: limits.Of(c), Raised: sums.Raised.Of(c), Spent: sums.Spent.Of(c), Until: midnight}
		switch c {
		case CapMonth:
			a.Until = next
		case CapThread:
			a.Until = time.Time{}
		}
		list = append(list, a)
	}
	return list
}

// holding leaves of the caps those that hold for a call, with a limit.
func holding(list []Allowance, purpose agent.Purpose, thread bool) []Allowance {
	var out []Allowance
	for _, a := range list {
		switch {
		case a.Limit <= 0,
			a.Cap == CapBackground && !purpose.Background(),
			a.Cap == CapThread && !thread:
		default:
			out = append(out, a)
		}
	}
	return out
}

// maxRaise bounds what one raise adds: a slip of the finger is not a hundred thousand dollars.
const maxRaise agent.MicroDollars = 10_000 * 1_000_000

// Allow lets at least amount more be spent on answers in a thread ("" for none) under every cap, until the day or the month ends, for
// the conversation for good. Background work is not meant. CodeInvalid for an amount that is none.
func (b *Book) Allow(ctx context.Context, thread agent.ID, amount agent.MicroDollars) error {
	return b.allow(ctx, thread, amount, agent.PurposeChat)
}

// AllowBackground does the same for background work, today.
func (b *Book) AllowBackground(ctx context.Context, amount agent.MicroDollars) error {
	return b.allow(ctx, "", amount, agent.PurposeMemory)
}

func (b *Book) allow(ctx context.Context, thread agent.ID, amount agent.MicroDollars, purpose agent.Purpose) error {
	if amount <= 0 || amount > maxRaise {
		return agent.Errorf(agent.CodeInvalid, "Name an amount between $0.01 and %s.", Dollars(maxRaise))
	}
	list, err := b.Allowances(ctx, thread)
	if err != nil {
		return err
	}
	now := b.o.Now()
	var raises []Raise
	for _, a := range holding(list, purpose, thread != "") {
		if more := amount - a.Left(); more > 0 {
			raises = append(raises, Raise{Cap: a.Cap, Day: DayOf(now, b.o.Zone), Thread: thread, Amount: more, Time: now})
		}
	}
	if len(raises) == 0 {
		return nil // there is that much already
	}
	return b.o.Store.RaiseOnce(ctx, raises)
}

// Hindering returns the cap that an answer in a thread reaches first; ok is false when there is none.
func (b *Book) Hindering(ctx context.Context, thread agent.ID) (a Allowance, ok bool, err error) {
	list, err := b.Allowances(ctx, thread)
	if err != nil {
		return a, false, err
	}
	tight := tightest(holding(list, agent.PurposeChat, thread != ""))
	if tight == nil {
		return a, false, nil
	}
	return *tight, true, nil
}
