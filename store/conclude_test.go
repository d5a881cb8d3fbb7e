package store

import (
	"testing"
	"time"

	"ash/agent"
)

// ended is a reply as it ends, with something for every table that its end is stored in.
func (f *fixture) ended(reply agent.Message, s string, calls ...agent.ToolCall) agent.Message {
	f.t.Helper()
	m := reply
	m.Role, m.State, m.Stop, m.Finished = agent.RoleAssistant, agent.MessageComplete, agent.StopEnd, now()
	m.Usage = agent.Usage{Input: 100, Output: 20, CacheRead: 30, CacheWrite: 4, Cost: 500, FirstToken: 60 * time.Millisecond, Duration: 7 * time.Second}
	m.Parts = append(text(s), agent.Image{Attachment: agent.Attachment{Hash: "hash of " + s, Name: "n", Media: "image/png", Size: 3}})
	m.Recalled = []agent.Recollection{{Kind: agent.MemoryFact, Ref: "fact", Why: []string{"w"}, Score: 1}}
	for i, c := range calls {
		c.ID, c.Thread, c.Turn, c.Message, c.Index, c.Created = agent.NewID(), m.Thread, m.Turn, m.ID, i, now()
		c.Name, c.Arguments = "shell", []byte(`{}`)
		m.Calls = append(m.Calls, c)
		m.Parts = append(m.Parts, agent.ToolUse{Call: c.ID})
	}
	return m
}

// conclude ends a reply and its turn.
func (f *fixture) conclude(reply agent.Message, state agent.TurnState) agent.EndedTurn {
	f.t.Helper()
	e, err := f.Conclude(f.ctx, reply, state)
	f.ok(err)
	return e
}

func TestConclude(t *testing.T) {
	t.Run("stores the end of the reply and of its turn in one", func(t *testing.T) {
		f := newFixture(t)
		p := f.postBegun("q")
		f.ok(f.SaveProgress(f.ctx, []agent.ReplyProgress{{Message: p.Reply.ID, Text: "The ans", Thinking: "hm"}}))
		m := f.ended(*p.Reply, "The answer.")
		e := f.conclude(m, agent.TurnDone)
		if e.Turn.Ended.Before(m.Finished) || e.Joined != nil || e.Superseded != nil || e.Next != nil {
			t.Errorf("ended as %+v", e)
		}
		equal(t, e.Turn, agent.Turn{
			ID: p.Turn.ID, Thread: f.thread, Trigger: p.Message.ID, State: agent.TurnDone, Rounds: 1, Usage: m.Usage,
			Started: p.Turn.Started, Ended: e.Turn.Ended,
		})
		for _, f := range []*fixture{f, f.killed()} {
			r, err := f.Recover(f.ctx)
			f.ok(err)
			equal(t, r, agent.Recovery{}) // nothing of it was left open
			tail := f.tail()
			equal(t, tail.Turn, e.Turn)
			want := m
			want.Recalled = nil // read apart
			equal(t, tail.Head, want)
			equal(t, len(f.rows()["reply_progress"]), 0)
			receipt, err := f.Receipt(f.ctx, m.ID)
			f.ok(err)
			equal(t, receipt, m.Recalled)
			hashes, err := f.ReferencedAttachments(f.ctx)
			f.ok(err)
			equal(t, hashes, []string{"hash of The answer."})
		}
	})
	t.Run("adds to what earlier rounds took", func(t *testing.T) {
		f := newFixture(t)
		p := f.postBegun("q")
		f.ok(f.CloseReply(f.ctx, f.ended(*p.Reply, "first")))
		last := f.ended(f.openReply(), "second")
		last.Usage = agent.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Cost: 5, FirstToken: 6, Duration: 7}
		e := f.conclude(last, agent.TurnDone)
		equal(t, e.Turn.Rounds, 2)
		equal(t, e.Turn.Usage, agent.Usage{
			Input: 101, Output: 22, CacheRead: 33, CacheWrite: 8, Cost: 505, FirstToken: 60 * time.Millisecond, Duration: 7*time.Second + 7,
		})
		equal(t, f.killed().tail().Turn, e.Turn)
	})
	t.Run("begins the turn that answers what was queued", func(t *testing.T) {
		f := newFixture(t)
		p := f.postBegun("one")
		a, b := f.post("two"), f.post("three")
		m := f.ended(*p.Reply, "1", agent.ToolCall{State: agent.CallProposed})
		e := f.conclude(m, agent.TurnFailed)
		equal(t, e.Turn.State, agent.TurnFailed)
		if len(e.Joined) != 2 || e.Joined[0].ID != a.Message.ID || e.Joined[1].ID != b.Message.ID {
			t.Fatalf("joined %+v", e.Joined)
		}
		equal(t, e.Joined[0].Parent, m.ID)
		equal(t, e.Joined[1].Parent, a.Message.ID)
		if len(e.Superseded) != 1 || e.Superseded[0].ID != m.Calls[0].ID { // a call that came with this very end
			t.Errorf("superseded %+v", e.Superseded)
		}
		if e.Next == nil || e.Next.State != agent.TurnRunning || e.Next.Trigger != b.Message.ID || e.Next.Rounds != 0 || e.Next.Usage != (agent.Usage{}) {
			t.Fatalf("the next turn is %+v", e.Next)
		}
		for _, f := range []*fixture{f, f.killed()} {
			tail := f.tail()
			equal(t, tail.Turn, *e.Next)
			equal(t, tail.Head, e.Joined[1])
			equal(t, tail.Head.Turn, e.Next.ID)
			equal(t, f.call(m.Calls[0].ID), e.Superseded[0])
			equal(t, e.Superseded[0].State, agent.CallSuperseded)
			ended, err := turnByID(f.ctx, f.reader, p.Turn.ID)
			f.ok(err)
			equal(t, ended, e.Turn)
			equal(t, f.message(m.ID).State, agent.MessageComplete)
		}
	})
	t.Run("what waits for the person begins nothing", func(t *testing.T) {
		f := newFixture(t)
		p := f.postBegun("one")
		queued := f.post("two")
		m := f.ended(*p.Reply, "shall I?", agent.ToolCall{State: agent.CallWaiting, Question: true})
		e := f.conclude(m, agent.TurnWaiting)
		if e.Turn.State != agent.TurnWaiting || !e.Turn.Ended.IsZero() || e.Joined != nil || e.Next != nil || e.Superseded != nil {
			t.Errorf("ended as %+v", e)
		}
		equal(t, f.tail().Turn, e.Turn)
		equal(t, f.tail().Head.Calls, m.Calls)
		equal(t, f.message(queued.Message.ID), queued.Message)
	})
	t.Run("a stop is not taken back, and leaves nothing to be decided", func(t *testing.T) {
		f := newFixture(t)
		p := f.postBegun("run")
		f.end(agent.TurnStopping)
		m := f.ended(*p.Reply, "I wou", agent.ToolCall{State: agent.CallWaiting}, agent.ToolCall{State: agent.CallCancelled, Finished: now()})
		m.State = agent.MessageStopped
		e := f.conclude(m, agent.TurnWaiting)
		equal(t, e.Turn.State, agent.TurnStopped)
		if len(e.Superseded) != 1 || e.Superseded[0].ID != m.Calls[0].ID {
			t.Fatalf("closed %+v", e.Superseded)
		}
		equal(t, f.call(m.Calls[0].ID).State, agent.CallStopped)
		equal(t, f.call(m.Calls[1].ID), m.Calls[1]) // it had ended with the reply
		equal(t, f.tail().Turn, e.Turn)
	})
	t.Run("of several at once one ends them", func(t *testing.T) {
		f := newFixture(t)
		p := f.postBegun("one")
		f.post("queued")
		m := f.ended(*p.Reply, "1")
		oneWon(t, race(4, func(int) error { _, err := f.Conclude(f.ctx, m, agent.TurnDone); return err }))
		ended, err := turnByID(f.ctx, f.reader, p.Turn.ID)
		f.ok(err)
		if ended.Rounds != 1 || ended.Usage != m.Usage {
			t.Errorf("ended as %+v", ended)
		}
		equal(t, len(f.rows()["turns"]), 2)
	})
}

// Each half is refused with the other: an end that is owed can be offered again as if it had never been.
func TestConcludeIsRefusedAsAWhole(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(f *fixture, m *agent.Message) // after everything else is as it should be
		want  agent.Code
	}{
		"the turn has ended": {func(f *fixture, m *agent.Message) {
			_, err := f.EndTurn(f.ctx, agent.Turn{ID: m.Turn}, agent.TurnStopped)
			f.ok(err)
		}, agent.CodeConflict},
		"the reply has ended": {func(f *fixture, m *agent.Message) {
			f.ok(f.CloseReply(f.ctx, agent.Message{ID: m.ID, State: agent.MessageCut}))
		}, agent.CodeConflict},
		"the reply is unknown":    {func(_ *fixture, m *agent.Message) { m.ID = agent.NewID() }, agent.CodeNotFound},
		"the turn is unknown":     {func(_ *fixture, m *agent.Message) { m.Turn = agent.NewID() }, agent.CodeNotFound},
		"the reply goes on":       {func(_ *fixture, m *agent.Message) { m.State = agent.MessageOpen }, agent.CodeInternal},
		"a reply is never queued": {func(_ *fixture, m *agent.Message) { m.State = agent.MessageQueued }, agent.CodeInternal},
		"one of its calls is stored already": {func(f *fixture, m *agent.Message) {
			here := f.thread
			f.thread = f.newThread("")
			f.post("elsewhere")
			f.reply("tools", agent.ToolCall{ID: m.Calls[0].ID, Name: "shell"})
			f.thread = here
		}, agent.CodeConflict},
		"a message of the person's is": {func(f *fixture, m *agent.Message) { m.ID = m.Parent }, agent.CodeConflict},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			p := f.postBegun("q")
			f.ok(f.SaveProgress(f.ctx, []agent.ReplyProgress{{Message: p.Reply.ID, Text: "The ans"}}))
			f.post("queued")
			m := f.ended(*p.Reply, "The answer.", agent.ToolCall{State: agent.CallProposed})
			c.spoil(f, &m)
			before := f.rows()
			_, err := f.Conclude(f.ctx, m, agent.TurnDone)
			f.fails(err, c.want)
			equal(t, f.rows(), before)
			equal(t, f.killed().rows(), before)
		})
	}
}
