package store

import (
	"sync"
	"testing"

	"ash/agent"
)

func TestEndTurn(t *testing.T) {
	t.Run("joins queued messages one below the other and begins the next turn", func(t *testing.T) {
		f := newFixture(t)
		first := f.post("one")
		a, b := f.post("two"), f.post("three")
		reply := f.reply("1")
		ended := f.end(agent.TurnDone)
		if ended.Turn.State != agent.TurnDone || ended.Turn.Ended.IsZero() || ended.Turn.ID != first.Turn.ID {
			t.Errorf("ended %+v", ended.Turn)
		}
		if len(ended.Joined) != 2 || ended.Joined[0].ID != a.Message.ID || ended.Joined[1].ID != b.Message.ID {
			t.Fatalf("joined %+v", ended.Joined)
		}
		equal(t, ended.Joined[0].Parent, reply.ID)
		equal(t, ended.Joined[1].Parent, a.Message.ID)
		tail := f.tail()
		equal(t, tail.Head, ended.Joined[1])
		equal(t, tail.Turn, *ended.Next)
		if ended.Next.Trigger != b.Message.ID || ended.Next.State != agent.TurnRunning || tail.Head.Turn != ended.Next.ID {
			t.Errorf("next turn is %+v", ended.Next)
		}
	})
	t.Run("nothing queued begins nothing", func(t *testing.T) {
		f := newFixture(t)
		f.post("one")
		f.reply("1")
		if ended := f.end(agent.TurnDone); ended.Next != nil || ended.Joined != nil {
			t.Errorf("ended as %+v", ended)
		}
	})
	t.Run("the second end is a conflict", func(t *testing.T) {
		f := newFixture(t)
		p := f.post("one")
		f.end(agent.TurnStopped)
		_, err := f.EndTurn(f.ctx, p.Turn, agent.TurnDone)
		f.fails(err, agent.CodeConflict)
		_, err = f.EndTurn(f.ctx, agent.Turn{ID: agent.NewID()}, agent.TurnDone)
		f.fails(err, agent.CodeNotFound)
	})
	t.Run("calls the joined messages pass by are superseded", func(t *testing.T) {
		f := newFixture(t)
		f.post("one")
		m := f.reply("tools", agent.ToolCall{Name: "shell"})
		f.post("two")
		ended := f.end(agent.TurnFailed)
		if len(ended.Superseded) != 1 || ended.Superseded[0].ID != m.Calls[0].ID {
			t.Fatalf("superseded %+v", ended.Superseded)
		}
		equal(t, f.call(m.Calls[0].ID).State, agent.CallSuperseded)
	})
	t.Run("a stop is not taken back by coming to rest", func(t *testing.T) {
		f := newFixture(t)
		p := f.post("run")
		m := f.reply("tools", agent.ToolCall{Name: "shell"})
		c := m.Calls[0]
		c.State = agent.CallWaiting
		_, err := f.MoveCall(f.ctx, c, agent.CallProposed)
		f.ok(err)
		_, err = f.EndTurn(f.ctx, p.Turn, agent.TurnStopping)
		f.ok(err)
		ended, err := f.EndTurn(f.ctx, p.Turn, agent.TurnWaiting)
		f.ok(err)
		equal(t, ended.Turn.State, agent.TurnStopped)
		equal(t, f.call(c.ID).State, agent.CallStopped)
		_, err = f.Resume(f.ctx, p.Turn.ID)
		f.fails(err, agent.CodeConflict)
	})
	t.Run("of two goroutines one ends it", func(t *testing.T) {
		f := newFixture(t)
		p := f.post("one")
		f.post("queued")
		errs := race(4, func(int) error { _, err := f.EndTurn(f.ctx, p.Turn, agent.TurnDone); return err })
		oneWon(t, errs)
		equal(t, f.tail().Turn.State, agent.TurnRunning)
	})
}

func TestResume(t *testing.T) {
	f := newFixture(t)
	f.waiting()
	turn := f.tail().Turn
	errs := race(4, func(int) error { _, err := f.Resume(f.ctx, turn.ID); return err })
	oneWon(t, errs)
	equal(t, f.tail().Turn.State, agent.TurnRunning)
	_, err := f.Resume(f.ctx, agent.NewID())
	f.fails(err, agent.CodeNotFound)
}

func TestTailOfAnEmptyThread(t *testing.T) {
	f := newFixture(t)
	tail := f.tail()
	if tail.Head.ID != "" || tail.Turn.ID != "" || tail.Thread.ID != f.thread {
		t.Errorf("tail is %+v", tail)
	}
	_, err := f.Tail(f.ctx, agent.NewID())
	f.fails(err, agent.CodeNotFound)
}

// race runs fn n times at once.
func race(n int, fn func(i int) error) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = fn(i) })
	}
	wg.Wait()
	return errs
}

// oneWon checks that one succeeded and the others got a conflict.
func oneWon(t *testing.T, errs []error) {
	t.Helper()
	won := 0
	for _, err := range errs {
		switch agent.CodeOf(err) {
		case "":
			won++
		case agent.CodeConflict:
		default:
			t.Errorf("got %v, want a conflict", err)
		}
	}
	if won != 1 {
		t.Errorf("%d of %d succeeded, want 1", won, len(errs))
	}
}
