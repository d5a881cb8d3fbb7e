package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ash/agent"
)

// crew is a house whose tool "helper" gives its arguments' task to a helper and waits for it, as package subagent does.
type crew struct {
	*house
	budget agent.Budget
	tools  []string

	mu      sync.Mutex
	threads []agent.ID
	seen    []agent.Situation
	failure error
}

func newCrew(t *testing.T) *crew {
	c := &crew{}
	var r ran
	c.house = withTools(t, func(ctx context.Context, call agent.ToolCall, p func(string)) (agent.ToolOutcome, error) {
		if call.Name != "helper" {
			return r.run(ctx, call, p)
		}
		return c.help(ctx, call)
	})
	c.house.tools.(*tools).situation = func(s agent.Situation) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.seen = append(c.seen, s)
	}
	return c
}

func (c *crew) help(ctx context.Context, call agent.ToolCall) (agent.ToolOutcome, error) {
	engine, store := c.engine, c.store // a test may put others in their place meanwhile
	labels := agent.Labels{{Source: "above.example", Kind: agent.LabelUntrusted}}
	t, err := engine.Delegate(ctx, agent.Delegation{Parent: call, Task: "do " + string(call.Arguments), Labels: labels, Budget: c.budget, Tools: c.tools})
	if err != nil {
		c.mu.Lock()
		c.failure = err
		c.mu.Unlock()
		return agent.ToolOutcome{}, err
	}
	c.mu.Lock()
	c.threads = append(c.threads, t.ID)
	c.mu.Unlock()
	resume := func() {}
	defer func() { resume() }()
	for {
		tail, err := store.Tail(context.WithoutCancel(ctx), t.ID)
		if err != nil {
			return agent.ToolOutcome{}, err
		}
		if !tail.Turn.Active() {
			return agent.ToolOutcome{Content: []agent.Part{agent.Text{Text: tail.Head.Text()}}, Labels: labels}, nil
		}
		waits, err := store.Waits(context.WithoutCancel(ctx), tail.Turn.ID)
		if err != nil {
			return agent.ToolOutcome{}, err
		}
		resume()
		if resume = func() {}; waits {
			resume = agent.PauseClock(ctx)
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return agent.ToolOutcome{}, engine.Stop(context.WithoutCancel(ctx), t.ID)
		}
	}
}

// helper returns the n-th helper's thread.
func (c *crew) helper(n int) agent.Thread {
	c.t.Helper()
	var id agent.ID
	for end := time.Now().Add(20 * time.Second); id == ""; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		if len(c.threads) > n {
			id = c.threads[n]
		}
		c.mu.Unlock()
		if time.Now().After(end) {
			c.t.Fatalf("there is no helper %d", n)
		}
	}
	t, err := c.store.Thread(c.t.Context(), id)
	if err != nil {
		c.t.Fatal(err)
	}
	return t
}

// waits waits until the call of a tool in a helper's thread waits for the person.
func (c *crew) waits(thread agent.ID, name string) agent.ToolCall {
	c.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		tail, err := c.store.Tail(c.t.Context(), thread)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, x := range tail.Head.Calls {
			if x.Name == name && x.State == agent.CallWaiting && tail.Turn.State == agent.TurnWaiting {
				return x
			}
		}
		if time.Now().After(end) {
			c.t.Fatalf("%s does not wait", name)
		}
	}
}

func TestHelperIsAThreadOfItsOwn(t *testing.T) {
	c := newCrew(t)
	root, dir := t.TempDir(), "sub"
	if _, err := c.engine.PatchThread(t.Context(), c.thread, agent.ThreadPatch{Root: &root, WorkDir: &dir}); err != nil {
		t.Fatal(err)
	}
	c.script.add(asks(`helper {"n":1}`), says("found it"), says("thanks"))
	c.post("go")
	c.settle()
	c.want("u:go a:[helper finished] a:thanks", agent.TurnDone)
	h := c.helper(0)
	if h.ParentCall == "" || h.Root != root || h.WorkDir != dir || h.Origin.Channel != agent.ChannelHelper || h.Title != `do {"n":1}` || !slices.Equal(h.Tools, []string{"look"}) {
		t.Errorf("the helper is %+v", h)
	}
	path, err := c.store.Path(t.Context(), h.Head, 0)
	if err != nil || len(path) != 2 || path[0].Author != "" || !path[0].Labels().Untrusted() {
		t.Errorf("%+v, %v", path, err)
	}
	if list, _, err := c.store.Threads(t.Context(), agent.ThreadFilter{Limit: 10}); err != nil || len(list) != 1 {
		t.Errorf("%d conversations are listed, %v", len(list), err)
	}
	first, err := c.store.Path(t.Context(), c.tail().Head.ID, 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.engine.Delegate(t.Context(), agent.Delegation{Parent: first[0].Calls[0], Task: ""}); agent.CodeOf(err) != agent.CodeInvalid {
		t.Errorf("a helper without a task: %v", err)
	}
}

// Each list is told of the conversation that a helper works for, never of the helper.
func TestListsAreNotToldOfHelpers(t *testing.T) {
	c := newCrew(t)
	ctx, cancel := context.WithCancel(t.Context())
	heard := map[agent.ID]bool{}
	done := make(chan struct{})
	since := c.feed.Last()
	go func() {
		defer close(done)
		for b := range c.feed.Subscribe(ctx, "", since) {
			for _, e := range b.Events {
				if ev, ok := e.Event.(agent.ThreadEvent); ok {
					heard[ev.Thread.ID] = true
				}
			}
		}
	}()
	c.script.add(asks(`helper {}`), asks("ask {}"), says("found it"), says("thanks"))
	c.post("go")
	h := c.helper(0)
	call := c.waits(h.ID, "ask")
	if _, err := c.engine.Decide(t.Context(), call.ID, agent.Decision{Approve: true, Binding: call.Binding}); err != nil {
		t.Fatal(err)
	}
	c.settle()
	time.Sleep(50 * time.Millisecond)
	cancel()
	<-done
	if len(heard) != 1 || !heard[c.thread] {
		t.Errorf("heard of %v; the conversation is %s, its helper %s", heard, c.thread, h.ID)
	}
}

// What stood before the models above counts for a helper's calls: labels, paths and what was granted.
func TestSituationOfAHelper(t *testing.T) {
	c := newCrew(t)
	labelled := agent.NewMessage{Thread: c.thread, Parts: []agent.Part{agent.Text{Text: "read this", Labels: agent.Labels{{Source: "mail.example", Kind: agent.LabelUntrusted}}}}}
	c.script.add(asks("helper {}", "look {}"), asks("look {}"), says("found it"), says("thanks"))
	if _, err := c.engine.Post(t.Context(), labelled); err != nil {
		t.Fatal(err)
	}
	c.settle()
	h := c.helper(0)
	var inside *agent.Situation
	for i := range c.seen {
		if c.seen[i].Thread.ID == h.ID {
			inside = &c.seen[i]
		}
	}
	if inside == nil {
		t.Fatal("the helper's call was not judged")
	}
	var from []string
	for _, l := range inside.Labels {
		from = append(from, l.Source)
	}
	if !slices.Equal(from, []string{"above.example", "mail.example"}) {
		t.Errorf("labels %v", inside.Labels)
	}
	var said []string
	for _, m := range inside.Path {
		said = append(said, string(m.Role[0])+":"+m.Text())
	}
	if got := strings.Join(said, "|"); got != "u:read this|a:|u:do {}|a:" {
		t.Errorf("path %s", got)
	}
}

// What the calls of one reply gave back was not before the model when it asked for them, whatever ended first.
func TestSiblingsDoNotColourEachOther(t *testing.T) {
	h := withTools(t, func(context.Context, agent.ToolCall, func(string)) (agent.ToolOutcome, error) {
		return agent.ToolOutcome{Labels: agent.Labels{{Source: "web.example", Kind: agent.LabelUntrusted}}}, nil
	})
	var mu sync.Mutex
	var seen []agent.Labels
	h.tools.(*tools).situation = func(s agent.Situation) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, s.Labels)
	}
	h.script.add(asks("look {}", "ask {}"), asks("look {}"), says("done"))
	h.post("go")
	h.settle()
	if err := h.decide(h.call("ask"), true); err != nil {
		t.Fatal(err)
	}
	h.settle()
	for i, l := range seen {
		if later := i == len(seen)-1; l.Untrusted() != later {
			t.Errorf("judgement %d of %d saw %v", i+1, len(seen), l)
		}
	}
}

func TestHelpersDepth(t *testing.T) {
	c := newCrew(t)
	c.script.add(asks("helper {}"), asks("helper {}"), asks("helper {}"), asks("helper {}"), says("too deep"), says("3"), says("2"), says("1"))
	c.post("go")
	c.settle()
	c.want("u:go a:[helper finished] a:1", agent.TurnDone)
	if len(c.threads) != agent.MaxHelperDepth || agent.CodeOf(c.failure) != agent.CodeInvalid {
		t.Errorf("%d helpers, %v", len(c.threads), c.failure)
	}
	for i, want := range []int{1, 2, 3} {
		if got, err := c.engine.Depth(t.Context(), c.helper(i)); got != want || err != nil {
			t.Errorf("helper %d is at depth %d, %v", i, got, err)
		}
	}
}

func TestHelpersBudget(t *testing.T) {
	usage := func(input int, then func(context.Context, agent.Prompt, yielder)) func(context.Context, agent.Prompt, yielder) {
		return func(ctx context.Context, p agent.Prompt, yield yielder) {
			then(ctx, p, yield)
			yield(agent.Delta{Kind: agent.DeltaUsage, Usage: &agent.Usage{Input: input, Cost: agent.MicroDollars(input)}}, nil)
		}
	}
	t.Run("a share of what is left", func(t *testing.T) {
		c := newCrew(t)
		c.settings.Bounds = agent.Bounds{Tokens: 10_000, Cost: 1_000_000}
		c.budget = agent.Budget{Rounds: 3, Tokens: 5_000}
		c.script.add(usage(2_000, asks("helper {}")), says("found it"), says("thanks"))
		c.post("go")
		c.settle()
		if b := c.helper(0).Budget; b.Rounds != 3 || b.Tokens != 2_000 || b.Cost != 249_500 {
			t.Errorf("the helper may use %+v", b)
		}
	})
	t.Run("counts for the turn above", func(t *testing.T) {
		c := newCrew(t)
		c.settings.Bounds = agent.Bounds{Tokens: 10_000}
		heavy := usage(2_400, says("found it"))
		c.script.add(asks("helper {}", "helper {}", "helper {}", "helper {}"), heavy, heavy, heavy, heavy, asks("helper {}"), usage(600, says("x")))
		c.post("go")
		tail := c.settle()
		if tail.Turn.State != agent.TurnFailed || tail.Head.Error == nil || !strings.Contains(tail.Head.Error.Public, "10000 tokens") {
			t.Errorf("turn %s, %+v", tail.Turn.State, tail.Head.Error)
		}
	})
	t.Run("rounds", func(t *testing.T) {
		c := newCrew(t)
		c.budget = agent.Budget{Rounds: 2}
		c.script.add(asks("helper {}"), asks("look {}"), asks("look {}"), says("thanks"))
		c.post("go")
		c.settle()
		tail, err := c.store.Tail(t.Context(), c.helper(0).ID)
		if err != nil || tail.Turn.State != agent.TurnFailed || !strings.Contains(tail.Head.Error.Public, "2 model calls") {
			t.Errorf("turn %+v, %v", tail.Turn, err)
		}
	})
	t.Run("time", func(t *testing.T) {
		c := newCrew(t)
		c.budget = agent.Budget{Wall: 100 * time.Millisecond}
		reached := make(chan struct{}, 1)
		c.script.add(asks("helper {}"), hangs(reached, "thinking"), says("thanks"))
		c.post("go")
		c.settle()
		c.want("u:go a:[helper finished] a:thanks", agent.TurnDone)
		if tail, err := c.store.Tail(t.Context(), c.helper(0).ID); err != nil || tail.Turn.State != agent.TurnFailed || tail.Head.Error.Code != agent.CodeExhausted {
			t.Errorf("turn %+v, %v", tail.Turn, err)
		}
	})
	t.Run("nothing left", func(t *testing.T) {
		c := newCrew(t)
		c.settings.Bounds = agent.Bounds{Cost: 1_000}
		c.script.add(usage(1_000, asks("helper {}")))
		c.post("go")
		c.settle()
		if agent.CodeOf(c.failure) != agent.CodeExhausted || len(c.threads) > 0 {
			t.Errorf("%v, %d helpers", c.failure, len(c.threads))
		}
	})
}

// A helper's approval waits in its own thread; the time of the turn above stands still meanwhile.
func TestHelperWaitsForApproval(t *testing.T) {
	for name, approve := range map[string]bool{"approved": true, "denied": false} {
		t.Run(name, func(t *testing.T) {
			c := newCrew(t)
			c.settings.Bounds.Wall = 500 * time.Millisecond
			if underRace {
				c.settings.Bounds.Wall = 2 * time.Second
			}
			c.script.add(asks("helper {}"), asks("ask {}"), says("found it"), says("thanks"))
			c.post("go")
			call := c.waits(c.helper(0).ID, "ask")
			time.Sleep(c.settings.Bounds.Wall + 300*time.Millisecond)
			if tail := c.tail(); tail.Turn.State != agent.TurnRunning {
				t.Fatalf("the turn above is %s", tail.Turn.State)
			}
			if waits, err := c.store.Waits(t.Context(), c.tail().Turn.ID); !waits || err != nil {
				t.Errorf("the turn above waits: %v, %v", waits, err)
			}
			if _, err := c.engine.Decide(t.Context(), call.ID, agent.Decision{Approve: approve, Binding: call.Binding}); err != nil {
				t.Fatal(err)
			}
			c.settle()
			c.want("u:go a:[helper finished] a:thanks", agent.TurnDone)
		})
	}
}

func TestHelpersEndWithTheTurn(t *testing.T) {
	for name, end := range map[string]func(*crew) error{
		"stop":        func(c *crew) error { return c.engine.Stop(c.t.Context(), c.thread) },
		"kill switch": func(c *crew) error { return c.engine.StopAll(c.t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrew(t)
			reached := make(chan struct{}, 4)
			byTask := func(ctx context.Context, p agent.Prompt, yield yielder) {
				if strings.Contains(fmt.Sprintf("%+v", p.Messages), `"n":1`) {
					asks("ask {}")(ctx, p, yield)
					return
				}
				hangs(reached, "thinking")(ctx, p, yield)
			}
			c.script.add(asks(`helper {"n":1}`, `helper {"n":2}`), byTask, byTask)
			c.post("go")
			<-reached
			for c.helper(0); ; time.Sleep(time.Millisecond) {
				a, err1 := c.store.Tail(t.Context(), c.helper(0).ID)
				b, err2 := c.store.Tail(t.Context(), c.helper(1).ID)
				if err1 != nil || err2 != nil {
					t.Fatal(err1, err2)
				}
				if a.Turn.State == agent.TurnWaiting || b.Turn.State == agent.TurnWaiting {
					break
				}
			}
			began := time.Now()
			if err := end(c); err != nil {
				t.Fatal(err)
			}
			c.settle()
			if took := time.Since(began); took > 3*time.Second && !underRace {
				t.Errorf("it took %v", took)
			}
			c.want("u:go a:[helper stopped][helper stopped]", agent.TurnStopped)
			for i := range 2 {
				tail, err := c.store.Tail(t.Context(), c.helper(i).ID)
				if err != nil || tail.Turn.State != agent.TurnStopped {
					t.Errorf("helper %d: %s, %v", i, tail.Turn.State, err)
				}
				for _, x := range tail.Head.Calls {
					if x.State != agent.CallStopped {
						t.Errorf("helper %d: its call is %s", i, x.State)
					}
				}
			}
		})
	}
}

// Ash ends while a helper waits: the call above is unknown, and the helper's approval leads nowhere any more.
func TestOrphans(t *testing.T) {
	c := newCrew(t)
	c.script.add(asks("helper {}"), asks("ask {}"))
	c.post("go")
	h := c.helper(0)
	call := c.waits(h.ID, "ask")
	crashed := *c.house // as kill -9 leaves it: a database nobody closed
	c.open()
	if _, err := c.store.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := c.store.Call(t.Context(), call.ID); err != nil || got.State != agent.CallWaiting {
		t.Fatalf("the helper's call is %s, %v", got.State, err)
	}
	if n, err := c.engine.StopOrphans(t.Context()); n != 1 || err != nil {
		t.Errorf("%d orphans, %v", n, err)
	}
	c.settle()
	if got, err := c.store.Call(t.Context(), call.ID); err != nil || got.State != agent.CallStopped {
		t.Errorf("the helper's call is %s, %v", got.State, err)
	}
	c.want("u:go a:[helper unknown]", agent.TurnInterrupted)
	if n, err := c.engine.StopOrphans(t.Context()); n != 0 || err != nil {
		t.Errorf("%d orphans, %v", n, err)
	}
	now := *c.house
	*c.house = crashed
	c.shut()
	*c.house = now
}
