package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/memory"
	"ash/agent/memory/learn"
	"ash/agent/memory/recall"
	"ash/store"
)

// What learning asks for, given by the store, the book of facts and recall.

// newLearner wires learning. It does nothing until it runs.
func (a *app) newLearner() *learn.Learner {
	settings := func() config.Memory { return a.config.Current().Config().Memory }
	return learn.New(learn.Options{
		Owner: a.owner.ID, Conversations: conversations{a.store, a.mind}, Book: learning{a.mind}, Episodes: a.store, Shelf: a.store,
		Models: a.providers, Model: func(t agent.Thread) string { return learningModel(settings(), t) },
		Spent:   a.store.LearnSpent,
		Daily:   func() agent.MicroDollars { return settings().LearnDaily },
		Calls:   func() int { return settings().LearnCalls },
		Tokens:  func() int { return settings().LearnTokens },
		Idle:    func() time.Duration { return settings().Rest },
		Mode:    func() learn.Mode { return learn.Mode(settings().Learn) },
		Busy:    a.works.busy,
		Inspect: func(ctx context.Context, text string) []agent.Finding { return a.hands.inspector.file(ctx, "", text) },
		Redact:  a.hands.guard.Redact,
		Learned: func(_ context.Context, thread agent.ID, o learn.Outcome) {
			items := make([]agent.ID, len(o.Run.Changes))
			for i, c := range o.Run.Changes {
				items[i] = c.Fact
			}
			a.mind.drop()
			a.feed.Publish(agent.Envelope{Thread: thread, Event: agent.MemoryEvent{Learned: true, Items: items}})
		},
		Log: a.log,
	})
}

// learningModel names the model that learns from a conversation.
func learningModel(s config.Memory, t agent.Thread) string {
	if s.LearnModel != (agent.ModelRef{}) {
		return s.LearnModel.String()
	}
	return t.Model
}

// conversations are the messages that are learned from, each answer with the memories it was given.
type conversations struct {
	*store.Store
	mind *mind
}

func (c conversations) Path(ctx context.Context, head agent.ID, limit int) ([]agent.Message, error) {
	path, err := c.Store.Path(ctx, head, limit)
	if err != nil {
		return nil, err
	}
	for i, m := range path {
		if m.Role != agent.RoleAssistant {
			continue
		}
		if path[i].Recalled, err = c.mind.receipt(ctx, m.ID); err != nil {
			return nil, err
		}
	}
	return path, nil
}

// learning is the book as learning sees it.
type learning struct{ mind *mind }

var _ learn.Book = learning{}

func (l learning) Learned(ctx context.Context, thread agent.ID) (agent.ID, error) {
	run, err := l.mind.store.LearnedThrough(ctx, thread)
	return run.Through, err
}

// piece and mostPieces bound what one look for facts asks for: recall takes up to sixteen words of a question.
const (
	piece      = 200 // bytes
	mostPieces = 64
)

// Concerning implements learn.Book: what recall finds for each piece of the text, the best of each first, then the core.
func (l learning) Concerning(ctx context.Context, owner agent.ID, text string, limit int) ([]agent.Fact, error) {
	var lists [][]agent.Recollection
	deepest := 0
	for _, p := range pieces(text) {
		found, err := l.mind.recall.Recall(ctx, recall.Query{Text: p, Kinds: []agent.MemoryKind{agent.MemoryFact}})
		if err != nil {
			return nil, err
		}
		lists, deepest = append(lists, found), max(deepest, len(found))
	}
	var out []agent.Fact
	seen := map[string]bool{}
	for rank := range deepest {
		for _, found := range lists {
			if rank >= len(found) || seen[found[rank].Ref] || len(out) == limit {
				continue
			}
			seen[found[rank].Ref] = true
			f, err := l.mind.store.Fact(ctx, agent.ID(found[rank].Ref))
			switch {
			case agent.CodeOf(err) == agent.CodeNotFound: // forgotten in this instant
			case err != nil:
				return nil, err
			case f.Status == agent.FactCurrent && f.Owner == owner:
				out = append(out, f)
			}
		}
	}
	core, _, err := l.mind.book.Core(ctx, owner)
	if err != nil {
		return nil, err
	}
	for _, f := range core {
		if len(out) < limit && !slices.ContainsFunc(out, func(x agent.Fact) bool { return x.ID == f.ID }) {
			out = append(out, f)
		}
	}
	return out, nil
}

// pieces cuts a text into what is asked for at a time: lines, and the sentences of long ones side by side.
func pieces(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		now := ""
		for _, s := range memory.Sentences(line) {
			if now != "" && len(now)+len(s) > piece {
				out, now = append(out, now), ""
			}
			now += s + " "
		}
		if now != "" {
			out = append(out, now)
		}
	}
	return out[max(0, len(out)-mostPieces):]
}

// Known implements learn.Book.
func (l learning) Known(ctx context.Context, owner agent.ID, text string) (bool, error) {
	same, err := l.mind.store.SameFacts(ctx, owner, memory.Fingerprint(text))
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(same, func(f agent.Fact) bool { return f.Status == agent.FactCurrent }) {
		return true, nil
	}
	return l.waits(ctx, func(p agent.Proposal) bool {
		return p.Action == agent.ActionKeep && memory.Normal(p.Fact.Text) == memory.Normal(text)
	})
}

// Declined implements learn.Book.
func (l learning) Declined(ctx context.Context, text string) (bool, error) {
	return l.mind.book.Declined(ctx, text)
}

// Retiring implements learn.Book.
func (l learning) Retiring(ctx context.Context, fact agent.ID) (bool, error) {
	if no, err := l.mind.book.DeclinedRetiring(ctx, fact); no || err != nil {
		return no, err
	}
	return l.waits(ctx, func(p agent.Proposal) bool { return p.Action == agent.ActionRetire && p.Fact.ID == fact })
}

// waits reports whether a proposal that is like this waits for the person.
func (l learning) waits(ctx context.Context, like func(agent.Proposal) bool) (bool, error) {
	for after := ""; ; {
		page, next, err := l.mind.store.Proposals(ctx, after, 200)
		if err != nil || slices.ContainsFunc(page, like) {
			return err == nil, err
		}
		if next == "" {
			return false, nil
		}
		after = next
	}
}

func (l learning) Forgotten(ctx context.Context, text string) (bool, error) {
	return l.mind.book.Forgotten(ctx, text)
}

func (l learning) Keep(ctx context.Context, o learn.Outcome) error {
	_, err := l.mind.book.Apply(ctx, memory.Step{Changes: o.Run.Changes, Run: &o.Run, Propose: o.Propose})
	return err
}

// tidyRound is how often it is looked whether memory is due to be tidied: soon after a start, since many machines never run for a day.
const tidyRound = 10 * time.Minute

// learnOn learns from conversations that rest, until ctx ends.
func (a *app) learnOn(ctx context.Context) {
	l := a.newLearner()
	a.later(ctx, l.Run)
	a.beside.Go(func() { a.consolidate(ctx, l) })
	a.watchTurns(ctx, l)
}

// consolidate tidies memory as often as the settings say.
func (a *app) consolidate(ctx context.Context, l *learn.Learner) {
	ticker := time.NewTicker(min(tidyRound, a.config.Current().Config().Memory.Tidy))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			settings := a.config.Current().Config().Memory
			last, err := a.store.Consolidated(ctx)
			if err == nil && now.Sub(last) >= settings.Tidy && settings.Learn != string(learn.Off) {
				_, err = l.Consolidate(ctx)
			}
			if err != nil && ctx.Err() == nil {
				a.log.Warn("memory could not be tidied; it is tried again", "error", err)
			}
		}
	}
}
