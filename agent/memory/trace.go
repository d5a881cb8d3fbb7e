package memory

import (
	"context"
	"slices"
	"strings"
	"time"

	"ash/agent"
)

const (
	// maxSaying bounds the messages that one look for repetitions reads.
	maxSaying = 1000
	// near is how many messages before and after a source are read for what answers it.
	nearSource = 4
	// maxShown bounds the text of a trace, in bytes.
	maxShown = 400
)

// Target is what is to be forgotten: one of the first three is set.
type Target struct {
	Fact    agent.ID
	Message agent.ID
	Thread  agent.ID
	During  agent.ID // the message with the call that asks for it; "" when a person does by hand
}

// TraceKind says what holds a thing that is to be forgotten.
type TraceKind string

// What may hold it.
const (
	TraceFact     TraceKind = "fact"
	TraceMessage  TraceKind = "message"
	TraceThread   TraceKind = "thread"
	TraceEpisode  TraceKind = "episode"
	TraceSummary  TraceKind = "summary"
	TraceTitle    TraceKind = "title"
	TraceProposal TraceKind = "proposal"
	TraceVersion  TraceKind = "version"  // an older state of an identity file
	TraceSnapshot TraceKind = "snapshot" // a copy of the database
	TraceFile     TraceKind = "file"     // a note or an identity file: the person's to edit
)

// Trace is one place that holds a thing that is to be forgotten.
type Trace struct {
	Kind     TraceKind
	Ref      string // id, name of the copy, path of the file
	Thread   agent.ID
	Role     agent.Role // of a message
	Text     string     // what it says there, clipped
	Passages []string   // of a message: what is masked; of a summary or episode, which go whole: what of it says it
	Whole    bool       // of a message: all of it is masked
	Source   bool       // what was learned came from it
	Ticked   bool       // forgotten with it unless the person takes the tick away
	Manual   bool       // Ash does not change it: the person has to
	Time     time.Time
}

// Key names a trace in a form. It is the same as long as the trace is there.
func (t Trace) Key() string { return string(t.Kind) + ":" + t.Ref }

// Traces is what forgetting would do.
type Traces struct {
	Target Target
	List   []Trace
	More   bool // there are more messages that may repeat it than were looked at
}

// Holder knows of files that may hold a thing, such as notes. words are stems, as Mentions takes them.
type Holder interface {
	Holding(ctx context.Context, words []string) ([]Trace, error)
}

// Traces lists what holds the target: the facts with their history, the messages they came from, others that repeat them, what was made of
// those, copies and versions. It changes nothing. CodeNotFound for a target that does not exist.
func (b *Book) Traces(ctx context.Context, target Target) (Traces, error) {
	s, err := b.search(ctx, target)
	if err != nil {
		return Traces{}, err
	}
	return Traces{Target: target, List: s.list, More: s.more}, nil
}

// search is one look for traces.
type search struct {
	book   *Book
	target Target
	facts  []agent.Fact // that go, with their history
	gists  []gist
	said   []gist // what a message says that is to be forgotten, sentence by sentence
	list   []Trace
	more   bool
	oldest time.Time // of anything that says it
}

func (b *Book) search(ctx context.Context, target Target) (*search, error) {
	s := &search{book: b, target: target}
	for _, step := range []func(context.Context) error{s.begin, s.sources, s.repeats, s.derived, s.copies} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// begin finds the facts.
func (s *search) begin(ctx context.Context) error {
	switch t := s.target; {
	case t.Fact != "":
		return s.chain(ctx, t.Fact, true)
	case t.Message != "":
		messages, err := s.book.store.Around(ctx, t.Message, 0)
		if err != nil {
			return err
		}
		if len(messages) == 0 {
			return agent.Errorf(agent.CodeNotFound, "That message does not exist, or no longer does.")
		}
		m := messages[0]
		s.add(Trace{Kind: TraceMessage, Ref: string(m.ID), Thread: m.Thread, Role: m.Role, Text: m.Text(), Whole: true, Source: true, Ticked: true, Time: m.Created})
		if err := s.repeated(ctx, m); err != nil {
			return err
		}
		return s.learned(ctx, agent.FactFilter{Message: t.Message})
	case t.Thread != "":
		s.add(Trace{Kind: TraceThread, Ref: string(t.Thread), Thread: t.Thread, Source: true, Ticked: true})
		messages, err := s.book.store.ThreadMessages(ctx, t.Thread)
		if err != nil {
			return err
		}
		if len(messages) > 0 {
			s.seen(messages[0].Created)
		}
		return s.learned(ctx, agent.FactFilter{Thread: t.Thread})
	}
	return agent.Errorf(agent.CodeInvalid, "Nothing was named that is to be forgotten.")
}

// repeated adds what stands around a message and says the same, such as an answer that repeats it.
func (s *search) repeated(ctx context.Context, m agent.Message) error {
	for _, sentence := range Sentences(m.Text()) {
		if g := gistOf(agent.Fact{Text: sentence}); len(g.spoken()) >= 2 && len(s.said) < maxWords {
			s.said = append(s.said, g)
		}
	}
	around, err := s.book.store.Around(ctx, m.ID, nearSource)
	if err != nil {
		return err
	}
	for _, other := range around {
		var found []string
		for _, g := range s.said {
			for _, text := range textsOf(other) {
				sure, _ := g.passages(text)
				found = append(found, sure...)
			}
		}
		if other.ID != m.ID && len(found) > 0 {
			s.message(other, found, true, false)
		}
	}
	return nil
}

// learned adds the facts that came from a message or thread.
func (s *search) learned(ctx context.Context, f agent.FactFilter) error {
	for f.Limit = 200; ; {
		page, next, err := s.book.store.Facts(ctx, f)
		if err != nil {
			return err
		}
		for _, fact := range page {
			if err := s.chain(ctx, fact.ID, true); err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		f.After = next
	}
}

// chain adds a fact with all its history.
func (s *search) chain(ctx context.Context, id agent.ID, ticked bool) error {
	chain, err := s.book.store.FactChain(ctx, id)
	if err != nil {
		return err
	}
	for _, f := range chain {
		if s.add(Trace{
			Kind: TraceFact, Ref: string(f.ID), Thread: f.Source.Thread, Text: f.Text, Source: true, Ticked: ticked, Time: f.Said,
		}) {
			s.facts = append(s.facts, f)
			s.gists = append(s.gists, gistOf(f))
			s.seen(f.Created)
		}
	}
	return nil
}

// add adds a trace, once; a second one of the same message adds its passages.
func (s *search) add(t Trace) bool {
	t.Text = agent.Clip(t.Text, maxShown)
	i := slices.IndexFunc(s.list, func(x Trace) bool { return x.Key() == t.Key() })
	if i < 0 {
		s.list = append(s.list, t)
		return true
	}
	old := &s.list[i]
	if old.Whole || t.Kind != TraceMessage {
		return false
	}
	if t.Ticked && !old.Ticked {
		old.Passages = nil // what it might be gives way to what it is
	}
	if t.Ticked || !old.Ticked {
		for _, p := range t.Passages {
			if !slices.Contains(old.Passages, p) {
				old.Passages = append(old.Passages, p)
			}
		}
	}
	old.Ticked, old.Source, old.Whole = old.Ticked || t.Ticked, old.Source || t.Source, t.Whole
	return false
}

func (s *search) seen(at time.Time) {
	if !at.IsZero() && (s.oldest.IsZero() || at.Before(s.oldest)) {
		s.oldest = at
	}
}

// sources finds the passages that facts were learned from, and what stands around them.
func (s *search) sources(ctx context.Context) error {
	for i, f := range s.facts {
		if f.Source.Message == "" || f.Source.Thread == s.target.Thread && s.target.Thread != "" {
			continue
		}
		around, err := s.book.store.Around(ctx, f.Source.Message, nearSource)
		if err != nil {
			return err
		}
		for _, m := range around {
			s.seen(m.Created)
			if m.ID == f.Source.Message {
				s.source(m, f, s.gists[i])
				continue
			}
			if found := s.gists[i].naming(m); len(found) > 0 {
				s.message(m, found, true, false)
			}
		}
	}
	return nil
}

// source adds the message a fact came from. When nothing in it can be told to say the fact, all of it goes.
func (s *search) source(m agent.Message, f agent.Fact, g gist) {
	var found []string
	quote := Normal(f.Source.Quote)
	texts := textsOf(m)
	for _, text := range texts {
		for _, sentence := range Sentences(text) {
			n := Normal(sentence)
			if quote != "" && (strings.Contains(quote, n) || strings.Contains(n, quote)) {
				found = append(found, sentence)
			}
		}
		if quote != "" && len(found) == 0 && strings.Contains(Normal(text), quote) {
			found = append(found, f.Source.Quote)
		}
		sure, _ := g.passages(text)
		found = append(found, sure...)
	}
	found = append(found, g.naming(m)...)
	if len(found) == 0 {
		s.add(Trace{Kind: TraceMessage, Ref: string(m.ID), Thread: m.Thread, Role: m.Role, Text: m.Text(), Whole: true, Source: true, Ticked: true, Time: m.Created})
		return
	}
	s.message(m, found, true, true)
}

func (s *search) message(m agent.Message, passages []string, ticked, source bool) {
	var once []string
	for _, p := range passages {
		if !slices.Contains(once, p) {
			once = append(once, p)
		}
	}
	s.add(Trace{
		Kind: TraceMessage, Ref: string(m.ID), Thread: m.Thread, Role: m.Role, Text: strings.Join(once, " … "),
		Passages: once, Source: source, Ticked: ticked, Time: m.Created,
	})
}

// repeats finds other messages that say it.
func (s *search) repeats(ctx context.Context) error {
	var asked [][]string
	for _, g := range s.gists {
		words := g.spoken()
		if len(words) == 0 || slices.ContainsFunc(asked, func(w []string) bool { return slices.Equal(w, words) }) {
			continue
		}
		asked = append(asked, words)
		found, more, err := s.book.store.Saying(ctx, words, maxSaying)
		if err != nil {
			return err
		}
		s.more = s.more || more
		for _, m := range found {
			if s.target.Thread != "" && m.Thread == s.target.Thread {
				continue
			}
			var sure, maybe []string
			for _, text := range textsOf(m) {
				certain, possible := g.passages(text)
				sure, maybe = append(sure, certain...), append(maybe, possible...)
			}
			switch {
			case len(sure) > 0:
				s.message(m, sure, true, false)
				s.seen(m.Created)
			case len(maybe) > 0:
				s.message(m, maybe, false, false)
			}
		}
	}
	return nil
}

// says reports whether a text says any of the facts.
func (s *search) says(text string) bool {
	for i, g := range s.gists {
		if g.says(g.hits(text)) || strings.Contains(Normal(text), Normal(s.facts[i].Text)) {
			return true
		}
	}
	return false
}

// words returns every distinctive word of the facts, and of the message that is to be forgotten.
func (s *search) words() []string {
	var list []string
	for _, g := range slices.Concat(s.gists, s.said) {
		for _, w := range g.spoken() {
			if !slices.Contains(list, w) {
				list = append(list, w)
			}
		}
	}
	return list
}
