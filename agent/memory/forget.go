package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ash/agent"
)

// derived adds what was made of what was said.
func (s *search) derived(ctx context.Context) error {
	var ids []agent.ID
	for _, f := range s.facts {
		ids = append(ids, f.ID)
	}
	words := s.words()
	d, err := s.book.store.Derived(ctx, words, ids)
	if err != nil {
		return err
	}
	if err := s.answered(ctx, d.Receipts); err != nil { // first: what was made of those conversations goes with them
		return err
	}
	// A fact that is no history of these and says the same goes with its own history.
	for _, f := range d.Facts {
		if s.same(f.Text) && !slices.Contains(ids, f.ID) {
			if err := s.chain(ctx, f.ID, true); err != nil {
				return err
			}
		}
	}
	for _, e := range d.Episodes {
		if s.says(e.Text) || s.near(e.Thread) && s.hints(e.Text) || e.Thread == s.target.Thread {
			s.add(Trace{Kind: TraceEpisode, Ref: string(e.Thread), Thread: e.Thread, Text: e.Text, Passages: s.saying(e.Text), Ticked: true, Time: e.Created})
			s.seen(e.Created)
		}
	}
	for _, sum := range d.Summaries {
		if sum.Thread != s.target.Thread && (s.says(sum.Text) || s.near(sum.Thread) && s.hints(sum.Text)) {
			s.add(Trace{Kind: TraceSummary, Ref: string(sum.ID), Thread: sum.Thread, Text: sum.Text, Passages: s.saying(sum.Text), Ticked: true, Time: sum.Created})
		}
	}
	for _, t := range d.Threads {
		if t.ID != s.target.Thread && (s.says(t.Title) || s.near(t.ID) && s.hints(t.Title)) {
			s.add(Trace{Kind: TraceTitle, Ref: string(t.ID), Thread: t.ID, Text: t.Title, Ticked: true, Time: t.Created})
		}
	}
	for _, p := range d.Proposals {
		if s.proposes(p, ids) {
			s.add(Trace{Kind: TraceProposal, Ref: string(p.ID), Thread: p.Fact.Source.Thread, Text: p.Fact.Text, Ticked: true, Time: p.Created})
		}
	}
	s.versions(d.Versions)
	return s.elsewhere(ctx, words)
}

// same reports whether a text is one of the facts in other words.
func (s *search) same(text string) bool {
	for i, g := range s.gists {
		if g.same(text, g.hits(text)) || Normal(text) == Normal(s.facts[i].Text) {
			return true
		}
	}
	return false
}

// near reports whether something that goes was said in a thread.
func (s *search) near(thread agent.ID) bool {
	return slices.ContainsFunc(s.list, func(t Trace) bool {
		return t.Ticked && t.Thread == thread && (t.Kind == TraceMessage || t.Kind == TraceFact)
	})
}

// hints reports whether a text names a value of what goes: what was made of the messages that say it may say it in fewer words.
func (s *search) hints(text string) bool {
	return slices.ContainsFunc(slices.Concat(s.gists, s.said), func(g gist) bool { return g.tells(g.hits(text)) })
}

// saying returns the sentences of a text that say what goes: what else stands there is nobody's business now, and may be forgotten itself.
func (s *search) saying(text string) []string {
	var list []string
	for _, sentence := range Sentences(text) {
		if s.says(sentence) || s.hints(sentence) {
			list = append(list, sentence)
		}
	}
	return list
}

// proposes reports whether a proposal is about the facts, or came from what is forgotten.
func (s *search) proposes(p agent.Proposal, facts []agent.ID) bool {
	about := func(id agent.ID) bool { return slices.Contains(facts, id) }
	source := p.Fact.Source
	return about(p.Fact.ID) || slices.ContainsFunc(p.Fact.Supersedes, about) || s.says(p.Fact.Text) || s.says(source.Quote) ||
		source.Message != "" && source.Message == s.target.Message || source.Thread != "" && source.Thread == s.target.Thread
}

func (s *search) versions(list []Version) {
	for _, v := range list {
		if !s.says(v.Text) && !slices.ContainsFunc(Sentences(v.Text), s.says) {
			continue
		}
		t := Trace{Kind: TraceVersion, Ref: string(v.ID), Text: fmt.Sprintf("%s, as it was on %s", v.File, v.Created.Format(time.DateOnly)), Ticked: true, Time: v.Created}
		if v.Newest {
			t.Kind, t.Ref, t.Text, t.Ticked, t.Manual = TraceFile, v.File, v.File, false, true
		}
		s.add(t)
	}
}

// answered looks at the replies that were given the facts.
func (s *search) answered(ctx context.Context, replies []agent.ID) error {
	for _, id := range replies {
		messages, err := s.book.store.Around(ctx, id, 0)
		if err != nil {
			return err
		}
		for _, m := range messages {
			if s.target.Thread != "" && m.Thread == s.target.Thread {
				continue
			}
			for _, g := range s.gists {
				if found := g.naming(m); len(found) > 0 {
					s.message(m, found, true, false)
				}
			}
		}
	}
	return nil
}

// elsewhere adds the files that hold it.
func (s *search) elsewhere(ctx context.Context, words []string) error {
	for _, h := range s.book.options.Elsewhere {
		list, err := h.Holding(ctx, words)
		if err != nil {
			return err
		}
		for _, t := range list {
			if !s.says(t.Text) && !slices.ContainsFunc(Sentences(t.Text), s.says) {
				continue
			}
			t.Kind, t.Ticked, t.Manual = TraceFile, false, true
			s.add(t)
		}
	}
	return nil
}

// copies adds the snapshots that are young enough to hold it. They are not opened: any of them may.
func (s *search) copies(ctx context.Context) error {
	if s.oldest.IsZero() {
		s.oldest = s.book.now()
	}
	list, err := s.book.store.Snapshots(ctx, s.oldest)
	for _, c := range list {
		s.add(Trace{Kind: TraceSnapshot, Ref: c.Name, Text: c.Name, Time: c.Created})
	}
	return err
}

// Forget hides the target and every ticked trace of it from every reader at once, this conversation included, and
// buries it: learning does not bring it back. ticked holds keys of traces; nil takes those that Traces suggests. It can be taken back with
// Restore until it becomes final, by Finish or when its time has come.
//
// Errors: CodeNotFound for a target that does not exist, CodeConflict while an answer is written in a conversation it touches.
func (b *Book) Forget(ctx context.Context, target Target, ticked []string) (Forgetting, error) {
	s, err := b.search(ctx, target)
	if err != nil {
		return Forgetting{}, err
	}
	act := Act{ID: agent.NewID(), Created: b.now(), During: target.During}
	act.Due = act.Created.Add(b.options.Window)
	for _, t := range s.list {
		wanted := t.Ticked
		if ticked != nil {
			wanted = slices.Contains(ticked, t.Key())
		}
		switch {
		case wanted && !t.Manual:
			act.include(t)
		case t.Kind == TraceMessage:
			act.Left = append(act.Left, agent.ID(t.Ref))
		}
	}
	if len(act.Facts)+len(act.Masks)+len(act.Threads) == 0 {
		return Forgetting{}, agent.Errorf(agent.CodeInvalid, "Nothing was chosen that is to be forgotten.")
	}
	gone := Forgetting{ID: act.ID, Threads: act.Threads, Created: act.Created, Due: act.Due}
	for _, f := range s.facts {
		if slices.Contains(act.Facts, f.ID) {
			act.Tombstones = append(act.Tombstones, b.tombstone(ctx, f))
			gone.Facts = append(gone.Facts, f)
		}
	}
	touched, err := b.store.Hide(ctx, act)
	if err != nil {
		return Forgetting{}, err
	}
	gone.Messages = len(touched.Messages)
	touched.Proposals = len(act.Proposals) > 0
	b.changed(ctx, touched)
	return gone, nil
}

// include makes a trace part of the act.
func (a *Act) include(t Trace) {
	id := agent.ID(t.Ref)
	switch t.Kind {
	case TraceFact:
		a.Facts = append(a.Facts, id)
	case TraceMessage:
		passages := t.Passages
		if t.Whole {
			passages = []string{""}
		}
		for _, p := range passages {
			a.Masks = append(a.Masks, agent.Mask{Message: id, Passage: p, Created: a.Created})
		}
	case TraceThread:
		a.Threads = append(a.Threads, id)
	case TraceEpisode:
		a.Episodes = append(a.Episodes, id)
	case TraceSummary:
		a.Summaries = append(a.Summaries, id)
	case TraceTitle:
		a.Titles = append(a.Titles, id)
	case TraceProposal:
		a.Proposals = append(a.Proposals, id)
	case TraceVersion:
		a.Versions = append(a.Versions, id)
	case TraceSnapshot:
		a.Snapshots = append(a.Snapshots, t.Ref)
	case TraceFile:
	}
}

// Restore takes forgetting back. CodeNotFound once it is final.
func (b *Book) Restore(ctx context.Context, id agent.ID) error {
	t, err := b.store.Unhide(ctx, id)
	if err != nil {
		return err
	}
	t.Proposals = true
	b.changed(ctx, t)
	return nil
}

// Finish makes forgetting final: nothing of the text is left in the database, its log, or the copies that were ticked.
// CodeConflict while an answer that says it is being written, or a call that says it waits for the person: nothing is final before that.
func (b *Book) Finish(ctx context.Context, id agent.ID) error {
	if err := b.finishLate(ctx, id); err != nil {
		return err
	}
	return b.finish(ctx, id)
}

// finishLate forgets what was being written while the person decided, such as an answer that had been given the fact, or the list of what
// another act would forget. What they left, and what was said later, stays.
func (b *Book) finishLate(ctx context.Context, id agent.ID) error {
	hidden, err := b.store.Forgettings(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(hidden, func(g Forgetting) bool { return g.ID == id })
	if i < 0 {
		return nil // a crash broke it off when its texts were gone already
	}
	s := &search{book: b, facts: hidden[i].Facts}
	for _, f := range s.facts {
		s.gists = append(s.gists, gistOf(f))
	}
	if err := s.repeats(ctx); err != nil {
		return err
	}
	late := Act{ID: agent.NewID(), Created: b.now(), Due: b.now()}
	for _, t := range s.list {
		if t.Ticked && t.Time.Before(hidden[i].Created) && !slices.Contains(hidden[i].Left, agent.ID(t.Ref)) {
			late.include(t)
		}
	}
	if len(late.Masks) == 0 {
		return nil
	}
	touched, err := b.store.Hide(ctx, late)
	if err != nil {
		return err
	}
	b.changed(ctx, touched)
	return b.finish(ctx, late.ID)
}

func (b *Book) finish(ctx context.Context, id agent.ID) error {
	t, err := b.store.Finish(ctx, id)
	if err != nil {
		return err
	}
	b.changed(ctx, t)
	return nil
}

// Forgettings lists what can still be taken back, the oldest first.
func (b *Book) Forgettings(ctx context.Context) ([]Forgetting, error) {
	return b.store.Forgettings(ctx)
}

// FinishDue makes final what is due, and completes what a crash broke off; it returns how many that were. It is called at start-up and every
// minute or so. One that fails does not keep the others.
func (b *Book) FinishDue(ctx context.Context) (int, error) {
	ids, err := b.store.Unfinished(ctx)
	if err != nil {
		return 0, err
	}
	hidden, err := b.store.Forgettings(ctx)
	if err != nil {
		return 0, err
	}
	for _, g := range hidden {
		if !g.Due.After(b.options.Now()) {
			ids = append(ids, g.ID)
		}
	}
	n := 0
	var failed []error
	for _, id := range ids {
		if err := b.Finish(ctx, id); err != nil {
			failed = append(failed, err)
			continue
		}
		n++
	}
	return n, errors.Join(failed...)
}
