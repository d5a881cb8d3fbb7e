package memory

import (
	"context"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ash/agent"
)

const (
	// Window is how long forgetting can be taken back, unless Options say otherwise.
	Window = 10 * time.Minute
	// CoreBytes bounds the text of the core in a prompt, unless Options say otherwise.
	CoreBytes = 4000
	// maxEntities bounds what one fact is about, maxEntityName its name, in bytes.
	maxEntities   = 16
	maxEntityName = 120
)

// Options adjust a Book. The zero value is ready for use.
type Options struct {
	Index     Index    // told of what changed; nil: there is none
	Meaning   Meaning  // of what is forgotten; nil: there is no embedder
	Elsewhere []Holder // files that may hold what is forgotten
	Now       func() time.Time
	Window    time.Duration // how long forgetting can be taken back; 0: the default
	CoreBytes int           // of the core in a prompt; 0: the default
	// OnChange is told of the facts that changed, after the change is durable.
	OnChange func(t Touched)
	Log      *slog.Logger // never gets text of memories; nil discards
}

// Book is what Ash remembers: the one place where facts change. It is safe for concurrent use: the store decides
// between two changes of the same fact, and the loser gets CodeConflict.
type Book struct {
	store   Store
	options Options
}

// New returns the book over a store.
func New(store Store, options Options) *Book {
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Window <= 0 {
		options.Window = Window
	}
	if options.CoreBytes <= 0 {
		options.CoreBytes = CoreBytes
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	return &Book{store: store, options: options}
}

// now returns the present as the store keeps it.
func (b *Book) now() time.Time { return b.options.Now().UTC().Truncate(time.Microsecond) }

// Kept tells what became of a fact that was to be remembered.
type Kept struct {
	Fact  agent.Fact
	Known bool // it was remembered already; Fact is the one from then, with what the new one adds
}

// Remember keeps a fact. One that says the same as a current one (see Normal) becomes that one. The facts named in f.Supersedes end as
// history of f. told means that the person asked for it in so many words: then even a thing that was
// forgotten is kept, and its tombstone goes. Zero fields are filled: id, kind, status, times.
//
// Errors: CodeInvalid for a text that is empty or too long, CodeDenied for a thing that was forgotten,
// CodeNotFound and CodeConflict for facts in Supersedes that are gone or have changed in this instant.
func (b *Book) Remember(ctx context.Context, f agent.Fact, told bool) (Kept, error) {
	f, err := b.ready(f)
	if err != nil {
		return Kept{}, err
	}
	graves, err := b.graves(ctx, f.Text)
	if err != nil {
		return Kept{}, err
	}
	if len(graves) > 0 && !told {
		return Kept{}, errForgotten()
	}
	same, err := b.store.SameFacts(ctx, f.Owner, Fingerprint(f.Text))
	if err != nil {
		return Kept{}, err
	}
	if i := slices.IndexFunc(same, b.current); i >= 0 && !slices.Contains(f.Supersedes, same[i].ID) {
		return b.again(ctx, same[i], f, graves)
	}
	step := Step{Lifts: graves}
	if step.Changes, err = b.supersede(ctx, f); err != nil {
		return Kept{}, err
	}
	done, err := b.Apply(ctx, step)
	if err != nil {
		return Kept{}, err
	}
	return Kept{Fact: *done[0].After}, nil
}

func errForgotten() error {
	return agent.Errorf(agent.CodeDenied, "You had this forgotten. It is remembered again only when you say so yourself.")
}

// current reports whether a fact holds and has not expired.
func (b *Book) current(f agent.Fact) bool {
	return f.Status == agent.FactCurrent && (f.Expires.IsZero() || f.Expires.After(b.options.Now()))
}

// again adds to a fact what its repetition brings. What a stranger may have written adds nothing to the person's own fact.
func (b *Book) again(ctx context.Context, old, f agent.Fact, lifts []agent.ID) (Kept, error) {
	if f.Labels.Untrusted() && !old.Labels.Untrusted() {
		return Kept{Fact: old, Known: true}, nil
	}
	merged := old
	merged.Labels = old.Labels.Union(f.Labels)
	merged.Confidence, merged.Importance = max(old.Confidence, f.Confidence), max(old.Importance, f.Importance)
	if f.Said.After(old.Said) {
		merged.Said = f.Said
	}
	if f.Kind == agent.FactCore {
		merged.Kind = agent.FactCore
	}
	if !f.Expires.IsZero() && !old.Expires.IsZero() {
		merged.Expires = f.Expires
	}
	merged.Pinned = old.Pinned || f.Pinned
	merged.Entities = union(old.Entities, f.Entities)
	step := Step{Lifts: lifts, Changes: []agent.MemoryChange{{Fact: old.ID, Before: &old, After: &merged}}}
	ended, err := b.end(ctx, f.Supersedes, old.ID, old.ID)
	if err != nil {
		return Kept{}, err
	}
	step.Changes = append(step.Changes, ended...)
	done, err := b.Apply(ctx, step)
	if err != nil {
		return Kept{}, err
	}
	return Kept{Fact: *done[0].After, Known: true}, nil
}

func union(a, b []agent.Entity) []agent.Entity {
	out := slices.Clone(a)
	for _, e := range b {
		if !slices.ContainsFunc(out, func(x agent.Entity) bool { return FoldName(x.Name) == FoldName(e.Name) }) && len(out) < maxEntities {
			out = append(out, e)
		}
	}
	return out
}

// supersede returns the changes that keep f and end what it supersedes. f gets the labels of those: a text that was made of
// a stranger's is not the person's because it was rewritten.
func (b *Book) supersede(ctx context.Context, f agent.Fact) ([]agent.MemoryChange, error) {
	ended, err := b.end(ctx, f.Supersedes, f.ID, "")
	if err != nil {
		return nil, err
	}
	for _, c := range ended {
		f.Labels = f.Labels.Union(c.Before.Labels)
	}
	return append([]agent.MemoryChange{{Fact: f.ID, After: &f}}, ended...), nil
}

// end returns the changes that make facts history of their successor. Those that are history already stay.
func (b *Book) end(ctx context.Context, ids []agent.ID, successor, except agent.ID) ([]agent.MemoryChange, error) {
	var list []agent.MemoryChange
	for _, id := range ids {
		if id == except {
			continue
		}
		old, err := b.store.Fact(ctx, id)
		if err != nil {
			return nil, err
		}
		if old.Status != agent.FactCurrent {
			continue
		}
		after := old
		after.Status, after.Successor, after.Pinned = agent.FactSuperseded, successor, false
		if after.Until.IsZero() {
			after.Until = b.now()
		}
		list = append(list, agent.MemoryChange{Fact: id, Before: &old, After: &after})
	}
	return list, nil
}

// ready checks a new fact and fills what it lacks.
func (b *Book) ready(f agent.Fact) (agent.Fact, error) {
	f.Text = strings.TrimSpace(f.Text)
	switch {
	case f.Text == "" || !strings.ContainsFunc(f.Text, wordRune):
		return f, agent.Errorf(agent.CodeInvalid, "There is nothing to remember in that.")
	case len(f.Text) > agent.MaxFact:
		return f, agent.Errorf(agent.CodeInvalid, "A memory has at most %d bytes; this one has %d. Keep the rest as a note.", agent.MaxFact, len(f.Text))
	case !utf8.ValidString(f.Text):
		return f, agent.Errorf(agent.CodeInvalid, "This text is damaged (not UTF-8).")
	case f.Owner == "":
		return f, agent.Errorf(agent.CodeInternal, "A fact without an owner.")
	case len(f.Entities) > maxEntities:
		return f, agent.Errorf(agent.CodeInvalid, "A memory is about at most %d people, places, projects or things.", maxEntities)
	case !f.From.IsZero() && !f.Until.IsZero() && f.Until.Before(f.From):
		return f, agent.Errorf(agent.CodeInvalid, "A memory cannot end before it begins.")
	}
	for _, e := range f.Entities {
		if len(e.Name) > maxEntityName || FoldName(e.Name) == "" {
			return f, agent.Errorf(agent.CodeInvalid, "The name of what a memory is about has 1 to %d bytes.", maxEntityName)
		}
	}
	if f.ID == "" {
		f.ID = agent.NewID()
	}
	if f.Kind == "" {
		f.Kind = agent.FactPlain
	}
	if f.Source.Kind == "" {
		f.Source.Kind = agent.SourcePerson
	}
	if f.Said.IsZero() {
		f.Said = b.now()
	}
	f.Status, f.Successor = agent.FactCurrent, ""
	f.Confidence, f.Importance = share(f.Confidence), share(f.Importance)
	f.Source.Quote = agent.Clip(f.Source.Quote, agent.MaxFact)
	return f, nil
}

// share brings a number into 0–1.
func share(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return min(max(x, 0), 1)
}

// Apply does a step, tells the index and the pages, and returns the changes as they were applied. Learning and consolidation
// come here with their runs; what they keep was checked with Ready. Errors as memory.Facts.
func (b *Book) Apply(ctx context.Context, step Step) ([]agent.MemoryChange, error) {
	done, err := b.store.ApplyMemory(ctx, step)
	if err != nil {
		return nil, err
	}
	t := Touched{Proposals: len(step.Propose) > 0 || step.Decides != ""}
	for _, c := range done {
		t.Facts = append(t.Facts, c.Fact)
	}
	b.changed(ctx, t)
	return done, nil
}

// changed tells who derives something. The change is durable by now: an index that fails catches up by itself.
func (b *Book) changed(ctx context.Context, t Touched) {
	if b.options.Index != nil {
		if err := b.options.Index.Refresh(context.WithoutCancel(ctx), t); err != nil {
			b.options.Log.WarnContext(ctx, "the index of memories is behind; it catches up", slog.Any("error", err))
		}
	}
	if b.options.OnChange != nil {
		b.options.OnChange(t)
	}
}

// Ready checks a fact and fills what it lacks, as Remember does, without keeping it. CodeInvalid as there.
func (b *Book) Ready(f agent.Fact) (agent.Fact, error) { return b.ready(f) }
