package main

import (
	"cmp"
	"context"
	"strings"
	"time"

	"ash/agent"
	"ash/agent/tool/subagent"
)

// helpers begins helpers and waits for them: subagent.Helpers over the engine, the store and the feed.
type helpers struct {
	engine helperEngine
	store  helperStore
	feed   agent.Feed
}

var _ subagent.Helpers = helpers{}

type helperEngine interface {
	Delegate(ctx context.Context, d agent.Delegation) (agent.Thread, error)
	Stop(ctx context.Context, thread agent.ID) error
	Depth(ctx context.Context, t agent.Thread) (int, error)
}

type helperStore interface {
	Tail(ctx context.Context, thread agent.ID) (agent.Tail, error)
	Path(ctx context.Context, head agent.ID, limit int) ([]agent.Message, error)
	Summaries(ctx context.Context, thread agent.ID) ([]agent.Summary, error)
	Waits(ctx context.Context, turn agent.ID) (bool, error)
}

// helperLook is how often the store is asked how a helper stands, besides what the feed tells.
const helperLook = time.Second

// Delegate implements subagent.Helpers.
func (h helpers) Delegate(ctx context.Context, d agent.Delegation) (agent.Thread, error) {
	return h.engine.Delegate(ctx, d)
}

// Stop implements subagent.Helpers.
func (h helpers) Stop(ctx context.Context, thread agent.ID) error {
	return h.engine.Stop(ctx, thread)
}

// Depth implements subagent.Helpers.
func (h helpers) Depth(ctx context.Context, t agent.Thread) (int, error) {
	return h.engine.Depth(ctx, t)
}

// Await implements subagent.Helpers. The store says when the helper rests; the feed only when to look, and what to tell.
func (h helpers) Await(ctx context.Context, thread agent.ID, progress func(line string)) (subagent.Rest, error) {
	following, done := context.WithCancel(ctx)
	defer done()
	batches := make(chan agent.Batch)
	go func() {
		defer close(batches)
		for b := range h.feed.Subscribe(following, thread, h.feed.Last()) {
			select {
			case batches <- b:
			case <-following.Done():
				return
			}
		}
	}()
	wait := &standstill{ctx: ctx}
	defer wait.over()
	look := time.NewTicker(helperLook)
	defer look.Stop()
	for {
		tail, err := h.store.Tail(ctx, thread)
		if err != nil {
			return subagent.Rest{}, err
		}
		if !tail.Turn.Active() {
			return h.rest(ctx, tail)
		}
		waits, err := h.store.Waits(ctx, tail.Turn.ID)
		if err != nil {
			return subagent.Rest{}, err
		}
		wait.is(waits)
		if err := h.untilNews(ctx, thread, batches, look.C, progress); err != nil {
			return subagent.Rest{}, err
		}
	}
}

// untilNews tells what the helper does until its turn may have changed.
func (h helpers) untilNews(ctx context.Context, thread agent.ID, batches <-chan agent.Batch, look <-chan time.Time, progress func(string)) error {
	for {
		select {
		case b, ok := <-batches:
			if !ok {
				batches = nil // the feed is closed: Ash ends, or ctx has
				continue
			}
			news := b.Resync
			for _, e := range b.Events {
				if e.Thread != thread {
					continue
				}
				if line := helperLine(e.Event); line != "" {
					progress(line)
				}
				_, turned := e.Event.(agent.TurnEvent)
				news = news || turned
			}
			if news {
				return nil
			}
		case <-look:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// helperLine is what a helper's event tells the conversation above; "" for nothing.
func helperLine(e agent.Event) string {
	line := func(c agent.ToolCall, end string) string {
		what := ""
		if c.Effect != nil {
			what = cmp.Or(c.Effect.Target, agent.FirstWords(c.Effect.Text, 100))
		}
		return strings.TrimSpace(c.Name+" "+agent.FirstWords(what, 100)) + end
	}
	switch e := e.(type) {
	case agent.ToolCallEvent:
		if e.Call.State == agent.CallStarted {
			return line(e.Call, " …")
		}
	case agent.ConfirmRequest:
		return line(e.Call, " waits for your decision")
	case agent.ToolResultEvent:
		if e.Call.State != agent.CallFinished {
			return line(e.Call, ": "+string(e.Call.State))
		}
	}
	return ""
}

// rest gathers what a helper leaves.
func (h helpers) rest(ctx context.Context, tail agent.Tail) (subagent.Rest, error) {
	r := subagent.Rest{Turn: tail.Turn, Head: tail.Head}
	path, err := h.store.Path(ctx, tail.Head.ID, 0)
	if err != nil {
		return r, err
	}
	summaries, err := h.store.Summaries(ctx, tail.Thread.ID)
	if err != nil {
		return r, err
	}
	for _, m := range path {
		r.Labels = r.Labels.Union(m.Labels())
		if text := strings.TrimSpace(m.Text()); m.Role == agent.RoleAssistant && text != "" {
			r.Said = text
		}
	}
	for _, s := range summaries {
		r.Labels = r.Labels.Union(s.Labels)
	}
	return r, nil
}

// standstill stops the clock of the turn above while a helper only waits for the person.
type standstill struct {
	ctx    context.Context
	resume func() // nil while the clock runs
}

func (s *standstill) is(waiting bool) {
	switch {
	case waiting && s.resume == nil:
		s.resume = agent.PauseClock(s.ctx)
	case !waiting:
		s.over()
	}
}

func (s *standstill) over() {
	if s.resume != nil {
		s.resume()
		s.resume = nil
	}
}
