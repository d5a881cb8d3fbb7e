package memory_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/memory"
	"ash/store"
	"ash/store/storetest"
)

// fixture is a book over a database of its own, with a clock that stands still.
type fixture struct {
	*memory.Book
	t     testing.TB
	ctx   context.Context
	path  string
	store *store.Store
	owner agent.ID
	at    time.Time
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	f := &fixture{t: t, ctx: t.Context(), path: filepath.Join(t.TempDir(), "ash.db"), at: time.Now().UTC().Truncate(time.Microsecond)}
	f.open()
	t.Cleanup(func() {
		if err := f.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f *fixture) open() {
	f.t.Helper()
	storetest.Put(f.t, f.path)
	s, err := store.Open(f.ctx, store.Options{Path: f.path})
	f.ok(err)
	f.store = s
	f.Book = memory.New(s, memory.Options{Now: func() time.Time { return f.at }})
	p, err := s.Owner(f.ctx)
	f.ok(err)
	f.owner = p.ID
}

func (f *fixture) restart() {
	f.t.Helper()
	f.ok(f.store.Close())
	f.open()
}

func (f *fixture) ok(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) fails(err error, code agent.Code) {
	f.t.Helper()
	if agent.CodeOf(err) != code {
		f.t.Fatalf("got %v, want %s", err, code)
	}
}

func (f *fixture) remember(text string, with ...func(*agent.Fact)) agent.Fact {
	f.t.Helper()
	fact := agent.Fact{Owner: f.owner, Text: text}
	for _, w := range with {
		w(&fact)
	}
	k, err := f.Remember(f.ctx, fact, false)
	f.ok(err)
	return k.Fact
}

func (f *fixture) fact(id agent.ID) agent.Fact {
	f.t.Helper()
	got, err := f.store.Fact(f.ctx, id)
	f.ok(err)
	return got
}

func (f *fixture) texts(filter agent.FactFilter) string {
	f.t.Helper()
	filter.Limit = 200
	page, _, err := f.store.Facts(f.ctx, filter)
	f.ok(err)
	var list []string
	for _, x := range page {
		list = append(list, x.Text)
	}
	return strings.Join(list, "|")
}

var (
	current   = agent.FactFilter{Statuses: []agent.FactStatus{agent.FactCurrent}}
	untrusted = agent.Labels{{Source: "evil.example", Kind: agent.LabelUntrusted}}
)

func about(names ...string) func(*agent.Fact) {
	return func(f *agent.Fact) {
		for _, n := range names {
			f.Entities = append(f.Entities, agent.Entity{Name: n, Kind: agent.EntityPerson})
		}
	}
}

func TestRemember(t *testing.T) {
	f := newFixture(t)
	a := f.remember("Anna lives in Lisbon.", about("Anna", "Lisbon"))
	k, err := f.Remember(f.ctx, agent.Fact{Owner: f.owner, Text: "  ANNA lives in lisbon", Importance: 0.7, Entities: []agent.Entity{{Name: "ANNA"}, {Name: "Portugal"}}}, false)
	f.ok(err)
	if !k.Known || k.Fact.ID != a.ID || k.Fact.Importance != 0.7 || len(k.Fact.Entities) != 3 {
		t.Errorf("said again: %+v", k)
	}
	k, err = f.Remember(f.ctx, agent.Fact{Owner: f.owner, Text: "Anna lives in Lisbon", Importance: 1, Labels: untrusted}, false)
	f.ok(err)
	if !k.Known || k.Fact.Importance != 0.7 || k.Fact.Labels.Untrusted() {
		t.Errorf("a stranger changed the person's fact: %+v", k.Fact)
	}
	for name, bad := range map[string]string{"empty": " ", "signs": "!?", "long": strings.Repeat("x", agent.MaxFact+1), "broken": "a\xff"} {
		if _, err := f.Remember(f.ctx, agent.Fact{Owner: f.owner, Text: bad}, false); agent.CodeOf(err) != agent.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	b := f.remember("Anna lives in Porto.", func(x *agent.Fact) { x.Supersedes = []agent.ID{a.ID} })
	if got := f.texts(current); got != "Anna lives in Porto." {
		t.Errorf("current: %s", got)
	}
	old := f.fact(a.ID)
	if old.Status != agent.FactSuperseded || old.Successor != b.ID || old.Until.IsZero() || f.fact(b.ID).Supersedes[0] != a.ID {
		t.Errorf("history: %+v", old)
	}
}

func TestCorrect(t *testing.T) {
	f := newFixture(t)
	a := f.remember("The gate code is 4711", func(x *agent.Fact) { x.Labels = untrusted; x.Kind = agent.FactCore })
	b, err := f.Correct(f.ctx, a.ID, a.Updated, agent.Fact{Text: "The gate code is 4712"})
	f.ok(err)
	if !b.Labels.Untrusted() || b.Kind != agent.FactCore || b.Source.Kind != agent.SourcePerson {
		t.Errorf("corrected: %+v", b)
	}
	_, err = f.Correct(f.ctx, a.ID, time.Time{}, agent.Fact{Text: "The gate code is 1"})
	f.fails(err, agent.CodeConflict) // history
	same, err := f.Correct(f.ctx, b.ID, b.Updated, agent.Fact{Text: "The gate code is 4712!"})
	f.ok(err)
	if same.ID != b.ID || same.Text != "The gate code is 4712!" || !same.Labels.Untrusted() || len(same.Supersedes) != 1 {
		t.Errorf("the same words: %+v", same)
	}
	_, err = f.Correct(f.ctx, b.ID, b.Updated, agent.Fact{Text: "The gate code is 2"})
	f.fails(err, agent.CodeConflict) // seen before the last change
	chain, err := f.store.FactChain(f.ctx, a.ID)
	f.ok(err)
	if len(chain) != 2 || chain[0].ID != a.ID {
		t.Errorf("chain: %+v", chain)
	}
	own := f.remember("Tea is at five")
	wrong := f.remember("Tea is at four", func(x *agent.Fact) { x.Labels = untrusted })
	got, err := f.Correct(f.ctx, wrong.ID, time.Time{}, agent.Fact{Text: "tea is at five"})
	f.ok(err)
	if got.ID != own.ID || got.Labels.Untrusted() {
		t.Errorf("into a known one: %+v", got)
	}
}

func TestPinRetireExpireCore(t *testing.T) {
	f := newFixture(t)
	a := f.remember("I like short answers", func(x *agent.Fact) { x.Kind = agent.FactCore; x.Importance = 0.2 })
	f.remember("I am a baker", func(x *agent.Fact) { x.Kind = agent.FactCore; x.Importance = 0.9 })
	f.remember(strings.Repeat("x", 1999), func(x *agent.Fact) { x.Kind = agent.FactCore })
	f.remember(strings.Repeat("y", 1900), func(x *agent.Fact) { x.Kind = agent.FactCore })
	f.remember(strings.Repeat("z", 1990), func(x *agent.Fact) { x.Kind = agent.FactCore })
	_, err := f.Pin(f.ctx, a.ID, true)
	f.ok(err)
	core, left, err := f.Core(f.ctx, f.owner)
	f.ok(err)
	size := 0
	for _, c := range core {
		size += len(c.Text)
	}
	if core[0].ID != a.ID || core[1].Text != "I am a baker" || left != 1 || size > memory.CoreBytes {
		t.Errorf("core: %d facts, %d left, %d bytes", len(core), left, size)
	}
	b := f.remember("The fair is on", func(x *agent.Fact) { x.Expires = f.at.Add(time.Hour) })
	n, err := f.Expire(f.ctx)
	f.ok(err)
	f.at = f.at.Add(2 * time.Hour)
	m, err := f.Expire(f.ctx)
	f.ok(err)
	if n != 0 || m != 1 || f.fact(b.ID).Status != agent.FactRetired {
		t.Errorf("expired %d, then %d: %+v", n, m, f.fact(b.ID))
	}
	_, err = f.Retire(f.ctx, b.ID)
	f.fails(err, agent.CodeConflict)
	back, err := f.Revive(f.ctx, b.ID)
	f.ok(err)
	if back.Status != agent.FactCurrent || !back.Expires.IsZero() {
		t.Errorf("revived: %+v", back)
	}
}

func TestProposals(t *testing.T) {
	f := newFixture(t)
	old := f.remember("Bo has a cat")
	kept, err := f.Propose(f.ctx, []agent.Proposal{
		{Action: agent.ActionKeep, Fact: agent.Fact{Owner: f.owner, Text: "Bo has two cats", Labels: untrusted, Supersedes: []agent.ID{old.ID}}},
		{Action: agent.ActionKeep, Fact: agent.Fact{Owner: f.owner, Text: "bo has a cat"}}, // known
		{Action: agent.ActionRetire, Fact: agent.Fact{ID: agent.NewID()}},                  // gone
	})
	f.ok(err)
	if len(kept) != 1 || f.texts(current) != "Bo has a cat" {
		t.Fatalf("waiting: %+v", kept)
	}
	again, err := f.Propose(f.ctx, kept)
	f.ok(err)
	if len(again) != 0 {
		t.Error("proposed twice")
	}
	done, err := f.Decide(f.ctx, kept[0].ID, memory.Verdict{Approve: true, Text: "Bo has two old cats"})
	f.ok(err)
	if !done[0].After.Labels.Untrusted() || f.texts(current) != "Bo has two old cats" {
		t.Errorf("approved: %+v", done)
	}
	_, err = f.Decide(f.ctx, kept[0].ID, memory.Verdict{})
	f.fails(err, agent.CodeConflict)
}

func TestUndo(t *testing.T) {
	f := newFixture(t)
	a := f.remember("Kim is at school", func(x *agent.Fact) { x.Labels = untrusted })
	run := func(text string, base agent.Fact) agent.MemoryRun {
		n, err := f.Ready(agent.Fact{Owner: f.owner, Text: text})
		f.ok(err)
		ended := base
		ended.Status, ended.Successor = agent.FactSuperseded, n.ID
		r := agent.MemoryRun{ID: agent.NewID(), Kind: agent.RunConsolidate}
		_, err = f.Apply(f.ctx, memory.Step{Run: &r, Changes: []agent.MemoryChange{{Fact: n.ID, After: &n}, {Fact: base.ID, Before: &base, After: &ended}}})
		f.ok(err)
		return r
	}
	r := run("Kim studies", a)
	if got := f.texts(current); got != "Kim studies" {
		t.Fatal(got)
	}
	_, err := f.Undo(f.ctx, r.ID)
	f.ok(err)
	back := f.fact(a.ID)
	if got := f.texts(agent.FactFilter{}); got != "Kim is at school" || back.Status != agent.FactCurrent || !back.Labels.Untrusted() {
		t.Errorf("undone: %s %+v", got, back)
	}
	_, err = f.Undo(f.ctx, r.ID)
	f.fails(err, agent.CodeConflict)
	r = run("Kim studies", back)
	page, _, err := f.store.Facts(f.ctx, current)
	f.ok(err)
	_, err = f.Pin(f.ctx, page[0].ID, true)
	f.ok(err)
	_, err = f.Undo(f.ctx, r.ID)
	f.fails(err, agent.CodeConflict)
	if got := f.texts(current); got != "Kim studies" {
		t.Errorf("a refused undo changed something: %s", got)
	}
}
