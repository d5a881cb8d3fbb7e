package handlers

import (
	"context"
	"errors"
	"testing"
	"time"

	"ash/agent"
)

// What waits is counted when it may have changed, and not for every turn of every conversation.
func TestCounted(t *testing.T) {
	var (
		k      counted
		seq    uint64
		asked  int
		waits  int
		broken error
	)
	count := func(anew bool, events ...agent.Event) (n int, recounted bool) {
		b := agent.Batch{}
		for _, e := range events {
			seq++
			b.Events = append(b.Events, agent.Envelope{ID: agent.EventID{Boot: "b", Seq: seq}, Event: e})
		}
		b.Last = agent.EventID{Boot: "b", Seq: seq}
		before := asked
		n, err := k.count(t.Context(), func(context.Context) (int, error) { asked++; return waits, broken }, b, anew)
		if !errors.Is(err, broken) {
			t.Fatal(err)
		}
		return n, asked > before
	}
	thread := func(id string, waiting int, more ...func(*agent.ThreadEvent)) agent.Event {
		e := agent.ThreadEvent{Thread: agent.ThreadSummary{Thread: agent.Thread{ID: agent.ID(id)}, Waiting: waiting}}
		for _, fn := range more {
			fn(&e)
		}
		return e
	}
	deleted := func(e *agent.ThreadEvent) { e.Thread.Deleted = time.Unix(1, 0) }
	for _, step := range []struct {
		name  string
		waits int
		event agent.Event
		anew  bool
		want  bool
	}{
		{"a page is new", 1, thread("a", 1), true, true},
		{"nothing new", 1, thread("a", 1), false, false},
		{"another conversation", 1, thread("b", 0), false, true},
		{"its turn goes on", 1, thread("b", 0), false, false},
		{"something waits in it", 2, thread("b", 1), false, true},
		{"the first is deleted", 1, thread("a", 1, deleted), false, true},
		{"and restored", 2, thread("a", 1), false, true},
		{"a helper of it asks", 3, thread("a", 1, func(e *agent.ThreadEvent) { e.Helper = true }), false, true},
		{"a proposal", 4, agent.MemoryEvent{Waiting: true}, false, true},
		{"what is remembered", 4, agent.MemoryEvent{}, false, false},
		{"another page is new", 4, thread("a", 1), true, true},
		{"a conversation of before", 4, thread("b", 1), false, true},
	} {
		waits = step.waits
		n, recounted := count(step.anew, step.event)
		if n != step.waits || recounted != step.want {
			t.Errorf("%s: %d waits (want %d), counted anew: %v", step.name, n, step.waits, recounted)
		}
	}
	broken = errors.New("no")
	count(true, thread("a", 2))
	broken, waits = nil, 5
	if n, _ := count(false, thread("a", 2)); n != 5 {
		t.Errorf("after a failure: %d", n)
	}
	// A page that lags behind is told what was counted for a later one.
	waits = 9
	if n, err := k.count(t.Context(), func(context.Context) (int, error) { return waits, nil }, agent.Batch{
		Events: []agent.Envelope{{ID: agent.EventID{Boot: "b", Seq: 1}, Event: thread("a", 7)}}, Last: agent.EventID{Boot: "b", Seq: 1},
	}, false); err != nil || n != 5 {
		t.Errorf("a page that lags: %d %v", n, err)
	}
}
