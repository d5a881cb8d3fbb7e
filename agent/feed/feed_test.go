package feed

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ash/agent"
)

const thread = agent.ID("thread")

func open(id agent.ID) agent.Envelope {
	return agent.Envelope{Thread: thread, Event: agent.AssistantEvent{Message: agent.Message{ID: id, State: agent.MessageOpen}}}
}

func ended(id agent.ID, text string) agent.Envelope {
	return agent.Envelope{Thread: thread, Event: agent.AssistantEvent{Message: agent.Message{
		ID: id, State: agent.MessageComplete, Parts: []agent.Part{agent.Text{Text: text}}}}}
}

func delta(id agent.ID, text string) agent.Envelope {
	return agent.Envelope{Thread: thread, Event: agent.AssistantDelta{Message: id, Text: text}}
}

// describe writes a batch as short words, so that tests read like transcripts.
func describe(b agent.Batch) string {
	var out []string
	if b.Resync {
		out = append(out, "resync")
	}
	for _, e := range b.Events {
		switch ev := e.Event.(type) {
		case agent.AssistantEvent:
			out = append(out, string(ev.Message.State))
		case agent.AssistantDelta:
			out = append(out, "+"+ev.Text)
		case agent.ToolProgress:
			out = append(out, ">"+ev.Text)
		default:
			out = append(out, e.Event.Kind())
		}
	}
	return strings.Join(out, " ")
}

// next subscribes and returns the first batch.
func next(t *testing.T, f *Feed, since agent.EventID) agent.Batch {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for b := range f.Subscribe(ctx, thread, since) {
		return b
	}
	return agent.Batch{}
}

func TestSubscribeTellsWhatWasMissed(t *testing.T) {
	tests := []struct {
		name string
		play func(f *Feed) (since agent.EventID)
		want string
	}{
		{"nothing was missed, an open reply is told from its opening", func(f *Feed) agent.EventID {
			f.Publish(open("a"))
			return f.Publish(delta("a", "one"))
		}, "open +one"},
		{"deltas after the id belong to a reply that began before it", func(f *Feed) agent.EventID {
			f.Publish(open("a"))
			since := f.Publish(delta("a", "one "))
			f.Publish(delta("a", "two"))
			return since
		}, "open +one two"},
		{"a reply that ended is told once, whole", func(f *Feed) agent.EventID {
			since := f.Publish(open("a"))
			f.Publish(delta("a", "one"))
			f.Publish(ended("a", "one"))
			return since
		}, "complete"},
		{"thinking and text are separate stretches", func(f *Feed) agent.EventID {
			since := f.Publish(open("a"))
			f.Publish(agent.Envelope{Thread: thread, Event: agent.AssistantDelta{Message: "a", Text: "hm", Thinking: true}})
			f.Publish(delta("a", "yes"))
			return since
		}, "open +hm +yes"},
		{"an id of another boot", func(f *Feed) agent.EventID {
			f.Publish(ended("a", "one"))
			f.Publish(open("b"))
			f.Publish(delta("b", "two"))
			return agent.EventID{Boot: "other", Seq: 1}
		}, "resync open +two"},
		{"an id from the future", func(f *Feed) agent.EventID {
			last := f.Publish(ended("a", "one"))
			last.Seq += 5
			return last
		}, "resync"},
		{"more than is kept", func(f *Feed) agent.EventID {
			since := f.Publish(ended("a", "one"))
			for range maxEntries + 1 {
				f.Publish(agent.Envelope{Thread: thread, Event: agent.TurnEvent{}})
			}
			return since
		}, "resync"},
		{"events of the house are told among those of the thread", func(f *Feed) agent.EventID {
			since := f.Publish(ended("a", "one"))
			f.Publish(agent.Envelope{Event: agent.ThreadEvent{}})
			f.Publish(agent.Envelope{Thread: thread, Event: agent.TurnEvent{}})
			f.Publish(agent.Envelope{Event: agent.ThreadEvent{}})
			return since
		}, "thread turn thread"},
		{"another thread's events are not", func(f *Feed) agent.EventID {
			since := f.Publish(ended("a", "one"))
			f.Publish(agent.Envelope{Thread: "other", Event: agent.TurnEvent{}})
			f.Publish(agent.Envelope{Thread: thread, Event: agent.ErrorEvent{}})
			return since
		}, "error"},
		{"live output of a call is coalesced and covered by its result", func(f *Feed) agent.EventID {
			since := f.Publish(ended("a", "one"))
			f.Publish(agent.Envelope{Thread: thread, Event: agent.ToolProgress{Call: "c", Text: "x"}})
			f.Publish(agent.Envelope{Thread: thread, Event: agent.ToolResultEvent{Call: agent.ToolCall{ID: "c"}}})
			f.Publish(agent.Envelope{Thread: thread, Event: agent.ToolProgress{Call: "d", Text: "y"}})
			f.Publish(agent.Envelope{Thread: thread, Event: agent.ToolProgress{Call: "d", Text: "z"}})
			return since
		}, "tool_result >yz"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := New(0)
			since := tt.play(f)
			if got := describe(next(t, f, since)); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if n := f.Subscribers(); n != 0 {
				t.Errorf("%d subscriptions left", n)
			}
		})
	}
}

func TestDeltasArePacedButNothingElseIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New(33 * time.Millisecond)
		since := f.Last()
		type got struct {
			after time.Duration
			what  string
		}
		var log []got
		begin := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for b := range f.Subscribe(ctx, thread, since) {
				log = append(log, got{time.Since(begin), describe(b)})
			}
		}()
		synctest.Wait()
		f.Publish(open("a"))
		synctest.Wait()
		for i := range 10 {
			f.Publish(delta("a", fmt.Sprint(i)))
			synctest.Wait()
			time.Sleep(10 * time.Millisecond)
		}
		f.Publish(ended("a", "0123456789"))
		synctest.Wait()
		cancel()
		<-done
		want := []got{
			{0, "open"}, {0, "+0"},
			{33 * time.Millisecond, "+123"}, {66 * time.Millisecond, "+456"}, {99 * time.Millisecond, "+789"},
			{100 * time.Millisecond, "complete"},
		}
		if fmt.Sprint(log) != fmt.Sprint(want) {
			t.Errorf("got  %v\nwant %v", log, want)
		}
	})
}

func TestRowsOfListsWaitForCompany(t *testing.T) {
	row := agent.Envelope{Event: agent.ThreadEvent{}}
	for name, tt := range map[string]struct {
		after time.Duration // of the first row
		event agent.Envelope
		want  string
	}{
		"alone":                         {moment / 2, row, "50ms thread thread"},
		"something urgent takes them":   {moment / 2, ended("a", "x"), "25ms thread complete"},
		"so does the first delta":       {moment / 2, delta("a", "x"), "25ms thread +x"},
		"a head that moved is no row":   {0, agent.Envelope{Thread: thread, Event: agent.ThreadEvent{Moved: true}}, "0s thread thread"},
		"what comes later waits itself": {3 * moment / 2, row, "50ms thread"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := New(33 * time.Millisecond)
				since := f.Last()
				begin := time.Now()
				ctx, cancel := context.WithCancel(t.Context())
				got := ""
				go func() {
					for b := range f.Subscribe(ctx, thread, since) {
						if got == "" {
							got = fmt.Sprint(time.Since(begin), " ", describe(b))
						}
					}
				}()
				synctest.Wait()
				f.Publish(row)
				time.Sleep(tt.after)
				f.Publish(tt.event)
				time.Sleep(2 * moment)
				cancel()
				synctest.Wait()
				if got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			})
		})
	}
}

func TestSlowReaderSeesEverythingOnceOrIsResynchronised(t *testing.T) {
	f := New(0)
	since := f.Last()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const n = 5000
	go func() {
		f.Publish(open("a"))
		for i := range n {
			f.Publish(delta("a", fmt.Sprintf("%d,", i)))
		}
		f.Publish(agent.Envelope{Thread: thread, Event: agent.ErrorEvent{}})
	}()
	var text strings.Builder
	var last uint64
	for b := range f.Subscribe(ctx, thread, since) {
		if b.Resync {
			t.Fatal("a reader that keeps up was resynchronised")
		}
		for _, e := range b.Events {
			if e.ID.Seq <= last {
				t.Fatalf("sequence went from %d to %d", last, e.ID.Seq)
			}
			last = e.ID.Seq
			switch ev := e.Event.(type) {
			case agent.AssistantDelta:
				text.WriteString(ev.Text)
			case agent.ErrorEvent:
				cancel()
			}
		}
		time.Sleep(100 * time.Microsecond)
	}
	var want strings.Builder
	for i := range n {
		fmt.Fprintf(&want, "%d,", i)
	}
	if text.String() != want.String() {
		t.Errorf("got %d bytes, want %d", text.Len(), want.Len())
	}
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	f := New(0)
	for i := range maxTopics + 16 {
		id := agent.ID(fmt.Sprint("t", i))
		for range 3 * maxEntries {
			f.Publish(agent.Envelope{Thread: id, Event: agent.UserEvent{Message: agent.Message{
				Parts: []agent.Part{agent.Text{Text: strings.Repeat("x", 1000)}}}}})
		}
	}
	if len(f.threads) > maxTopics {
		t.Errorf("%d topics kept", len(f.threads))
	}
	for id, topic := range f.threads {
		if len(topic.entries) > maxEntries || topic.bytes > maxBytes {
			t.Errorf("%s keeps %d entries, %d bytes", id, len(topic.entries), topic.bytes)
		}
	}
	if b := next(t, f, agent.EventID{Boot: f.boot, Seq: 1}); !b.Resync {
		t.Error("a reader of a dropped topic was not told to resynchronise")
	}
}

func TestCloseAndCancelEndSubscriptions(t *testing.T) {
	f := New(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	ends := make(chan string, 3)
	follow := func(name string, ctx context.Context) {
		for range f.Subscribe(ctx, thread, f.Last()) {
			continue
		}
		ends <- name
	}
	go follow("cancelled", ctx)
	go follow("closed", t.Context())
	go func() {
		for range f.Tap(t.Context()) {
			continue
		}
		ends <- "tap"
	}()
	for f.Subscribers() < 3 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if got := <-ends; got != "cancelled" {
		t.Errorf("%s ended first", got)
	}
	f.Close()
	f.Close()
	<-ends
	<-ends
	if n := f.Subscribers(); n != 0 {
		t.Errorf("%d subscriptions left", n)
	}
}

func TestCloseComesAfterWhatWasPublished(t *testing.T) {
	for range 200 { // which of two ready channels is taken is chance
		f := New(0)
		told := make(chan string, 1)
		waiting := make(chan struct{})
		go func() {
			all := ""
			for b := range f.Subscribe(t.Context(), thread, agent.EventID{}) {
				if b.Resync {
					close(waiting)
				}
				all = describe(b)
			}
			told <- all
		}()
		<-waiting
		f.Publish(ended("a", "the last words"))
		f.Close()
		if got := <-told; got != "complete" {
			t.Fatalf("told %q before the end", got)
		}
	}
}

func TestNothingHappeningIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New(0)
		begin := time.Now()
		beats := 0
		for b := range f.Subscribe(t.Context(), thread, f.Last()) {
			if len(b.Events) > 0 || b.Resync {
				t.Errorf("unexpected %v", b)
			}
			if beats++; beats == 3 {
				break
			}
		}
		if got := time.Since(begin); got != 3*Idle {
			t.Errorf("three heartbeats took %v", got)
		}
	})
}

func TestTapLeavesDeltasOut(t *testing.T) {
	f := New(0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got := make(chan string, 10)
	go func() {
		for b := range f.Tap(ctx) {
			for _, e := range b.Events {
				got <- string(e.Thread) + " " + e.Event.Kind()
			}
		}
	}()
	for f.Subscribers() == 0 {
		time.Sleep(time.Millisecond)
	}
	f.Publish(open("a"))
	f.Publish(delta("a", "x"))
	f.Publish(agent.Envelope{Event: agent.ThreadEvent{}})
	for _, want := range []string{"thread assistant", " thread"} {
		if g := <-got; g != want {
			t.Errorf("got %q, want %q", g, want)
		}
	}
}

func BenchmarkPublishDelta(b *testing.B) {
	for _, readers := range []int{0, 1, 4} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			f := New(33 * time.Millisecond)
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			for range readers {
				go func() {
					for range f.Subscribe(ctx, thread, f.Last()) {
						continue
					}
				}()
			}
			f.Publish(open("a"))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%10_000 == 0 {
					f.Publish(ended("a", ""))
					f.Publish(open("a"))
				}
				f.Publish(delta("a", "token "))
			}
		})
	}
}
