package audit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"ash/agent"
)

// Check looks for one kind of thing.
type Check interface {
	// Name tells the check from the others, for people: "Secrets in files".
	Name() string
	// Run looks and reports what it finds. note, which may be "", says what it looked at. An error says that it could not look at
	// everything; what it reported until then stands. It ends soon after ctx does.
	Run(ctx context.Context, report func(Finding)) (note string, err error)
}

// MaxOfCheck is how many findings of one check a report keeps, the first ones.
const MaxOfCheck = 100

// Options are the bounds of an Audit. The zero value works.
type Options struct {
	Timeout time.Duration       // of one check; 0 is 10 min
	Redact  func(string) string // takes secrets out of what is reported; nil changes nothing
	Now     func() time.Time    // nil is time.Now
	Home    string              // for the report
	Version string              // for the report
	// Fixers do what findings offer. Each looks anew and returns an error rather than change what is not as it was found.
	Fixers map[Act]Fixer
}

// Fixer does what a fix says.
type Fixer func(ctx context.Context, f Fix) error

// Audit runs checks. It is safe for concurrent use; Run is called once at a time.
type Audit struct {
	checks []Check
	o      Options
}

// New returns an Audit of checks.
func New(o Options, checks ...Check) *Audit {
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Minute
	}
	if o.Redact == nil {
		o.Redact = func(s string) string { return s }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Audit{checks: checks, o: o}
}

// Run runs every check and reports. each, which may be nil, hears how many are done. When ctx ends, the checks that are left say that they were not made.
func (a *Audit) Run(ctx context.Context, each func(done, total int)) Report {
	began := a.o.Now()
	r := Report{ID: agent.NewID(), At: began.UTC(), Version: a.o.Version, Home: a.o.Home}
	for i, c := range a.checks {
		looked, found := a.one(ctx, c)
		r.Checks = append(r.Checks, looked)
		r.Findings = append(r.Findings, found...)
		if each != nil {
			each(i+1, len(a.checks))
		}
	}
	slices.SortStableFunc(r.Findings, func(x, y Finding) int { return cmp.Compare(x.Severity.Rank(), y.Severity.Rank()) })
	r.Took = a.o.Now().Sub(began)
	return r
}

// outcome is what a check brought.
type outcome struct {
	found []Finding
	more  int
	note  string
	err   error
}

// one runs a check within its bounds.
func (a *Audit) one(ctx context.Context, c Check) (Looked, []Finding) {
	looked := Looked{Check: c.Name()}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, a.o.Timeout)
	defer cancel()
	ended := make(chan outcome, 1) // the check may end long after nobody waits for it
	go func() { ended <- a.guarded(ctx, c) }()
	var out outcome
	select {
	case out = <-ended:
	case <-ctx.Done():
		select {
		case out = <-ended: // it heeds its context, and says what it has
		case <-time.After(2 * time.Second):
			out.err = agent.Errorf(agent.CodeUnavailable, "It did not end in time and was left alone: nothing is known of this.")
		}
	}
	looked.Took, looked.Note, looked.Found = time.Since(began), a.o.Redact(out.note), len(out.found)+out.more
	switch {
	case out.err != nil && ctx.Err() != nil && len(out.found) == 0:
		looked.Failed = "It was ended before it had looked at everything."
	case out.err != nil:
		looked.Failed = a.o.Redact(agent.PublicOf(out.err))
	}
	if out.more > 0 {
		out.found = append(out.found, a.finish(c.Name(), Finding{Severity: Info, Text: fmt.Sprintf("%d more of these are not listed.", out.more), Remedy: "See to the ones that are listed, then look again."}))
	}
	return looked, out.found
}

// guarded runs a check; a panic of it is an error.
func (a *Audit) guarded(ctx context.Context, c Check) (out outcome) {
	defer func() {
		if p := recover(); p != nil {
			out.err = agent.Errorf(agent.CodeInternal, "This look broke off: %v. That is a defect of Ash.", p)
		}
	}()
	if err := ctx.Err(); err != nil {
		return outcome{err: err}
	}
	out.note, out.err = c.Run(ctx, func(f Finding) {
		if len(out.found) >= MaxOfCheck {
			out.more++
			return
		}
		out.found = append(out.found, a.finish(c.Name(), f))
	})
	return out
}

// finish completes a finding: its id, and nothing secret in it.
func (a *Audit) finish(check string, f Finding) Finding {
	f.Check = check
	if !slices.Contains(Severities(), f.Severity) {
		f.Severity = Critical
	}
	f.Text, f.Place, f.Remedy = a.o.Redact(f.Text), agent.Clip(a.o.Redact(f.Place), 400), a.o.Redact(f.Remedy)
	f.More = slices.Clone(f.More)
	for i, m := range f.More {
		f.More[i] = agent.Clip(a.o.Redact(m), 400)
	}
	target := ""
	if f.Fix != nil {
		target = string(f.Fix.Act) + f.Fix.Target
	}
	sum := sha256.Sum256([]byte(check + "\x00" + f.Rule + "\x00" + f.Place + "\x00" + f.Text + "\x00" + target))
	f.ID = hex.EncodeToString(sum[:8])
	return f
}

// Fix does what a finding offers. Errors: CodeInvalid for one that offers nothing, and those of the fixer, which leaves what is not
// as it was found.
func (a *Audit) Fix(ctx context.Context, f Finding) error {
	if f.Fix == nil {
		return agent.Errorf(agent.CodeInvalid, "Ash cannot set this right by itself. %s", f.Remedy)
	}
	fix, ok := a.o.Fixers[f.Fix.Act]
	if !ok {
		return agent.Errorf(agent.CodeInvalid, "This Ash does not know how to %s.", f.Fix.Act)
	}
	return fix(ctx, *f.Fix)
}
