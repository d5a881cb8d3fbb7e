package agent

import "time"

// TurnState says how far a turn has come.
type TurnState string

// The states of a turn.
const (
	TurnRunning     TurnState = "running"
	TurnWaiting     TurnState = "waiting"     // rests until the person decides
	TurnStopping    TurnState = "stopping"    // Stop was pressed: nothing new starts; the open reply is being closed
	TurnDone        TurnState = "done"        // the reply is finished
	TurnStopped     TurnState = "stopped"     // the person pressed Stop
	TurnFailed      TurnState = "failed"      // an error ended it; the head message says which
	TurnInterrupted TurnState = "interrupted" // Ash ended while it ran; goes on only on request
)

// Turn is the work that one message of the person (or Regenerate, Continue)
// sets off. At most one turn of a thread is running or waiting.
type Turn struct {
	ID      ID
	Thread  ID
	Trigger ID // the message it answers
	State   TurnState
	Rounds  int // model calls made
	Usage   Usage
	Started time.Time
	Ended   time.Time
}

// Active reports whether the turn may still change by itself or by a decision.
func (t Turn) Active() bool {
	return t.State == TurnRunning || t.State == TurnWaiting || t.State == TurnStopping
}

// Bounds limit one turn (threats.md 14). Zero means no bound of that kind.
type Bounds struct {
	Rounds int
	Wall   time.Duration
	Tokens int
	Cost   MicroDollars
}

// within returns b, narrowed by what a thread of its own budget may use in a turn.
func (b Bounds) within(t Budget) Bounds {
	b.Rounds = tighter(b.Rounds, t.Rounds)
	b.Wall = tighter(b.Wall, t.Wall)
	b.Tokens = tighter(b.Tokens, t.Tokens)
	b.Cost = tighter(b.Cost, t.Cost)
	return b
}

// tighter returns the smaller bound; 0 is none.
func tighter[T int | time.Duration | MicroDollars](a, b T) T {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// Usage is what a model call (or several) took.
type Usage struct {
	Input      int // tokens sent, cached ones included
	Output     int // tokens received, thinking included
	CacheRead  int // of Input, read from the provider's cache
	CacheWrite int // of Input, written to it
	Cost       MicroDollars
	FirstToken time.Duration // from request to first delta
	Duration   time.Duration // from request to end
}

// Add returns the sum of counts, cost and duration; FirstToken stays u's unless that is zero.
func (u Usage) Add(v Usage) Usage {
	if u.FirstToken == 0 {
		u.FirstToken = v.FirstToken
	}
	u.Input += v.Input
	u.Output += v.Output
	u.CacheRead += v.CacheRead
	u.CacheWrite += v.CacheWrite
	u.Cost += v.Cost
	u.Duration += v.Duration
	return u
}
