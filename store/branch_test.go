package store

import (
	"testing"

	"ash/agent"
)

func TestBegin(t *testing.T) {
	t.Run("under the person's message answers anew", func(t *testing.T) {
		f := newFixture(t)
		q, old := f.exchange("one", "1")
		turn, err := f.Begin(f.ctx, f.thread, q.ID)
		f.ok(err)
		if turn.Trigger != q.ID || turn.State != agent.TurnRunning || f.tail().Head.ID != q.ID {
			t.Errorf("turn %+v, head %s", turn, f.tail().Head.ID)
		}
		fresh := f.reply("1b")
		node, err := f.Node(f.ctx, fresh.ID)
		f.ok(err)
		if node.Previous != old.ID || node.Siblings != 2 || node.Index != 2 {
			t.Errorf("place is %+v", node)
		}
	})
	t.Run("under a reply goes on after it", func(t *testing.T) {
		f := newFixture(t)
		_, reply := f.exchange("one", "1")
		turn, err := f.Begin(f.ctx, f.thread, reply.ID)
		f.ok(err)
		equal(t, turn.Trigger, reply.ID)
		more := f.reply("and more")
		equal(t, more.Parent, reply.ID)
	})
	t.Run("refuses while a turn runs, and what is not there", func(t *testing.T) {
		f := newFixture(t)
		p := f.post("one")
		_, err := f.Begin(f.ctx, f.thread, p.Message.ID)
		f.fails(err, agent.CodeConflict)
		queued := f.post("two")
		f.end(agent.TurnWaiting)
		_, err = f.Begin(f.ctx, f.thread, queued.Message.ID)
		f.fails(err, agent.CodeNotFound)
		_, err = f.Begin(f.ctx, f.newThread(""), p.Message.ID)
		f.fails(err, agent.CodeNotFound)
	})
	t.Run("refuses while an approval on the path waits", func(t *testing.T) {
		f := newFixture(t)
		reply, call := f.waiting()
		_, err := f.Begin(f.ctx, f.thread, reply.ID)
		f.fails(err, agent.CodeConflict)
		equal(t, f.call(call.ID).State, agent.CallWaiting)
	})
	t.Run("cancels approvals off the path and ends their turn", func(t *testing.T) {
		f := newFixture(t)
		_, call := f.waiting()
		old := f.tail().Turn
		turn, err := f.Begin(f.ctx, f.thread, old.Trigger)
		f.ok(err)
		equal(t, f.call(call.ID).State, agent.CallCancelled)
		if turn.ID == old.ID || f.tail().Turn.ID != turn.ID {
			t.Errorf("turn is %+v", f.tail().Turn)
		}
	})
	t.Run("takes over calls of a turn that failed", func(t *testing.T) {
		f := newFixture(t)
		f.post("run")
		m := f.reply("tools", agent.ToolCall{Name: "shell"})
		f.end(agent.TurnFailed)
		turn, err := f.Begin(f.ctx, f.thread, m.ID)
		f.ok(err)
		c := m.Calls[0]
		for _, step := range []agent.CallState{agent.CallApproved, agent.CallStarted} {
			from := f.call(c.ID).State
			c.State = step
			_, err = f.MoveCall(f.ctx, c, from)
			f.ok(err)
		}
		equal(t, f.call(c.ID).Turn, turn.ID)
	})
}

func TestBeginTakesUpAnInterruptedTurn(t *testing.T) {
	// Each case brings the thread to the point where a crash meets it, and names the
	// message at which the person goes on.
	cases := map[string]struct {
		prepare func(f *fixture) agent.ID
		same    bool
	}{
		"before anything came": {func(f *fixture) agent.ID { return f.post("q").Message.ID }, true},
		"while the answer was written, answered anew": {func(f *fixture) agent.ID {
			p := f.post("q")
			f.openReply()
			return p.Message.ID
		}, true},
		"while the answer was written, continued": {func(f *fixture) agent.ID {
			f.post("q")
			m := f.openReply()
			f.ok(f.SaveProgress(f.ctx, []agent.ReplyProgress{{Message: m.ID, Text: "half"}}))
			return m.ID
		}, false},
		"between a reply and its tools": {func(f *fixture) agent.ID {
			f.post("q")
			return f.reply("tools", agent.ToolCall{Name: "shell"}).ID
		}, true},
		"elsewhere": {func(f *fixture) agent.ID {
			q, _ := f.exchange("earlier", "1")
			f.post("q")
			return q.ID
		}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			at := c.prepare(f)
			broken := f.tail().Turn
			r, err := f.Recover(f.ctx)
			f.ok(err)
			equal(t, r.Turns, 1)
			turn, err := f.Begin(f.ctx, f.thread, at)
			f.ok(err)
			if (turn.ID == broken.ID) != c.same {
				t.Errorf("turn %s, interrupted was %s", turn.ID, broken.ID)
			}
			if turn.State != agent.TurnRunning || !turn.Ended.IsZero() {
				t.Errorf("turn is %+v", turn)
			}
			equal(t, f.tail().Head.ID, at)
			equal(t, f.tail().Turn, turn)
		})
	}
}

func TestMoveHead(t *testing.T) {
	f := newFixture(t)
	q, first := f.exchange("one", "1")
	_, leaf := f.exchange("two", "2")
	_, err := f.Begin(f.ctx, f.thread, q.ID)
	f.ok(err)
	second := f.reply("1b")
	f.end(agent.TurnDone)

	thread, cancelled, err := f.MoveHead(f.ctx, f.thread, first.ID)
	f.ok(err)
	equal(t, thread.Head, leaf.ID)
	equal(t, len(cancelled), 0)
	thread, _, err = f.MoveHead(f.ctx, f.thread, q.ID)
	f.ok(err)
	equal(t, thread.Head, second.ID) // stored last below q

	_, call := f.waiting()
	thread, cancelled, err = f.MoveHead(f.ctx, f.thread, first.ID)
	f.ok(err)
	equal(t, thread.Head, leaf.ID)
	if len(cancelled) != 1 || cancelled[0].ID != call.ID || f.call(call.ID).State != agent.CallCancelled {
		t.Errorf("cancelled %+v", cancelled)
	}
	if turn := f.tail().Turn; turn.Active() {
		t.Errorf("turn is %+v", turn)
	}

	f.post("three")
	_, _, err = f.MoveHead(f.ctx, f.thread, second.ID)
	f.fails(err, agent.CodeConflict)
	_, _, err = f.MoveHead(f.ctx, f.newThread(""), second.ID)
	f.fails(err, agent.CodeNotFound)
}

func TestMoveHeadKeepsWhatWaitsOnThePath(t *testing.T) {
	f := newFixture(t)
	q := f.post("one").Message
	f.reply("1")
	f.end(agent.TurnDone)
	_, call := f.waiting()
	_, cancelled, err := f.MoveHead(f.ctx, f.thread, q.ID)
	f.ok(err)
	equal(t, len(cancelled), 0)
	equal(t, f.call(call.ID).State, agent.CallWaiting)
	equal(t, f.tail().Turn.State, agent.TurnWaiting)
}
