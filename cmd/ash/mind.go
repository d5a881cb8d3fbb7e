package main

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/identity"
	"ash/agent/memory"
	"ash/agent/memory/embed"
	"ash/agent/memory/lexis"
	"ash/agent/memory/notes"
	"ash/agent/memory/recall"
	"ash/agent/prompt"
	"ash/store"
)

// mind is what Ash remembers with: the book of facts and what recalls from everything.
type mind struct {
	store    *store.Store
	book     *memory.Book
	recall   *recall.Engine
	notes    *notes.Folder // nil where the folder cannot be used
	meaning  *embed.Index
	static   *embed.Static // nil without one
	shelving shelving      // has recall take up the notes
	settings func() config.Config
	owner    agent.ID
	proposed func() // what waits for the person's word about memory changed; nil: nobody is told
	log      *slog.Logger

	mu      sync.Mutex // guards the rest
	changes int        // of memory, so far
	last    []recalled // lately: all rounds of a turn get the same
	core    core
}

// core is what every prompt begins with, as it was read last.
type core struct {
	text  agent.Text
	as    int       // of which changes
	until time.Time // it is read again: facts end by themselves
}

// coreHolds is how long the core is not read again while nothing changes it.
const coreHolds = 5 * time.Second

// recalled is what a message brought to mind.
type recalled struct {
	message agent.ID
	items   []agent.Recollection
}

// lately is how many messages are kept at hand with what they brought to mind.
const lately = 32

// newMind wires memory.
func newMind(s *store.Store, owner agent.ID, settings func() config.Config, log *slog.Logger) *mind {
	m := &mind{store: s, settings: settings, owner: owner, log: log, meaning: embed.NewIndex(s, embed.Options{Log: log})}
	m.recall = recall.New(recall.Options{Index: s, Ranker: ranker{m.meaning}, Tokens: prompt.Tokens})
	m.book = memory.New(s, memory.Options{
		Index: refresher{m}, Meaning: meanings{m.meaning}, Log: log, Window: settings().Memory.Undo,
		OnChange: func(t memory.Touched) {
			m.drop()
			if t.Proposals && m.proposed != nil {
				m.proposed()
			}
		},
	})
	return m
}

// ranker finds by meaning.
type ranker struct{ index *embed.Index }

func (r ranker) Nearest(ctx context.Context, query string, k int) ([]recall.Candidate, error) {
	near, err := r.index.Nearest(ctx, query, k)
	out := make([]recall.Candidate, len(near))
	for i, n := range near {
		out[i] = recall.Candidate{Item: n.Item, Score: n.Score}
	}
	return out, err
}

// meanings gives tombstones their meaning.
type meanings struct{ index *embed.Index }

func (m meanings) Meaning(ctx context.Context, text string) ([]float32, string, error) {
	code, space, err := m.index.Meaning(ctx, text)
	out := make([]float32, len(code))
	for i, x := range code {
		out[i] = float32(int8(x)) //nolint:gosec // signed bytes
	}
	return out, space, err
}

// refresher has the index follow what changed.
type refresher struct{ mind *mind }

func (r refresher) Refresh(ctx context.Context, _ memory.Touched) error {
	r.mind.drop()
	defer r.mind.meaning.Wake()
	return r.mind.recall.CatchUp(ctx)
}

var _ prompt.Memory = (*mind)(nil)

// Core implements prompt.Memory. Helpers know only what they are told.
func (m *mind) Core(ctx context.Context, t agent.Thread) (agent.Text, error) {
	if t.ParentCall != "" {
		return agent.Text{}, nil
	}
	m.mu.Lock()
	changes, kept := m.changes, m.core
	m.mu.Unlock()
	if kept.as == changes && time.Now().Before(kept.until) {
		return kept.text, nil
	}
	facts, left, err := m.book.Core(ctx, m.owner)
	if err != nil {
		return agent.Text{}, err
	}
	var out agent.Text
	var b strings.Builder
	for _, f := range facts {
		b.WriteString("- " + f.Text + "\n")
		out.Labels = out.Labels.Union(f.Labels, remembered)
	}
	if left > 0 {
		m.log.Warn("the core of memory is larger than its room in a prompt", "left out", left)
	}
	out.Text = b.String()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.core = core{text: out, as: changes, until: time.Now().Add(coreHolds)}
	return out, nil
}

// remembered is the label of all that memory gives: the person's, not to leave the machine unasked.
var remembered = agent.Labels{{Source: "memory", Kind: agent.LabelPrivate, Private: true}}

// Recall implements prompt.Memory. What a stranger may have written comes back only when the model asks for it with the tool of that
// name: in every prompt it would make harmless things ask. What goes wrong is told to the log: an answer without memories is better than none.
func (m *mind) Recall(ctx context.Context, r agent.PromptRequest) ([]agent.Recollection, error) {
	room := m.settings().Memory.RecallTokens
	newest := newestWords(r.Path)
	if room == 0 || newest.ID == "" || r.Thread.ParentCall != "" {
		return nil, nil
	}
	items, changes, ok := m.known(newest.ID)
	if ok {
		return items, nil
	}
	latest, room := m.latest(ctx, r, room)
	// Twice as much as there is room for: what holds no longer is left out of it.
	beside := besidePath(r.Path)
	query := recall.Query{
		Text: newest.Text(), Limit: 2 * recall.DefaultLimit, Tokens: 2 * room, Own: true, Stands: true, Facts: recall.DefaultLimit / 2,
		Leave: func(it recall.Found) bool { return beside(it) || onlyAsks(it) },
	}
	items, err := m.recall.Recall(ctx, query)
	if err == nil {
		items, err = m.book.Current(ctx, items)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		m.log.Warn("nothing could be recalled", "thread", r.Thread.ID, "error", err)
		return nil, nil
	}
	items = firstWithin(items, recall.DefaultLimit, room)
	for i := range items {
		items[i].Labels = items[i].Labels.Union(remembered)
	}
	items = alsoAtHand(items, latest)
	m.keep(newest.ID, items, changes)
	return items, nil
}

// onlyAsks reports whether an item is a mere question: asked once more, it would stand in the place of its answer. One that may tell
// something ("did you know that …?") is none.
func onlyAsks(it recall.Found) bool {
	if it.Kind != agent.MemoryMessage || lexis.MarksOf(it.Text)&lexis.OnlyAsk == 0 {
		return false
	}
	words := lexis.Words(agent.Clip(it.Text, 80))
	return len(words) == 0 || askingWord(words[0].Text)
}

func askingWord(w string) bool {
	switch w {
	case "what", "whats", "who", "whom", "whose", "where", "when", "which", "why", "how", "was", "wer", "wen", "wem", "wessen", "wo", "wohin", "woher", "wann",
		"welche", "welcher", "welches", "welchen", "welchem", "warum", "wieso", "wie", "wieviel", "wieviele":
		return true
	}
	return false
}

// firstWithin returns the first of items, at most n, that together have room in so many tokens. What is too long gives way to what follows.
func firstWithin(items []agent.Recollection, n, tokens int) []agent.Recollection {
	out := make([]agent.Recollection, 0, n)
	for _, r := range items {
		if cost := recall.Cost(prompt.Tokens, r); cost <= tokens && len(out) < n {
			tokens -= cost
			out = append(out, r)
		}
	}
	return out
}

// besidePath leaves out what stands on path and the other branches of its conversation: what the person took back by editing
// must not come back by itself. What was said before the path begins may, as it has left the prompt for its length alone.
func besidePath(path []agent.Message) func(recall.Found) bool {
	on, first := said(path), path[0]
	return func(it recall.Found) bool {
		aside := it.Kind == agent.MemoryMessage && it.Thread == first.Thread
		return on(it) || aside && (first.Parent == "" || !it.Time.Before(first.Created))
	}
}

// newestWords is the last message of the person.
func newestWords(path []agent.Message) agent.Message {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i].Role == agent.RoleUser {
			return path[i]
		}
	}
	return agent.Message{}
}

// known returns what a message brought to mind before, or as of which changes of memory it is to be recalled.
func (m *mind) known(message agent.ID) (items []agent.Recollection, changes int, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.last {
		if r.message == message {
			return r.items, m.changes, true
		}
	}
	return nil, m.changes, false
}

// keep remembers what a message brought to mind, unless memory has changed meanwhile.
func (m *mind) keep(message agent.ID, items []agent.Recollection, changes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.changes != changes {
		return
	}
	m.last = append(m.last, recalled{message, items})
	if len(m.last) > lately {
		m.last = m.last[1:]
	}
}

// drop forgets what was recalled lately: memory has changed.
func (m *mind) drop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changes++
	m.last = nil
}

// privateTexts are what the person told of themselves: private wherever it turns up.
type privateTexts struct {
	book *identity.Book
	mind *mind
}

// PrivateTexts implements policy.PrivateTexts: USER.md, the core, and what the replies of the situation were given.
func (t privateTexts) PrivateTexts(ctx context.Context, s agent.Situation) ([]string, error) {
	doc, err := t.book.Read(ctx, identity.User)
	if err != nil {
		return nil, err
	}
	out := []string{doc.Text}
	core, _, err := t.mind.book.Core(ctx, t.mind.owner)
	if err != nil {
		return nil, err
	}
	for _, f := range core {
		out = append(out, f.Text)
	}
	for _, m := range s.Path {
		if m.Role != agent.RoleAssistant {
			continue
		}
		items, err := t.mind.receipt(ctx, m.ID)
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			out = append(out, item.Text)
		}
	}
	return out, nil
}

// receipt returns the memories a reply was given, as they are now: what was forgotten meanwhile is left out.
func (m *mind) receipt(ctx context.Context, message agent.ID) ([]agent.Recollection, error) {
	items, err := m.store.Receipt(ctx, message)
	if err != nil || len(items) == 0 {
		return nil, err
	}
	if err := m.recall.CatchUp(ctx); err != nil { // what a prompt was given may not be in the index yet
		return nil, err
	}
	numbers, err := m.store.ItemNumbers(ctx, items)
	if err != nil {
		return nil, err
	}
	now, err := m.recall.Read(ctx, numbers)
	if err != nil {
		return nil, err
	}
	text := make(map[string]agent.Recollection, len(now))
	for _, r := range now {
		text[string(r.Kind)+r.Ref] = r
	}
	out := make([]agent.Recollection, 0, len(items))
	for _, item := range items {
		if r, ok := text[string(item.Kind)+item.Ref]; ok {
			r.Why, r.Score = item.Why, item.Score
			out = append(out, r)
		}
	}
	return out, nil
}

// expiryRound is how often facts are looked at whose time is over, and forgetting that has become final.
const expiryRound = time.Minute

// keepMind retires what has expired and makes final what was forgotten, until ctx ends.
func (a *app) keepMind(ctx context.Context) {
	ticker := time.NewTicker(expiryRound)
	defer ticker.Stop()
	for {
		if _, err := a.mind.book.FinishDue(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn("what was forgotten could not be made final; it is tried again", "error", err)
		}
		if _, err := a.mind.book.Expire(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn("facts whose time is over could not be retired", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
