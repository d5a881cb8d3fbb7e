package spend

import (
	"context"
	"iter"
	"time"

	"ash/agent"
)

// storing bounds a write that must happen although the call's caller has left.
const storing = 10 * time.Second

// Ask makes a request with a prompt.
type Ask func(ctx context.Context, p agent.Prompt) iter.Seq2[agent.Delta, error]

// Stream makes one request to a model, within the caps: p.Charge says whose. A call that they do not let through, or whose answer ran into what
// they had left, ends with an *agent.Error (CodeExhausted, NeedMoney) around a *Refusal.
func (b *Book) Stream(ctx context.Context, info agent.ModelInfo, p agent.Prompt, ask Ask) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		r, err := b.begin(ctx, info, p)
		if err != nil {
			yield(agent.Delta{}, err)
			return
		}
		defer r.end(ctx)
		if r.shrunk {
			p.MaxTokens = r.limit
		}
		r.follow(ask(ctx, p), yield)
	}
}

// running is a call under way.
type running struct {
	book   *Book
	call   Call
	info   agent.ModelInfo
	plan   plan
	limit  int        // tokens of output that are set aside
	shrunk bool       // they are fewer than the model would give
	tight  *Allowance // the cap that says so; nil for none

	usage   agent.Usage
	told    bool // the provider said what it took
	whole   bool // the model said why it ended
	bytes   int  // of the answer, thinking and arguments included
	tokens  int  // estimated of the same
	failure error
}

// begin reserves what a call may cost at the most.
func (b *Book) begin(ctx context.Context, info agent.ModelInfo, p agent.Prompt) (*running, error) {
	now := b.o.Now()
	r := &running{book: b, info: info, call: Call{
		ID: agent.NewID(), Day: DayOf(now, b.o.Zone), Thread: p.Charge.Thread, Purpose: p.Charge.Purpose, Model: info.Ref, Began: now,
	}}
	r.plan = planOf(p, info, b.o.Size(p), b.o.Settings())
	r.limit, r.call.Input, r.call.Assumed = r.plan.want, r.plan.input, r.plan.assumed
	if _, lent := agent.LentTo(ctx); lent || info.Local { // whoever brings a key of their own pays for it themselves
		r.call.Free, r.call.Assumed = true, false
		return r, nil
	}
	return r, b.reserve(ctx, r)
}

func (b *Book) reserve(ctx context.Context, r *running) error {
	call, err := b.o.Store.ReserveSpend(ctx, r.call, func(sums Sums) (agent.MicroDollars, error) {
		r.tight = tightest(holding(b.standing(r.call.Began, sums), r.call.Purpose, r.call.Thread != ""))
		limit, refused := r.plan.fit(r.tight)
		if refused != nil {
			return 0, refused.failure()
		}
		r.limit = limit
		return r.plan.whole(limit), nil
	})
	if err != nil {
		b.refused(ctx, r, err)
		return err
	}
	r.call, r.shrunk = call, r.limit < r.plan.want
	return nil
}

// follow hands the answer on and counts it.
func (r *running) follow(deltas iter.Seq2[agent.Delta, error], yield func(agent.Delta, error) bool) {
	held := false // the end of an answer that the cap cut short
	for d, err := range deltas {
		if err == nil {
			err = r.see(d)
		}
		if err != nil {
			r.failure = err
			yield(agent.Delta{}, err)
			return
		}
		if d.Kind == agent.DeltaStop && d.Stop == agent.StopMaxTokens && r.shrunk {
			held = true
			continue
		}
		if !yield(d, nil) {
			return
		}
	}
	if held {
		yield(agent.Delta{}, r.cut())
	}
}

// see counts one delta. The error ends an answer that is longer than what was set aside for it: its server takes no notice of limits.
func (r *running) see(d agent.Delta) error {
	switch d.Kind {
	case agent.DeltaText, agent.DeltaThinking:
		r.count(d.Text)
	case agent.DeltaCall:
		r.count(d.Call.Name)
		r.count(d.Call.Arguments)
	case agent.DeltaUsage:
		r.usage, r.told = *d.Usage, r.told || d.Usage.Input+d.Usage.Output > 0
	case agent.DeltaStop:
		r.whole = true
	}
	if r.tight != nil && r.bytes > endless*r.limit+endless*floor {
		return r.cut()
	}
	return nil
}

func (r *running) count(text string) {
	r.bytes += len(text)
	r.tokens += r.book.o.Tokens(text)
}

// cut is the end of an answer that ran into what the cap had left.
func (r *running) cut() error {
	return &agent.Error{
		Code: agent.CodeExhausted, Need: agent.NeedMoney, Err: &Refusal{Allowance: *r.tight},
		Public: "The answer was ended here to keep within " + r.tight.Cap.Name() + " of " + Dollars(r.tight.Allowed()) + ". Raise it to go on. " + r.tight.ends(),
	}
}

// end settles the call.
func (r *running) end(ctx context.Context) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), storing)
	defer done()
	b := r.book
	if r.failure != nil && !r.told && r.bytes == 0 && b.o.Unbilled(r.failure) {
		if r.call.Free {
			return
		}
		if err := b.o.Store.ReleaseSpend(ctx, r.call.ID); err != nil {
			b.o.Log.Error("a reservation could not be taken back; it counts until the next start, and then as spent", "error", err)
		}
		return
	}
	b.settle(ctx, r.taken())
}

// taken is what the call took: as the provider says, or as far as can be known.
func (r *running) taken() Taken {
	t := Taken{Call: r.call, Usage: r.usage, Estimated: !r.whole || !r.told}
	u := &t.Usage
	if t.Estimated {
		if u.Input == 0 {
			u.Input = r.call.Input
		}
		u.Output = max(u.Output, min(max(r.tokens, r.unseen()), r.limit))
	}
	switch {
	case r.call.Free:
		u.Cost = 0
	case u.Cost > 0: // some providers say themselves
		t.Assumed = false
	default:
		u.Cost = r.plan.price.Cost(*u)
	}
	return t
}

// unseen is how much a model may have thought before an answer that was broken off showed anything.
func (r *running) unseen() int {
	if !r.info.Thinking || r.bytes > 0 {
		return 0
	}
	return int(r.book.o.Now().Sub(r.call.Began).Seconds() * thinkingSpeed)
}

// Embed has texts turned into vectors, within the caps of background work. price is what is known of the model's.
func (b *Book) Embed(ctx context.Context, info agent.ModelInfo, texts []string, ask func(context.Context) ([][]float32, error)) ([][]float32, error) {
	now := b.o.Now()
	r := &running{book: b, info: info, whole: true, call: Call{
		ID: agent.NewID(), Day: DayOf(now, b.o.Zone), Purpose: agent.PurposeMemory, Model: info.Ref, Began: now, Free: info.Local,
	}}
	for _, t := range texts {
		r.call.Input += b.o.Tokens(t)
	}
	r.plan = plan{input: r.call.Input, price: info.Price}
	if info.Price == (agent.Price{}) && !info.Local {
		r.plan.assumed, r.plan.price = true, agent.Price{Input: AssumedEmbedding}
	}
	r.plan.in, r.call.Assumed = costOf(r.call.Input, r.plan.price.Input), r.plan.assumed
	if !r.call.Free {
		if err := b.reserve(ctx, r); err != nil {
			return nil, err
		}
	}
	defer r.end(ctx)
	vectors, err := ask(ctx)
	if err != nil {
		r.failure, r.whole = err, false
	}
	return vectors, err
}
