package store

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ash/agent"
)

// fixture is a store in a folder of its own with one thread of the owner.
type fixture struct {
	*Store
	t      testing.TB
	ctx    context.Context
	owner  agent.ID
	thread agent.ID
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ash.db")
	lay(t, path)
	return fixtureAt(t, path)
}

// newHome is a fixture with an owner and keys that no other has.
func newHome(t testing.TB) *fixture {
	t.Helper()
	return fixtureAt(t, filepath.Join(t.TempDir(), "ash.db"))
}

func fixtureAt(t testing.TB, path string) *fixture {
	t.Helper()
	s := openAt(t, path)
	f := &fixture{Store: s, t: t, ctx: t.Context()}
	owner, err := s.Owner(f.ctx)
	f.ok(err)
	f.owner = owner.ID
	f.thread = f.newThread("")
	return f
}

func openAt(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
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
		f.t.Fatalf("got error %v, want code %s", err, code)
	}
}

func (f *fixture) newThread(title string) agent.ID {
	f.t.Helper()
	id := agent.NewID()
	f.ok(f.CreateThread(f.ctx, agent.Thread{ID: id, Title: title, Origin: agent.Origin{Channel: "web", Person: f.owner}}))
	return id
}

func text(s string) []agent.Part { return []agent.Part{agent.Text{Text: s}} }

func (f *fixture) post(s string) agent.Posted {
	f.t.Helper()
	p, err := f.Post(f.ctx, agent.NewMessage{Thread: f.thread, Parts: text(s), Author: f.owner})
	f.ok(err)
	return p
}

func (f *fixture) tail() agent.Tail {
	f.t.Helper()
	tail, err := f.Tail(f.ctx, f.thread)
	f.ok(err)
	return tail
}

// openReply begins an answer below the head.
func (f *fixture) openReply() agent.Message {
	f.t.Helper()
	tail := f.tail()
	m := agent.Message{ID: agent.NewID(), Thread: f.thread, Parent: tail.Head.ID, Turn: tail.Turn.ID, Created: now()}
	f.ok(f.OpenReply(f.ctx, m))
	return m
}

// reply writes a whole answer with calls below the head; the turn goes on.
func (f *fixture) reply(s string, calls ...agent.ToolCall) agent.Message {
	f.t.Helper()
	m := f.openReply()
	m.State, m.Parts = agent.MessageComplete, text(s)
	for i, c := range calls {
		if c.ID == "" {
			c.ID = agent.NewID()
		}
		if c.State == "" {
			c.State = agent.CallProposed
		}
		if c.Arguments == nil {
			c.Arguments = []byte(`{}`)
		}
		calls[i] = c
		m.Parts = append(m.Parts, agent.ToolUse{Call: c.ID})
	}
	m.Calls = calls
	f.ok(f.CloseReply(f.ctx, m))
	return m
}

func (f *fixture) end(state agent.TurnState) agent.EndedTurn {
	f.t.Helper()
	ended, err := f.EndTurn(f.ctx, f.tail().Turn, state)
	f.ok(err)
	return ended
}

// exchange is a question, its answer, and the end of the turn.
func (f *fixture) exchange(question, answer string) (agent.Message, agent.Message) {
	f.t.Helper()
	p := f.post(question)
	r := f.reply(answer)
	f.end(agent.TurnDone)
	return p.Message, r
}

// waiting brings the thread to rest on one call that waits for the person.
func (f *fixture) waiting() (agent.Message, agent.ToolCall) {
	f.t.Helper()
	f.post("run it")
	m := f.reply("I would run this.", agent.ToolCall{Name: "shell"})
	c := m.Calls[0]
	c.State, c.Binding = agent.CallWaiting, "b1"
	c, err := f.MoveCall(f.ctx, c, agent.CallProposed)
	f.ok(err)
	f.end(agent.TurnWaiting)
	return m, c
}

func (f *fixture) call(id agent.ID) agent.ToolCall {
	f.t.Helper()
	c, err := f.Call(f.ctx, id)
	f.ok(err)
	return c
}

func TestOpenProtectsItsFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a home?", "50%#1")
	s := openAt(t, filepath.Join(dir, "ash.db"))
	if _, err := s.Owner(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"": 0o700, "ash.db": 0o600, "ash.db-wal": 0o600, "ash.db-shm": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%q has mode %o, want %o", name, got, want)
		}
	}
}

func TestSettingsHoldOnEveryConnection(t *testing.T) {
	f := newFixture(t)
	pragma := func(q interface {
		Scan(context.Context, ...any) error
	}) string {
		var v string
		f.ok(q.Scan(f.ctx, &v))
		return v
	}
	for name, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "secure_delete": "1", "busy_timeout": "5000", "query_only": "0",
	} {
		if got := pragma(f.writer.NewRaw("PRAGMA " + name)); got != want {
			t.Errorf("writer: %s is %s, want %s", name, got, want)
		}
	}
	for range readers { // each in a transaction left open, so that each takes a connection of its own
		tx, err := f.reader.BeginTx(f.ctx, nil)
		f.ok(err)
		defer tx.Rollback()
		if got := pragma(tx.NewRaw("PRAGMA query_only")); got != "1" {
			t.Errorf("reader: query_only is %s", got)
		}
		if _, err := tx.ExecContext(f.ctx, "DELETE FROM threads"); err == nil {
			t.Error("a reader could write")
		}
	}
}

func TestAcknowledgedSurvivesReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ash.db")
	s, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	owner, err := s.Owner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	thread := agent.Thread{
		ID: agent.NewID(), Title: "Reise nach Köln", TitleSource: agent.TitlePerson,
		Origin: agent.Origin{Channel: "mail", ExternalID: "x1", Person: owner.ID}, Model: "p/m/v", Root: "/r", WorkDir: "w",
		Grants: []agent.Grant{{ID: agent.NewID(), Rule: "read host:example.org", Sources: []string{"example.org"}, Created: now()}},
		Budget: agent.Budget{Cost: 5, Tokens: 6}, ParentCall: agent.NewID(), Pinned: true, Archived: now(),
		Created: now(), Updated: now().Add(time.Second),
	}
	if err := s.CreateThread(t.Context(), thread); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path)
	got, err := s.Thread(t.Context(), thread.ID)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, got, thread)
	again, err := s.Owner(t.Context())
	if err != nil || again.ID != owner.ID || !again.Owner {
		t.Fatalf("owner is %+v, %v; want %s", again, err, owner.ID)
	}
	if _, err := agent.ParseID(string(owner.ID)); err != nil || owner.ID[14] != '7' {
		t.Errorf("the owner's id %s is no UUIDv7", owner.ID)
	}
}

// A database that Ash had before is opened to read and to write at once; who reads meanwhile opens no further connection for it.
func TestOpenWarmsOneReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ash.db")
	first := openAt(t, path)
	if n := first.reader.Stats().OpenConnections; n != 0 {
		t.Errorf("%d readers of a database that is just being made", n)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again := openAt(t, path)
	if _, err := again.Owner(t.Context()); err != nil {
		t.Fatal(err)
	}
	again.warming.Wait()
	if s := again.reader.Stats(); s.OpenConnections != 1 || s.MaxOpenConnections != readers {
		t.Errorf("%d connections read, of at most %d", s.OpenConnections, s.MaxOpenConnections)
	}
}
