package learn

import (
	"context"
	"slices"
	"strings"
	"time"

	"ash/agent"
	"ash/agent/memory"
)

const (
	maxStatement = 600 // bytes of a fact that is learned
	maxQuote     = 600 // bytes of the passage it rests on
	maxKept      = 16  // statements of one run that are looked at
	maxExpired   = 8
	maxAbout     = 8
	maxName      = 120 // bytes of an entity's name
	minLeft      = 3   // words a statement must say beside its secrets
)

// pass is one run over some material.
type pass struct {
	l     *Learner
	m     material
	run   agent.MemoryRun
	mode  Mode
	most  agent.MicroDollars // that its call could cost
	facts []agent.Fact       // current ones that may be concerned

	made    []agent.Fact            // new facts, in order
	ended   map[agent.ID]agent.Fact // old facts as they are to be
	propose []agent.Proposal
	episode *agent.Episode
}

// settle decides about everything that was found, and writes the run.
func (r *pass) settle(ctx context.Context, f found) error {
	r.ended = map[agent.ID]agent.Fact{}
	for _, k := range f.keep[:min(len(f.keep), maxKept)] {
		if err := r.keep(ctx, k); err != nil {
			return err
		}
	}
	for _, e := range f.expire[:min(len(f.expire), maxExpired)] {
		if err := r.expire(ctx, e); err != nil {
			return err
		}
	}
	for _, fact := range r.made {
		r.run.Changes = append(r.run.Changes, agent.MemoryChange{Fact: fact.ID, After: &fact})
	}
	for _, old := range r.facts { // in the order they were shown, so that a run is the same however often it is made
		if after, ok := r.ended[old.ID]; ok {
			r.run.Changes = append(r.run.Changes, agent.MemoryChange{Fact: old.ID, Before: &old, After: &after})
		}
	}
	return r.write(ctx, f.episode)
}

// keep decides about one statement.
func (r *pass) keep(ctx context.Context, k kept) error {
	why := ""     // it has to wait for the person; "" when it need not
	var told said // where the person said it
	if k.swap != nil && !r.swapped(&k) {
		return nil
	}
	k.text = strings.TrimSpace(strings.Join(strings.Fields(k.text), " "))
	if k.text == "" || len(k.text) > maxStatement || len(k.quote) > 4*maxQuote {
		return nil
	}
	own := r.m.own()
	for _, f := range r.facts { // what it corrects was the person's word as well
		if slices.Contains(k.replaces, f.ID) && !f.Labels.Untrusted() {
			own += f.Text
		}
	}
	quote, told, stands := r.stands(k.quote, k.message)
	switch {
	case !stands && !grounded(k.text, k.text, own):
		return nil // nobody said so
	case !stands:
		why = "What you said is put together here from several places."
	case k.swap == nil && !k.explicit && k.attribute == "" && !grounded(k.text, quote, own):
		why = "This is not quite what you said."
	}
	var secret bool
	if k.text, quote, secret = r.redact(k.text, quote); k.text == "" {
		return nil
	}
	if drop, err := r.dropped(ctx, k.text, quote); drop || err != nil {
		return err
	}
	old, ask := r.replaced(k)
	if why == "" {
		why = ask
	}
	if len(old) == 0 {
		known, err := r.l.o.Book.Known(ctx, r.l.o.Owner, k.text)
		if err != nil || known || r.repeats(k.text) {
			return err
		}
	} else if slices.ContainsFunc(old, func(f agent.Fact) bool { return memory.Normal(f.Text) == memory.Normal(k.text) }) {
		return nil // told again
	}
	fact := r.fact(k, quote, told)
	if secret && why == "" {
		why = "A secret was left out of it."
	}
	if found := r.l.o.Inspect(ctx, k.text+"\n"+quote); len(found) > 0 {
		why = "It reads like an order to the assistant: " + found[0].Why
		fact.Labels = fact.Labels.Union(agent.Labels{{Source: "pasted in a conversation", Kind: agent.LabelUntrusted}})
	}
	if why == "" && r.mode != Automatic {
		why = "You want to be asked before anything is kept."
	}
	if why != "" { // it would be offered
		if no, err := r.l.o.Book.Declined(ctx, fact.Text); no || err != nil {
			return err
		}
	}
	r.place(fact, old, why)
	return nil
}

// place keeps a fact, or has it wait when why says so.
func (r *pass) place(fact agent.Fact, old []agent.Fact, why string) {
	if why != "" {
		for _, f := range old {
			if _, fresh := r.madeAt(f.ID); !fresh {
				fact.Supersedes = append(fact.Supersedes, f.ID)
			}
		}
		r.propose = append(r.propose, agent.Proposal{
			ID: agent.NewID(), Run: r.run.ID, Action: agent.ActionKeep, Fact: fact, Why: why, Created: r.run.Created,
		})
		return
	}
	for _, f := range old {
		if i, fresh := r.madeAt(f.ID); fresh { // said and corrected in one breath: the first never was
			fact.Supersedes = append(fact.Supersedes, r.made[i].Supersedes...)
			for _, id := range r.made[i].Supersedes {
				after := r.ended[id]
				after.Successor = fact.ID
				r.ended[id] = after
			}
			r.made = slices.Delete(r.made, i, i+1)
			continue
		}
		after := f
		after.Status, after.Successor = agent.FactSuperseded, fact.ID
		if after.Until.IsZero() {
			after.Until = fact.Said
		}
		r.ended[f.ID] = after
		fact.Supersedes = append(fact.Supersedes, f.ID)
	}
	r.made = append(r.made, fact)
}

// fact makes a fact of a statement.
func (r *pass) fact(k kept, quote string, told said) agent.Fact {
	at := told.Time
	if at.IsZero() {
		at = r.m.ended
	}
	kind := agent.FactPlain
	if k.kind == agent.FactCore {
		kind = agent.FactCore
	}
	source := agent.Provenance{Kind: agent.SourceMessage, Thread: r.m.thread.ID, Message: told.Message, Quote: quote, Run: r.run.ID}
	return agent.Fact{
		ID: agent.NewID(), Kind: kind, Status: agent.FactCurrent, Text: k.text, Owner: r.l.o.Owner,
		Subject: agent.Clip(strings.TrimSpace(k.subject), maxName), Entities: tidyEntities(k.about),
		Confidence: share(k.confidence, 0.7), Importance: share(k.importance, 0.5),
		Said: at.UTC(), From: k.from, Until: k.until, Expires: k.expires, Source: source,
	}
}

// share brings a number into 0–1.
func share(x, otherwise float64) float64 {
	if x != x || x <= 0 {
		return otherwise
	}
	return min(x, 1)
}

// expire decides about one fact that is said to hold no longer.
func (r *pass) expire(ctx context.Context, e expired) error {
	quote, told, stands := r.stands(e.quote, e.message)
	if !stands {
		return nil
	}
	for _, f := range r.meant(e) {
		if _, done := r.ended[f.ID]; done || slices.ContainsFunc(r.propose, func(p agent.Proposal) bool { return p.Fact.ID == f.ID }) {
			continue
		}
		why := ""
		switch {
		case e.ask:
			why = "You said: " + agent.Clip(quote, 200)
		case f.Pinned:
			why = "It is pinned. You said: " + agent.Clip(quote, 200)
		case !shares(f.Text, quote):
			why = "It may no longer hold, going by: " + agent.Clip(quote, 200)
		case r.mode != Automatic:
			why = "You want to be asked before anything is changed. You said: " + agent.Clip(quote, 200)
		case len(r.l.o.Inspect(ctx, quote)) > 0:
			why = "What you said reads like an order to the assistant: " + agent.Clip(quote, 200)
		}
		if forgotten, err := r.l.o.Book.Forgotten(ctx, quote); err != nil {
			return err
		} else if forgotten && why != "" {
			why = "It may no longer hold."
		}
		if why != "" {
			if waits, err := r.l.o.Book.Retiring(ctx, f.ID); err != nil {
				return err
			} else if waits {
				continue
			}
			r.propose = append(r.propose, agent.Proposal{
				ID: agent.NewID(), Run: r.run.ID, Action: agent.ActionRetire, Fact: f, Why: r.l.o.Redact(why), Created: r.run.Created,
			})
			continue
		}
		after := f
		after.Status = agent.FactRetired
		if after.Until.IsZero() || after.Until.After(told.Time) {
			after.Until = told.Time.UTC()
		}
		r.ended[f.ID] = after
	}
	return nil
}

// meant returns the facts that e is about: the one it names, or those that say it.
func (r *pass) meant(e expired) []agent.Fact {
	var out []agent.Fact
	for _, f := range r.facts {
		if e.fact != "" && f.ID == e.fact || e.fact == "" && r.l.phrases().alike(f.Text, e.like) {
			out = append(out, f)
		}
	}
	if e.fact == "" && len(out) > 3 {
		return nil // too vague to be meant
	}
	return out
}

// stands finds a passage in the owner's words, in the message it is said to stand in first.
func (r *pass) stands(quote string, message agent.ID) (string, said, bool) {
	if strings.TrimSpace(quote) == "" {
		return "", said{}, false
	}
	for _, here := range []bool{true, false} {
		for _, s := range r.m.said {
			if !s.Own || (s.Message == message) != here {
				continue
			}
			if passage, ok := locate(s.Text, quote); ok && len(terms(passage)) > 0 {
				return agent.Clip(passage, maxQuote), s, true
			}
		}
	}
	return "", said{}, false
}

// redact takes secrets out of a statement and its quote; the text "" says that nothing is left to keep.
func (r *pass) redact(text, quote string) (string, string, bool) {
	clean := r.l.o.Redact(text)
	quote = r.l.o.Redact(quote)
	if clean == text && !strings.Contains(text, "[secret: ") {
		return text, quote, false
	}
	left := clean
	for {
		before, rest, ok := strings.Cut(left, "[secret: ")
		if !ok {
			break
		}
		_, after, _ := strings.Cut(rest, "]")
		left = before + " " + after
	}
	if len(terms(left)) < minLeft {
		return "", quote, true
	}
	return clean, quote, true
}

// dropped reports whether a statement, or the passage it would be kept with, was forgotten or holds the mark of what was.
func (r *pass) dropped(ctx context.Context, texts ...string) (bool, error) {
	for _, t := range texts {
		if t == "" {
			continue
		}
		if strings.Contains(t, memory.Blank) {
			return true, nil
		}
		gone, err := r.l.o.Book.Forgotten(ctx, t)
		if err != nil || gone {
			return gone, err
		}
	}
	return false, nil
}

// repeats reports whether this run says the same already.
func (r *pass) repeats(text string) bool {
	same := func(f agent.Fact) bool { return memory.Normal(f.Text) == memory.Normal(text) }
	return slices.ContainsFunc(r.made, same) ||
		slices.ContainsFunc(r.propose, func(p agent.Proposal) bool { return p.Action == agent.ActionKeep && same(p.Fact) })
}

func (r *pass) madeAt(id agent.ID) (int, bool) {
	i := slices.IndexFunc(r.made, func(f agent.Fact) bool { return f.ID == id })
	return i, i >= 0
}

// standing returns the facts that hold as far as this run has come.
func (r *pass) standing() []agent.Fact {
	var out []agent.Fact
	for _, f := range r.facts {
		if _, gone := r.ended[f.ID]; !gone {
			out = append(out, f)
		}
	}
	return append(out, r.made...)
}

// tidyEntities drops what is no name and bounds the rest.
func tidyEntities(list []agent.Entity) []agent.Entity {
	var out []agent.Entity
	for _, e := range list {
		name := strings.Join(strings.Fields(e.Name), " ")
		if name == "" || len(name) > maxName || len(out) == maxAbout ||
			slices.ContainsFunc(out, func(x agent.Entity) bool { return memory.FoldName(x.Name) == memory.FoldName(name) }) {
			continue
		}
		switch e.Kind {
		case agent.EntityPerson, agent.EntityPlace, agent.EntityProject, agent.EntityThing:
		default:
			e.Kind = agent.EntityThing
		}
		out = append(out, agent.Entity{Name: name, Kind: e.Kind})
	}
	return out
}

// day reads a date of a model's answer; zero when there is none.
func day(s string) time.Time {
	for _, layout := range []string{time.DateOnly, time.RFC3339, "2006-01", "2006"} {
		if t, err := time.Parse(layout, strings.TrimSpace(s)); err == nil && t.Year() > 1800 && t.Year() < 2300 {
			return t.UTC()
		}
	}
	return time.Time{}
}
