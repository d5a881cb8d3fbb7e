package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"time"

	"ash/agent"
)

// Retry says how often and how patiently one model is tried before the next.
type Retry struct {
	Tries int           // per model, 1–10; 0 is 3
	Base  time.Duration // wait before the second try, doubled each time; 0 is 500 ms
	Max   time.Duration // longest wait, also when the server asks for longer; 0 is MaxRetryAfter
}

func (r Retry) complete() Retry {
	if r.Tries <= 0 {
		r.Tries = 3
	}
	r.Tries = min(r.Tries, 10)
	if r.Base <= 0 {
		r.Base = 500 * time.Millisecond
	}
	if r.Max <= 0 {
		r.Max = MaxRetryAfter
	}
	return r
}

// patience is how long a server may make Ash wait while another model could be asked.
const patience = 5 * time.Second

// afterStop is how long a provider may take to send its counts once the answer is whole.
const afterStop = 5 * time.Second

// link is one model of a chain.
type link struct {
	provider *provider
	info     agent.ModelInfo
}

// chain asks its models in order until one answers. It implements agent.Model.
type chain struct {
	links  []link
	retry  Retry
	logger *slog.Logger
}

// Stream implements agent.Model. Each try is announced by a DeltaAttempt; a failed one by another that says why and
// what follows. DeltaSource precedes the first delta of the model that answers; from then on nothing is tried again.
func (c *chain) Stream(ctx context.Context, p agent.Prompt) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		r := run{chain: c, prompt: p, yield: yield}
		r.askAll(ctx)
	}
}

// run is one Stream of a chain.
type run struct {
	*chain
	prompt agent.Prompt
	yield  func(agent.Delta, error) bool
	tries  int    // over all models
	first  *Fault // of the model the person chose
	others int    // models that failed after it
}

func (r *run) askAll(ctx context.Context) {
	for i := range r.links {
		var next *agent.ModelRef
		if i+1 < len(r.links) {
			next = &r.links[i+1].info.Ref
		}
		if r.ask(ctx, r.links[i], next) {
			return
		}
	}
	err := Wrap(r.first, r.first.Model)
	switch {
	case r.others == 1:
		err.Public += " The other model failed as well."
	case r.others > 1:
		err.Public += fmt.Sprintf(" The %d other models failed as well.", r.others)
	}
	r.yield(agent.Delta{}, err)
}

// ask tries one model as often as makes sense. It reports whether the stream is over.
func (r *run) ask(ctx context.Context, l link, next *agent.ModelRef) (over bool) {
	for try := 1; ; try++ {
		r.tries++
		attempt := agent.Attempt{Model: l.info.Ref, Number: r.tries}
		if !r.announce(attempt) {
			return true
		}
		a := attemptRun{run: r, link: l}
		a.stream(ctx)
		if a.broke || a.err == nil {
			return true
		}
		fault := a.bears.hide(r.fault(ctx, a.err, l.info.Ref))
		final := fault.Kind == FaultCancelled || fault.Kind == FaultCapped // no other model is asked: the person decides how to go on
		level := slog.LevelWarn
		if final {
			level = slog.LevelDebug
		}
		r.logger.Log(ctx, level, "model call failed", slog.String("model", l.info.Ref.String()), slog.Int("attempt", r.tries),
			slog.Bool("begun", a.begun), slog.String("fault", string(fault.Kind)), slog.Int("status", fault.Status))
		// The server's own words may repeat what was said.
		r.logger.DebugContext(ctx, "model call failed", slog.Any("error", fault))
		wait, again := r.wait(fault, try, next != nil)
		again = again && !a.begun
		if !final {
			attempt.Failed = &agent.Failure{Code: fault.Code(), Public: fault.Public()}
			switch {
			case again:
				attempt.Wait = wait
			case !a.begun && fault.Kind != FaultLocked:
				attempt.Next = next
			}
			if !r.announce(attempt) {
				return true
			}
		}
		if a.begun || final {
			r.yield(agent.Delta{}, Wrap(fault, l.info.Ref))
			return true
		}
		if fault.Kind == FaultLocked {
			r.yield(agent.Delta{}, r.locked(fault))
			return true
		}
		if !again {
			r.note(fault)
			return false
		}
		if err := pause(ctx, wait); err != nil {
			r.yield(agent.Delta{}, Wrap(err, l.info.Ref))
			return true
		}
	}
}

// locked ends the stream with the question for the vault, wherever in the chain the model stands: none that comes after it is asked in its
// place, for that would be a choice of account and price which the person did not make.
func (r *run) locked(f *Fault) error {
	err := Wrap(f, f.Model)
	if r.first != nil {
		err.Public = r.first.Public() + " " + fmt.Sprintf("%s could stand in, but its key lies in the vault, which is locked. Unlock it, and the answer comes.", f.Model)
	}
	return err
}

func (r *run) announce(a agent.Attempt) bool {
	return r.yield(agent.Delta{Kind: agent.DeltaAttempt, Attempt: &a}, nil)
}

func (r *run) note(f *Fault) {
	if r.first == nil {
		r.first = f
		return
	}
	r.others++
}

// fault says what err is, with the model's name in it. The caller's own end counts before anything the network says about it.
func (r *run) fault(ctx context.Context, err error, ref agent.ModelRef) *Fault {
	f := TransportFault(err)
	if ctx.Err() != nil {
		f = NewFault(FaultCancelled, "", context.Cause(ctx))
	}
	own := *f
	own.Model = ref
	_, own.lent = agent.LentTo(ctx)
	return &own
}

// wait says how long to wait before the next try of the same model, and whether there should be one.
func (r *run) wait(f *Fault, try int, other bool) (time.Duration, bool) {
	if !f.Retryable() || try >= r.retry.Tries {
		return 0, false
	}
	if f.RetryAfter > r.retry.Max || other && f.RetryAfter > patience {
		return 0, false
	}
	backoff := min(r.retry.Base<<(try-1), r.retry.Max)
	// Half fixed, half random, so that many conversations do not come back at the same instant.
	backoff = backoff/2 + rand.N(backoff/2+1)
	return max(backoff, f.RetryAfter), true
}

// pause waits d or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return NewFault(FaultCancelled, "", context.Cause(ctx))
	}
}

// attemptRun is one try of one model.
type attemptRun struct {
	*run
	link  link
	bears *worn
	begun bool // a delta of content has been passed on
	broke bool // the caller wants no more
	err   error
	done  bool // the model said why it ended; what may still come are counts
	start time.Time
	usage agent.Usage
}

func (a *attemptRun) stream(ctx context.Context) {
	settings := a.link.provider.settings
	ctx, a.bears = wear(ctx, a.link.info.Ref.String())
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := newWatch(cancel, settings.FirstToken)
	defer watch.stop()
	a.start = time.Now()
	prompt := Adapt(a.prompt, a.link.info)
	if limit := a.link.info.MaxOutput; limit > 0 {
		prompt.MaxTokens = min(prompt.MaxTokens, limit)
	}
	for d, err := range a.link.provider.client.Stream(ctx, a.link.info, prompt) {
		if err != nil {
			a.err = a.because(ctx, err)
			break
		}
		watch.beat()
		switch {
		case d.Kind == agent.DeltaStop:
			a.done = true
			watch.begun(min(settings.Stall, afterStop))
		case !a.begun && content(d.Kind):
			watch.begun(settings.Stall)
		}
		if !a.pass(d) {
			a.broke = true
			return
		}
		watch.beat()
	}
	switch {
	case a.done:
		a.err = nil // the answer is whole, whatever became of the connection after it
	case a.err == nil && ctx.Err() != nil:
		// A client that ended without a word about its cancelled context did not finish either.
		a.err = a.because(ctx, ctx.Err())
	}
	a.end()
}

// pass hands one delta on.
func (a *attemptRun) pass(d agent.Delta) bool {
	switch {
	case d.Kind == agent.DeltaUsage:
		first := a.usage.FirstToken
		a.usage = *d.Usage
		a.usage.FirstToken = first
		return a.report()
	case !a.begun && content(d.Kind):
		a.begun = true
		a.usage.FirstToken = time.Since(a.start)
		info := a.link.info
		if !a.yield(agent.Delta{Kind: agent.DeltaSource, Model: &info}, nil) {
			return false
		}
	}
	return a.yield(d, nil)
}

// end reports what the call took, unless it failed before anything came.
func (a *attemptRun) end() {
	if (a.err == nil || a.begun) && !a.report() {
		a.broke = true
	}
}

func (a *attemptRun) report() bool {
	u := a.usage
	u.Duration = time.Since(a.start)
	if u.Cost == 0 { // some providers say themselves what a call cost
		u.Cost = a.link.info.Price.Cost(u)
	}
	return a.yield(agent.Delta{Kind: agent.DeltaUsage, Usage: &u}, nil)
}

// because replaces the network's words about a call the watch ended by the reason.
func (a *attemptRun) because(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errFirstToken):
		return NewFault(FaultTimeout, "", cause)
	case errors.Is(cause, errStalled):
		return NewFault(FaultStall, "", cause)
	}
	return err
}

// content reports whether a delta of this kind is part of the answer itself.
func content(k agent.DeltaKind) bool {
	switch k {
	case agent.DeltaText, agent.DeltaThinking, agent.DeltaThought, agent.DeltaCall:
		return true
	}
	return false
}
