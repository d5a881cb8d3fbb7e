package agent_test

import (
	"context"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ash/agent"
	"ash/agent/prompt"
)

// panicking is a store in which taking a message goes wrong.
type panicking struct{ slowPost }

func (s *panicking) Post(context.Context, agent.NewMessage) (agent.Posted, error) {
	<-s.posting
	panic("post")
}

// overflowing is a prompter in whose window nothing fits without a summary.
type overflowing struct{ agent.Prompter }

func (o overflowing) Build(ctx context.Context, r agent.PromptRequest) (agent.BuiltPrompt, error) {
	built, err := o.Prompter.Build(ctx, r)
	if len(r.Summaries) == 0 {
		built.Overflow = r.Path[:1]
	}
	return built, err
}

// slowPost is a store that takes a message only when it is told to, and says how it ended.
type slowPost struct {
	slow
	posting chan error
}

func (s *slowPost) Post(ctx context.Context, m agent.NewMessage) (agent.Posted, error) {
	if err := <-s.posting; err != nil {
		return agent.Posted{}, err
	}
	return s.Store.Post(ctx, m)
}

// says one thing early: before the message it answers is stored.
func early(h *house) (asked, hurry chan struct{}) {
	asked, hurry = make(chan struct{}), make(chan struct{})
	h.script.add(func(_ context.Context, _ agent.Prompt, yield yielder) {
		yield(agent.Delta{Kind: agent.DeltaAttempt, Attempt: &agent.Attempt{Number: 1}}, nil)
		close(asked)
		yield(text("early"), nil)
		close(hurry)
	})
	return asked, hurry
}

func (h *house) send(text string) chan error {
	sent := make(chan error, 1)
	go func() {
		_, err := h.engine.Post(h.t.Context(), agent.NewMessage{Thread: h.thread, Parts: []agent.Part{agent.Text{Text: text}}})
		sent <- err
	}()
	return sent
}

func TestModelIsAskedWhileTheMessageIsStored(t *testing.T) {
	h := newHouse(t)
	s := &slowPost{posting: make(chan error)}
	h.onStore(s, &s.slow)
	asked, hurry := early(h)
	since := h.feed.Last()
	sent := h.send("go")
	<-asked
	if got := h.replies(since); got != "" {
		t.Errorf("told before the message is stored: %s", got)
	}
	select {
	case <-hurry:
		t.Error("a delta did not wait")
	case err := <-sent:
		t.Errorf("acknowledged before it is stored: %v", err)
	default:
	}
	since = h.feed.Last()
	s.posting <- nil
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	h.settle()
	h.want("u:go a:early", agent.TurnDone)
	if got := h.replies(since); got != "progress complete" { // the end covers the rest
		t.Errorf("told %s", got)
	}
	if len(h.script.prompts) != 1 {
		t.Errorf("the model was asked %d times", len(h.script.prompts))
	}
}

func TestMessageThatCannotBeStoredEndsTheModelCall(t *testing.T) {
	h := newHouse(t)
	s := &slowPost{posting: make(chan error)}
	h.onStore(s, &s.slow)
	asked, ended := make(chan struct{}), make(chan struct{})
	h.script.add(func(ctx context.Context, _ agent.Prompt, yield yielder) {
		close(asked)
		<-ctx.Done() // it has nothing to say for an hour
		close(ended)
		yield(agent.Delta{}, ctx.Err())
	}, says("now"))
	since := h.feed.Last()
	sent := h.send("go")
	<-asked
	s.posting <- errDisk
	if err := <-sent; agent.CodeOf(err) != agent.CodeExhausted {
		t.Errorf("sending ended with %v", err)
	}
	<-ended
	h.settle()
	if tail := h.tail(); tail.Turn.ID != "" || tail.Head.ID != "" {
		t.Errorf("something is stored: %+v", tail)
	}
	if got := h.feed.Last(); got != since {
		t.Errorf("%d events about nothing", got.Seq-since.Seq)
	}
	sent = h.send("go")
	s.posting <- nil
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	h.settle()
	h.want("u:go a:now", agent.TurnDone)
}

func TestPanicOfTheStoreEndsTheModelCall(t *testing.T) {
	h := newHouse(t)
	s := &panicking{slowPost{posting: make(chan error)}}
	h.onStore(s, &s.slow)
	asked, ended := make(chan struct{}), make(chan struct{})
	h.script.add(func(ctx context.Context, _ agent.Prompt, yield yielder) {
		close(asked)
		<-ctx.Done()
		close(ended)
		yield(agent.Delta{}, ctx.Err())
	})
	sent := h.send("go")
	<-asked
	s.posting <- nil
	if err := <-sent; agent.CodeOf(err) != agent.CodeInternal {
		t.Errorf("sending ended with %v", err)
	}
	<-ended
	h.settle()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := h.engine.Close(ctx); err != nil {
		t.Errorf("something is left: %v", err)
	}
}

// A summary is told of and stored: not on account of a message that is not.
func TestNothingIsSummarisedForAMessageThatIsNotStored(t *testing.T) {
	h := newHouse(t)
	h.script.add(says("A"))
	h.post("one")
	h.settle()
	h.prompter = overflowing{prompt.New(prompt.Options{})}
	s := &slowPost{posting: make(chan error)}
	h.onStore(s, &s.slow)
	h.script.add(says("in short"), says("B"))
	since := h.feed.Last()
	sent := h.send("two")
	eventually(t, "the message on its way", func() bool {
		select {
		case s.posting <- errDisk:
			return true
		default:
			return false
		}
	})
	if err := <-sent; agent.CodeOf(err) != agent.CodeExhausted {
		t.Errorf("sending ended with %v", err)
	}
	h.settle()
	if found, err := h.store.Summaries(t.Context(), h.thread); err != nil || len(found) > 0 || len(h.script.prompts) != 1 || h.feed.Last() != since {
		t.Errorf("%d summaries, %v; the model was asked %d times, %d events", len(found), err, len(h.script.prompts), h.feed.Last().Seq-since.Seq)
	}
	sent = h.send("two")
	s.posting <- nil
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	h.settle()
	h.want("u:one a:A u:two a:B", agent.TurnDone)
	if found, err := h.store.Summaries(t.Context(), h.thread); err != nil || len(found) != 1 {
		t.Errorf("%d summaries, %v", len(found), err)
	}
}

func TestMessageInADeletedConversationAsksNobody(t *testing.T) {
	h := newHouse(t)
	gone := true
	if _, err := h.engine.PatchThread(t.Context(), h.thread, agent.ThreadPatch{Deleted: &gone}); err != nil {
		t.Fatal(err)
	}
	s := &slowPost{posting: make(chan error)}
	h.onStore(s, &s.slow)
	asked := make(chan struct{})
	h.script.add(func(_ context.Context, _ agent.Prompt, yield yielder) {
		close(asked)
		yield(text("never"), nil)
	})
	sent := h.send("go")
	select {
	case <-asked:
		t.Error("the model is asked about a message that nobody may send")
	case <-time.After(200 * time.Millisecond): // it would be asked within a few
	}
	s.posting <- nil
	if err := <-sent; agent.CodeOf(err) != agent.CodeConflict {
		t.Errorf("sending ended with %v", err)
	}
	h.settle()
	if len(h.script.prompts) != 0 {
		t.Errorf("the model was asked %d times", len(h.script.prompts))
	}
}

func TestWhatWasSentBeforeAsksNobody(t *testing.T) {
	h := newHouse(t)
	h.script.add(says("once"), says("twice"))
	m := agent.NewMessage{Thread: h.thread, Form: "f", Parts: []agent.Part{agent.Text{Text: "go"}}}
	for range 2 {
		if _, err := h.engine.Post(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		h.settle()
	}
	h.want("u:go a:once", agent.TurnDone)
	if len(h.script.prompts) != 1 {
		t.Errorf("the model was asked %d times", len(h.script.prompts))
	}
}

// What the store changes on the way in is not what a model may be asked about before.
func TestModelIsAskedWhatIsStored(t *testing.T) {
	h := newHouse(t)
	h.script.add(says("ok"))
	h.post("a\x00b\xffc")
	h.settle()
	stored := h.tail()
	if err := h.engine.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	path, err := h.store.Path(t.Context(), stored.Head.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	last := h.script.prompts[0].Messages[len(h.script.prompts[0].Messages)-1]
	if got := last.Parts[0].(agent.Text).Text; !strings.HasPrefix(got, path[0].Text()) || strings.Contains(got, "\x00") || !utf8.ValidString(got) {
		t.Errorf("the model was asked %q, stored is %q", got, path[0].Text())
	}
}

// The stop of a person who changes their mind in the same instant ends what was begun early like any other turn.
func TestStopOfWhatWasBegunEarly(t *testing.T) {
	h := newHouse(t)
	h.script.add(func(ctx context.Context, _ agent.Prompt, yield yielder) {
		<-ctx.Done()
		yield(agent.Delta{}, ctx.Err())
	})
	h.post("go")
	if err := h.engine.Stop(t.Context(), h.thread); err != nil {
		t.Fatal(err)
	}
	h.settle()
	tail := h.tail()
	if tail.Turn.State != agent.TurnStopped || tail.Head.State != agent.MessageStopped {
		t.Errorf("%s, %s", tail.Turn.State, tail.Head.State)
	}
}
