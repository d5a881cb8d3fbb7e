package spend

import (
	"context"
	"errors"
	"time"

	"ash/agent"
)

// flushAfter is how long calls that cost nothing wait to be stored together: nobody waits for a disk because of them.
const flushAfter = 2 * time.Second

// maxFree bounds those that wait.
const maxFree = 256

// settle counts a call that ended.
func (b *Book) settle(ctx context.Context, t Taken) {
	if t.Free {
		b.later(t)
		return
	}
	if err := b.o.Store.SettleSpend(ctx, []Taken{t}); err != nil {
		// The reservation stays: it counts in full, now and after the next start.
		b.o.Log.Error("what a model call took could not be stored; it counts as the most it may have cost", "error", err)
		return
	}
	b.near(ctx, t.Call)
}

// later keeps a call that cost nothing until the next flush.
func (b *Book) later(t Taken) {
	if t.Usage.Input+t.Usage.Output == 0 {
		return
	}
	b.mu.Lock()
	b.free = append(b.free, t)
	full := len(b.free) >= maxFree
	begin := !b.timing
	b.timing = true
	b.mu.Unlock()
	if begin || full {
		wait := flushAfter
		if full {
			wait = 0
		}
		time.AfterFunc(wait, func() {
			ctx, done := context.WithTimeout(context.Background(), storing)
			defer done()
			if err := b.flush(ctx); err != nil {
				b.o.Log.Warn("tokens of local models could not be counted", "error", err)
			}
		})
	}
}

// flush stores the calls that cost nothing.
func (b *Book) flush(ctx context.Context) error {
	b.flushing.Lock()
	defer b.flushing.Unlock()
	b.mu.Lock()
	list := b.free
	b.free, b.timing = nil, false
	b.mu.Unlock()
	if len(list) == 0 {
		return nil
	}
	return b.o.Store.SettleSpend(ctx, list)
}

// near tells the person, once, that most of a cap is used up.
func (b *Book) near(ctx context.Context, c Call) {
	sums, err := b.o.Store.SpendSums(ctx, c.Day, c.Thread)
	if err != nil {
		b.o.Log.Warn("how caps stand could not be read", "error", err)
		return
	}
	for _, a := range holding(b.standing(c.Began, sums), c.Purpose, c.Thread != "") {
		if a.Near() {
			b.tell(ctx, a, LevelNear, c)
		}
	}
}

// refused tells the person, once, that background work stopped. Of an answer that was refused the answer itself tells.
func (b *Book) refused(ctx context.Context, r *running, err error) {
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		return
	}
	b.o.Log.Info("a model call would pass a spending cap; nothing was sent", "cap", string(refusal.Cap), "purpose", string(r.call.Purpose), "model", r.call.Model.String())
	if r.call.Purpose.Background() {
		b.tell(ctx, refusal.Allowance, LevelReached, r.call)
	}
}

// tell says something of a cap, unless it was said.
func (b *Book) tell(ctx context.Context, a Allowance, level Level, c Call) {
	if b.o.Tell == nil {
		return
	}
	s := Said{Cap: a.Cap, Period: period(a.Cap, c.Day, c.Root), Level: level, Allowed: a.Allowed()}
	b.mu.Lock()
	known := b.said[s]
	if len(b.said) > maxFree {
		clear(b.said) // the store knows
	}
	b.said[s] = true
	b.mu.Unlock()
	if known {
		return
	}
	event := agent.SpendEvent{Cap: string(a.Cap), Reached: level == LevelReached}
	event.Text = capital(a.Cap.Name()) + " of " + Dollars(a.Allowed()) + " is nearly used up, with " + Dollars(a.Spent) + " spent. " + a.ends()
	if event.Reached {
		event.Text = "Background work has stopped. It would go beyond " + a.Cap.Name() + " of " + Dollars(a.Allowed()) + ". "
		if a.Cap == CapBackground {
			event.Text += "Conversations go on. "
		}
		event.Text += a.ends()
	}
	s.Time = b.o.Now()
	first, err := b.o.Store.SaidOnce(ctx, s)
	if err != nil {
		b.o.Log.Warn("what was said of a cap could not be kept", "error", err)
	}
	if first || err != nil {
		b.o.Tell(event)
	}
}
