package learn_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/memory"
	"ash/agent/memory/learn"
)

// house is a small one in memory: conversations, a book and a model.
type house struct {
	mu        sync.Mutex
	owner     agent.ID
	threads   map[agent.ID]agent.Thread
	paths     map[agent.ID][]agent.Message
	turns     map[agent.ID]agent.TurnState
	facts     map[agent.ID]agent.Fact
	order     []agent.ID
	runs      []agent.MemoryRun
	proposals []agent.Proposal
	episodes  map[agent.ID]agent.Episode
	forgotten string
	declined  string
	breaks    error // of Keep

	answer  func(ctx context.Context, p agent.Prompt) (string, error)
	price   agent.Price
	cost    agent.MicroDollars // of a call
	local   bool
	prompts []string
}

func newHouse() *house {
	return &house{
		owner: agent.NewID(), threads: map[agent.ID]agent.Thread{}, paths: map[agent.ID][]agent.Message{}, turns: map[agent.ID]agent.TurnState{},
		facts: map[agent.ID]agent.Fact{}, episodes: map[agent.ID]agent.Episode{},
	}
}

func (h *house) learner(change func(*learn.Options)) *learn.Learner {
	o := learn.Options{Owner: h.owner, Conversations: h, Book: h, Episodes: h}
	if h.answer != nil {
		o.Models = h
	}
	if change != nil {
		change(&o)
	}
	return learn.New(o)
}

// say adds messages to a conversation: the person's, and Ash's where they begin with "ash: ".
func (h *house) say(thread agent.ID, texts ...string) agent.ID {
	h.mu.Lock()
	defer h.mu.Unlock()
	if thread == "" {
		thread = agent.NewID()
		h.threads[thread] = agent.Thread{ID: thread, Model: "test/model"}
	}
	for _, text := range texts {
		m := agent.Message{ID: agent.NewID(), Thread: thread, Role: agent.RoleUser, Author: h.owner, State: agent.MessageComplete, Created: time.Now().UTC()}
		if said, ok := strings.CutPrefix(text, "ash: "); ok {
			m.Role, m.Author, text = agent.RoleAssistant, "", said
		}
		m.Parts = []agent.Part{agent.Text{Text: text}}
		h.paths[thread] = append(h.paths[thread], m)
	}
	return thread
}

func (h *house) fact(text string, change func(*agent.Fact)) agent.ID {
	f := agent.Fact{ID: agent.NewID(), Kind: agent.FactPlain, Status: agent.FactCurrent, Text: text, Owner: h.owner, Said: time.Now().UTC(), Updated: time.Now().UTC()}
	if change != nil {
		change(&f)
	}
	h.facts[f.ID] = f
	h.order = append(h.order, f.ID)
	return f.ID
}

func (h *house) Tail(_ context.Context, thread agent.ID) (agent.Tail, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t, ok := h.threads[thread]
	if !ok {
		return agent.Tail{}, agent.Errorf(agent.CodeNotFound, "gone")
	}
	tail := agent.Tail{Thread: t, Turn: agent.Turn{State: h.turns[thread]}}
	if p := h.paths[thread]; len(p) > 0 {
		tail.Head = p[len(p)-1]
	}
	return tail, nil
}

func (h *house) Path(_ context.Context, head agent.ID, limit int) ([]agent.Message, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.paths {
		if i := slices.IndexFunc(p, func(m agent.Message) bool { return m.ID == head }); i >= 0 {
			return slices.Clone(p[max(0, i+1-limit) : i+1]), nil
		}
	}
	return nil, agent.Errorf(agent.CodeNotFound, "gone")
}

func (h *house) Unlearned(_ context.Context, since time.Time, limit int) ([]agent.ID, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []agent.ID
	for id, p := range h.paths {
		if last := p[len(p)-1]; last.ID != h.through(id) && last.Created.After(since) && len(out) < limit {
			out = append(out, id)
		}
	}
	return out, nil
}

// through needs the lock.
func (h *house) through(thread agent.ID) agent.ID {
	for _, r := range slices.Backward(h.runs) {
		if r.Thread == thread {
			return r.Through
		}
	}
	return ""
}

func (h *house) Learned(_ context.Context, thread agent.ID) (agent.ID, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.through(thread), nil
}

func (h *house) Concerning(_ context.Context, _ agent.ID, _ string, limit int) ([]agent.Fact, error) {
	list := h.current()
	return list[:min(limit, len(list))], nil
}

func (h *house) current() []agent.Fact {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []agent.Fact
	for _, id := range h.order {
		if f := h.facts[id]; f.Status == agent.FactCurrent {
			out = append(out, f)
		}
	}
	return out
}

func (h *house) texts() string {
	var out []string
	for _, f := range h.current() {
		out = append(out, f.Text)
	}
	return strings.Join(out, "|")
}

func (h *house) waiting() string {
	var out []string
	for _, p := range h.proposals {
		out = append(out, string(p.Action)+" "+p.Fact.Text)
	}
	return strings.Join(out, "|")
}

func (h *house) Known(_ context.Context, _ agent.ID, text string) (bool, error) {
	same := func(t string) bool { return memory.Normal(t) == memory.Normal(text) }
	return slices.ContainsFunc(h.current(), func(f agent.Fact) bool { return same(f.Text) }) ||
		slices.ContainsFunc(h.proposals, func(p agent.Proposal) bool { return same(p.Fact.Text) }), nil
}

func (h *house) Retiring(_ context.Context, fact agent.ID) (bool, error) {
	return slices.ContainsFunc(h.proposals, func(p agent.Proposal) bool { return p.Action == agent.ActionRetire && p.Fact.ID == fact }), nil
}

func (h *house) Forgotten(_ context.Context, text string) (bool, error) {
	return h.forgotten != "" && strings.Contains(text, h.forgotten), nil
}

func (h *house) Declined(_ context.Context, text string) (bool, error) {
	return h.declined != "" && strings.Contains(text, h.declined), nil
}

func (h *house) Keep(_ context.Context, o learn.Outcome) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.breaks != nil {
		return h.breaks
	}
	for _, c := range o.Run.Changes {
		if c.Before != nil && !h.facts[c.Fact].Updated.Equal(c.Before.Updated) {
			return agent.Errorf(agent.CodeConflict, "changed")
		}
	}
	for _, c := range o.Run.Changes {
		if c.Before == nil {
			h.order = append(h.order, c.Fact)
		}
		h.facts[c.Fact] = *c.After
	}
	h.runs = append(h.runs, o.Run)
	h.proposals = append(h.proposals, o.Propose...)
	return nil
}

func (h *house) Episode(_ context.Context, thread agent.ID) (agent.Episode, error) {
	e, ok := h.episodes[thread]
	if !ok {
		return e, agent.Errorf(agent.CodeNotFound, "none")
	}
	return e, nil
}

func (h *house) SaveEpisode(_ context.Context, e agent.Episode) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.episodes[e.Thread] = e
	return nil
}

func (h *house) Pick(context.Context, string) (agent.Model, agent.ModelInfo, error) {
	return h, agent.ModelInfo{Ref: agent.ModelRef{Provider: "test", Name: "model"}, Price: h.price, Local: h.local}, nil
}

func (h *house) Stream(ctx context.Context, p agent.Prompt) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		text := p.System
		for _, m := range p.Messages {
			text += agent.Message{Parts: m.Parts}.Text()
		}
		h.mu.Lock()
		h.prompts = append(h.prompts, text)
		reply := h.answer
		h.mu.Unlock()
		answer, err := reply(ctx, p)
		if err != nil {
			yield(agent.Delta{}, err)
			return
		}
		_ = yield(agent.Delta{Kind: agent.DeltaUsage, Usage: &agent.Usage{Input: 100, Output: 20, Cost: h.cost}}, nil) &&
			yield(agent.Delta{Kind: agent.DeltaText, Text: answer}, nil)
	}
}

func (h *house) answers(text string) {
	h.answer = func(context.Context, agent.Prompt) (string, error) { return text, nil }
}

func run(t *testing.T, l *learn.Learner, thread agent.ID) {
	t.Helper()
	for range 100 {
		more, err := l.Learn(t.Context(), thread)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return
		}
	}
	t.Fatal("it never ends")
}
