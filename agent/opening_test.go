package agent_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/feed"
	"ash/store"
)

// slow is a store whose opening of replies waits, and may then fail; it counts what else is asked of it.
type slow struct {
	*store.Store
	opening chan error

	mu    sync.Mutex
	saved int // progress of open replies
}

func (s *slow) OpenReply(ctx context.Context, m agent.Message) error {
	if s.opening != nil {
		if err := <-s.opening; err != nil {
			return err
		}
	}
	return s.Store.OpenReply(ctx, m)
}

func (s *slow) SaveProgress(ctx context.Context, p []agent.ReplyProgress) error {
	s.mu.Lock()
	s.saved++
	s.mu.Unlock()
	return s.Store.SaveProgress(ctx, p)
}

// onSlow gives the house a slow store.
func (h *house) onSlow(s *slow) { h.onStore(s, s) }

// onStore gives the house a store that is built on a slow one.
func (h *house) onStore(built agent.Store, s *slow) {
	h.t.Helper()
	if err := h.engine.Close(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
	s.Store, h.feed = h.store, feed.New(0)
	h.engine = agent.NewEngine(agent.Options{
		Store: built, Prompter: h.prompter, Models: h.script, Publisher: h.feed,
		Settings: func() agent.Settings { return h.settings },
	})
}

// replies returns the kinds of events of replies there have been.
func (h *house) replies(since agent.EventID) string {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 50*time.Millisecond)
	defer cancel()
	var kinds []string
	for b := range h.feed.Subscribe(ctx, h.thread, since) {
		for _, e := range b.Events {
			switch ev := e.Event.(type) {
			case agent.AssistantEvent:
				kinds = append(kinds, string(ev.Message.State))
			case agent.AssistantDelta:
				kinds = append(kinds, "delta")
			case agent.ProgressEvent:
				kinds = append(kinds, "progress")
			}
		}
	}
	return strings.Join(kinds, " ")
}

// again has the newest answer written anew: its reply is opened while the model is asked.
func (h *house) again() {
	h.t.Helper()
	if _, err := h.engine.Regenerate(h.t.Context(), h.thread, h.tail().Head.ID); err != nil {
		h.t.Fatal(err)
	}
}

func TestNothingOfAReplyIsToldBeforeItIsStored(t *testing.T) {
	h := newHouse(t)
	s := &slow{opening: make(chan error)}
	h.onSlow(s)
	h.script.add(says("at first"))
	h.post("go")
	h.settle()
	asked, hurry := make(chan struct{}), make(chan struct{})
	h.script.add(func(ctx context.Context, _ agent.Prompt, yield yielder) {
		yield(agent.Delta{Kind: agent.DeltaAttempt, Attempt: &agent.Attempt{Number: 1}}, nil)
		close(asked)
		yield(text("early"), nil)
		close(hurry)
	})
	since := h.feed.Last()
	h.again()
	<-asked // while the open reply is not stored
	if got := h.replies(since); got != "" {
		t.Errorf("told before it is stored: %s", got)
	}
	select {
	case <-hurry:
		t.Error("a delta did not wait")
	default:
	}
	since = h.feed.Last()
	s.opening <- nil
	h.settle()
	h.want("u:go a:early", agent.TurnDone)
	if got := h.replies(since); got != "progress complete" { // the end covers the rest
		t.Errorf("told %s", got)
	}
}

func TestReplyThatCannotBeStoredEndsTheModelCall(t *testing.T) {
	h := newHouse(t)
	s := &slow{opening: make(chan error)}
	h.onSlow(s)
	h.script.add(says("at first"))
	h.post("go")
	h.settle()
	var ended error
	h.script.add(func(ctx context.Context, _ agent.Prompt, yield yielder) {
		s.opening <- errDisk
		<-ctx.Done() // the model has nothing to say for an hour
		ended = ctx.Err()
		yield(agent.Delta{}, ended)
	}, says("now"))
	h.again()
	h.settle()
	h.want("u:go", agent.TurnFailed)
	if !errors.Is(ended, context.Canceled) {
		t.Errorf("the model call ended with %v", ended)
	}
	s.opening = nil
	if _, err := h.engine.Continue(t.Context(), h.thread); err != nil {
		t.Fatal(err)
	}
	h.settle()
	h.want("u:go a:now", agent.TurnDone)
}

func TestMessageAndItsReplyAreStoredAsOne(t *testing.T) {
	h := newHouse(t)
	s := &slow{opening: make(chan error)} // of which none is sent: a reply opened by itself would wait for ever
	h.onSlow(s)
	h.script.add(says("at once"))
	since := h.feed.Last()
	h.post("go")
	h.settle()
	h.want("u:go a:at once", agent.TurnDone)
	if got := h.replies(since); got != "complete" {
		t.Errorf("told %s", got)
	}
}

func TestReplyOfAKilledProcessIsCutAndAskedForAgain(t *testing.T) {
	h := newHouse(t)
	reached, gone := make(chan struct{}), make(chan struct{})
	h.script.add(func(ctx context.Context, _ agent.Prompt, yield yielder) {
		close(reached)
		<-gone
	}, says("after all"))
	h.post("go")
	<-reached // the message is acknowledged, and nothing of the answer has come
	crashed := *h
	h.open()
	found, err := h.store.Recover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	close(gone)
	crashed.shut()
	if found.Turns != 1 || found.Replies != 1 {
		t.Errorf("recovered %+v", found)
	}
	h.want("u:go a:(cut)", agent.TurnInterrupted)
	if _, err := h.engine.Continue(t.Context(), h.thread); err != nil {
		t.Fatal(err)
	}
	h.settle()
	h.want("u:go a:after all", agent.TurnDone)
}

func TestWhatWasReadAheadIsWhatIsSent(t *testing.T) {
	h := newHouse(t)
	h.script.add(says("A"), says("B"), says("C"))
	h.post("one")
	h.settle()
	h.post("two")
	h.settle()
	h.settings.MaxMessages, h.settings.Summarise = 1, false // twice as many are looked at
	h.post("three")
	h.settle()
	h.want("u:one a:A u:two a:B u:three a:C", agent.TurnDone)
	said := func(p agent.Prompt) (all string) {
		for _, m := range p.Messages {
			for _, part := range m.Parts {
				if text, ok := part.(agent.Text); ok {
					all += text.Text + "|"
				}
			}
		}
		return all
	}
	if got := said(h.script.prompts[1]); !strings.Contains(got, "one") || !strings.Contains(got, "A|") || strings.Count(got, "two") != 1 {
		t.Errorf("the second prompt says %q", got)
	}
	if got := said(h.script.prompts[2]); strings.Contains(got, "one") || strings.Count(got, "three") != 1 {
		t.Errorf("the third prompt says %q", got)
	}
}

func TestAnswerThatIsOverSoonIsStoredOnce(t *testing.T) {
	h := newHouse(t)
	s := &slow{}
	h.onSlow(s)
	h.script.add(says(strings.Repeat("much ", 2000), "more"))
	h.post("go")
	h.settle()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.saved != 0 {
		t.Errorf("saved %d times on the way", s.saved)
	}
}

func TestMuchTextIsSavedSoon(t *testing.T) {
	h := newHouse(t)
	reached := make(chan struct{})
	h.script.add(hangs(reached, strings.Repeat("much ", 2000)))
	h.post("go")
	<-reached
	deadline := time.Now().Add(700 * time.Millisecond) // well before the second after which little is saved
	for len(h.tail().Head.Text()) < 10_000 {
		if time.Now().After(deadline) {
			t.Fatal("nothing is saved")
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := h.engine.Stop(t.Context(), h.thread); err != nil {
		t.Fatal(err)
	}
	h.settle()
}
