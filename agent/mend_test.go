package agent_test

import (
	"bytes"
	"context"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/feed"
	"ash/agent/prompt"
)

// overFaulty puts a store that fails between a house's engine and its database.
func (h *house) overFaulty(f fault, log *slog.Logger) *faulty {
	h.t.Helper()
	if err := h.engine.Close(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
	w := &faulty{Store: h.store, fault: f, calls: map[string]int{}, last: time.Now()}
	h.feed = feed.New(0)
	h.engine = agent.NewEngine(agent.Options{
		Store: w, Prompter: prompt.New(prompt.Options{}), Models: h.script, Publisher: h.feed, Tools: h.tools,
		Settings: func() agent.Settings { return h.settings }, Logger: log,
	})
	return w
}

// eventually waits for what happens beside the test.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: never", what)
		}
	}
}

func TestStopOnAFullDiskEndsTheModelCall(t *testing.T) {
	h := newHouse(t)
	w := h.overFaulty(fault{"EndTurn", 0, true}, nil)
	reached, ended := make(chan struct{}), make(chan struct{})
	h.script.add(func(ctx context.Context, p agent.Prompt, yield yielder) {
		hangs(reached, "half an answer")(ctx, p, yield)
		close(ended)
	})
	h.post("go")
	<-reached
	if err := h.engine.Stop(t.Context(), h.thread); err != nil {
		t.Errorf("stop: %v", err)
	}
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Fatal("the model call goes on after Stop")
	}
	w.heal()
	h.settle() // without a further command
	h.want("u:go a:half an answer(stopped)", agent.TurnStopped)
}

func TestAnswerOutlivesAFullDisk(t *testing.T) {
	h := newHouse(t)
	w := h.overFaulty(fault{"Conclude", 0, true}, nil)
	h.script.add(says("the whole ", "answer"))
	h.post("go")
	eventually(t, "the failure", w.stalled)
	if _, err := h.engine.Post(t.Context(), agent.NewMessage{Thread: h.thread, Parts: []agent.Part{agent.Text{Text: "more"}}}); agent.CodeOf(err) != agent.CodeExhausted {
		t.Errorf("a message while the disk is full: %v", err)
	}
	if n := h.feed.Last(); n.Seq > 40 {
		t.Errorf("%d events about one failure", n.Seq)
	}
	w.heal()
	h.settle()
	h.want("u:go a:the whole answer", agent.TurnDone)
}

func TestOutcomeOfACallOutlivesAFullDisk(t *testing.T) {
	h := withTools(t, nil)
	w := h.overFaulty(fault{"MoveCall", 2, true}, nil) // after judged and started
	h.script.add(asks("look {}"), says("done"))
	h.post("go")
	eventually(t, "the failure", w.stalled)
	w.heal()
	h.settle()
	h.want("u:go a:[look finished]", agent.TurnFailed)
	if _, err := h.engine.Continue(t.Context(), h.thread); err != nil {
		t.Fatal(err)
	}
	h.settle()
	h.want("u:go a:[look finished] a:done", agent.TurnDone)
}

func TestACallThatCannotBeStartedIsNotTriedForEver(t *testing.T) {
	h := withTools(t, nil)
	w := h.overFaulty(fault{"MoveCall", 1, true}, nil) // after judged
	h.script.add(asks("look {}"))
	h.post("go")
	eventually(t, "the failure", w.stalled)
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := w.calls["MoveCall"]; n > 3 {
		t.Errorf("%d tries", n)
	}
	w.healed = true
}

func TestShutdownOnAFullDiskEnds(t *testing.T) {
	h := newHouse(t)
	h.overFaulty(fault{"Conclude", 0, true}, nil)
	reached := make(chan struct{})
	h.script.add(hangs(reached, "half"))
	h.post("go")
	<-reached
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	if err := h.engine.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
	if found := h.restart(); found.Turns != 1 || found.Replies != 1 {
		t.Errorf("recovered %+v", found)
	}
}

// bad panics where it is told to.
type bad struct {
	*script
	pick bool
}

func (b *bad) Pick(ctx context.Context, ref string) (agent.Model, agent.ModelInfo, error) {
	if b.pick {
		panic("pick")
	}
	return b.script.Pick(ctx, ref)
}

func (b *bad) Stream(ctx context.Context, p agent.Prompt) iter.Seq2[agent.Delta, error] {
	return b.script.Stream(ctx, p)
}

func TestPanicsEndOneTurnOnly(t *testing.T) {
	for _, tt := range []struct {
		name string
		pick bool
		want string
	}{
		{"in a provider's stream", false, "u:go a:half(cut)"},
		{"before the model is called", true, "u:go"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHouse(t)
			if err := h.engine.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			h.engine = agent.NewEngine(agent.Options{
				Store: h.store, Prompter: prompt.New(prompt.Options{}), Models: &bad{h.script, tt.pick}, Publisher: h.feed,
				Settings: func() agent.Settings { return h.settings },
			})
			h.script.add(func(_ context.Context, _ agent.Prompt, yield yielder) {
				yield(text("half"), nil)
				panic("stream")
			})
			h.post("go")
			h.settle()
			h.want(tt.want, agent.TurnFailed)
		})
	}
}

func TestCallInAnAnswerAtItsLimitIsNotRun(t *testing.T) {
	h := withTools(t, func(context.Context, agent.ToolCall, func(string)) (agent.ToolOutcome, error) {
		t.Error("half a call ran")
		return agent.ToolOutcome{}, nil
	})
	h.script.add(func(_ context.Context, _ agent.Prompt, yield yielder) {
		yield(agent.Delta{Kind: agent.DeltaCall, Call: &agent.CallPiece{Name: "look"}}, nil) // its arguments were still to come
		yield(agent.Delta{Kind: agent.DeltaStop, Stop: agent.StopMaxTokens}, nil)
	})
	h.post("go")
	h.settle()
	h.want("u:go a:(cut)[look cancelled]", agent.TurnFailed)
}

func TestCallsWithoutEndAreCutOff(t *testing.T) {
	h := withTools(t, nil)
	h.script.add(func(_ context.Context, _ agent.Prompt, yield yielder) {
		for i := 0; i < 1e6 && yield(agent.Delta{Kind: agent.DeltaCall, Call: &agent.CallPiece{Index: i, Name: "look"}}, nil); i++ {
			continue
		}
	})
	h.post("go")
	if head := h.settle().Head; head.State != agent.MessageCut || len(head.Calls) > 200 {
		t.Errorf("%s with %d calls", head.State, len(head.Calls))
	}
}

func TestWallTimeEndsATool(t *testing.T) {
	h := withTools(t, func(ctx context.Context, _ agent.ToolCall, _ func(string)) (agent.ToolOutcome, error) {
		<-ctx.Done()
		return agent.ToolOutcome{}, ctx.Err()
	})
	h.settings.Bounds.Wall = time.Second
	h.script.add(asks("look {}"))
	h.post("go")
	h.settle()
	if c := h.tail().Turn.State; c != agent.TurnFailed {
		t.Errorf("turn is %s", c)
	}
	if got := h.transcript(); !strings.HasPrefix(got, "u:go a:[look failed]") {
		t.Error(got)
	}
}

func TestWhoHasLeftDoesNotHoldUpADecision(t *testing.T) {
	h := withTools(t, nil)
	h.script.add(asks("ask {}"), says("done"))
	h.post("go")
	h.settle()
	c := h.call("ask")
	ctx, leave := context.WithCancel(t.Context())
	w := &watched{Store: h.store}
	if err := h.engine.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.engine = agent.NewEngine(agent.Options{
		Store: left{w, leave}, Prompter: prompt.New(prompt.Options{}), Models: h.script, Publisher: h.feed, Tools: h.tools,
		Settings: func() agent.Settings { return h.settings },
	})
	if _, err := h.engine.Decide(ctx, c.ID, agent.Decision{Approve: true, Binding: c.Binding}); err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
	h.settle()
	h.want("u:go a:[ask finished] a:done", agent.TurnDone)
}

// left is a store whose caller goes away once a call was moved.
type left struct {
	*watched
	leave context.CancelFunc
}

func (l left) MoveCall(ctx context.Context, c agent.ToolCall, from ...agent.CallState) (agent.ToolCall, error) {
	moved, err := l.watched.MoveCall(ctx, c, from...)
	l.leave()
	return moved, err
}

// quiet is a log that may be written from anywhere.
type quiet struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (q *quiet) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.b.Write(p)
}

// TestLogNeverQuotes lets providers repeat the prompt in what they complain about, everywhere a model is called.
func TestLogNeverQuotes(t *testing.T) {
	h := newHouse(t)
	h.settings.Titles = true
	var log quiet
	h.overFaulty(fault{}, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo})))
	echo := agent.Errorf(agent.CodeInvalid, "The provider said: “my secret words are not allowed”")
	h.script.add(breaks(echo, "half"), says("an answer"), breaks(echo))
	h.post("my secret words")
	h.settle()
	if _, err := h.engine.Regenerate(t.Context(), h.thread, h.tail().Head.ID); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a title was asked for", func() bool { h.script.mu.Lock(); defer h.script.mu.Unlock(); return len(h.script.prompts) == 3 })
	if err := h.engine.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	if said := log.b.String(); strings.Contains(said, "secret words") || !strings.Contains(said, "reply ended early") || !strings.Contains(said, "no title") {
		t.Errorf("log: %s", said)
	}
}
