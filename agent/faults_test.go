package agent_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/feed"
	"ash/agent/prompt"
	"ash/store"
	"ash/store/storetest"
)

// fault says which call of which method of the store fails, and how many after it.
type fault struct {
	method string
	at     int  // the first call that fails, from 0
	lasts  bool // every later write fails too, as on a full disk
}

// faulty is a real store that fails on purpose.
type faulty struct {
	agent.Store
	fault

	mu     sync.Mutex
	calls  map[string]int
	broken bool // the fault has begun
	healed bool
	last   time.Time // of the newest call
}

var errDisk = agent.Errorf(agent.CodeExhausted, "The disk is full.")

// writes are the methods that need room on the disk.
var writes = map[string]bool{
	"PatchThread": true, "MoveHead": true, "Post": true, "Begin": true, "Edit": true, "EndTurn": true, "Conclude": true,
	"OpenReply": true, "SaveProgress": true, "CloseReply": true, "MoveCall": true, "Resume": true,
}

func (f *faulty) check(method string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.calls[method]
	f.calls[method]++
	f.last = time.Now()
	if f.healed {
		return nil
	}
	if method == f.method && n == f.at {
		f.broken = true
		return errDisk
	}
	if f.broken && f.lasts && writes[method] {
		return errDisk
	}
	return nil
}

func (f *faulty) heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.healed = true
}

// stalled reports whether something failed and nothing has been tried since for a while.
func (f *faulty) stalled() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.broken && time.Since(f.last) > 8*time.Millisecond
}

func checked[T any](f *faulty, method string, do func() (T, error)) (T, error) {
	if err := f.check(method); err != nil {
		var zero T
		return zero, err
	}
	return do()
}

func (f *faulty) Summary(ctx context.Context, id agent.ID) (agent.ThreadSummary, error) {
	return checked(f, "Summary", func() (agent.ThreadSummary, error) { return f.Store.Summary(ctx, id) })
}

func (f *faulty) PatchThread(ctx context.Context, id agent.ID, p agent.ThreadPatch) (agent.Thread, error) {
	return checked(f, "PatchThread", func() (agent.Thread, error) { return f.Store.PatchThread(ctx, id, p) })
}

func (f *faulty) MoveHead(ctx context.Context, thread, message agent.ID) (t agent.Thread, calls []agent.ToolCall, err error) {
	if err = f.check("MoveHead"); err != nil {
		return
	}
	return f.Store.MoveHead(ctx, thread, message)
}

func (f *faulty) Tail(ctx context.Context, thread agent.ID) (agent.Tail, error) {
	return checked(f, "Tail", func() (agent.Tail, error) { return f.Store.Tail(ctx, thread) })
}

func (f *faulty) Post(ctx context.Context, m agent.NewMessage) (agent.Posted, error) {
	return checked(f, "Post", func() (agent.Posted, error) { return f.Store.Post(ctx, m) })
}

func (f *faulty) Begin(ctx context.Context, thread, message agent.ID) (agent.Turn, error) {
	return checked(f, "Begin", func() (agent.Turn, error) { return f.Store.Begin(ctx, thread, message) })
}

func (f *faulty) Edit(ctx context.Context, old agent.ID, m agent.NewMessage) (agent.Posted, error) {
	return checked(f, "Edit", func() (agent.Posted, error) { return f.Store.Edit(ctx, old, m) })
}

func (f *faulty) EndTurn(ctx context.Context, t agent.Turn, s agent.TurnState) (agent.EndedTurn, error) {
	return checked(f, "EndTurn", func() (agent.EndedTurn, error) { return f.Store.EndTurn(ctx, t, s) })
}

func (f *faulty) Conclude(ctx context.Context, m agent.Message, s agent.TurnState) (agent.EndedTurn, error) {
	return checked(f, "Conclude", func() (agent.EndedTurn, error) { return f.Store.Conclude(ctx, m, s) })
}

func (f *faulty) OpenReply(ctx context.Context, m agent.Message) error {
	_, err := checked(f, "OpenReply", func() (int, error) { return 0, f.Store.OpenReply(ctx, m) })
	return err
}

func (f *faulty) SaveProgress(ctx context.Context, p []agent.ReplyProgress) error {
	_, err := checked(f, "SaveProgress", func() (int, error) { return 0, f.Store.SaveProgress(ctx, p) })
	return err
}

func (f *faulty) CloseReply(ctx context.Context, m agent.Message) error {
	_, err := checked(f, "CloseReply", func() (int, error) { return 0, f.Store.CloseReply(ctx, m) })
	return err
}

func (f *faulty) MoveCall(ctx context.Context, c agent.ToolCall, from ...agent.CallState) (agent.ToolCall, error) {
	return checked(f, "MoveCall", func() (agent.ToolCall, error) { return f.Store.MoveCall(ctx, c, from...) })
}

func (f *faulty) Call(ctx context.Context, id agent.ID) (agent.ToolCall, error) {
	return checked(f, "Call", func() (agent.ToolCall, error) { return f.Store.Call(ctx, id) })
}

func (f *faulty) Resume(ctx context.Context, turn agent.ID) (agent.Turn, error) {
	return checked(f, "Resume", func() (agent.Turn, error) { return f.Store.Resume(ctx, turn) })
}

func (f *faulty) Path(ctx context.Context, head agent.ID, limit int) ([]agent.Message, error) {
	return checked(f, "Path", func() ([]agent.Message, error) { return f.Store.Path(ctx, head, limit) })
}

func (f *faulty) Summaries(ctx context.Context, thread agent.ID) ([]agent.Summary, error) {
	return checked(f, "Summaries", func() ([]agent.Summary, error) { return f.Store.Summaries(ctx, thread) })
}

// parrot is a model that answers by what was said last.
type parrot struct {
	reached chan struct{} // it has begun an answer it does not end by itself
	hung    atomic.Bool
	calls   atomic.Int32
}

func (p *parrot) Pick(context.Context, string) (agent.Model, agent.ModelInfo, error) {
	return p, agent.ModelInfo{Ref: agent.ModelRef{Provider: "test", Name: "model"}, ContextWindow: 100_000, Tools: true}, nil
}

func (p *parrot) Stream(ctx context.Context, in agent.Prompt) iter.Seq2[agent.Delta, error] {
	p.calls.Add(1)
	said := ""
	for _, part := range in.Messages[len(in.Messages)-1].Parts {
		switch part := part.(type) {
		case agent.Text:
			said += part.Text
		case agent.ToolResult:
			said += "results"
		}
	}
	// Messages that follow each other may be sent as one: what was said last counts.
	last, at := "", -1
	for _, words := range []string{"hello", "use tools", "results", "for ever", "waits", "are you well"} {
		if i := strings.LastIndex(said, words); i > at {
			last, at = words, i
		}
	}
	reply := says("I heard: ", last)
	switch last {
	case "results":
		reply = says("done")
	case "use tools":
		reply = asks("look {}", "ask {}")
	case "for ever":
		if !p.hung.Swap(true) {
			reply = hangs(p.reached, "on and ", "on ")
		}
	}
	return func(yield func(agent.Delta, error) bool) { reply(ctx, in, yield) }
}

// ordered checks what is published against what is stored by then.
type ordered struct {
	t     *testing.T
	feed  *feed.Feed
	store agent.Reader
	mu    sync.Mutex
	ended map[agent.ID]bool // by message that was told of: whether its end was
}

func (o *ordered) Publish(e agent.Envelope) agent.EventID {
	o.mu.Lock()
	defer o.mu.Unlock()
	stored := func(m agent.Message) {
		got, err := o.store.Message(context.Background(), m.ID)
		if err != nil || (got.State != m.State && m.State != agent.MessageQueued) {
			o.t.Errorf("told that a message is %s while it is %q in the store (%v)", m.State, got.State, err)
		}
	}
	switch ev := e.Event.(type) {
	case agent.UserEvent:
		stored(ev.Message)
		o.ended[ev.Message.ID] = true
	case agent.AssistantEvent:
		stored(ev.Message)
		o.ended[ev.Message.ID] = ev.Message.State != agent.MessageOpen
	case agent.AssistantDelta:
		if o.ended[ev.Message] {
			o.t.Error("a delta after the end of its reply")
		}
	}
	return o.feed.Publish(e)
}

// talk is a conversation over a store that fails.
type talk struct {
	t       *testing.T
	real    *store.Store
	faulty  *faulty
	engine  *agent.Engine
	model   *parrot
	told    *ordered
	thread  agent.ID
	acked   map[agent.ID]string // messages that were taken, with their words
	ran     map[agent.ID]int    // how often each call had its effect
	running sync.Mutex
}

func newTalk(t *testing.T, real *store.Store, f fault) *talk {
	t.Helper()
	k := &talk{
		t: t, real: real, faulty: &faulty{Store: real, fault: f, calls: map[string]int{}, last: time.Now()},
		model: &parrot{reached: make(chan struct{}, 8)}, acked: map[agent.ID]string{}, ran: map[agent.ID]int{},
	}
	k.told = &ordered{t: t, feed: feed.New(0), store: real, ended: map[agent.ID]bool{}}
	k.engine = agent.NewEngine(agent.Options{
		Store: k.faulty, Prompter: prompt.New(prompt.Options{}), Models: k.model,
		Publisher: k.told,
		Settings:  func() agent.Settings { return agent.Settings{MaxMessages: 100} },
		Tools: &tools{judge: policy, run: func(_ context.Context, c agent.ToolCall, progress func(string)) (agent.ToolOutcome, error) {
			k.running.Lock()
			k.ran[c.ID]++
			k.running.Unlock()
			progress("working")
			return agent.ToolOutcome{Content: []agent.Part{agent.Text{Text: "did it"}}}, nil
		}},
	})
	thread, err := k.engine.CreateThread(t.Context(), agent.Origin{Channel: "test"})
	if err != nil {
		t.Fatal(err)
	}
	k.thread = thread.ID
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := k.engine.Close(ctx); err != nil {
			t.Error(err)
		}
		k.told.feed.Close()
	})
	return k
}

// within fails the test when do does not return soon.
func (k *talk) within(what string, do func()) {
	k.t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		k.t.Fatalf("%s hangs", what)
	}
}

func (k *talk) post(words string) error {
	k.t.Helper()
	var err error
	k.within("post "+words, func() {
		var p agent.Posted
		p, err = k.engine.Post(k.t.Context(), agent.NewMessage{
			Thread: k.thread, Form: string(agent.NewID()), Parts: []agent.Part{agent.Text{Text: words}},
		})
		if err == nil {
			k.acked[p.Message.ID] = words
		}
	})
	return err
}

// rest waits until the conversation rests, or nothing more is tried after a failure.
func (k *talk) rest() {
	k.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); k.engine.Busy() > 0 && !k.faulty.stalled(); {
		if time.Now().After(deadline) {
			k.t.Fatal("the conversation does not come to rest")
		}
		time.Sleep(200 * time.Microsecond)
	}
}

// head reads past the faults.
func (k *talk) head() agent.Message {
	k.t.Helper()
	tail, err := k.real.Tail(k.t.Context(), k.thread)
	if err != nil {
		k.t.Fatal(err)
	}
	return tail.Head
}

// converse goes through a whole conversation; what fails is left at that, as a person would.
func (k *talk) converse() {
	k.t.Helper()
	ctx := k.t.Context()
	_ = k.post("hello")
	k.rest()
	_ = k.post("use tools")
	k.rest()
	for _, c := range k.head().Calls {
		if c.State == agent.CallWaiting {
			k.within("decide", func() {
				_, _ = k.engine.Decide(ctx, c.ID, agent.Decision{Approve: true, Binding: c.Binding})
			})
		}
	}
	k.rest()
	if k.post("talk for ever") == nil {
		select {
		case <-k.model.reached:
		case <-time.After(100 * time.Millisecond): // it failed before it got there
		}
		_ = k.post("and this waits")
		k.within("stop", func() { _ = k.engine.Stop(ctx, k.thread) })
	}
	k.rest()
	if m := k.head(); m.Role == agent.RoleAssistant {
		k.within("regenerate", func() { _, _ = k.engine.Regenerate(ctx, k.thread, m.ID) })
		k.rest()
		k.within("branch", func() { _, _ = k.engine.Branch(ctx, k.thread, m.ID) })
	}
	k.within("continue", func() { _, _ = k.engine.Continue(ctx, k.thread) })
	k.rest()
}

// mended checks that one more message, once the store works again, puts everything in order.
func (k *talk) mended() {
	k.t.Helper()
	k.faulty.heal()
	if err := k.post("are you well"); err != nil {
		k.t.Fatalf("a message after the fault: %v", err)
	}
	for deadline := time.Now().Add(10 * time.Second); k.engine.Busy() > 0; time.Sleep(200 * time.Microsecond) {
		if time.Now().After(deadline) {
			k.t.Fatal("something still runs")
		}
	}
	tail, err := k.real.Tail(k.t.Context(), k.thread)
	if err != nil {
		k.t.Fatal(err)
	}
	if tail.Turn.State != agent.TurnDone || tail.Head.State != agent.MessageComplete || !strings.Contains(tail.Head.Text(), "are you well") {
		k.t.Errorf("turn is %s, head is %s: %q", tail.Turn.State, tail.Head.State, tail.Head.Text())
	}
	for id, words := range k.acked {
		m, err := k.real.Message(k.t.Context(), id)
		if err != nil || m.Text() != words || m.State != agent.MessageComplete {
			k.t.Errorf("what was taken is %s: %q (%v)", m.State, m.Text(), err)
		}
	}
	k.calls(tail.Head.ID)
	for id, n := range k.ran {
		if n > 1 {
			k.t.Errorf("call %s ran %d times", id, n)
		}
	}
	for id := range k.told.ended {
		m, err := k.real.Message(k.t.Context(), id)
		if err != nil || m.State == agent.MessageOpen || m.State == agent.MessageQueued {
			k.t.Errorf("left %s (%v)", m.State, err)
		}
	}
}

// calls checks that every call on the way to head has ended, and that one that had its effect says so.
func (k *talk) calls(head agent.ID) {
	k.t.Helper()
	path, err := k.real.Path(k.t.Context(), head, 100)
	if err != nil {
		k.t.Fatal(err)
	}
	for _, m := range path {
		for _, c := range m.Calls {
			if !c.State.Ended() {
				k.t.Errorf("call %s is %s", c.Name, c.State)
			}
			if k.ran[c.ID] > 0 && c.State != agent.CallFinished && c.State != agent.CallStopped && c.State != agent.CallUnknown {
				k.t.Errorf("call %s ran and is %s", c.Name, c.State)
			}
		}
	}
}

// TestFaultsOfTheStore lets every call of every method fail in turn, once and for good, in the middle of a
// conversation with tools, an approval, a queue, a stop, variants and a continuation.
func TestFaultsOfTheStore(t *testing.T) {
	real := storetest.Open(t)
	sound := newTalk(t, real, fault{})
	sound.converse()
	sound.mended()
	if sound.model.calls.Load() < 7 || len(sound.ran) != 2 {
		t.Fatalf("the conversation is not what it should be: %d model calls, %d tool calls", sound.model.calls.Load(), len(sound.ran))
	}
	for method, n := range sound.faulty.calls {
		for at := range n {
			if (testing.Short() || underRace) && at%5 != 0 {
				continue
			}
			for _, lasts := range []bool{false, true} {
				if lasts && at%2 == 1 {
					continue // half of these say as much, in half the time
				}
				f := fault{method, at, lasts}
				name := fmt.Sprintf("%s %d once", method, at)
				if lasts {
					name = fmt.Sprintf("%s %d and every write after it", method, at)
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					k := newTalk(t, real, f)
					k.converse()
					k.mended()
				})
			}
		}
	}
}
