package main

import (
	"context"
	"time"

	"ash/agent"
	"ash/agent/llm/offline"
	"ash/agent/memory/learn"
	"ash/agent/memory/recall"
)

// What the built-in model draws on.

// builtIn wires the offline model. Memory comes later than the models: it is looked up when it is asked.
func (a *app) builtIn() offline.Options {
	return offline.Options{Library: a.store, Memory: recollections{a}, Asked: func(text string) []offline.Wish {
		wishes := learn.Asked(text)
		out := make([]offline.Wish, len(wishes))
		for i, w := range wishes {
			out[i] = offline.Wish(w)
		}
		return out
	}}
}

// recollections is memory as the offline model sees it.
type recollections struct{ app *app }

var _ offline.Memory = recollections{}

// quotable is what the offline model quotes of memory when it is not asked for one kind; messages it finds by itself.
var quotable = []agent.MemoryKind{agent.MemoryFact, agent.MemoryNote, agent.MemoryEpisode}

func (r recollections) Recall(ctx context.Context, query string, kinds []agent.MemoryKind, limit int) ([]agent.Recollection, error) {
	if kinds == nil {
		kinds = quotable
	}
	return r.app.mind.ask(ctx, recall.Query{Text: query, Kinds: kinds, Limit: limit})
}

func (r recollections) Mine(ctx context.Context, limit int) ([]agent.Recollection, error) {
	m := r.app.mind
	filter := agent.FactFilter{Owner: m.owner, Statuses: []agent.FactStatus{agent.FactCurrent}, Limit: limit}
	core := filter
	core.Kinds = []agent.FactKind{agent.FactCore}
	filter.Kinds = []agent.FactKind{agent.FactPlain, agent.FactPattern}
	var out []agent.Recollection
	for _, f := range []agent.FactFilter{core, filter} {
		page, _, err := m.store.Facts(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, x := range page {
			if len(out) < limit && (x.Expires.IsZero() || x.Expires.After(time.Now())) {
				out = append(out, agent.Recollection{
					Kind: agent.MemoryFact, Ref: string(x.ID), Text: x.Text, Source: "a fact", Time: x.Said, Labels: x.Labels.Union(remembered),
				})
			}
		}
	}
	return out, nil
}
