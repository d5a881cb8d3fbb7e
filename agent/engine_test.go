package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/feed"
	"ash/agent/prompt"
	"ash/store"
	"ash/store/storetest"
)

// script answers model calls one after the other; a call beyond its end is a failure of the test.
type script struct {
	t *testing.T

	mu      sync.Mutex
	replies []func(ctx context.Context, p agent.Prompt, yield func(agent.Delta, error) bool)
	prompts []agent.Prompt
}

func (s *script) Pick(_ context.Context, ref string) (agent.Model, agent.ModelInfo, error) {
	if ref == "nobody/none" {
		return nil, agent.ModelInfo{}, agent.Errorf(agent.CodeInvalid, "There is no provider nobody.")
	}
	return s, agent.ModelInfo{Ref: agent.ModelRef{Provider: "test", Name: "model"}, ContextWindow: 100_000, Tools: true}, nil
}

func (s *script) Stream(ctx context.Context, p agent.Prompt) iter.Seq2[agent.Delta, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prompts = append(s.prompts, p)
	if len(s.replies) == 0 {
		s.t.Errorf("unexpected model call %d", len(s.prompts))
		return func(yield func(agent.Delta, error) bool) {}
	}
	next := s.replies[0]
	s.replies = s.replies[1:]
	return func(yield func(agent.Delta, error) bool) { next(ctx, p, yield) }
}

func (s *script) add(replies ...func(context.Context, agent.Prompt, func(agent.Delta, error) bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies = append(s.replies, replies...)
}

type yielder = func(agent.Delta, error) bool

func text(words string) agent.Delta { return agent.Delta{Kind: agent.DeltaText, Text: words} }

// says is a reply of some words.
func says(words ...string) func(context.Context, agent.Prompt, yielder) {
	return func(_ context.Context, _ agent.Prompt, yield yielder) {
		for _, w := range words {
			if !yield(text(w), nil) {
				return
			}
		}
		yield(agent.Delta{Kind: agent.DeltaUsage, Usage: &agent.Usage{Input: 10, Output: 2, Cost: 7}}, nil)
		yield(agent.Delta{Kind: agent.DeltaStop, Stop: agent.StopEnd}, nil)
	}
}

// hangs says some words, tells reached, and then waits to be stopped.
func hangs(reached chan<- struct{}, words ...string) func(context.Context, agent.Prompt, yielder) {
	return func(ctx context.Context, _ agent.Prompt, yield yielder) {
		for _, w := range words {
			if !yield(text(w), nil) {
				return
			}
		}
		reached <- struct{}{}
		<-ctx.Done()
		yield(agent.Delta{}, ctx.Err())
	}
}

// breaks says some words and then fails.
func breaks(err error, words ...string) func(context.Context, agent.Prompt, yielder) {
	return func(_ context.Context, _ agent.Prompt, yield yielder) {
		for _, w := range words {
			if !yield(text(w), nil) {
				return
			}
		}
		yield(agent.Delta{}, err)
	}
}

// asks is a reply that wants tools, each "name {json}".
func asks(calls ...string) func(context.Context, agent.Prompt, yielder) {
	return func(_ context.Context, _ agent.Prompt, yield yielder) {
		for i, c := range calls {
			name, arguments, _ := strings.Cut(c, " ")
			half := len(arguments) / 2
			yield(agent.Delta{Kind: agent.DeltaCall, Call: &agent.CallPiece{Index: i, ProviderID: "p" + name, Name: name, Arguments: arguments[:half]}}, nil)
			yield(agent.Delta{Kind: agent.DeltaCall, Call: &agent.CallPiece{Index: i, Arguments: arguments[half:]}}, nil)
		}
		yield(agent.Delta{Kind: agent.DeltaStop, Stop: agent.StopTools}, nil)
	}
}

// tools is a set of tools made of functions.
type tools struct {
	judge     func(agent.ToolCall) agent.Judgement
	run       func(ctx context.Context, c agent.ToolCall, progress func(string)) (agent.ToolOutcome, error)
	permit    func(agent.ToolCall, agent.Offer) error // nil: nothing goes wrong
	situation func(agent.Situation)                   // told at every judgement; may be nil
}

func (x *tools) Specs(context.Context, agent.Thread) []agent.ToolSpec {
	return []agent.ToolSpec{{Name: "look", Schema: json.RawMessage(`{"type":"object"}`)}}
}

func (x *tools) Judge(_ context.Context, s agent.Situation, c agent.ToolCall) (agent.Judgement, error) {
	if x.situation != nil {
		x.situation(s)
	}
	return x.judge(c), nil
}

func (x *tools) Run(ctx context.Context, _ agent.Situation, c agent.ToolCall, progress func(string)) (agent.ToolOutcome, error) {
	return x.run(ctx, c, progress)
}

// house is an engine over a real store on disk.
type house struct {
	t        *testing.T
	path     string
	settings agent.Settings
	tools    agent.Tools
	redact   func(string) string
	inspect  agent.Inspect
	prompter agent.Prompter
	unlocks  func() uint64 // of the vault; nil: there is none
	script   *script
	store    *store.Store
	feed     *feed.Feed
	engine   *agent.Engine
	thread   agent.ID
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{
		t: t, path: filepath.Join(t.TempDir(), "ash.db"), script: &script{t: t},
		settings: agent.Settings{MaxMessages: 100, Summarise: true}, prompter: prompt.New(prompt.Options{}),
	}
	h.open()
	thread, err := h.engine.CreateThread(t.Context(), agent.Origin{Channel: "test"})
	if err != nil {
		t.Fatal(err)
	}
	h.thread = thread.ID
	t.Cleanup(func() { h.shut() })
	return h
}

func (h *house) open() {
	h.t.Helper()
	storetest.Put(h.t, h.path)
	s, err := store.Open(context.Background(), store.Options{Path: h.path})
	if err != nil {
		h.t.Fatal(err)
	}
	h.store, h.feed = s, feed.New(0)
	h.engine = agent.NewEngine(agent.Options{
		Store: s, Prompter: h.prompter, Models: h.script, Publisher: h.feed, Tools: h.tools, Redact: h.redact, Inspect: h.inspect, Unlocks: h.unlocks,
		Settings: func() agent.Settings { return h.settings },
	})
}

func (h *house) shut() {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := errors.Join(h.engine.Close(ctx), h.store.Close()); err != nil {
		h.t.Error(err)
	}
	h.feed.Close()
}

// restart ends the engine as a stop of the server does, and starts it anew.
func (h *house) restart() agent.Recovery {
	h.t.Helper()
	h.shut()
	h.open()
	found, err := h.store.Recover(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return found
}

func (h *house) post(words string) agent.Posted {
	h.t.Helper()
	p, err := h.engine.Post(h.t.Context(), agent.NewMessage{Thread: h.thread, Parts: []agent.Part{agent.Text{Text: words}}})
	if err != nil {
		h.t.Fatal(err)
	}
	return p
}

// settle waits until nothing is owned any more.
func (h *house) settle() agent.Tail {
	h.t.Helper()
	for deadline := time.Now().Add(time.Minute); h.engine.Busy() > 0; {
		if time.Now().After(deadline) {
			h.t.Fatal("the conversation does not come to rest")
		}
		time.Sleep(time.Millisecond)
	}
	return h.tail()
}

func (h *house) tail() agent.Tail {
	h.t.Helper()
	tail, err := h.store.Tail(h.t.Context(), h.thread)
	if err != nil {
		h.t.Fatal(err)
	}
	return tail
}

// transcript is the path as short words, for comparison.
func (h *house) transcript() string {
	h.t.Helper()
	head := h.tail().Head.ID
	if head == "" {
		return ""
	}
	path, err := h.store.Path(h.t.Context(), head, 100)
	if err != nil {
		h.t.Fatal(err)
	}
	var out []string
	for _, m := range path {
		line := string(m.Role[0]) + ":" + m.Text()
		if m.State != agent.MessageComplete {
			line += "(" + string(m.State) + ")"
		}
		for _, c := range m.Calls {
			line += "[" + c.Name + " " + string(c.State) + "]"
		}
		out = append(out, line)
	}
	return strings.Join(out, " ")
}

func (h *house) want(transcript string, turn agent.TurnState) {
	h.t.Helper()
	if got := h.transcript(); got != transcript {
		h.t.Errorf("transcript\n got %s\nwant %s", got, transcript)
	}
	if got := h.tail().Turn.State; got != turn {
		h.t.Errorf("turn is %s, want %s", got, turn)
	}
}

func TestAnswerIsStoredWithWhatItTook(t *testing.T) {
	h := newHouse(t)
	h.script.add(says("Hello", ", world"))
	posted := h.post("Say hello")
	tail := h.settle()
	h.want("u:Say hello a:Hello, world", agent.TurnDone)
	if tail.Head.Usage.Input != 10 || tail.Head.Usage.Output != 2 || tail.Head.Usage.Cost != 7 || tail.Head.Usage.Duration <= 0 {
		t.Errorf("usage %+v", tail.Head.Usage)
	}
	if tail.Head.Model.String() != "test/model" || tail.Head.Stop != agent.StopEnd || tail.Head.Parent != posted.Message.ID {
		t.Errorf("head %+v", tail.Head)
	}
	if tail.Turn.Rounds != 1 || tail.Turn.Usage.Cost != 7 {
		t.Errorf("turn %+v", tail.Turn)
	}
	if tail.Thread.Title != "Say hello" || tail.Thread.TitleSource != agent.TitleWords {
		t.Errorf("title %q from %q", tail.Thread.Title, tail.Thread.TitleSource)
	}
}

func TestEmptyMessageIsRefused(t *testing.T) {
	h := newHouse(t)
	for _, parts := range [][]agent.Part{nil, {agent.Text{}}} {
		_, err := h.engine.Post(t.Context(), agent.NewMessage{Thread: h.thread, Parts: parts})
		if agent.CodeOf(err) != agent.CodeInvalid {
			t.Errorf("%v: %v", parts, err)
		}
	}
	if _, err := h.engine.Post(t.Context(), agent.NewMessage{Thread: agent.NewID(), Parts: []agent.Part{agent.Text{Text: "x"}}}); agent.CodeOf(err) != agent.CodeNotFound {
		t.Errorf("unknown thread: %v", err)
	}
}

func TestSameFormTwiceIsOneMessage(t *testing.T) {
	h := newHouse(t)
	h.script.add(says("one"))
	m := agent.NewMessage{Thread: h.thread, Form: "form-1", Parts: []agent.Part{agent.Text{Text: "hi"}}}
	var group sync.WaitGroup
	var ids sync.Map
	for range 8 {
		group.Go(func() {
			p, err := h.engine.Post(t.Context(), m)
			if err != nil {
				t.Error(err)
			}
			ids.Store(p.Message.ID, true)
		})
	}
	group.Wait()
	h.settle()
	n := 0
	ids.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d messages", n)
	}
	h.want("u:hi a:one", agent.TurnDone)
}

func TestStopKeepsWhatWasSaid(t *testing.T) {
	h := newHouse(t)
	reached := make(chan struct{})
	h.script.add(hangs(reached, "half an ", "answer"))
	h.post("go")
	<-reached
	if err := h.engine.Stop(t.Context(), h.thread); err != nil {
		t.Fatal(err)
	}
	h.settle()
	h.want("u:go a:half an answer(stopped)", agent.TurnStopped)
	if err := h.engine.Stop(t.Context(), h.thread); err != nil {
		t.Errorf("stopping a thread at rest: %v", err)
	}
}

func TestMessageSentWhileOneStreamsWaitsItsTurn(t *testing.T) {
	h := newHouse(t)
	reached := make(chan struct{})
	gate := make(chan struct{})
	h.script.add(func(_ context.Context, _ agent.Prompt, yield yielder) {
		yield(text("first"), nil)
		close(reached)
		<-gate
	}, says("second"))
	h.post("one")
	<-reached
	for _, words := range []string{"two", "three"} {
		if p := h.post(words); p.Message.State != agent.MessageQueued || p.Message.Parent != "" {
			t.Errorf("%s is %s below %q", words, p.Message.State, p.Message.Parent)
		}
	}
	close(gate)
	h.settle()
	h.want("u:one a:first u:two u:three a:second", agent.TurnDone)
}

func TestEditAndRegenerateMakeSiblings(t *testing.T) {
	h := newHouse(t)
	h.script.add(says("A"), says("B"), says("C"))
	first := h.post("question").Message
	h.settle()
	reply := h.tail().Head.ID
	if _, err := h.engine.Regenerate(t.Context(), h.thread, reply); err != nil {
		t.Fatal(err)
	}
	h.settle()
	h.want("u:question a:B", agent.TurnDone)
	if _, err := h.engine.Edit(t.Context(), first.ID, agent.NewMessage{Thread: h.thread, Parts: []agent.Part{agent.Text{Text: "better question"}}}); err != nil {
		t.Fatal(err)
	}
	h.settle()
	h.want("u:better question a:C", agent.TurnDone)
	if _, err := h.engine.Branch(t.Context(), h.thread, reply); err != nil {
		t.Fatal(err)
	}
	h.want("u:question a:A", agent.TurnDone)
	node, err := h.store.Node(t.Context(), reply)
	if err != nil || node.Siblings != 2 || node.Index != 1 || node.Next == "" || node.Previous != "" {
		t.Errorf("node %+v, %v", node, err)
	}
	if _, err := h.engine.Regenerate(t.Context(), h.thread, first.ID); agent.CodeOf(err) != agent.CodeInvalid {
		t.Errorf("regenerating a question: %v", err)
	}
}

func TestBranchWhileRunningIsRefused(t *testing.T) {
	h := newHouse(t)
	reached := make(chan struct{})
	h.script.add(says("A"), hangs(reached, "B"))
	h.post("question")
	h.settle()
	reply := h.tail().Head.ID
	h.post("more")
	<-reached
	if _, err := h.engine.Branch(t.Context(), h.thread, reply); agent.CodeOf(err) != agent.CodeConflict {
		t.Errorf("branch: %v", err)
	}
	if _, err := h.engine.Regenerate(t.Context(), h.thread, reply); agent.CodeOf(err) != agent.CodeConflict {
		t.Errorf("regenerate: %v", err)
	}
	if _, err := h.engine.Continue(t.Context(), h.thread); agent.CodeOf(err) != agent.CodeConflict {
		t.Errorf("continue: %v", err)
	}
	if err := h.engine.Stop(t.Context(), h.thread); err != nil {
		t.Fatal(err)
	}
	h.settle()
}

func TestCutAnswerIsKeptAndContinues(t *testing.T) {
	h := newHouse(t)
	cut := agent.Errorf(agent.CodeUnavailable, "The provider hung up.")
	h.script.add(breaks(cut, "The answer is"), says(" forty-two."))
	h.post("question")
	tail := h.settle()
	h.want("u:question a:The answer is(cut)", agent.TurnFailed)
	if tail.Head.Error == nil || tail.Head.Error.Public != cut.Public {
		t.Errorf("error %+v", tail.Head.Error)
	}
	if _, err := h.engine.Continue(t.Context(), h.thread); err != nil {
		t.Fatal(err)
	}
	h.settle()
	h.want("u:question a:The answer is(cut) a: forty-two.", agent.TurnDone)
}

func TestFailedAnswerIsTriedAgainBesideTheFailure(t *testing.T) {
	h := newHouse(t)
	h.script.add(breaks(agent.Errorf(agent.CodeExhausted, "No credit left.")), says("now"))
	h.post("question")
	h.settle()
	h.want("u:question a:(failed)", agent.TurnFailed)
	if _, err := h.engine.Continue(t.Context(), h.thread); err != nil {
		t.Fatal(err)
	}
	h.settle()
	h.want("u:question a:now", agent.TurnDone)
}

func TestModelThatSaysNothingHasFailed(t *testing.T) {
	h := newHouse(t)
	h.script.add(says())
	h.post("question")
	h.settle()
	h.want("u:question a:(failed)", agent.TurnFailed)
}

func TestUnknownModelIsSaidPlainly(t *testing.T) {
	h := newHouse(t)
	ref := "nobody/none"
	if _, err := h.engine.PatchThread(t.Context(), h.thread, agent.ThreadPatch{Model: &ref}); err != nil {
		t.Fatal(err)
	}
	h.post("question")
	tail := h.settle()
	h.want("u:question a:(failed)", agent.TurnFailed)
	if tail.Head.Error == nil || tail.Head.Error.Public != "There is no provider nobody." {
		t.Errorf("error %+v", tail.Head.Error)
	}
}

func TestShutdownKeepsThePartialAndNothingResumesByItself(t *testing.T) {
	h := newHouse(t)
	reached := make(chan struct{})
	h.script.add(hangs(reached, "half"), says(" and the rest"))
	h.post("go")
	<-reached
	h.post("queued meanwhile")
	if found := h.restart(); found != (agent.Recovery{}) {
		t.Errorf("an orderly stop left %+v", found)
	}
	time.Sleep(20 * time.Millisecond)
	h.want("u:go a:half(cut) u:queued meanwhile", agent.TurnInterrupted)
	if n := len(h.script.prompts); n != 1 {
		t.Fatalf("%d model calls before anybody asked", n)
	}
	if _, err := h.engine.Continue(t.Context(), h.thread); err != nil {
		t.Fatal(err)
	}
	h.settle()
	h.want("u:go a:half(cut) u:queued meanwhile a: and the rest", agent.TurnDone)
}

func TestCommandsAfterCloseAreRefused(t *testing.T) {
	h := newHouse(t)
	if err := h.engine.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := h.engine.Post(t.Context(), agent.NewMessage{Thread: h.thread, Parts: []agent.Part{agent.Text{Text: "x"}}})
	if agent.CodeOf(err) != agent.CodeUnavailable {
		t.Errorf("got %v", err)
	}
}

func TestBoundsEndATurn(t *testing.T) {
	h := newHouse(t)
	h.settings.Bounds.Rounds = 2
	h.tools = &tools{
		judge: func(agent.ToolCall) agent.Judgement { return agent.Judgement{Verdict: agent.Allow} },
		run: func(context.Context, agent.ToolCall, func(string)) (agent.ToolOutcome, error) {
			return agent.ToolOutcome{}, nil
		},
	}
	h.restart()
	h.script.add(asks("look {}"), asks("look {}"), says("done"))
	h.post("go")
	tail := h.settle()
	h.want("u:go a:[look finished] a:[look finished] a:(failed)", agent.TurnFailed)
	if tail.Head.Error == nil || tail.Head.Error.Code != agent.CodeExhausted {
		t.Errorf("error %+v", tail.Head.Error)
	}
	if _, err := h.engine.Continue(t.Context(), h.thread); err != nil {
		t.Fatal(err)
	}
	h.settle()
	h.want("u:go a:[look finished] a:[look finished] a:done", agent.TurnDone)
}

func TestWallTimeEndsATurn(t *testing.T) {
	h := newHouse(t)
	h.settings.Bounds.Wall = time.Second
	h.script.add(hangs(make(chan struct{}, 1), "slow"))
	h.post("go")
	tail := h.settle()
	h.want("u:go a:slow(cut)", agent.TurnFailed)
	if tail.Head.Error == nil || tail.Head.Error.Code != agent.CodeExhausted {
		t.Errorf("error %+v", tail.Head.Error)
	}
}

func TestReplyWithoutEndIsCutOff(t *testing.T) {
	h := newHouse(t)
	h.script.add(func(_ context.Context, _ agent.Prompt, yield yielder) {
		for yield(text(strings.Repeat("x", 64<<10)), nil) {
			continue
		}
	})
	h.post("go")
	tail := h.settle()
	if tail.Head.State != agent.MessageCut || len(tail.Head.Text()) > agent.MaxReply+64<<10 {
		t.Errorf("%s with %d bytes", tail.Head.State, len(tail.Head.Text()))
	}
}

func TestThinkingKeepsItsOrderAndSignature(t *testing.T) {
	h := newHouse(t)
	h.script.add(func(_ context.Context, _ agent.Prompt, yield yielder) {
		yield(agent.Delta{Kind: agent.DeltaThinking, Text: "let me "}, nil)
		yield(agent.Delta{Kind: agent.DeltaThinking, Text: "see"}, nil)
		yield(agent.Delta{Kind: agent.DeltaThought, Thinking: &agent.Thinking{Signature: "signed"}}, nil)
		yield(agent.Delta{Kind: agent.DeltaThought, Thinking: &agent.Thinking{Redacted: "opaque"}}, nil)
		yield(text("answer"), nil)
	})
	h.post("go")
	parts := h.settle().Head.Parts
	ref := agent.ModelRef{Provider: "test", Name: "model"}
	want := []agent.Part{
		agent.Thinking{Text: "let me see", Signature: "signed", Model: ref},
		agent.Thinking{Redacted: "opaque", Model: ref},
		agent.Text{Text: "answer"},
	}
	if len(parts) != len(want) {
		t.Fatalf("parts %+v", parts)
	}
	for i := range want {
		got, err := json.Marshal(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		exp, _ := json.Marshal(want[i])
		if string(got) != string(exp) {
			t.Errorf("part %d: got %s, want %s", i, got, exp)
		}
	}
}

func (x *tools) Permit(_ context.Context, _ agent.Situation, c agent.ToolCall, o agent.Offer) error {
	if x.permit == nil {
		return nil
	}
	return x.permit(c, o)
}
