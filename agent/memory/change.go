package memory

import (
	"context"
	"slices"
	"strings"
	"time"

	"ash/agent"
)

// expirePage is how many facts Expire reads in one go.
const expirePage = 200

// Correct replaces a current fact by what f says: the old one stays as its history and is never recalled as current. Fields that
// f leaves zero are taken from the old fact. Its labels go along whatever f says. A text that says the same
// changes the fact in place. base is the Updated the person saw; zero does not compare.
//
// Errors: CodeConflict when the fact changed since or is not current, CodeInvalid, CodeNotFound.
func (b *Book) Correct(ctx context.Context, id agent.ID, base time.Time, f agent.Fact) (agent.Fact, error) {
	old, err := b.held(ctx, id, base)
	if err != nil {
		return agent.Fact{}, err
	}
	f = filled(f, old)
	if f, err = b.ready(f); err != nil {
		return agent.Fact{}, err
	}
	if Fingerprint(f.Text) == Fingerprint(old.Text) {
		f.ID, f.Labels = old.ID, old.Labels.Union(f.Labels)
		return b.replace(ctx, old, f)
	}
	f.ID, f.Supersedes, f.Created = agent.NewID(), []agent.ID{id}, time.Time{}
	graves, err := b.graves(ctx, f.Text)
	if err != nil {
		return agent.Fact{}, err
	}
	if len(graves) > 0 && f.Source.Kind != agent.SourcePerson {
		return agent.Fact{}, errForgotten()
	}
	same, err := b.store.SameFacts(ctx, f.Owner, Fingerprint(f.Text))
	if err != nil {
		return agent.Fact{}, err
	}
	if i := slices.IndexFunc(same, b.current); i >= 0 {
		f.Labels = f.Labels.Union(old.Labels)
		if f.Labels.Untrusted() && !same[i].Labels.Untrusted() {
			f.Labels = nil // the person's own words say the same: they are what stays
		}
		kept, err := b.again(ctx, same[i], f, graves)
		return kept.Fact, err
	}
	changes, err := b.supersede(ctx, f)
	if err != nil {
		return agent.Fact{}, err
	}
	if len(changes) < 2 { // another correction came first
		return agent.Fact{}, errHistory()
	}
	changes[1].Before = &old // what the person saw
	done, err := b.Apply(ctx, Step{Changes: changes, Lifts: graves})
	if err != nil {
		return agent.Fact{}, err
	}
	return *done[0].After, nil
}

// filled takes from old what f leaves open.
func filled(f, old agent.Fact) agent.Fact {
	f.Owner = old.Owner
	if strings.TrimSpace(f.Text) == "" {
		f.Text = old.Text
	}
	if f.Kind == "" {
		f.Kind = old.Kind
	}
	if f.Subject == "" {
		f.Subject = old.Subject
	}
	if f.Entities == nil {
		f.Entities = old.Entities
	}
	if f.Confidence == 0 {
		f.Confidence = old.Confidence
	}
	if f.Importance == 0 {
		f.Importance = old.Importance
	}
	if f.Expires.IsZero() {
		f.Expires = old.Expires
	}
	f.Pinned = f.Pinned || old.Pinned
	return f
}

// held returns a current fact that is as the person saw it.
func (b *Book) held(ctx context.Context, id agent.ID, base time.Time) (agent.Fact, error) {
	f, err := b.store.Fact(ctx, id)
	if err != nil {
		return agent.Fact{}, err
	}
	if f.Status != agent.FactCurrent {
		return agent.Fact{}, errHistory()
	}
	if !base.IsZero() && !f.Updated.Equal(base) {
		return agent.Fact{}, agent.Errorf(agent.CodeConflict, "This memory has changed since you opened it. Look at it again.")
	}
	return f, nil
}

func errHistory() error {
	return agent.Errorf(agent.CodeConflict, "This memory is history by now. Look at what took its place.")
}

// replace changes a fact in place.
func (b *Book) replace(ctx context.Context, old, f agent.Fact) (agent.Fact, error) {
	f.Supersedes = old.Supersedes
	done, err := b.Apply(ctx, Step{Changes: []agent.MemoryChange{{Fact: old.ID, Before: &old, After: &f}}})
	if err != nil {
		return agent.Fact{}, err
	}
	return *done[0].After, nil
}

// Detail names what to change about a fact without changing what it says; nil fields stay.
type Detail struct {
	Kind       *agent.FactKind
	Importance *float64
	Pinned     *bool
	Expires    *time.Time // zero: never
	From       *time.Time
	Until      *time.Time
	Subject    *string
	Entities   *[]agent.Entity
}

// Edit changes details of a current fact. Errors as Correct.
func (b *Book) Edit(ctx context.Context, id agent.ID, base time.Time, d Detail) (agent.Fact, error) {
	old, err := b.held(ctx, id, base)
	if err != nil {
		return agent.Fact{}, err
	}
	f := old
	set(&f.Kind, d.Kind)
	set(&f.Importance, d.Importance)
	set(&f.Pinned, d.Pinned)
	set(&f.Expires, d.Expires)
	set(&f.From, d.From)
	set(&f.Until, d.Until)
	set(&f.Subject, d.Subject)
	set(&f.Entities, d.Entities)
	if f, err = b.ready(f); err != nil {
		return agent.Fact{}, err
	}
	return b.replace(ctx, old, f)
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// Pin keeps a fact from being retired or merged by Ash itself, or lets it go again.
func (b *Book) Pin(ctx context.Context, id agent.ID, pinned bool) (agent.Fact, error) {
	return b.Edit(ctx, id, time.Time{}, Detail{Pinned: &pinned})
}

// Retire ends a fact without a successor: it stays as history. Errors as Correct.
func (b *Book) Retire(ctx context.Context, id agent.ID) (agent.Fact, error) {
	old, err := b.held(ctx, id, time.Time{})
	if err != nil {
		return agent.Fact{}, err
	}
	return b.replace(ctx, old, b.retired(old))
}

func (b *Book) retired(f agent.Fact) agent.Fact {
	f.Status, f.Pinned = agent.FactRetired, false
	if f.Until.IsZero() {
		f.Until = b.now()
	}
	return f
}

// Revive makes a retired fact current again. CodeConflict when it is not retired, or when a current one says the same.
func (b *Book) Revive(ctx context.Context, id agent.ID) (agent.Fact, error) {
	old, err := b.store.Fact(ctx, id)
	if err != nil {
		return agent.Fact{}, err
	}
	same, err := b.store.SameFacts(ctx, old.Owner, Fingerprint(old.Text))
	if err != nil {
		return agent.Fact{}, err
	}
	if old.Status != agent.FactRetired || slices.ContainsFunc(same, b.current) {
		return agent.Fact{}, agent.Errorf(agent.CodeConflict, "This memory cannot be brought back: it has a successor, or is remembered anew.")
	}
	f := old
	f.Status, f.Until = agent.FactCurrent, time.Time{}
	if !f.Expires.IsZero() && !f.Expires.After(b.options.Now()) {
		f.Expires = time.Time{}
	}
	return b.replace(ctx, old, f)
}

// Expire retires the facts whose time has passed and returns how many they were. A fact that changes in this instant is
// left for the next time.
func (b *Book) Expire(ctx context.Context) (int, error) {
	n := 0
	for {
		due, err := b.store.Expired(ctx, b.now(), expirePage)
		if err != nil || len(due) == 0 {
			return n, err
		}
		before := n
		for _, f := range due {
			_, err := b.replace(ctx, f, b.retired(f))
			if agent.CodeOf(err) == agent.CodeConflict {
				continue
			}
			if err != nil {
				return n, err
			}
			n++
		}
		if n == before {
			return n, nil
		}
	}
}

// Core returns what stands in every prompt: the current core facts of an owner that fit the bound, pinned ones first, then by
// importance, then the older first, so that the text seldom changes; and how many were left out.
func (b *Book) Core(ctx context.Context, owner agent.ID) (core []agent.Fact, left int, err error) {
	filter := agent.FactFilter{
		Owner: owner, Statuses: []agent.FactStatus{agent.FactCurrent}, Kinds: []agent.FactKind{agent.FactCore}, Limit: 200,
	}
	var all []agent.Fact
	for {
		page, next, err := b.store.Facts(ctx, filter)
		if err != nil {
			return nil, 0, err
		}
		for _, f := range page {
			if b.current(f) {
				all = append(all, f)
			}
		}
		if next == "" {
			break
		}
		filter.After = next
	}
	slices.SortStableFunc(all, before)
	room := b.options.CoreBytes
	for _, f := range all {
		if len(f.Text) > room {
			left++
			continue
		}
		room -= len(f.Text)
		core = append(core, f)
	}
	return core, left, nil
}

func before(x, y agent.Fact) int {
	switch {
	case x.Pinned != y.Pinned:
		if x.Pinned {
			return -1
		}
		return 1
	case x.Importance > y.Importance:
		return -1
	case x.Importance < y.Importance:
		return 1
	}
	return strings.Compare(string(x.ID), string(y.ID))
}
