package memory

import (
	"context"
	"slices"
	"time"

	"ash/agent"
)

// Propose puts changes before the person. Those that say what was forgotten or declined, or what is remembered or proposed already,
// are dropped; the rest is returned as it waits. Nothing is recalled of a proposal.
func (b *Book) Propose(ctx context.Context, list []agent.Proposal) ([]agent.Proposal, error) {
	var kept []agent.Proposal
	for _, p := range list {
		wanted, err := b.worth(ctx, &p)
		if err != nil {
			return nil, err
		}
		if wanted {
			kept = append(kept, p)
		}
	}
	if len(kept) == 0 {
		return nil, nil
	}
	_, err := b.Apply(ctx, Step{Propose: kept})
	return kept, err
}

// worth checks and completes a proposal.
func (b *Book) worth(ctx context.Context, p *agent.Proposal) (bool, error) {
	if p.ID == "" {
		p.ID = agent.NewID()
	}
	p.Created = b.now()
	if p.Action == agent.ActionRetire {
		f, err := b.store.Fact(ctx, p.Fact.ID)
		if err != nil || f.Status != agent.FactCurrent {
			return false, notMissing(err)
		}
		p.Fact = f
		if no, err := b.DeclinedRetiring(ctx, f.ID); no || err != nil {
			return false, err
		}
		waiting, err := b.waiting(ctx, func(w agent.Proposal) bool { return w.Action == agent.ActionRetire && w.Fact.ID == f.ID })
		return !waiting, err
	}
	f, err := b.ready(p.Fact)
	if err != nil {
		return false, err
	}
	p.Fact = f
	forgotten, err := b.Forgotten(ctx, f.Text)
	if err != nil || forgotten {
		return false, err
	}
	if no, err := b.Declined(ctx, f.Text); no || err != nil {
		return false, err
	}
	same, err := b.store.SameFacts(ctx, f.Owner, Fingerprint(f.Text))
	if err != nil || slices.ContainsFunc(same, b.current) {
		return false, err
	}
	waiting, err := b.waiting(ctx, func(w agent.Proposal) bool {
		return w.Action == agent.ActionKeep && w.Fact.Owner == f.Owner && Fingerprint(w.Fact.Text) == Fingerprint(f.Text)
	})
	return !waiting, err
}

func notMissing(err error) error {
	if agent.CodeOf(err) == agent.CodeNotFound {
		return nil
	}
	return err
}

// waiting reports whether a proposal of that kind waits already.
func (b *Book) waiting(ctx context.Context, like func(agent.Proposal) bool) (bool, error) {
	for after := ""; ; {
		page, next, err := b.store.Proposals(ctx, after, 200)
		if err != nil || slices.ContainsFunc(page, like) {
			return err == nil, err
		}
		if next == "" {
			return false, nil
		}
		after = next
	}
}

// Verdict is the person's word on a proposal.
type Verdict struct {
	Approve bool
	Text    string // the person's own wording; "" keeps the proposed one
}

// Decide does what a proposal says, or drops it, and returns the changes. The proposal's labels stay with the fact even when the person
// words it anew. The second decision is CodeConflict, and so is one about facts that have changed since.
func (b *Book) Decide(ctx context.Context, id agent.ID, v Verdict) ([]agent.MemoryChange, error) {
	p, err := b.store.Proposal(ctx, id)
	if agent.CodeOf(err) == agent.CodeNotFound {
		return nil, agent.Wrap(agent.CodeConflict, err, "This was already decided.")
	}
	if err != nil {
		return nil, err
	}
	step := Step{Decides: id}
	switch {
	case !v.Approve:
		step.Declines = declinedOf(p)
	case p.Action == agent.ActionRetire:
		old, err := b.held(ctx, p.Fact.ID, time.Time{})
		if err != nil {
			return nil, err
		}
		after := b.retired(old)
		step.Changes = []agent.MemoryChange{{Fact: old.ID, Before: &old, After: &after}}
	default:
		if step, err = b.keep(ctx, p, v, step); err != nil {
			return nil, err
		}
	}
	return b.Apply(ctx, step)
}

// keep makes the step that keeps what a proposal says.
func (b *Book) keep(ctx context.Context, p agent.Proposal, v Verdict, step Step) (Step, error) {
	f := p.Fact
	if v.Text != "" {
		f.Text = v.Text
	}
	f, err := b.ready(f)
	if err != nil {
		return step, err
	}
	f.Source.Run = p.Run
	if step.Lifts, err = b.graves(ctx, f.Text); err != nil { // the person says so
		return step, err
	}
	same, err := b.store.SameFacts(ctx, f.Owner, Fingerprint(f.Text))
	if err != nil {
		return step, err
	}
	if i := slices.IndexFunc(same, b.current); i >= 0 {
		step.Changes, err = b.end(ctx, f.Supersedes, same[i].ID, same[i].ID)
		return step, err
	}
	step.Changes, err = b.supersede(ctx, f)
	return step, err
}

// Undo takes a run back: every fact is as it was before it, to the byte, and what the run proposed and still waits goes. CodeConflict when a fact has changed since, with nothing
// changed, and when the run was undone before.
func (b *Book) Undo(ctx context.Context, run agent.ID) ([]agent.MemoryChange, error) {
	r, err := b.store.MemoryRun(ctx, run)
	if err != nil {
		return nil, err
	}
	if !r.Undone.IsZero() {
		return nil, agent.Errorf(agent.CodeConflict, "This was already undone.")
	}
	step := Step{Undoes: run}
	for _, c := range slices.Backward(r.Changes) {
		back := agent.MemoryChange{Fact: c.Fact, Before: c.After, After: c.Before}
		// A fact that the run changed more than once goes from its last state to its first.
		if i := slices.IndexFunc(step.Changes, func(x agent.MemoryChange) bool { return x.Fact == c.Fact }); i >= 0 {
			step.Changes[i].After = back.After
			continue
		}
		step.Changes = append(step.Changes, back)
	}
	return b.Apply(ctx, step)
}
