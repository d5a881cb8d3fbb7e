package main

import (
	"context"
	"slices"
	"strings"

	"ash/agent"
	"ash/agent/memory/recall"
	"ash/agent/prompt"
)

const (
	newFor     = 3   // messages of the person for which a conversation is new
	atHand     = 3   // conversations that are at hand in a new one
	shortBytes = 280 // two lines of each
)

// latest returns the conversations that ended last, in short, for the prompt of a new one, and the room that is left for what is
// recalled: they take at most half of it.
func (m *mind) latest(ctx context.Context, r agent.PromptRequest, room int) ([]agent.Recollection, int) {
	if !isNew(r.Path) {
		return nil, room
	}
	list, err := m.store.LatestAtHand(ctx, atHand, r.Thread.ID)
	if err != nil {
		if ctx.Err() == nil {
			m.log.Warn("the latest conversations could not be read", "thread", r.Thread.ID, "error", err)
		}
		return nil, room
	}
	var out []agent.Recollection
	most := room / 2
	for _, e := range list {
		x := agent.Recollection{
			Kind: agent.MemoryEpisode, Ref: string(e.Thread), Thread: e.Thread, Text: inShort(e.Text), Time: e.Ended, Why: []string{"one of the latest conversations"},
			Source: "a conversation, " + e.Ended.Format("2 January 2006"), Labels: e.Labels.Union(remembered),
		}
		if title := strings.Join(strings.Fields(e.Title), " "); title != "" {
			x.Source += ": " + agent.Clip(title, 100)
		}
		if cost := recall.Cost(prompt.Tokens, x); cost <= most {
			most, room = most-cost, room-cost
			out = append(out, x)
		}
	}
	return out, room
}

// isNew reports whether a conversation has just begun.
func isNew(path []agent.Message) bool {
	said := 0
	for _, m := range path {
		if m.Role == agent.RoleUser {
			said++
		}
	}
	return len(path) > 0 && path[0].Parent == "" && said <= newFor
}

// inShort is the beginning of a summary, to the end of a sentence or at least of a word.
func inShort(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	cut := agent.Clip(text, shortBytes)
	if cut == text {
		return text
	}
	if i := strings.LastIndexAny(cut, ".!?。"); i > shortBytes/2 {
		return cut[:i+1]
	}
	if i := strings.LastIndexByte(cut, ' '); i > 0 {
		cut = cut[:i]
	}
	return cut + " …"
}

// alsoAtHand adds what is at hand to what was recalled, once each.
func alsoAtHand(items, latest []agent.Recollection) []agent.Recollection {
	for _, x := range latest {
		if !slices.ContainsFunc(items, func(i agent.Recollection) bool { return i.Kind == x.Kind && i.Ref == x.Ref }) {
			items = append(items, x)
		}
	}
	return items
}
