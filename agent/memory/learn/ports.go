package learn

import (
	"context"
	"log/slog"
	"time"

	"ash/agent"
)

// Mode says what becomes of what was learned.
type Mode string

// The modes. Anything else is Off.
const (
	Automatic Mode = "automatic" // facts from the person's own words are kept, the rest waits for the person
	Ask       Mode = "ask"       // everything waits for the person
	Off       Mode = "off"       // nothing is learned, nor will be later from what is said meanwhile
)

// Conversations reads what was said, without what masks hide.
type Conversations interface {
	// Tail returns the end of a conversation.
	Tail(ctx context.Context, thread agent.ID) (agent.Tail, error)
	// Path returns at most the last limit messages up to head, the oldest first, with their calls. Recalled is filled, at
	// least its labels: an answer that was given an untrusted memory is no answer to learn beside.
	Path(ctx context.Context, head agent.ID, limit int) ([]agent.Message, error)
	// Unlearned returns conversations whose last message came after since and is not covered by a run of learning, the
	// longest quiet first; at most limit. Those of helpers and imported ones are left out.
	Unlearned(ctx context.Context, since time.Time, limit int) ([]agent.ID, error)
}

// Book keeps what is remembered.
type Book interface {
	Refusals
	// Learned returns the last message that runs of learning have looked at in a conversation, "" for none.
	Learned(ctx context.Context, thread agent.ID) (agent.ID, error)
	// Concerning returns current facts that a text may be about, the nearest first, with those of the core; at most limit.
	Concerning(ctx context.Context, owner agent.ID, text string, limit int) ([]agent.Fact, error)
	// Known reports whether a current fact or a waiting proposal says the same.
	Known(ctx context.Context, owner agent.ID, text string) (bool, error)
	// Keep stores an outcome in one transaction: the run, its changes as they are, and its proposals. CodeConflict when a
	// fact is no longer what its change says it was; nothing is kept then.
	Keep(ctx context.Context, o Outcome) error
}

// Refusals knows what the person does not want.
type Refusals interface {
	// Forgotten reports whether a text says what was forgotten.
	Forgotten(ctx context.Context, text string) (bool, error)
	// Declined reports whether the person said no to a statement when it was offered.
	Declined(ctx context.Context, text string) (bool, error)
	// Retiring reports whether a proposal to retire a fact waits, or the person said no to one.
	Retiring(ctx context.Context, fact agent.ID) (bool, error)
}

// Episodes keeps what conversations were about.
type Episodes interface {
	// Episode returns that of a conversation; CodeNotFound when there is none.
	Episode(ctx context.Context, thread agent.ID) (agent.Episode, error)
	// SaveEpisode stores an episode in the place of the conversation's earlier one.
	SaveEpisode(ctx context.Context, e agent.Episode) error
}

// Outcome is what a run leaves. Run.Changes is its diff.
type Outcome struct {
	Run     agent.MemoryRun
	Propose []agent.Proposal
}

// Options wires a Learner. Owner, Conversations, Book and Episodes are required.
type Options struct {
	Owner         agent.ID // the person Ash belongs to
	Conversations Conversations
	Book          Book
	Episodes      Episodes
	Shelf         Shelf // for Consolidate; nil where that is never called

	Models agent.Models                        // nil: by phrases only
	Model  func(t agent.Thread) string         // "provider/name" for a conversation, "" for the default; nil is its own
	Afford func(cost agent.MicroDollars) error // asked before a call that may cost so much; nil: only MaxCost bounds it

	// Spent says what the runs kept since a time have cost, and how many of them asked a model; nil: nothing.
	Spent  func(ctx context.Context, since time.Time) (cost agent.MicroDollars, calls int, err error)
	Daily  func() agent.MicroDollars // of all calls of one day (UTC); nil and 0 set no bound
	Calls  func() int                // of one day (UTC), however cheap; 0 sets no bound, nil: Bounds.Calls
	Idle   func() time.Duration      // quiet before a conversation counts as resting; nil and 0: Bounds.Idle
	Tokens func() int                // of one call, its answer included; nil and 0: Bounds.Input and Bounds.Output alone

	Mode    func() Mode                                            // nil is Automatic
	Busy    func() bool                                            // a local model is at work; nil is never
	Inspect func(ctx context.Context, text string) []agent.Finding // looks for orders to the assistant; nil finds none
	Redact  func(text string) string                               // takes secrets out; nil knows none
	Learned func(ctx context.Context, thread agent.ID, o Outcome)  // told of every run that changed or proposes something; nil: nobody
	Now     func() time.Time                                       // nil is time.Now
	Log     *slog.Logger                                           // nil discards

	Bounds Bounds
}

// Bounds limits what learning takes. Zero fields are the defaults.
type Bounds struct {
	Idle    time.Duration      // quiet before a conversation counts as resting; 2 minutes
	Retry   time.Duration      // before the second try, doubled for each further one; 1 minute
	Slowest time.Duration      // the longest wait between tries; 1 hour
	Call    time.Duration      // for one call; 2 minutes
	Reach   time.Duration      // how far back conversations are taken up after a start; 7 days
	Input   int                // bytes of conversation in one call; 24 KB
	Output  int                // tokens of one answer; 1,500
	Cost    agent.MicroDollars // of one call; 50,000 (5 cents)
	Calls   int                // of one day (UTC); 300
}

func (b Bounds) complete() Bounds {
	set(&b.Idle, 2*time.Minute)
	set(&b.Retry, time.Minute)
	set(&b.Slowest, time.Hour)
	set(&b.Call, 2*time.Minute)
	set(&b.Reach, 7*24*time.Hour)
	set(&b.Input, 24<<10)
	set(&b.Output, 1500)
	set(&b.Cost, 50_000)
	set(&b.Calls, 300)
	return b
}

func set[T ~int | ~int64](field *T, otherwise T) {
	if *field <= 0 {
		*field = otherwise
	}
}

func (o Options) complete() Options {
	o.Bounds = o.Bounds.complete()
	if o.Model == nil {
		o.Model = func(t agent.Thread) string { return t.Model }
	}
	if o.Afford == nil {
		o.Afford = func(agent.MicroDollars) error { return nil }
	}
	if o.Spent == nil {
		o.Spent = func(context.Context, time.Time) (agent.MicroDollars, int, error) { return 0, 0, nil }
	}
	if o.Daily == nil {
		o.Daily = func() agent.MicroDollars { return 0 }
	}
	if o.Calls == nil {
		o.Calls = func() int { return o.Bounds.Calls }
	}
	if o.Idle == nil {
		o.Idle = func() time.Duration { return 0 }
	}
	if o.Tokens == nil {
		o.Tokens = func() int { return 0 }
	}
	if o.Mode == nil {
		o.Mode = func() Mode { return Automatic }
	}
	if o.Busy == nil {
		o.Busy = func() bool { return false }
	}
	if o.Inspect == nil {
		o.Inspect = func(context.Context, string) []agent.Finding { return nil }
	}
	if o.Redact == nil {
		o.Redact = func(text string) string { return text }
	}
	if o.Learned == nil {
		o.Learned = func(context.Context, agent.ID, Outcome) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}
