package agent

import (
	"context"
	"sync"
	"time"
)

// clock measures the time a turn takes and ends its context when that is used up. It stands
// still while the turn waits for the person inside a call: a helper whose approval comes an hour later has not worked for an hour.
type clock struct {
	mu     sync.Mutex
	wall   time.Duration // 0: no bound
	used   time.Duration // up to since
	since  time.Time     // when it last began to run; zero while it stands still
	pauses int           // begun and not yet over
	timer  *time.Timer   // nil without a bound
	cancel context.CancelCauseFunc
}

type clockKey struct{}

// withClock returns a context that ends with errWallTime when the clock's bound is reached, and its clock, which has none yet.
func withClock(ctx context.Context) (_ context.Context, c *clock, done func()) {
	c = &clock{since: time.Now()}
	ctx, c.cancel = context.WithCancelCause(context.WithValue(ctx, clockKey{}, c))
	return ctx, c, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.timer != nil {
			c.timer.Stop()
		}
		c.cancel(nil)
	}
}

// limit bounds the time; the first bound (more than 0) holds.
func (c *clock) limit(wall time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if wall <= 0 || c.timer != nil {
		return
	}
	c.wall = wall
	c.timer = time.AfterFunc(max(0, wall-c.used-time.Since(c.since)), func() { c.cancel(errWallTime) })
}

// PauseClock stops the clock of the turn that ctx belongs to until resume is called, which may be done more than once.
// Tools call it while all they do is wait for a decision of the person.
func PauseClock(ctx context.Context) (resume func()) {
	c, ok := ctx.Value(clockKey{}).(*clock)
	if !ok {
		return func() {}
	}
	c.pause()
	return sync.OnceFunc(c.resume)
}

func (c *clock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pauses++
	if c.pauses > 1 {
		return
	}
	c.used += time.Since(c.since)
	c.since = time.Time{}
	if c.timer != nil {
		c.timer.Stop()
	}
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pauses--
	if c.pauses > 0 {
		return
	}
	c.since = time.Now()
	if c.timer != nil {
		c.timer.Reset(max(0, c.wall-c.used))
	}
}

// spent returns how long the clock has run.
func (c *clock) spent() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.since.IsZero() {
		return c.used
	}
	return c.used + time.Since(c.since)
}
