package doctor

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"ash/agent"
)

// Check looks at one thing.
type Check interface {
	// Name tells the check from the others, for people: "Disk space".
	Name() string
	// Run looks, and says what it found. It ends soon after ctx does. Check and Took need not be filled in.
	Run(ctx context.Context) Finding
}

// Patient is a check that may take longer than the others.
type Patient interface {
	Patience() time.Duration // at most; 0 is Options.Timeout
}

// Options are the bounds of a Doctor. The zero value works.
type Options struct {
	Timeout  time.Duration       // of one check; 0 is 10 s
	Parallel int                 // checks that run side by side; 0 is 4
	Redact   func(string) string // takes secrets out of what is reported; nil changes nothing
	Now      func() time.Time    // nil is time.Now
	Home     string              // for the report
	Version  string              // for the report
	Running  bool                // for the report
	Full     bool                // for the report: the checks were made to look at everything
}

// Doctor runs checks. It is safe for concurrent use.
type Doctor struct {
	checks []Check
	o      Options

	mu   sync.Mutex // guards busy
	busy map[string]bool
}

// New returns a Doctor of checks, which are reported in this order. Their names differ.
func New(o Options, checks ...Check) *Doctor {
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Parallel <= 0 {
		o.Parallel = 4
	}
	if o.Redact == nil {
		o.Redact = func(s string) string { return s }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Doctor{checks: checks, o: o, busy: map[string]bool{}}
}

// Run runs every check and reports. each, which may be nil, hears of every finding as it comes, with how many of how many are
// done; it is called by one goroutine at a time. When ctx ends, what has not been looked at says so.
func (d *Doctor) Run(ctx context.Context, each func(done, total int, f Finding)) Report {
	began := d.o.Now()
	r := Report{
		At: began.UTC(), Version: d.o.Version, Home: d.o.Home, Running: d.o.Running, Full: d.o.Full,
		Findings: make([]Finding, len(d.checks)),
	}
	var (
		mu    sync.Mutex // guards done and each
		done  int
		wait  sync.WaitGroup
		slots = make(chan struct{}, d.o.Parallel)
	)
	for i, check := range d.checks {
		wait.Go(func() {
			slots <- struct{}{}
			f := d.one(ctx, check)
			<-slots
			r.Findings[i] = f
			mu.Lock()
			defer mu.Unlock()
			done++
			if each != nil {
				each(done, len(d.checks), f)
			}
		})
	}
	wait.Wait()
	r.Took = d.o.Now().Sub(began)
	return r
}

// one runs a check within its bounds.
func (d *Doctor) one(ctx context.Context, c Check) Finding {
	name := c.Name()
	limit := d.o.Timeout
	if p, ok := c.(Patient); ok && p.Patience() > 0 {
		limit = p.Patience()
	}
	d.mu.Lock()
	hangs := d.busy[name]
	d.busy[name] = true
	d.mu.Unlock()
	began := time.Now()
	if hangs {
		return d.clean(Finding{Check: name, Severity: Warning, Text: "An earlier look at this has not ended yet, so it was not begun again.",
			Fix: "Wait a moment and look again. If that does not help, start Ash anew."}, began)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	found := make(chan Finding, 1) // the check may end long after nobody waits for it
	go func() {
		defer cancel()
		f := guarded(ctx, c)
		d.mu.Lock()
		delete(d.busy, name)
		d.mu.Unlock()
		found <- f
	}()
	select {
	case f := <-found:
		f.Check = name
		return d.clean(f, began)
	case <-ctx.Done():
	}
	select { // it may have ended in the same instant
	case f := <-found:
		f.Check = name
		return d.clean(f, began)
	case <-time.After(grace):
	}
	return d.clean(Finding{Check: name, Severity: Warning, Text: fmt.Sprintf("This look did not end within %s and was left alone.", time.Since(began).Round(100*time.Millisecond)),
		Fix: "Look again when the machine is less busy."}, began)
}

// grace is how long a check whose time is up may take to say what it has.
const grace = 250 * time.Millisecond

// guarded runs a check; a panic of it is a finding.
func guarded(ctx context.Context, c Check) (f Finding) {
	defer func() {
		if p := recover(); p != nil {
			f = Finding{Severity: Problem, Text: fmt.Sprintf("This look broke off: %v. That is a defect of Ash, not of your home.", p)}
		}
	}()
	if err := ctx.Err(); err != nil {
		return Finding{Severity: Note, Text: "This was not looked at: the look was ended before."}
	}
	return c.Run(ctx)
}

// clean bounds a finding and takes secrets out of it.
func (d *Doctor) clean(f Finding, began time.Time) Finding {
	f.Took = time.Since(began)
	if !slices.Contains(ranks[:], f.Severity) {
		f.Severity = Problem
	}
	if more := len(f.Details) - MaxDetails; more > 0 {
		f.Details = append(slices.Clone(f.Details[:MaxDetails]), fmt.Sprintf("and %d more", more))
	}
	f.Text, f.Fix = d.o.Redact(f.Text), d.o.Redact(f.Fix)
	f.Details = slices.Clone(f.Details)
	for i, s := range f.Details {
		f.Details[i] = agent.Clip(d.o.Redact(s), maxDetail)
	}
	return f
}

// maxDetail bounds a detail, in bytes.
const maxDetail = 400

// unseen is the finding of a check that could not look.
func unseen(err error, fix string) Finding {
	return Finding{Severity: Problem, Text: agent.PublicOf(err), Fix: fix}
}
