package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ash/agent"
)

// ran collects the arguments of the calls that were run.
type ran struct {
	mu  sync.Mutex
	all []string
}

func (r *ran) run(_ context.Context, c agent.ToolCall, _ func(string)) (agent.ToolOutcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, c.Name+" "+string(c.Arguments))
	return agent.ToolOutcome{Content: []agent.Part{agent.Text{Text: "did it"}}}, nil
}

func (r *ran) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// told is everything the model was sent last, as text.
func (h *house) told() string {
	h.t.Helper()
	h.script.mu.Lock()
	defer h.script.mu.Unlock()
	return fmt.Sprintf("%+v", h.script.prompts[len(h.script.prompts)-1].Messages)
}

func (h *house) fails(err error, code agent.Code) {
	h.t.Helper()
	if agent.CodeOf(err) != code {
		h.t.Errorf("error %v, want %q", err, code)
	}
}

// offering judges like policy, and offers a standing permission.
func offering(c agent.ToolCall) agent.Judgement {
	j := policy(c)
	switch {
	case strings.Contains(string(c.Arguments), "forbidden"):
		return agent.Judgement{Verdict: agent.Deny, Why: "Nobody may do that."}
	case strings.Contains(string(c.Arguments), "nonsense"):
		return agent.Judgement{Verdict: agent.Invalid, Why: "There is no such thing as nonsense."}
	}
	j.Effect = &agent.Effect{Kind: agent.EffectExecute, Text: string(c.Arguments), Offers: []agent.Offer{{Rule: "run git status", Label: "Always"}}}
	return j
}

func TestEditedArguments(t *testing.T) {
	for name, tt := range map[string]struct {
		arguments string
		code      agent.Code
		says      string
	}{
		"no JSON":          {`{"x"`, agent.CodeInvalid, "not JSON"},
		"wrong ones":       {`{"x":"nonsense"}`, agent.CodeInvalid, "no such thing as nonsense"},
		"what is denied":   {`{"x":"forbidden"}`, agent.CodeInvalid, "Nobody may do that"},
		"others":           {`{"x":"mine"}`, "", ""},
		"the same as they": {`{"x":1}`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var r ran
			h := withTools(t, r.run)
			h.tools.(*tools).judge = offering
			h.script.add(asks(`ask {"x":1}`), says("done"))
			h.post("go")
			h.settle()
			c := h.call("ask")
			got, err := h.engine.Decide(t.Context(), c.ID, agent.Decision{Approve: true, Binding: c.Binding, Arguments: json.RawMessage(tt.arguments)})
			h.fails(err, tt.code)
			h.settle()
			if tt.code != "" {
				if !strings.Contains(agent.PublicOf(err), tt.says) || len(r.list()) > 0 {
					t.Errorf("%v, ran %q", err, r.list())
				}
				h.want("u:go a:[ask waiting]", agent.TurnWaiting)
				if now := h.call("ask"); string(now.Arguments) != `{"x":1}` || now.Decision != nil {
					t.Errorf("stored %s, %+v", now.Arguments, now.Decision)
				}
				h.script.add(says("done")) // not needed
				return
			}
			h.want("u:go a:[ask finished] a:done", agent.TurnDone)
			if !slices.Equal(r.list(), []string{"ask " + tt.arguments}) {
				t.Errorf("ran %q", r.list())
			}
			if got.Binding != "bound to "+tt.arguments || got.Effect.Text != tt.arguments || got.Decision.Binding != got.Binding {
				t.Errorf("bound to %q, shown %q", got.Binding, got.Effect.Text)
			}
			path, err := h.store.Path(t.Context(), h.tail().Head.ID, 2)
			if stored := path[0].Calls[0]; err != nil || string(stored.Arguments) != tt.arguments || !stored.Decision.EditedArguments() {
				t.Errorf("stored %+v, %v", stored, err)
			}
		})
	}
}

func TestStandingPermission(t *testing.T) {
	var r ran
	h := withTools(t, r.run)
	x := h.tools.(*tools)
	x.judge = offering
	var given []string
	refuse := true
	x.permit = func(c agent.ToolCall, o agent.Offer) error {
		given = append(given, c.Name+": "+o.Rule)
		if refuse {
			return agent.Errorf(agent.CodeExhausted, "The disk is full.")
		}
		return nil
	}
	h.script.add(asks(`ask {"x":1}`), says("done"))
	h.post("go")
	h.settle()
	c := h.call("ask")
	decide := func(d agent.Decision) error {
		d.Binding = c.Binding
		_, err := h.engine.Decide(t.Context(), c.ID, d)
		return err
	}
	h.fails(decide(agent.Decision{Approve: true, Always: "run anything"}), agent.CodeInvalid)
	h.fails(decide(agent.Decision{Approve: true, Always: "run git status", Arguments: json.RawMessage(`{"x":"nonsense"}`)}), agent.CodeInvalid)
	if len(given) > 0 {
		t.Fatalf("a permission was made all the same: %q", given)
	}
	h.fails(decide(agent.Decision{Approve: true, Always: "run git status"}), agent.CodeExhausted)
	h.want("u:go a:[ask waiting]", agent.TurnWaiting)
	refuse = false
	if err := decide(agent.Decision{Approve: true, Always: "run git status"}); err != nil {
		t.Fatal(err)
	}
	h.settle()
	if !slices.Equal(given, []string{"ask: run git status", "ask: run git status"}) || len(r.list()) != 1 {
		t.Errorf("given %q, ran %q", given, r.list())
	}
	h.script.add(asks(`ask {"x":2}`), says("as you like"))
	h.post("again")
	h.settle()
	c = h.call("ask")
	if err := decide(agent.Decision{Always: "run git status"}); err != nil { // a refusal gives no permission
		t.Fatal(err)
	}
	h.settle()
	if len(given) != 2 {
		t.Errorf("given %q", given)
	}
}

func TestChangedTargetAsksAgain(t *testing.T) {
	var r ran
	h := withTools(t, r.run)
	var state atomic.Int32
	h.tools.(*tools).judge = func(c agent.ToolCall) agent.Judgement {
		n := state.Load()
		return agent.Judgement{Verdict: agent.Ask, Why: "It changes a file.", Binding: fmt.Sprint("state ", n), Effect: &agent.Effect{Diff: fmt.Sprint("diff ", n)}}
	}
	h.script.add(asks("ask {}"), says("done"))
	h.post("go")
	h.settle()
	c := h.call("ask")
	state.Store(1)
	if err := h.decide(c, true); err != nil {
		t.Fatal(err)
	}
	h.settle()
	h.want("u:go a:[ask waiting]", agent.TurnWaiting)
	now := h.call("ask")
	if len(r.list()) > 0 || now.Binding != "state 1" || now.Effect.Diff != "diff 1" || now.Decision != nil || !strings.Contains(now.Why, "has changed since you approved it. It changes a file.") {
		t.Errorf("ran %q; %+v", r.list(), now)
	}
	h.fails(h.decide(c, true), agent.CodeConflict) // who still sees the old card
	if err := h.decide(now, true); err != nil {
		t.Fatal(err)
	}
	h.settle()
	h.want("u:go a:[ask finished] a:done", agent.TurnDone)
}

func TestInvalidCallIsTold(t *testing.T) {
	h := withTools(t, nil)
	h.tools.(*tools).judge = offering
	h.script.add(asks(`look {"x":"nonsense"}`), says("sorry"))
	h.post("go")
	h.settle()
	h.want("u:go a:[look failed] a:sorry", agent.TurnDone)
	if got := h.told(); !strings.Contains(got, "no such thing as nonsense") {
		t.Errorf("the model was told %s", got)
	}
}

func TestQuestions(t *testing.T) {
	ask := func(t *testing.T, calls ...string) *house {
		h := withTools(t, nil)
		h.script.add(asks(append([]string{`question {"text":"which?"}`}, calls...)...), says("thanks"))
		h.post("go")
		h.settle()
		return h
	}
	message := func(h *house, form, words string, more ...agent.Part) (agent.Posted, error) {
		owner, err := h.store.Owner(h.t.Context())
		if err != nil {
			return agent.Posted{}, err
		}
		return h.engine.Post(h.t.Context(), agent.NewMessage{Thread: h.thread, Form: form, Author: owner.ID, Parts: append([]agent.Part{agent.Text{Text: words}}, more...)})
	}
	const answered = "u:go a:[question finished] a:thanks"
	t.Run("the same message twice is one answer, whenever it comes", func(t *testing.T) {
		h := ask(t)
		first, err := message(h, "f-1", "the blue one")
		if err != nil || first.Answered == nil || first.Again || first.Turn.ID == "" {
			t.Fatalf("%+v, %v", first, err)
		}
		again, err := message(h, "f-1", "the blue one")
		if err != nil || again.Answered == nil || again.Answered.ID != first.Answered.ID || !again.Again {
			t.Errorf("%+v, %v", again, err)
		}
		h.settle()
		h.want(answered, agent.TurnDone)
		h.restart()
		again, err = message(h, "f-1", "the blue one") // the turn has gone on, and Ash was started anew
		if err != nil || again.Answered == nil || again.Answered.ID != first.Answered.ID || !again.Again {
			t.Errorf("%+v, %v", again, err)
		}
		h.settle()
		h.want(answered, agent.TurnDone)
		if got := h.told(); !strings.Contains(got, "The person answers") || !strings.Contains(got, "the blue one") {
			t.Errorf("the model was told %s", got)
		}
	})
	t.Run("a message that was stored before is no answer", func(t *testing.T) {
		h := withTools(t, nil)
		h.script.add(asks(`question {"text":"which?"}`), says("thanks"))
		first, err := message(h, "f-1", "go")
		if err != nil {
			t.Fatal(err)
		}
		h.settle()
		again, err := message(h, "f-1", "go")
		if err != nil || !again.Again || again.Answered != nil || again.Message.ID != first.Message.ID {
			t.Errorf("%+v, %v", again, err)
		}
		h.settle()
		h.want("u:go a:[question waiting]", agent.TurnWaiting)
	})
	t.Run("a choice on the card", func(t *testing.T) {
		h := ask(t)
		c := h.call("question")
		_, err := h.engine.Decide(t.Context(), c.ID, agent.Decision{Approve: true, Binding: c.Binding, Answer: "  "})
		h.fails(err, agent.CodeInvalid)
		if _, err := h.engine.Decide(t.Context(), c.ID, agent.Decision{Approve: true, Binding: c.Binding, Answer: "red"}); err != nil {
			t.Fatal(err)
		}
		h.settle()
		h.want(answered, agent.TurnDone)
	})
	t.Run("no answer", func(t *testing.T) {
		h := ask(t)
		if err := h.decide(h.call("question"), false); err != nil {
			t.Fatal(err)
		}
		h.settle()
		h.want("u:go a:[question denied] a:thanks", agent.TurnDone)
		if got := h.told(); !strings.Contains(got, "does not answer") || !strings.Contains(got, "because") {
			t.Errorf("the model was told %s", got)
		}
	})
	t.Run("with a file", func(t *testing.T) {
		h := ask(t)
		file := agent.File{Attachment: agent.Attachment{Hash: strings.Repeat("a", 64), Name: "list.txt"}, Extract: "one, two"}
		if _, err := message(h, "f", "see here", file); err != nil {
			t.Fatal(err)
		}
		h.settle()
		path, err := h.store.Path(t.Context(), h.tail().Head.ID, 2)
		if err != nil || len(path[0].Calls[0].Result) != 2 {
			t.Errorf("%+v, %v", path, err)
		}
	})
	t.Run("what Ash posts by itself is no answer", func(t *testing.T) {
		h := ask(t)
		h.post("the time is up")
		h.settle()
		h.want("u:go a:[question superseded] u:the time is up a:thanks", agent.TurnDone)
	})
	t.Run("answered while a sibling runs", func(t *testing.T) {
		release, started := make(chan struct{}), make(chan struct{})
		h := withTools(t, func(context.Context, agent.ToolCall, func(string)) (agent.ToolOutcome, error) {
			close(started)
			<-release
			return agent.ToolOutcome{}, nil
		})
		h.script.add(asks("question {}", "look {}"), says("thanks"))
		h.post("go")
		<-started
		p, err := message(h, "f", "blue")
		if err != nil || p.Answered == nil {
			t.Errorf("%+v, %v", p, err)
		}
		close(release)
		h.settle()
		h.want("u:go a:[question finished][look finished] a:thanks", agent.TurnDone)
	})
}

// TestStopAndApproveAtOnce: whichever comes first, the call runs only when its approval stands before the stop.
func TestStopAndApproveAtOnce(t *testing.T) {
	n := 60
	if testing.Short() || underRace {
		n = 15
	}
	for i := range n {
		var r ran
		h := withTools(t, func(ctx context.Context, c agent.ToolCall, p func(string)) (agent.ToolOutcome, error) {
			if ctx.Err() == nil {
				return r.run(ctx, c, p)
			}
			return agent.ToolOutcome{}, ctx.Err()
		})
		h.script.add(asks("ask {}"), says("done"))
		h.post("go")
		h.settle()
		c := h.call("ask")
		var group sync.WaitGroup
		group.Go(func() {
			if err := h.decide(c, true); err != nil && agent.CodeOf(err) != agent.CodeConflict {
				t.Error(err)
			}
		})
		group.Go(func() {
			time.Sleep(time.Duration(i%4) * 300 * time.Microsecond)
			if err := h.engine.Stop(t.Context(), h.thread); err != nil && agent.CodeOf(err) != agent.CodeConflict {
				t.Error(err)
			}
		})
		group.Wait()
		tail := h.settle()
		got, err := h.store.Call(t.Context(), c.ID)
		if err != nil || !got.State.Ended() || tail.Turn.Active() {
			t.Fatalf("call %s, turn %s, %v", got.State, tail.Turn.State, err)
		}
		if got.State == agent.CallFinished != (len(r.list()) == 1) && len(r.list()) > 0 && got.State != agent.CallStopped {
			t.Errorf("the call is %s and ran %d times", got.State, len(r.list()))
		}
		if got.Started.IsZero() && len(r.list()) > 0 {
			t.Error("it ran without being stored as started")
		}
	}
}

func TestStopClosesWaitingSiblings(t *testing.T) {
	started := make(chan struct{})
	h := withTools(t, func(ctx context.Context, _ agent.ToolCall, _ func(string)) (agent.ToolOutcome, error) {
		close(started)
		<-ctx.Done()
		return agent.ToolOutcome{}, ctx.Err()
	})
	h.script.add(asks("ask {}", "look {}"))
	h.post("go")
	<-started
	if err := h.engine.Stop(t.Context(), h.thread); err != nil {
		t.Fatal(err)
	}
	h.settle()
	h.want("u:go a:[ask stopped][look stopped]", agent.TurnStopped)
	h.fails(h.decide(h.call("ask"), true), agent.CodeConflict)
}

func TestApprovalAfterARestart(t *testing.T) {
	t.Run("of a turn at rest", func(t *testing.T) {
		h := withTools(t, nil)
		h.script.add(asks("ask {}"), says("done"))
		h.post("go")
		h.settle()
		h.restart()
		if err := h.decide(h.call("ask"), true); err != nil {
			t.Fatal(err)
		}
		h.settle()
		h.want("u:go a:[ask finished] a:done", agent.TurnDone)
	})
	// A sibling ran when Ash ended: the turn is interrupted, and the approval waits all the same.
	interrupted := func(t *testing.T) *house {
		started := make(chan struct{})
		h := withTools(t, func(ctx context.Context, c agent.ToolCall, _ func(string)) (agent.ToolOutcome, error) {
			if c.Name == "look" {
				close(started)
				<-ctx.Done()
			}
			return agent.ToolOutcome{}, ctx.Err()
		})
		h.script.add(asks("ask {}", "look {}"), says("done"))
		h.post("go")
		<-started
		h.restart()
		h.want("u:go a:[ask waiting][look unknown]", agent.TurnInterrupted)
		return h
	}
	t.Run("deciding takes an interrupted turn up", func(t *testing.T) {
		h := interrupted(t)
		turn := h.tail().Turn.ID
		if err := h.decide(h.call("ask"), true); err != nil {
			t.Fatal(err)
		}
		h.settle()
		h.want("u:go a:[ask finished][look unknown] a:done", agent.TurnDone)
		if h.tail().Turn.ID != turn {
			t.Error("it is another turn")
		}
		if got := h.told(); !strings.Contains(got, "whether it took effect is unknown") {
			t.Errorf("the model was told %s", got)
		}
	})
	t.Run("continuing first, then deciding", func(t *testing.T) {
		h := interrupted(t)
		if _, err := h.engine.Continue(t.Context(), h.thread); err != nil {
			t.Fatal(err)
		}
		h.settle()
		h.want("u:go a:[ask waiting][look unknown]", agent.TurnWaiting)
		if err := h.decide(h.call("ask"), false); err != nil {
			t.Fatal(err)
		}
		h.settle()
		h.want("u:go a:[ask denied][look unknown] a:done", agent.TurnDone)
	})
}

// TestDecisionAfterAFailure: the turn of a waiting approval ended badly meanwhile; deciding goes on with it.
func TestDecisionAfterAFailure(t *testing.T) {
	h := withTools(t, func(ctx context.Context, c agent.ToolCall, _ func(string)) (agent.ToolOutcome, error) {
		if c.Name == "look" {
			<-ctx.Done()
		}
		return agent.ToolOutcome{}, ctx.Err()
	})
	h.settings.Bounds.Wall = 300 * time.Millisecond
	h.script.add(asks("ask {}", "look {}"), says("done"))
	h.post("go")
	h.settle()
	h.want("u:go a:[ask waiting][look failed]", agent.TurnFailed)
	h.settings.Bounds.Wall = time.Minute
	if err := h.decide(h.call("ask"), true); err != nil {
		t.Fatal(err)
	}
	h.settle()
	h.want("u:go a:[ask finished][look failed] a:done", agent.TurnDone)
}

// TestPolicyIsAskedAgain: what policy alone allowed, and Ash ended before it began, is not run on the strength of that.
func TestPolicyIsAskedAgain(t *testing.T) {
	var r ran
	h := withTools(t, r.run)
	x := h.tools.(*tools)
	closed := make(chan error, 1)
	x.judge = func(agent.ToolCall) agent.Judgement { // Ash ends between policy's word and the start
		go func() { closed <- h.engine.Close(context.Background()) }()
		for agent.CodeOf(h.engine.Stop(t.Context(), agent.NewID())) != agent.CodeUnavailable {
			time.Sleep(time.Millisecond)
		}
		return agent.Judgement{Verdict: agent.Allow}
	}
	h.script.add(asks("look {}"), says("no then"))
	h.post("go")
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	h.restart()
	if c := h.call("look"); c.State != agent.CallApproved && c.State != agent.CallProposed {
		t.Fatalf("the call is %s", c.State)
	}
	x.judge = func(agent.ToolCall) agent.Judgement {
		return agent.Judgement{Verdict: agent.Deny, Why: "Not any more."}
	}
	if _, err := h.engine.Continue(t.Context(), h.thread); err != nil {
		t.Fatal(err)
	}
	h.settle()
	h.want("u:go a:[look denied] a:no then", agent.TurnDone)
	if len(r.list()) > 0 {
		t.Errorf("ran %q", r.list())
	}
}

func TestExpire(t *testing.T) {
	h := withTools(t, nil)
	h.script.add(asks("ask {}", "question {}"), says("done"))
	h.post("go")
	h.settle()
	if n, err := h.engine.Expire(t.Context(), time.Now().Add(-time.Hour)); n != 0 || err != nil {
		t.Errorf("%d expired, %v", n, err)
	}
	h.restart()
	if n, err := h.engine.Expire(t.Context(), time.Now().Add(time.Second)); n != 1 || err != nil {
		t.Errorf("%d expired, %v", n, err)
	}
	h.settle()
	h.want("u:go a:[ask denied][question waiting]", agent.TurnWaiting)
	c := h.call("ask")
	if c.Decision == nil || c.Decision.By != "" || c.Decision.Approve || c.Decision.At.IsZero() {
		t.Errorf("decided %+v", c.Decision)
	}
	h.fails(h.decide(c, true), agent.CodeConflict)
	if err := h.decide(h.call("question"), false); err != nil {
		t.Fatal(err)
	}
	h.settle()
	if got := h.told(); !strings.Contains(got, "nobody decided about it in time") {
		t.Errorf("the model was told %s", got)
	}
}

// TestSecretsAreTakenOut looks for a secret in everything a turn stores and tells.
func TestSecretsAreTakenOut(t *testing.T) {
	const secret = "sk-THE-SECRET"
	h := withTools(t, func(_ context.Context, _ agent.ToolCall, progress func(string)) (agent.ToolOutcome, error) {
		progress("reading " + secret)
		return agent.ToolOutcome{Content: []agent.Part{agent.Text{Text: "it is " + secret}, agent.File{Extract: secret}}}, agent.Errorf(agent.CodeDenied, "Not with %s.", secret)
	})
	h.redact = func(s string) string { return strings.ReplaceAll(s, secret, "[out]") }
	h.tools.(*tools).judge = func(c agent.ToolCall) agent.Judgement {
		j := policy(c)
		j.Why += " " + secret
		j.Effect = &agent.Effect{Target: secret, Text: secret, Diff: "+" + secret, Private: []string{secret}}
		return j
	}
	h.restart()
	var events strings.Builder
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for b := range h.feed.Tap(ctx) {
			for _, e := range b.Events {
				fmt.Fprintf(&events, "%+v\n", e)
			}
		}
	}()
	h.script.add(asks(`ask {"key":"`+secret+`"}`, `look {"key":"`+secret+`"}`, `question {}`), says("fine"))
	h.post("my key is " + secret)
	h.settle()
	ask, q := h.call("ask"), h.call("question")
	if _, err := h.engine.Decide(t.Context(), ask.ID, agent.Decision{Approve: true, Binding: `bound to {"key":"[out]"}`, Arguments: json.RawMessage(`{"key":"mine ` + secret + `"}`)}); err != nil {
		t.Fatal(err)
	}
	h.settle()
	if _, err := h.engine.Decide(t.Context(), q.ID, agent.Decision{Binding: q.Binding, Reason: "ask " + secret}); err != nil {
		t.Fatal(err)
	}
	h.settle()
	path, err := h.store.Path(t.Context(), h.tail().Head.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := json.Marshal(path)
	if err != nil || strings.Contains(string(stored), secret) || !strings.Contains(string(stored), "mine [out]") {
		t.Errorf("stored %s, %v", stored, err)
	}
	if strings.Contains(h.told(), secret) {
		t.Errorf("the model was told %s", h.told())
	}
	cancel()
	<-done
	if got := events.String(); strings.Contains(got, secret) || !strings.Contains(got, "it is [out]") {
		i := max(strings.Index(got, secret), 0)
		t.Errorf("told …%s", got[max(0, i-200):min(len(got), i+100)])
	}
}

func TestHundredCallsAtOnce(t *testing.T) {
	var r ran
	h := withTools(t, r.run)
	var calls []string
	for i := range 100 {
		calls = append(calls, fmt.Sprintf(`look {"i":%d}`, i))
	}
	h.script.add(asks(calls...), says("done"))
	h.post("go")
	h.settle()
	if n := len(r.list()); n != 100 || h.tail().Turn.State != agent.TurnDone {
		t.Errorf("%d ran, turn %s", n, h.tail().Turn.State)
	}
}

// deaf is a tool that hears nothing of its context until the test lets it go.
func deaf(t *testing.T) (run func(context.Context, agent.ToolCall, func(string)) (agent.ToolOutcome, error), started chan struct{}, release func()) {
	started, free := make(chan struct{}, 8), make(chan struct{})
	release = sync.OnceFunc(func() { close(free) })
	t.Cleanup(release)
	return func(_ context.Context, _ agent.ToolCall, progress func(string)) (agent.ToolOutcome, error) {
		started <- struct{}{}
		<-free
		progress("too late")
		return agent.ToolOutcome{Content: []agent.Part{agent.Text{Text: "too late"}}}, nil
	}, started, release
}

func TestToolThatDoesNotLetGo(t *testing.T) {
	run, started, release := deaf(t)
	h := withTools(t, run)
	h.script.add(asks("look {}"), says("I see"))
	h.post("go")
	<-started
	began := time.Now()
	got, err := h.engine.Halt(t.Context())
	if took := time.Since(began); err != nil || took > 4*time.Second || len(got.Holding) != 1 || got.Held() != "look" || !slices.Equal(got.Threads, []agent.ID{h.thread}) {
		t.Errorf("after %v: %+v, %v", took, got, err)
	}
	h.fails(h.engine.StopAll(t.Context()), agent.CodeUnavailable)
	h.settle()
	h.want("u:go a:[look unknown]", agent.TurnStopped)
	release()
	for end := time.Now().Add(5 * time.Second); h.engine.StopAll(t.Context()) != nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it is still held")
		}
	}
	h.want("u:go a:[look unknown]", agent.TurnStopped)
	if _, err := h.engine.Continue(t.Context(), h.thread); err != nil {
		t.Fatal(err)
	}
	h.settle()
	if got := h.told(); !strings.Contains(got, "did not let go") || strings.Contains(got, "too late") {
		t.Errorf("the model was told %s", got)
	}
}

func TestKillSwitchLeavesWhatWaits(t *testing.T) {
	started := make(chan struct{})
	h := withTools(t, func(ctx context.Context, _ agent.ToolCall, _ func(string)) (agent.ToolOutcome, error) {
		close(started)
		<-ctx.Done()
		return agent.ToolOutcome{}, ctx.Err()
	})
	h.script.add(asks("ask {}"))
	h.post("go")
	h.settle()
	waiting := h.thread
	other, err := h.engine.CreateThread(t.Context(), agent.Origin{Channel: "test"})
	if err != nil {
		t.Fatal(err)
	}
	h.thread = other.ID
	h.script.add(asks("look {}"))
	h.post("go")
	<-started
	got, err := h.engine.Halt(t.Context())
	if err != nil || !slices.Equal(got.Threads, []agent.ID{other.ID}) || len(got.Holding) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
	h.settle()
	h.want("u:go a:[look stopped]", agent.TurnStopped)
	h.thread = waiting
	h.want("u:go a:[ask waiting]", agent.TurnWaiting)
}
