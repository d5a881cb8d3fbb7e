package agent_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"ash/agent"
)

// vaulted gives a house a vault whose unlocking is told by unlock, and tools that need it.
func vaulted(t *testing.T) (h *house, r *ran, unlock func()) {
	t.Helper()
	r = &ran{}
	var n atomic.Uint64
	h = newHouse(t)
	h.unlocks = n.Load
	h.tools = &tools{judge: policy, run: func(ctx context.Context, c agent.ToolCall, p func(string)) (agent.ToolOutcome, error) {
		if n.Load() == 0 {
			return agent.ToolOutcome{}, locked()
		}
		return r.run(ctx, c, p)
	}}
	h.restart()
	return h, r, func() { n.Add(1) }
}

func locked() error { return agent.Errorf(agent.CodeLocked, "The vault is locked.") }

func (h *house) unlocked(since time.Time) int {
	h.t.Helper()
	n, err := h.engine.Unlocked(h.t.Context(), since)
	if err != nil {
		h.t.Fatal(err)
	}
	return n
}

func TestCallWaitsForTheVault(t *testing.T) {
	h, r, unlock := vaulted(t)
	h.script.add(asks("look {}", `ask {"x":1}`), says("done"))
	h.post("go")
	h.settle()
	h.want("u:go a:[look waiting][ask waiting]", agent.TurnWaiting)
	look := h.call("look")
	if !look.Locked || look.Why != "The vault is locked." || !look.Started.IsZero() {
		t.Errorf("it waits as %+v", look)
	}
	// Approving the other one, and then waiting, survives a kill: another process opens the database as it is.
	if err := h.decide(h.call("ask"), true); err != nil {
		t.Fatal(err)
	}
	h.settle()
	h.want("u:go a:[look waiting][ask waiting]", agent.TurnWaiting)
	if ask := h.call("ask"); !ask.Locked || ask.Decision == nil || !ask.Decision.Approve {
		t.Errorf("what was approved waits as %+v", ask)
	}
	crashed := *h
	defer crashed.shut()
	h.open()
	if found, err := h.store.Recover(t.Context()); err != nil || found != (agent.Recovery{}) {
		t.Errorf("recovered %+v, %v", found, err)
	}
	h.fails(h.decide(h.call("look"), true), agent.CodeLocked)
	if len(r.list()) > 0 {
		t.Errorf("ran %q", r.list())
	}
	unlock()
	if n := h.unlocked(time.Now()); n != 2 {
		t.Errorf("%d went on", n)
	}
	h.settle()
	h.want("u:go a:[look finished][ask finished] a:done", agent.TurnDone)
	got := r.list()
	slices.Sort(got)
	if !slices.Equal(got, []string{`ask {"x":1}`, "look {}"}) {
		t.Errorf("ran %q", got)
	}
	if h.unlocked(time.Time{}) != 0 {
		t.Error("something goes on a second time")
	}
}

func TestCallThatWaitsForTheVaultCanBeDoneWithout(t *testing.T) {
	h, r, unlock := vaulted(t)
	h.script.add(asks("look {}"), says("without it"))
	h.post("go")
	h.settle()
	if n, err := h.engine.Expire(t.Context(), time.Now().Add(time.Hour)); n != 0 || err != nil {
		t.Errorf("%d expired, %v", n, err)
	}
	if err := h.decide(h.call("look"), false); err != nil {
		t.Fatal(err)
	}
	h.settle()
	h.want("u:go a:[look denied] a:without it", agent.TurnDone)
	h.script.add(asks("look {}"), says("later"))
	h.post("again")
	h.settle()
	h.post("never mind")
	h.settle()
	unlock()
	if n := h.unlocked(time.Time{}); n != 0 || len(r.list()) > 0 {
		t.Errorf("%d went on, ran %q", n, r.list())
	}
}

// Whoever unlocks while a call is on its way to rest finds nothing that waits.
func TestVaultUnlockedAtTheLastMoment(t *testing.T) {
	h, r, unlock := vaulted(t)
	run := h.tools.(*tools).run
	h.tools.(*tools).run = func(ctx context.Context, c agent.ToolCall, p func(string)) (agent.ToolOutcome, error) {
		out, err := run(ctx, c, p)
		if err != nil {
			unlock()
			h.unlocked(time.Time{})
		}
		return out, err
	}
	h.script.add(asks("look {}"), says("done"))
	h.post("go")
	h.settle()
	h.want("u:go a:[look finished] a:done", agent.TurnDone)
	if len(r.list()) != 1 {
		t.Errorf("ran %q", r.list())
	}
}

func TestAnswerWaitsForTheVault(t *testing.T) {
	h, _, unlock := vaulted(t)
	h.script.add(breaks(locked()), says("here it is"))
	h.post("go")
	tail := h.settle()
	h.want("u:go a:(failed)", agent.TurnFailed)
	if tail.Head.Error == nil || tail.Head.Error.Code != agent.CodeLocked {
		t.Fatalf("failed with %+v", tail.Head.Error)
	}
	h.restart()
	unlock()
	if n := h.unlocked(time.Now()); n != 0 {
		t.Error("what is older than that goes on")
	}
	if n := h.unlocked(tail.Head.Created); n != 1 {
		t.Errorf("%d went on", n)
	}
	h.settle()
	h.want("u:go a:here it is", agent.TurnDone)
	if went, err := h.engine.TakeUp(t.Context(), h.thread, tail.Head.ID); went || err != nil {
		t.Errorf("the answer that failed is taken up again: %v", err)
	}
	h.script.add(breaks(agent.Errorf(agent.CodeUnavailable, "Down.")))
	h.post("more")
	other := h.settle()
	unlock()
	if n := h.unlocked(time.Time{}); n != 0 {
		t.Errorf("an answer that failed for another reason is taken up by unlocking")
	}
	h.script.add(says("there"))
	if went, err := h.engine.TakeUp(t.Context(), h.thread, other.Head.ID); !went || err != nil {
		t.Errorf("it is not taken up when asked for: %v", err)
	}
	h.settle()
	h.want("u:go a:here it is u:more a:there", agent.TurnDone)
}

// Pages, commands and the watching of the vault may all say so at once.
func TestUnlockedTwiceIsOneAnswer(t *testing.T) {
	h, _, unlock := vaulted(t)
	h.script.add(breaks(locked()), says("once"))
	h.post("go")
	head := h.settle().Head.ID
	unlock()
	went := make(chan bool, 8)
	for range cap(went) {
		go func() {
			ok, err := h.engine.TakeUp(context.Background(), h.thread, head)
			went <- ok && err == nil
		}()
	}
	n := 0
	for range cap(went) {
		if <-went {
			n++
		}
	}
	h.settle()
	h.want("u:go a:once", agent.TurnDone)
	if n != 1 {
		t.Errorf("it began %d times", n)
	}
}

func TestVaultUnlockedWhileTheAnswerFails(t *testing.T) {
	h, _, unlock := vaulted(t)
	h.script.add(func(_ context.Context, _ agent.Prompt, yield yielder) {
		unlock()
		h.unlocked(time.Time{})
		yield(agent.Delta{}, locked())
	}, says("done"))
	h.post("go")
	h.settle()
	h.want("u:go a:done", agent.TurnDone)
	// Where unlocking does not help, there is an end to it.
	h.script.add(func(_ context.Context, _ agent.Prompt, yield yielder) {
		unlock()
		yield(agent.Delta{}, locked())
	}, breaks(locked()))
	h.post("more")
	h.settle()
	h.want("u:go a:done u:more a:(failed)", agent.TurnFailed)
}
