package store

import (
	"sync"
	"testing"

	"ash/agent"
)

func TestPost(t *testing.T) {
	t.Run("begins a turn and becomes the head", func(t *testing.T) {
		f := newFixture(t)
		p := f.post("hello")
		tail := f.tail()
		equal(t, tail.Head, p.Message)
		equal(t, tail.Turn, p.Turn)
		if tail.Turn.State != agent.TurnRunning || tail.Turn.Trigger != p.Message.ID || p.Message.Turn != p.Turn.ID {
			t.Errorf("turn is %+v", tail.Turn)
		}
		if tail.Head.Parent != "" || tail.Thread.Head != p.Message.ID {
			t.Errorf("head is %+v", tail.Head)
		}
	})
	t.Run("the same form twice is one message", func(t *testing.T) {
		f := newFixture(t)
		m := agent.NewMessage{Thread: f.thread, Parts: text("once"), Author: f.owner, Form: "form-1"}
		first, err := f.Post(f.ctx, m)
		f.ok(err)
		second, err := f.Post(f.ctx, m)
		f.ok(err)
		if !second.Again {
			t.Error("the second is not told apart")
		}
		equal(t, second.Message, first.Message)
		equal(t, second.Turn, first.Turn)
		other := f.newThread("")
		third, err := f.Post(f.ctx, agent.NewMessage{Thread: other, Parts: text("elsewhere"), Form: "form-1"})
		f.ok(err)
		if third.Again {
			t.Error("a form of another thread counts here")
		}
	})
	t.Run("the same form from two goroutines is one message", func(t *testing.T) {
		f := newFixture(t)
		var wg sync.WaitGroup
		got := make([]agent.Posted, 8)
		for i := range got {
			wg.Go(func() {
				var err error
				got[i], err = f.Post(f.ctx, agent.NewMessage{Thread: f.thread, Parts: text("once"), Form: "x"})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		fresh := 0
		for _, p := range got {
			if !p.Again {
				fresh++
			}
			equal(t, p.Message.ID, got[0].Message.ID)
		}
		if fresh != 1 {
			t.Errorf("%d posts say they stored it", fresh)
		}
	})
	t.Run("waits without a parent while a turn runs", func(t *testing.T) {
		f := newFixture(t)
		first := f.post("one")
		queued := f.post("two")
		if queued.Message.State != agent.MessageQueued || queued.Message.Parent != "" || queued.Message.Turn != "" {
			t.Errorf("queued message is %+v", queued.Message)
		}
		equal(t, queued.Turn, first.Turn)
		equal(t, f.tail().Head.ID, first.Message.ID)
		_, err := f.EndTurn(f.ctx, first.Turn, agent.TurnStopping)
		f.ok(err)
		equal(t, f.post("three").Message.State, agent.MessageQueued)
	})
	t.Run("closes what waits as superseded and its turn as done", func(t *testing.T) {
		f := newFixture(t)
		reply, call := f.waiting()
		old := f.tail().Turn
		p := f.post("never mind")
		if len(p.Superseded) != 1 || p.Superseded[0].ID != call.ID {
			t.Fatalf("superseded %+v", p.Superseded)
		}
		equal(t, f.call(call.ID), p.Superseded[0])
		equal(t, f.call(call.ID).State, agent.CallSuperseded)
		equal(t, p.Message.Parent, reply.ID)
		turn, err := turnByID(f.ctx, f.reader, old.ID)
		f.ok(err)
		if turn.State != agent.TurnDone || turn.Ended.IsZero() {
			t.Errorf("old turn is %+v", turn)
		}
	})
	t.Run("what was queued before a rest goes ahead of it", func(t *testing.T) {
		f := newFixture(t)
		f.post("run it")
		m := f.reply("this?", agent.ToolCall{Name: "shell"})
		queued := f.post("and hurry")
		c := m.Calls[0]
		c.State = agent.CallWaiting
		_, err := f.MoveCall(f.ctx, c, agent.CallProposed)
		f.ok(err)
		if ended := f.end(agent.TurnWaiting); len(ended.Joined) > 0 || ended.Next != nil {
			t.Fatalf("a waiting turn joined %+v", ended)
		}
		p := f.post("no, stop")
		if len(p.Joined) != 1 || p.Joined[0].ID != queued.Message.ID || p.Joined[0].Parent != m.ID {
			t.Fatalf("joined %+v", p.Joined)
		}
		equal(t, p.Message.Parent, queued.Message.ID)
	})
	t.Run("is refused", func(t *testing.T) {
		f := newFixture(t)
		_, err := f.Post(f.ctx, agent.NewMessage{Thread: agent.NewID(), Parts: text("x")})
		f.fails(err, agent.CodeNotFound)
		_, err = f.Post(f.ctx, agent.NewMessage{Thread: f.thread, Parts: text("x"), Author: agent.NewID()})
		f.fails(err, agent.CodeNotFound)
		yes := true
		_, err = f.PatchThread(f.ctx, f.thread, agent.ThreadPatch{Deleted: &yes})
		f.ok(err)
		_, err = f.Post(f.ctx, agent.NewMessage{Thread: f.thread, Parts: text("x")})
		f.fails(err, agent.CodeConflict)
	})
	t.Run("NUL bytes and broken UTF-8 are stored visibly", func(t *testing.T) {
		f := newFixture(t)
		p, err := f.Post(f.ctx, agent.NewMessage{Thread: f.thread, Parts: text("a\x00b\xff'c"), Form: "f\x00"})
		f.ok(err)
		equal(t, p.Message.Text(), "a\uFFFDb\uFFFD'c")
		equal(t, f.tail().Head, p.Message)
	})
}

func TestEdit(t *testing.T) {
	f := newFixture(t)
	first, _ := f.exchange("one", "1")
	second, _ := f.exchange("two", "2")
	p, err := f.Edit(f.ctx, second.ID, agent.NewMessage{Thread: f.thread, Parts: text("two, better"), Author: f.owner, Form: "e"})
	f.ok(err)
	equal(t, p.Message.Parent, second.Parent)
	equal(t, f.tail().Head.ID, p.Message.ID)
	equal(t, p.Turn.State, agent.TurnRunning)

	again, err := f.Edit(f.ctx, second.ID, agent.NewMessage{Thread: f.thread, Parts: text("two, better"), Form: "e"})
	f.ok(err)
	if !again.Again || again.Message.ID != p.Message.ID {
		t.Errorf("the same form edited twice: %+v", again)
	}
	_, err = f.Edit(f.ctx, first.ID, agent.NewMessage{Thread: f.thread, Parts: text("x")})
	f.fails(err, agent.CodeConflict)
	reply := f.reply("2b")
	f.end(agent.TurnDone)
	_, err = f.Edit(f.ctx, reply.ID, agent.NewMessage{Thread: f.thread, Parts: text("x")})
	f.fails(err, agent.CodeInvalid)
	_, err = f.Edit(f.ctx, agent.NewID(), agent.NewMessage{Thread: f.thread, Parts: text("x")})
	f.fails(err, agent.CodeNotFound)

	root, err := f.Edit(f.ctx, first.ID, agent.NewMessage{Thread: f.thread, Parts: text("one, again")})
	f.ok(err)
	node, err := f.Node(f.ctx, root.Message.ID)
	f.ok(err)
	if node.Index != 2 || node.Siblings != 2 || node.Previous != first.ID || node.Next != "" {
		t.Errorf("place is %d/%d, %q, %q", node.Index, node.Siblings, node.Previous, node.Next)
	}
}

func TestEditCancelsApprovalsOfTheOldBranch(t *testing.T) {
	f := newFixture(t)
	_, call := f.waiting()
	trigger := f.tail().Turn.Trigger
	p, err := f.Edit(f.ctx, trigger, agent.NewMessage{Thread: f.thread, Parts: text("run another")})
	f.ok(err)
	if len(p.Superseded) != 1 || p.Superseded[0].State != agent.CallCancelled {
		t.Fatalf("closed %+v", p.Superseded)
	}
	equal(t, f.call(call.ID).State, agent.CallCancelled)
	equal(t, f.tail().Turn.ID, p.Turn.ID)
}
