package agent_test

import (
	"context"
	"sync/atomic"
	"testing"

	"ash/agent"
	"ash/agent/feed"
	"ash/agent/prompt"
	"ash/store"
)

// watched is a store that tells what was just read, so that a test can act in that very instant.
type watched struct {
	*store.Store
	tail func(agent.Tail)
}

func (w *watched) Tail(ctx context.Context, thread agent.ID) (agent.Tail, error) {
	tail, err := w.Store.Tail(ctx, thread)
	if err == nil && w.tail != nil {
		w.tail(tail)
	}
	return tail, err
}

// TestDecisionWhileComingToRest approves after the loop saw that everything waits and before the turn is stored as waiting.
func TestDecisionWhileComingToRest(t *testing.T) {
	h := withTools(t, nil)
	if err := h.engine.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := &watched{Store: h.store}
	h.feed = feed.New(0)
	h.engine = agent.NewEngine(agent.Options{
		Store: w, Prompter: prompt.New(prompt.Options{}), Models: h.script, Publisher: h.feed, Tools: h.tools,
		Settings: func() agent.Settings { return h.settings },
	})
	var decided atomic.Bool
	w.tail = func(tail agent.Tail) {
		if len(tail.Head.Calls) != 1 || tail.Head.Calls[0].State != agent.CallWaiting || decided.Swap(true) {
			return
		}
		if err := h.decide(tail.Head.Calls[0], true); err != nil {
			t.Error(err)
		}
	}
	h.script.add(asks("ask {}"), says("done"))
	h.post("go")
	h.settle()
	h.want("u:go a:[ask finished] a:done", agent.TurnDone)
}

// TestStopInTheInstantACallMayRun presses Stop while policy is still judging.
func TestStopInTheInstantACallMayRun(t *testing.T) {
	h := withTools(t, func(context.Context, agent.ToolCall, func(string)) (agent.ToolOutcome, error) {
		t.Error("a call ran after Stop")
		return agent.ToolOutcome{}, nil
	})
	h.tools.(*tools).judge = func(c agent.ToolCall) agent.Judgement {
		if err := h.engine.Stop(t.Context(), c.Thread); err != nil {
			t.Error(err)
		}
		return agent.Judgement{Verdict: agent.Allow}
	}
	h.script.add(asks("look {}"))
	h.post("go")
	tail := h.settle()
	if tail.Turn.State != agent.TurnStopped {
		t.Errorf("turn is %s", tail.Turn.State)
	}
}

func TestKillSwitchAnswersNothingThatWasQueued(t *testing.T) {
	h := newHouse(t)
	reached := make(chan struct{})
	h.script.add(hangs(reached, "half"))
	h.post("go")
	<-reached
	h.post("and then this")
	if err := h.engine.StopAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.settle()
	h.want("u:go a:half(stopped) u:and then this", agent.TurnStopped)
	h.script.add(says("yes"))
	if _, err := h.engine.Continue(t.Context(), h.thread); err != nil {
		t.Fatal(err)
	}
	h.settle()
	h.want("u:go a:half(stopped) u:and then this a:yes", agent.TurnDone)
}

// TestStopAnswersWhatWasQueued is the other side: Stop ends the answer, not the next message.
func TestStopAnswersWhatWasQueued(t *testing.T) {
	h := newHouse(t)
	reached := make(chan struct{})
	h.script.add(hangs(reached, "half"), says("next"))
	h.post("go")
	<-reached
	h.post("and then this")
	if err := h.engine.Stop(t.Context(), h.thread); err != nil {
		t.Fatal(err)
	}
	h.settle()
	h.want("u:go a:half(stopped) u:and then this a:next", agent.TurnDone)
}
