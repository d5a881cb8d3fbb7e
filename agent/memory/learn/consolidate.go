package learn

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"ash/agent"
	"ash/agent/memory"
)

const (
	maxTidied   = 20000 // current facts that a consolidation looks at
	tidyPage    = 200
	maxAskedOf  = 20                  // pairs of facts in one call
	maxEpisodes = 30                  // episodes in one call
	patternSpan = 90 * 24 * time.Hour // how far back patterns are looked for
	maxOffered  = 5                   // proposals of one consolidation, of each kind
)

// Shelf is what consolidation reads.
type Shelf interface {
	// Facts returns a page of facts, the latest said first; next is "" on the last one.
	Facts(ctx context.Context, f agent.FactFilter) (page []agent.Fact, next string, err error)
	// RecentEpisodes returns the episodes that ended after since, the newest first; at most limit.
	RecentEpisodes(ctx context.Context, since time.Time, limit int) ([]agent.Episode, error)
	// Consolidated returns when the last consolidation without a failure was made; zero for none.
	Consolidated(ctx context.Context) (time.Time, error)
}

// Consolidate tidies memory once: it retires what has expired, merges what is said twice, and, with at most one call to a
// model, asks about what nearly says the same and offers patterns seen over conversations. What only the person can decide
// becomes a proposal. The run is kept like one of learning, and can be undone. It is meant to be called once a day or so.
//
// Errors: CodeConflict while another run is made or when a fact changed meanwhile, CodeUnavailable when somebody writes to the
// model it would use; nothing is kept then.
func (l *Learner) Consolidate(ctx context.Context) (Outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l.mu.Lock()
	if l.running != nil {
		l.mu.Unlock()
		return Outcome{}, agent.Errorf(agent.CodeConflict, "Ash is learning from a conversation just now. Try again in a minute.")
	}
	l.running = &running{cancel: cancel}
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.running = nil
		l.mu.Unlock()
		l.wake()
	}()
	out, err := l.consolidate(ctx)
	if errors.Is(context.Cause(ctx), errStirred) {
		err = agent.Errorf(agent.CodeUnavailable, "Somebody writes; tidying memory waits.")
	}
	return out, err
}

func (l *Learner) consolidate(ctx context.Context) (Outcome, error) {
	t := &tidying{l: l, now: l.o.Now().UTC(), mode: l.mode(), after: map[agent.ID]agent.Fact{}}
	t.run = agent.MemoryRun{ID: agent.NewID(), Kind: agent.RunConsolidate, Created: t.now}
	var err error
	if t.facts, err = l.all(ctx); err != nil {
		return Outcome{}, err
	}
	if t.since, err = l.o.Shelf.Consolidated(ctx); err != nil {
		return Outcome{}, err
	}
	t.retire()
	if t.mode != Off {
		t.merge()
		if err := t.contradictions(ctx); err != nil {
			return Outcome{}, err
		}
		if err := t.ponder(ctx); err != nil {
			return Outcome{}, err
		}
	}
	for _, f := range t.facts {
		if after, ok := t.after[f.ID]; ok {
			t.run.Changes = append(t.run.Changes, agent.MemoryChange{Fact: f.ID, Before: &f, After: &after})
		}
	}
	if err := ctx.Err(); err != nil {
		return Outcome{}, err
	}
	out := Outcome{Run: t.run, Propose: t.propose}
	if err := l.o.Book.Keep(ctx, out); err != nil {
		return Outcome{}, err
	}
	l.kept(t.run, t.most)
	l.o.Log.Info("memory tidied", "run", t.run.ID, "changes", len(t.run.Changes), "proposals", len(t.propose), "cost", int64(t.run.Usage.Cost))
	if len(out.Run.Changes)+len(out.Propose) > 0 {
		l.o.Learned(ctx, "", out)
	}
	return out, nil
}

// all returns the current facts of the owner.
func (l *Learner) all(ctx context.Context) ([]agent.Fact, error) {
	var out []agent.Fact
	filter := agent.FactFilter{Owner: l.o.Owner, Statuses: []agent.FactStatus{agent.FactCurrent}, Limit: tidyPage}
	for {
		page, next, err := l.o.Shelf.Facts(ctx, filter)
		if err != nil {
			return nil, err
		}
		out = append(out, page...)
		if next == "" || len(out) >= maxTidied {
			return out, nil
		}
		filter.After = next
	}
}

// tidying is one consolidation.
type tidying struct {
	l       *Learner
	now     time.Time
	since   time.Time // of the one before
	mode    Mode
	most    agent.MicroDollars // that its call could cost
	facts   []agent.Fact
	after   map[agent.ID]agent.Fact // facts as they are to be
	run     agent.MemoryRun
	propose []agent.Proposal
}

// open reports whether a fact is still as it was: each is changed at most once in a run.
func (t *tidying) open(f agent.Fact) bool {
	_, changed := t.after[f.ID]
	return !changed
}

// retire ends what has expired or is no longer true.
func (t *tidying) retire() {
	past := func(at time.Time) bool { return !at.IsZero() && !at.After(t.now) }
	for _, f := range t.facts {
		if !f.Pinned && (past(f.Expires) || past(f.Until)) {
			f.Status = agent.FactRetired
			t.after[f.ID] = f
		}
	}
}

// articles make no difference between two statements.
var articles = setOf("a an the please also ja also auch")

// sameness is what two statements that say the same have in common: the words in their order, whom they are about, and
// whether they may be a stranger's.
func sameness(f agent.Fact) string {
	words := slices.DeleteFunc(plainWords(f.Text), func(w string) bool { return articles()[w] })
	trust := "own"
	if f.Labels.Untrusted() {
		trust = "foreign"
	}
	return trust + "\x00" + memory.Normal(f.Subject) + "\x00" + strings.Join(words, " ")
}

// merge makes one fact of those that say the same.
func (t *tidying) merge() {
	groups := map[string][]agent.Fact{}
	var order []string
	for _, f := range t.facts {
		if !t.open(f) {
			continue
		}
		key := sameness(f)
		if len(groups[key]) == 0 {
			order = append(order, key)
		}
		groups[key] = append(groups[key], f)
	}
	for _, key := range order {
		if len(groups[key]) > 1 {
			t.join(groups[key])
		}
	}
}

// join ends all but one of some facts as the history of that one. Pinned ones stay as they are.
func (t *tidying) join(list []agent.Fact) {
	stay := list[0]
	for _, f := range list[1:] {
		if better(f, stay) {
			stay = f
		}
	}
	grown := stay
	joined := 0
	for _, f := range list {
		if f.ID == stay.ID || f.Pinned {
			continue
		}
		joined++
		ended := f
		ended.Status, ended.Successor = agent.FactSuperseded, stay.ID
		t.after[f.ID] = ended
		grown.Entities = tidyEntities(append(slices.Clone(grown.Entities), f.Entities...))
		grown.Importance = max(grown.Importance, f.Importance)
		grown.Confidence = max(grown.Confidence, f.Confidence)
		if f.Kind == agent.FactCore {
			grown.Kind = agent.FactCore
		}
		grown.Supersedes = append(slices.Clone(grown.Supersedes), f.ID)
	}
	if joined > 0 && !stay.Pinned {
		t.after[stay.ID] = grown
	}
}

// better reports whether a is the one of two facts that stays.
func better(a, b agent.Fact) bool {
	if a.Pinned != b.Pinned {
		return a.Pinned
	}
	if byHand := a.Source.Kind == agent.SourcePerson; byHand != (b.Source.Kind == agent.SourcePerson) {
		return byHand
	}
	if a.Confidence != b.Confidence {
		return a.Confidence > b.Confidence
	}
	return a.Said.After(b.Said)
}

// contradictions offers to end the older of two facts that give one thing two values.
func (t *tidying) contradictions(ctx context.Context) error {
	latest := map[string]agent.Fact{}
	for _, f := range t.facts { // the latest said first
		key := t.l.phrases().attributeOf(f.Text)
		if key == "" || t.l.phrases().manyValued(key) || !t.open(f) || f.Labels.Untrusted() {
			continue
		}
		key += "\x00" + memory.Normal(f.Subject)
		newer, ok := latest[key]
		if !ok {
			latest[key] = f
			continue
		}
		if !f.Created.After(t.since) && !newer.Created.After(t.since) {
			continue // it was offered then
		}
		if err := t.offer(ctx, f, "It says something else than what you said later: "+agent.Clip(newer.Text, 200)); err != nil {
			return err
		}
	}
	return nil
}

// offer proposes to retire a fact.
func (t *tidying) offer(ctx context.Context, f agent.Fact, why string) error {
	n := 0
	for _, p := range t.propose {
		if p.Action == agent.ActionRetire {
			n++
		}
		if p.Fact.ID == f.ID {
			return nil
		}
	}
	if n >= maxOffered || f.Pinned {
		return nil
	}
	if waits, err := t.l.o.Book.Retiring(ctx, f.ID); err != nil || waits {
		return err
	}
	t.propose = append(t.propose, agent.Proposal{
		ID: agent.NewID(), Run: t.run.ID, Action: agent.ActionRetire, Fact: f, Why: t.l.o.Redact(why), Created: t.now,
	})
	return nil
}
