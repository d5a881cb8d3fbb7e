package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ash/agent"
)

func TestWaitingCallsAreThoseOfConversationsThatAreThere(t *testing.T) {
	f := newFixture(t)
	_, first := f.waiting()
	other := f.thread
	f.thread = f.newThread("second")
	_, second := f.waiting()
	got, err := f.WaitingCalls(f.ctx, 10)
	f.ok(err)
	if len(got) != 2 || got[0].ID != first.ID || got[1].ID != second.ID {
		t.Errorf("got %d calls, want the oldest first", len(got))
	}
	got, err = f.WaitingCalls(f.ctx, 1)
	f.ok(err)
	if len(got) != 1 || got[0].ID != first.ID {
		t.Errorf("with a limit: %+v", got)
	}
	deleted := true
	_, err = f.PatchThread(f.ctx, other, agent.ThreadPatch{Deleted: &deleted})
	f.ok(err)
	n, err := f.CountWaiting(f.ctx)
	f.ok(err)
	got, err = f.WaitingCalls(f.ctx, 10)
	f.ok(err)
	if n != 1 || len(got) != 1 || got[0].ID != second.ID {
		t.Errorf("after deleting: %d, %d calls", n, len(got))
	}
	_, err = f.MoveCall(f.ctx, agent.ToolCall{ID: second.ID, State: agent.CallDenied, Decision: &agent.Decision{By: f.owner, At: now()}}, agent.CallWaiting)
	f.ok(err)
	n, err = f.CountWaiting(f.ctx)
	f.ok(err)
	equal(t, n, 0)
}

func TestHelperThread(t *testing.T) {
	f := newFixture(t)
	_, c := f.waiting()
	_, err := f.HelperThread(f.ctx, c.ID)
	f.fails(err, agent.CodeNotFound)
	f.ok(f.CreateThread(f.ctx, agent.Thread{ID: agent.NewID(), Title: "helper", Origin: agent.Origin{Channel: agent.ChannelHelper}, ParentCall: c.ID}))
	got, err := f.HelperThread(f.ctx, c.ID)
	f.ok(err)
	equal(t, got.Title, "helper")
}

// ranAt stores calls in one reply, one a minute from start on.
func (f *fixture) ranAt(start time.Time, calls ...agent.ToolCall) {
	f.t.Helper()
	f.post("go")
	for i := range calls {
		calls[i].Created = start.Add(time.Duration(i) * time.Minute)
	}
	f.reply("", calls...)
	f.end(agent.TurnDone)
}

func TestRunsAreNarrowedAndPaged(t *testing.T) {
	f := newFixture(t)
	start := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	var calls []agent.ToolCall
	for i := range 7 {
		calls = append(calls, agent.ToolCall{Name: "shell", State: agent.CallCancelled, Arguments: fmt.Appendf(nil, `{"command":"run %d 100%% a_b \\"}`, i)})
	}
	calls[3].Name, calls[4].State = "file_read", agent.CallDenied
	f.ranAt(start, calls...)
	f.thread = f.newThread("other")
	f.ranAt(start.Add(time.Hour), agent.ToolCall{Name: "shell", State: agent.CallCancelled, Why: "Because it Wants."})

	find := func(filter agent.RunFilter) []string {
		t.Helper()
		var out []string
		for {
			page, err := f.Runs(f.ctx, filter)
			f.ok(err)
			if filter.Limit > 0 && len(page.Calls) > filter.Limit {
				t.Fatalf("%d calls on a page of %d", len(page.Calls), filter.Limit)
			}
			for _, c := range page.Calls {
				out = append(out, c.Created.Format("15:04"))
			}
			if filter.After = page.Next; filter.After == "" {
				return out
			}
		}
	}
	tests := []struct {
		name   string
		filter agent.RunFilter
		want   string
	}{
		{"all, in pages of two", agent.RunFilter{Limit: 2}, "13:00 12:06 12:05 12:04 12:03 12:02 12:01 12:00"},
		{"all, in pages that fit exactly", agent.RunFilter{Limit: 4}, "13:00 12:06 12:05 12:04 12:03 12:02 12:01 12:00"},
		{"by tool", agent.RunFilter{Tool: "file_read", Limit: 5}, "12:03"},
		{"by state", agent.RunFilter{States: []agent.CallState{agent.CallDenied, agent.CallFailed}, Limit: 5}, "12:04"},
		{"by thread", agent.RunFilter{Thread: f.thread, Limit: 5}, "13:00"},
		{"by time", agent.RunFilter{From: start.Add(2 * time.Minute), Until: start.Add(4 * time.Minute), Limit: 5}, "12:03 12:02"},
		{"by text", agent.RunFilter{Text: "RUN 5", Limit: 5}, "12:05"},
		{"by text in the reason", agent.RunFilter{Text: "it wants", Limit: 5}, "13:00"},
		{"by text, in pages of three", agent.RunFilter{Text: "run", Limit: 3}, "12:06 12:05 12:04 12:03 12:02 12:01 12:00"},
		{"a per cent sign is no pattern", agent.RunFilter{Text: "6 100% a_b", Limit: 5}, "12:06"},
		{"nor is one alone", agent.RunFilter{Text: "1%a", Limit: 5}, ""},
		{"nor is a line", agent.RunFilter{Text: "aXb", Limit: 5}, ""},
		{"all together", agent.RunFilter{Tool: "shell", Text: "run", From: start.Add(5 * time.Minute), Limit: 1}, "12:06 12:05"},
		{"an injection", agent.RunFilter{Tool: "' OR 1=1 --", Limit: 5}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := strings.Join(find(tt.filter), " "); got != tt.want {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
	_, err := f.Runs(f.ctx, agent.RunFilter{After: "nonsense"})
	f.fails(err, agent.CodeInvalid)
}

// A text that stands far back is found all the same: on a later page, none of which looks at more than its share.
func TestRunsLookFurtherBackPageByPage(t *testing.T) {
	f := newFixture(t)
	start := now().Add(-time.Hour)
	calls := make([]agent.ToolCall, searchedRuns+10)
	for i := range calls {
		calls[i] = agent.ToolCall{Name: "shell", State: agent.CallCancelled, Arguments: []byte(`{}`)}
	}
	calls[3].Arguments = []byte(`{"command":"needle"}`)
	f.ranAt(start, calls...)
	first, err := f.Runs(f.ctx, agent.RunFilter{Text: "needle", Limit: 10})
	f.ok(err)
	if len(first.Calls) != 0 || first.Next == "" {
		t.Fatalf("the first page has %d calls, next %q", len(first.Calls), first.Next)
	}
	second, err := f.Runs(f.ctx, agent.RunFilter{Text: "needle", Limit: 10, After: first.Next})
	f.ok(err)
	if len(second.Calls) != 1 || second.Next != "" {
		t.Errorf("the second page has %d calls, next %q", len(second.Calls), second.Next)
	}
}

func TestToolHistory(t *testing.T) {
	f := newFixture(t)
	f.ranAt(now().Add(-time.Hour), agent.ToolCall{Name: "shell", State: agent.CallCancelled}, agent.ToolCall{Name: "file_read", State: agent.CallCancelled}, agent.ToolCall{Name: "shell", State: agent.CallDenied})
	h, err := f.ToolHistory(f.ctx, "shell", 10)
	f.ok(err)
	states := []agent.CallState{}
	for _, c := range h.Last {
		states = append(states, c.State)
	}
	if h.Calls != 2 || !slices.Equal(states, []agent.CallState{agent.CallDenied, agent.CallCancelled}) {
		t.Errorf("%d calls, last %v", h.Calls, states)
	}
	if h, err = f.ToolHistory(f.ctx, "shell", 1); err != nil || len(h.Last) != 1 || h.Calls != 2 {
		t.Errorf("with a limit: %+v, %v", h, err)
	}
	h, err = f.ToolHistory(f.ctx, "nothing", 10)
	f.ok(err)
	equal(t, h.Calls, 0)
}
