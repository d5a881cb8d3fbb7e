package main

import (
	"context"
	"slices"

	"ash/agent"
	"ash/agent/memory/recall"
	"ash/handlers"
)

// memoryFinder is what the palette finds in memory.
type memoryFinder struct{ mind *mind }

var _ handlers.MemoryFinder = memoryFinder{}

// FindFacts implements handlers.MemoryFinder: what recall finds, then what holds the words as far as they are typed.
func (f memoryFinder) FindFacts(ctx context.Context, query string, limit int) ([]agent.Fact, error) {
	found, err := f.mind.ask(ctx, recall.Query{Text: query, Limit: limit, Kinds: []agent.MemoryKind{agent.MemoryFact}})
	if err != nil {
		return nil, err
	}
	ids := make([]agent.ID, len(found))
	for i, r := range found {
		ids[i] = agent.ID(r.Ref)
	}
	list, err := f.mind.store.FactList(ctx, ids)
	if err != nil || len(list) >= limit {
		return list, err
	}
	more, err := f.mind.store.FactsBeginning(ctx, f.mind.owner, query, limit)
	for _, m := range more {
		if len(list) < limit && !slices.ContainsFunc(list, func(x agent.Fact) bool { return x.ID == m.ID }) {
			list = append(list, m)
		}
	}
	return list, err
}

func (f memoryFinder) FindEntities(ctx context.Context, query string, limit int) ([]agent.Entity, error) {
	list, _, err := f.mind.store.Entities(ctx, agent.EntityFilter{Owner: f.mind.owner, Name: query, Limit: limit})
	return list, err
}

func (f memoryFinder) FindNotes(ctx context.Context, query string, limit int) ([]handlers.NoteTitle, error) {
	rows, err := f.mind.store.NotesTitled(ctx, query, limit)
	out := make([]handlers.NoteTitle, len(rows))
	for i, r := range rows {
		out[i] = handlers.NoteTitle{Path: r.Path, Title: r.Title, Modified: r.Modified}
	}
	return out, err
}
