package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"ash/agent"
	"ash/agent/memory"
	"ash/agent/memory/notes"
	"ash/agent/memory/recall"
	"ash/agent/tool"
	remember "ash/agent/tool/memory"
)

// What the tools of memory ask for, given by the book of facts, by recall and by the notes.

// memoryTools are the tools that remember.
func memoryTools(m *mind, redact func(string) string) []tool.Tool {
	o := remember.Options{Owner: m.owner, Book: bookTools{m.book, m.store}, Recall: recallTool{m}, Asked: m.asked, Redact: redact, Log: m.log}
	if m.notes != nil {
		o.Notes = noteTools{m.notes}
	}
	return remember.New(o)
}

// asked is the message of the person that a call's turn answers.
func (m *mind) asked(ctx context.Context, c agent.ToolCall) (agent.Message, error) {
	path, err := m.store.Path(ctx, c.Message, 0)
	if err != nil {
		return agent.Message{}, err
	}
	return newestWords(path), nil
}

// bookTools is the book as the tools see it.
type bookTools struct {
	*memory.Book
	facts memory.Facts
}

var _ remember.Book = bookTools{}

func (b bookTools) Fact(ctx context.Context, id agent.ID) (agent.Fact, error) {
	return b.facts.Fact(ctx, id)
}

func (b bookTools) Remember(ctx context.Context, f agent.Fact, told bool) (agent.Fact, bool, error) {
	kept, err := b.Book.Remember(ctx, f, told)
	return kept.Fact, kept.Known, err
}

func (b bookTools) Traces(ctx context.Context, fact, during agent.ID) (remember.Traces, error) {
	t, err := b.traces(ctx, fact, during)
	if err != nil {
		return remember.Traces{}, err
	}
	out := remember.Traces{More: t.More, State: traceState(t)}
	for _, x := range t.List {
		out.Lines = append(out.Lines, traceLine(x))
	}
	return out, nil
}

// traces are those of a fact, without the message that asks for them.
func (b bookTools) traces(ctx context.Context, fact, during agent.ID) (memory.Traces, error) {
	t, err := b.Book.Traces(ctx, memory.Target{Fact: fact, During: during})
	t.List = slices.DeleteFunc(t.List, func(x memory.Trace) bool { return x.Kind == memory.TraceMessage && x.Ref == string(during) })
	return t, err
}

// Forget does what Traces showed with state.
func (b bookTools) Forget(ctx context.Context, fact, during agent.ID, state string) (time.Time, error) {
	t, err := b.traces(ctx, fact, during)
	if err != nil {
		return time.Time{}, err
	}
	if traceState(t) != state {
		return time.Time{}, agent.Errorf(agent.CodeConflict, "What would be forgotten has changed since it was shown. Ask again.")
	}
	done, err := b.Book.Forget(ctx, t.Target, nil)
	return done.Due, err
}

// traceState tells one list of traces from another.
func traceState(t memory.Traces) string {
	h := sha256.New()
	for _, x := range t.List {
		h.Write([]byte(x.Key() + "\x00" + strings.Join(x.Passages, "\x00") + "\x01"))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// traceLine is a trace for people.
func traceLine(t memory.Trace) string {
	line := string(t.Kind)
	if !t.Time.IsZero() {
		line += " of " + t.Time.Format("2 January 2006")
	}
	if text := strings.Join(t.Passages, " … "); text != "" {
		line += ": " + text
	} else if t.Text != "" && t.Kind != memory.TraceEpisode && t.Kind != memory.TraceSummary { // those say other things, too
		line += ": " + t.Text
	}
	switch {
	case t.Manual:
		line += " (stays: it is yours to edit)"
	case !t.Ticked:
		line += " (stays, unless you choose otherwise on the Memory page)"
	}
	return line
}

// recallTool is recall as the tool sees it.
type recallTool struct{ mind *mind }

// besides is how many of the newest messages of a conversation stand before the model anyway.
const besides = 50

func (r recallTool) Recall(ctx context.Context, t agent.Thread, query string, limit int) ([]agent.Recollection, error) {
	tail, err := r.mind.store.Tail(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	path, err := r.mind.store.Path(ctx, tail.Thread.Head, besides)
	if err != nil {
		return nil, err
	}
	found, err := r.mind.ask(ctx, recall.Query{Text: query, Limit: min(2*limit, recall.MaxLimit), Facts: (limit + 1) / 2, Leave: said(path)})
	if err == nil {
		found, err = r.mind.book.Current(ctx, found)
	}
	return found[:min(limit, len(found))], err
}

// said leaves out what stands on path.
func said(path []agent.Message) func(recall.Found) bool {
	on := make(map[string]bool, len(path))
	for _, m := range path {
		on[string(m.ID)] = true
	}
	return func(it recall.Found) bool { return on[it.Ref] }
}

// search recalls for pages, with the label of all that memory gives.
func (m *mind) search(ctx context.Context, query string, limit int) ([]agent.Recollection, error) {
	return m.ask(ctx, recall.Query{Text: query, Limit: limit})
}

func (m *mind) ask(ctx context.Context, q recall.Query) ([]agent.Recollection, error) {
	items, err := m.recall.Recall(ctx, q)
	for i := range items {
		items[i].Labels = items[i].Labels.Union(remembered)
	}
	return items, err
}

// noteTools are the notes as the tools see them.
type noteTools struct{ folder *notes.Folder }

func (n noteTools) Read(ctx context.Context, path string) (remember.Note, error) {
	x, err := n.folder.Read(ctx, path)
	if err != nil {
		return remember.Note{}, err
	}
	out := remember.Note{Path: x.Path, Text: x.Text, Hash: x.Hash, Labels: x.Labels, Missing: x.Missing}
	if x.Immutable {
		out.Fixed = x.Problem
		if out.Fixed == "" {
			out.Fixed = "This note is too long to be changed here."
		}
	}
	return out, nil
}

func (n noteTools) Write(ctx context.Context, path, base, text string, labels agent.Labels) error {
	_, err := n.folder.Save(ctx, notes.Draft{Path: path, Base: base, Text: text, Ash: true, Labels: labels})
	return err
}
