package store

import (
	"testing"
	"time"

	"ash/agent"
)

// begun is a message that brings the open reply below it, as the engine makes both: with ids that are given out before
// anything is stored, and a clock finer than the store's.
func (f *fixture) begun(s string) agent.NewMessage {
	f.t.Helper()
	return agent.NewMessage{
		Thread: f.thread, Parts: text(s), Author: f.owner,
		Reply: &agent.Message{
			ID: agent.NewID(), Thread: f.thread, Parent: agent.NewID(), Turn: agent.NewID(),
			Role: agent.RoleAssistant, State: agent.MessageOpen, Model: agent.ModelRef{Provider: "p", Name: "m/v"},
			Created: time.Date(2026, 3, 4, 5, 6, 7, 123_456_789, time.FixedZone("", 3600)),
		},
	}
}

// postBegun stores a message together with its open reply.
func (f *fixture) postBegun(s string) agent.Posted {
	f.t.Helper()
	p, err := f.Post(f.ctx, f.begun(s))
	f.ok(err)
	if p.Reply == nil {
		f.t.Fatalf("%q was stored without its reply: %+v", s, p)
	}
	return p
}

// message reads a message.
func (f *fixture) message(id agent.ID) agent.Message {
	f.t.Helper()
	m, err := f.Message(f.ctx, id)
	f.ok(err)
	return m
}

func TestPostWithItsReply(t *testing.T) {
	t.Run("stores message, turn and open reply in one", func(t *testing.T) {
		f := newFixture(t)
		_, above := f.exchange("earlier", "1")
		m := f.begun("hello")
		m.Form, m.Title = "form-1", "hello"
		p, err := f.Post(f.ctx, m)
		f.ok(err)
		at := time.Date(2026, 3, 4, 4, 6, 7, 123_456_000, time.UTC) // of all three, as it is read back
		message := agent.Message{
			ID: m.Reply.Parent, Thread: f.thread, Parent: above.ID, Turn: m.Reply.Turn, Role: agent.RoleUser, State: agent.MessageComplete,
			Parts: text("hello"), Author: f.owner, Form: "form-1", Created: at, Finished: at,
		}
		turn := agent.Turn{ID: m.Reply.Turn, Thread: f.thread, Trigger: m.Reply.Parent, State: agent.TurnRunning, Started: at}
		reply := agent.Message{
			ID: m.Reply.ID, Thread: f.thread, Parent: m.Reply.Parent, Turn: m.Reply.Turn, Role: agent.RoleAssistant, State: agent.MessageOpen,
			Model: agent.ModelRef{Provider: "p", Name: "m/v"}, Created: at,
		}
		equal(t, p, agent.Posted{Message: message, Turn: turn, Reply: &reply, Alone: true})

		for _, f := range []*fixture{f, f.killed()} {
			tail := f.tail()
			equal(t, f.message(m.Reply.Parent), message)
			equal(t, tail.Turn, turn)
			equal(t, tail.Head, reply)
			equal(t, tail.Thread.Head, reply.ID)
			equal(t, tail.Thread.Title, "hello")
		}
	})
	t.Run("a kill leaves a message to be answered anew", func(t *testing.T) {
		f := newFixture(t)
		p := f.postBegun("hello")
		f = f.killed()
		r, err := f.Recover(f.ctx)
		f.ok(err)
		equal(t, r, agent.Recovery{Turns: 1, Replies: 1})
		tail := f.tail()
		if tail.Head.ID != p.Reply.ID || tail.Head.State != agent.MessageCut || tail.Head.Text() != "" || tail.Head.Error == nil {
			t.Errorf("the reply is %+v", tail.Head)
		}
		equal(t, tail.Turn.State, agent.TurnInterrupted)
		turn, err := f.Begin(f.ctx, f.thread, p.Message.ID)
		f.ok(err)
		equal(t, turn.ID, p.Turn.ID) // taken up again rather than doubled
	})
	t.Run("stands where the conversation ends by now", func(t *testing.T) {
		f := newFixture(t)
		q, old := f.exchange("one", "1")
		m := f.begun("and two?") // as it was written below old
		_, err := f.Begin(f.ctx, f.thread, q.ID)
		f.ok(err)
		head := f.reply("1b")
		f.end(agent.TurnDone)
		p, err := f.Post(f.ctx, m)
		f.ok(err)
		if p.Message.Parent != head.ID || p.Message.Parent == old.ID {
			t.Errorf("the message stands below %s, not below %s", p.Message.Parent, head.ID)
		}
		equal(t, f.message(p.Message.ID), p.Message)
		equal(t, f.tail().Head.Parent, p.Message.ID)
	})
	t.Run("closes what waits, and opens its reply all the same", func(t *testing.T) {
		f := newFixture(t)
		waiting, call := f.waiting()
		p := f.postBegun("never mind")
		if len(p.Superseded) != 1 || p.Superseded[0].ID != call.ID || f.call(call.ID).State != agent.CallSuperseded {
			t.Errorf("superseded %+v", p.Superseded)
		}
		equal(t, p.Message.Parent, waiting.ID)
		equal(t, f.tail().Head, *p.Reply)
		equal(t, f.tail().Turn, p.Turn)
	})
	t.Run("of several at once one begins its reply", func(t *testing.T) {
		f := newFixture(t)
		got := make([]agent.Posted, 4)
		for _, err := range race(len(got), func(i int) (err error) { got[i], err = f.Post(f.ctx, f.begun("me")); return err }) {
			f.ok(err)
		}
		var first agent.Posted
		for _, p := range got {
			if p.Reply != nil {
				first = p
			}
		}
		for _, p := range got {
			if (p.Message.State == agent.MessageQueued) == (p.Message.ID == first.Message.ID) || p.Turn.ID != first.Turn.ID {
				t.Errorf("%+v beside %+v", p, first)
			}
		}
		equal(t, f.tail().Head, *first.Reply)
	})
}

func TestNoReplyBegins(t *testing.T) {
	// none checks that nothing of the reply is stored: not itself, not its turn.
	none := func(f *fixture, m agent.NewMessage, p agent.Posted) {
		f.t.Helper()
		if p.Reply != nil {
			f.t.Errorf("it says that %s was opened", p.Reply.ID)
		}
		_, err := f.Message(f.ctx, m.Reply.ID)
		f.fails(err, agent.CodeNotFound)
		_, err = turnByID(f.ctx, f.reader, m.Reply.Turn)
		f.fails(f.translate(err), agent.CodeNotFound)
	}
	t.Run("while a turn runs", func(t *testing.T) {
		f := newFixture(t)
		first := f.postBegun("one")
		m := f.begun("two")
		p, err := f.Post(f.ctx, m)
		f.ok(err)
		none(f, m, p)
		equal(t, p.Message.State, agent.MessageQueued)
		equal(t, p.Turn, first.Turn)
		equal(t, f.message(p.Message.ID), p.Message)
		equal(t, f.tail().Head, *first.Reply)

		ended := f.end(agent.TurnStopped) // it joins as any queued message does, and the turn that answers it opens a reply of its own
		none(f, m, agent.Posted{})
		equal(t, f.tail().Head, ended.Joined[0])
		equal(t, ended.Joined[0].ID, p.Message.ID)
		equal(t, ended.Next.Trigger, p.Message.ID)
	})
	t.Run("when the form was sent before", func(t *testing.T) {
		f := newFixture(t)
		m := f.begun("once")
		m.Form = "form-1"
		first, err := f.Post(f.ctx, m)
		f.ok(err)
		later := f.begun("later")
		later.Form = "form-2"
		queued, err := f.Post(f.ctx, later)
		f.ok(err)
		before := f.rows()
		for form, want := range map[string]agent.Posted{"form-1": first, "form-2": queued} {
			m := f.begun("again")
			m.Form = form
			p, err := f.Post(f.ctx, m)
			f.ok(err)
			none(f, m, p)
			equal(t, p, agent.Posted{Message: want.Message, Again: true, Turn: first.Turn})
		}
		equal(t, f.rows(), before)
		f.end(agent.TurnDone)
		f.end(agent.TurnDone) // of the one that was queued
		before = f.rows()
		m = f.begun("again, when nothing runs")
		m.Form = "form-1"
		p, err := f.Post(f.ctx, m)
		f.ok(err)
		none(f, m, p)
		equal(t, f.rows(), before)
		if !p.Again || p.Message.ID != first.Message.ID || p.Turn.ID != first.Turn.ID || p.Turn.State != agent.TurnDone {
			t.Errorf("the same form later is %+v", p)
		}
	})
}

// Whatever of it is refused, nothing of it is stored, and nothing that waited is closed.
func TestPostWithItsReplyIsRefusedAsAWhole(t *testing.T) {
	yes := true
	for name, c := range map[string]struct {
		spoil func(f *fixture, m *agent.NewMessage)
		want  agent.Code
	}{
		"the reply's id is taken": {func(f *fixture, m *agent.NewMessage) { m.Reply.ID = f.tail().Head.ID }, agent.CodeConflict},
		"the message's id is taken": {func(f *fixture, m *agent.NewMessage) {
			m.Reply.Parent = f.tail().Head.ID
		}, agent.CodeConflict},
		"the turn's id is taken": {func(f *fixture, m *agent.NewMessage) { m.Reply.Turn = f.tail().Turn.ID }, agent.CodeConflict},
		"nobody is its author":   {func(_ *fixture, m *agent.NewMessage) { m.Author = agent.NewID() }, agent.CodeNotFound},
		"the thread is deleted": {func(f *fixture, _ *agent.NewMessage) {
			_, err := f.PatchThread(f.ctx, f.thread, agent.ThreadPatch{Deleted: &yes})
			f.ok(err)
		}, agent.CodeConflict},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.waiting()
			m := f.begun("never mind")
			c.spoil(f, &m)
			before := f.rows()
			_, err := f.Post(f.ctx, m)
			f.fails(err, c.want)
			equal(t, f.rows(), before)
			equal(t, f.killed().rows(), before)
		})
	}
}

func TestEditWithItsReply(t *testing.T) {
	f := newFixture(t)
	_, above := f.exchange("one", "1")
	old, _ := f.exchange("two", "2")
	m := f.begun("two, better")
	p, err := f.Edit(f.ctx, old.ID, m)
	f.ok(err)
	equal(t, p.Message.ID, m.Reply.Parent)
	equal(t, p.Message.Parent, above.ID)
	equal(t, f.message(p.Message.ID), p.Message)
	equal(t, f.tail().Head, *p.Reply)
	equal(t, f.tail().Turn, p.Turn)
	equal(t, p.Turn.ID, m.Reply.Turn)
	if p.Alone {
		t.Error("a variant is said to have none")
	}
}

// A page that is told so reads neither the message nor the one above it: it must be true.
func TestPostedAlone(t *testing.T) {
	f := newFixture(t)
	say := func(want bool) agent.Posted {
		t.Helper()
		p := f.postBegun("say")
		f.ok(f.CloseReply(f.ctx, agent.Message{ID: p.Reply.ID, State: agent.MessageComplete, Parts: text("said")}))
		f.end(agent.TurnDone)
		node, err := f.Node(f.ctx, p.Message.ID)
		f.ok(err)
		if p.Alone != want || p.Alone != (node.Siblings == 1) {
			t.Errorf("alone: %t, want %t, of %d siblings", p.Alone, want, node.Siblings)
		}
		return p
	}
	// stopAt goes on at a message that has others below it, and ends before anything new is there.
	stopAt := func(message agent.ID) {
		t.Helper()
		_, err := f.Begin(f.ctx, f.thread, message)
		f.ok(err)
		f.end(agent.TurnStopped)
		equal(t, f.tail().Head.ID, message)
	}
	first := say(true)
	second := say(true)
	stopAt(first.Message.ID) // its answer was to be written anew: that stands below it already
	say(false)
	say(true) // below one that has variants
	stopAt(second.Message.Parent)
	say(false)
	say(true)

	f.thread = f.newThread("") // where the first message has none above it, as those of all conversations
	say(true)
	say(true)
}
