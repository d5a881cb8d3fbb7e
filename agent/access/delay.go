package access

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"ash/agent"
)

// Delay is what failed attempts of one kind cost by now.
type Delay struct {
	Key   string    // whose attempts: "from:192.0.2.7/32", "device:ID", "here", "everybody"
	Count int       // failures that are not forgiven yet
	Since time.Time // from when on time forgives them
	Until time.Time // attempts before that are refused unseen
}

// pace is how attempts are slowed down: some failures are free, each further one doubles the wait, up to longest; one failure is forgiven
// per period. So n attempts in a row take at least (n − free − log₂ longest) × period, however they are spread.
type pace struct {
	free            int
	longest, period time.Duration
}

const (
	keyEverybody = "everybody"
	keyHere      = "here"
	keyFrom      = "from:"
	keyDevice    = "device:"
)

// paceOf is the pace for a key.
//
// A single address or device gets one attempt per hour in the long run: 10,000 attempts take more than a year. All strangers together,
// from however many addresses, get one a minute: 10,000 take a week. That is also the longest a stranger can keep another stranger
// waiting, who may be the owner with a new phone; a device that was signed in before, this machine, and pairing do not wait for strangers.
func paceOf(key string) pace {
	switch key {
	case keyEverybody:
		return pace{free: 20, longest: time.Minute, period: time.Minute}
	case keyHere:
		return pace{free: 5, longest: time.Minute, period: time.Minute}
	}
	return pace{free: 5, longest: time.Hour, period: time.Hour}
}

// settle forgives what time has forgiven. A clock that was put back neither forgives nor keeps anybody waiting for longer than longest.
func (p pace) settle(d *Delay, now time.Time) {
	if d.Since.After(now) {
		d.Since = now
	}
	if latest := now.Add(p.longest); d.Until.After(latest) {
		d.Until = latest
	}
	forgiven := now.Sub(d.Since) / p.period
	if int64(forgiven) >= int64(d.Count) {
		d.Count, d.Since = 0, now
		return
	}
	d.Count -= int(forgiven)
	d.Since = d.Since.Add(forgiven * p.period)
}

// fail counts a failure and returns how long the next attempt has to wait.
func (p pace) fail(d *Delay, now time.Time) time.Duration {
	p.settle(d, now)
	d.Count++
	over := d.Count - p.free
	if over <= 0 {
		return 0
	}
	wait := p.longest
	if over <= 16 { // beyond, doubling would only overflow
		wait = min(firstWait<<(over-1), p.longest)
	}
	d.Until = now.Add(wait)
	return wait
}

// delays are the delays of passphrases. They are counted in memory and written down before an attempt is looked at.
type delays struct {
	store DelayStore
	now   func() time.Time
	mu    sync.Mutex // guards what is below
	by    map[string]*Delay
}

// budgets returns the keys that an attempt counts for.
func (d *Doors) budgets(ctx context.Context, by Arrival) ([]string, error) {
	if by.Here {
		return []string{keyHere}, nil
	}
	if hash, ok := by.Former.Hash(); ok {
		before, err := d.store.DeviceByHash(ctx, hash)
		switch {
		case err == nil && !before.Revoked:
			return []string{keyDevice + string(before.ID)}, nil
		case err != nil && agent.CodeOf(err) != agent.CodeNotFound:
			return nil, err
		}
	}
	if behindProxy(by.From) {
		return []string{keyEverybody}, nil
	}
	return []string{fromKey(by.From), keyEverybody}, nil
}

// behindProxy reports whether an address is not whoever asks: what comes from this machine's own address and not from this machine
// came through a proxy here. One stranger behind it must not cost all others their attempts, so only what all strangers share counts.
func behindProxy(from netip.Addr) bool { return !from.IsValid() || from.Unmap().IsLoopback() }

func fromKey(from netip.Addr) string { return keyFrom + network(from).String() }

// begin counts an attempt as failed, durably, unless it has to wait. next is how long the one after it has to.
func (l *delays) begin(ctx context.Context, keys []string) (wait, next time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.load(ctx); err != nil {
		return 0, 0, err
	}
	now := l.now()
	entries := make([]*Delay, len(keys))
	for i, key := range keys {
		e := l.entry(key)
		paceOf(e.Key).settle(e, now)
		wait = max(wait, e.Until.Sub(now))
		entries[i] = e
	}
	if wait > 0 {
		return wait, 0, nil
	}
	changed := make([]Delay, len(entries))
	for i, e := range entries {
		next = max(next, paceOf(e.Key).fail(e, now))
		l.by[e.Key] = e
		changed[i] = *e
	}
	return 0, next, l.store.SaveDelays(ctx, changed, l.prune(now))
}

// worked takes back what begin counted, and forgets the failures before it; those of everybody together stay.
func (l *delays) worked(ctx context.Context, keys []string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var changed []Delay
	var gone []string
	for _, key := range keys {
		e := l.by[key]
		switch {
		case e == nil:
		case key == keyEverybody:
			e.Count, e.Until = max(e.Count-1, 0), time.Time{}
			changed = append(changed, *e)
		default:
			delete(l.by, key)
			gone = append(gone, key)
		}
	}
	return l.store.SaveDelays(ctx, changed, gone)
}

// load reads what was written down, once.
func (l *delays) load(ctx context.Context) error {
	if l.by != nil {
		return nil
	}
	list, err := l.store.Delays(ctx)
	if err != nil {
		return err
	}
	by := make(map[string]*Delay, len(list))
	for _, d := range list {
		by[d.Key] = &d
	}
	l.by = by
	return nil
}

// entry finds where a key is counted. Beyond maxAddresses all further ones are counted together; a new entry is not kept yet.
func (l *delays) entry(key string) *Delay {
	if e := l.by[key]; e != nil {
		return e
	}
	if len(l.by) >= maxAddresses && key != keyEverybody && key != keyHere {
		key = keyFrom + "rest"
		if e := l.by[key]; e != nil {
			return e
		}
	}
	return &Delay{Key: key, Since: l.now()}
}

// prune forgets what is forgiven, and returns its keys.
func (l *delays) prune(now time.Time) (gone []string) {
	for key, e := range l.by {
		if paceOf(key).settle(e, now); e.Count == 0 && !e.Until.After(now) {
			delete(l.by, key)
			gone = append(gone, key)
		}
	}
	return gone
}

// forget forgets everything, also on the disk.
func (l *delays) forget(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.load(ctx); err != nil {
		return err
	}
	gone := make([]string, 0, len(l.by))
	for key := range l.by {
		gone = append(gone, key)
	}
	if err := l.store.SaveDelays(ctx, nil, gone); err != nil {
		return err
	}
	clear(l.by)
	return nil
}

// clear forgets everything; the disk has.
func (l *delays) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.by = map[string]*Delay{}
}
