package learn

import (
	"context"
	"time"

	"ash/agent"
)

// What a call may take: tokens and money of one, calls and money of a day.

const (
	bytesAToken = 2       // fewer than any language has on average: an estimate by it is never too low
	scaffold    = 1 << 10 // bytes of a call beside rules, facts, episode and conversation
	minTold     = 64      // bytes to which a message is cut before a call is given up
	minRoom     = 512     // bytes of conversation that are worth a call
)

// lost is what calls of one day have cost that left no run: those cut short and those that failed.
type lost struct {
	day   time.Time
	cost  agent.MicroDollars
	calls int
}

// output is how many tokens an answer may have.
func (l *Learner) output() int {
	if t := l.o.Tokens(); t > 0 {
		return min(l.o.Bounds.Output, t/4)
	}
	return l.o.Bounds.Output
}

// total is how many bytes a call may send; ok is false when nothing says.
func (l *Learner) total() (bytes int, ok bool) {
	t := l.o.Tokens()
	return bytesAToken * (t - l.output()), t > 0
}

// factRoom is how many bytes of known facts stand in a call.
func (l *Learner) factRoom() int {
	if all, ok := l.total(); ok {
		return min(maxFactsRaw, max(all-len(rules), 0)/4)
	}
	return maxFactsRaw
}

// room is how many bytes of a conversation stand in a call.
func (l *Learner) room() int {
	if all, ok := l.total(); ok {
		return min(l.o.Bounds.Input, max(all-len(rules)-l.factRoom()-maxEpisode-scaffold, minRoom))
	}
	return l.o.Bounds.Input
}

// most returns the tokens a call may take, at the worst.
func most(p agent.Prompt) agent.Usage {
	size := len(p.System)
	for _, m := range p.Messages {
		size += len(agent.Message{Parts: m.Parts}.Text())
	}
	return agent.Usage{Input: size / bytesAToken, Output: p.MaxTokens}
}

// fits reports whether a call keeps to the tokens it may take.
func (l *Learner) fits(p agent.Prompt) bool {
	u, t := most(p), l.o.Tokens()
	return t <= 0 || u.Input+u.Output <= t
}

// affordable refuses a call that may take more than it should: in tokens, in money, or after what the day has cost already. What it
// lets pass counts for the day, at the most it could cost, until its run is kept with what it did.
func (l *Learner) affordable(ctx context.Context, p agent.Prompt, info agent.ModelInfo) (agent.MicroDollars, error) {
	if !l.fits(p) {
		return 0, agent.Errorf(agent.CodeExhausted, "Learning from this would take more than the %d tokens that memory.learn_tokens allows one call.", l.o.Tokens())
	}
	cost := info.Price.Cost(most(p))
	if cost > l.o.Bounds.Cost {
		return 0, agent.Errorf(agent.CodeExhausted, "Learning from this with %s could cost more than it may.", info.Ref)
	}
	day := l.o.Now().UTC().Truncate(24 * time.Hour)
	spent, calls, err := l.o.Spent(ctx, day)
	if err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.lost.day.Equal(day) {
		l.lost = lost{day: day}
	}
	switch daily, often := l.o.Daily(), l.o.Calls(); {
	case often > 0 && calls+l.lost.calls >= often:
		return 0, agent.Errorf(agent.CodeExhausted, "Learning has asked a model %d times today: memory.learn_calls is reached.", often)
	case daily > 0 && spent+l.lost.cost+cost > daily:
		return 0, agent.Errorf(agent.CodeExhausted, "Learning may cost no more today: memory.learn_daily is reached.")
	}
	if err := l.o.Afford(cost); err != nil {
		return 0, err
	}
	l.lost.cost, l.lost.calls = l.lost.cost+cost, l.lost.calls+1
	return cost, nil
}

// kept takes the call of a run that is stored, and so counted there, off what was lost. cost is the most it could have been.
func (l *Learner) kept(run agent.MemoryRun, cost agent.MicroDollars) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if run.Model != (agent.ModelRef{}) && l.lost.calls > 0 {
		l.lost.calls, l.lost.cost = l.lost.calls-1, max(l.lost.cost-cost, 0)
	}
}
