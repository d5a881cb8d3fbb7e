package store

import (
	"testing"

	"ash/agent"
)

func TestMoveCall(t *testing.T) {
	f := newFixture(t)
	_, c := f.waiting()
	turn := f.tail().Turn
	at := now()

	approved := agent.ToolCall{ID: c.ID, State: agent.CallApproved, Decision: &agent.Decision{Approve: true, By: f.owner, At: at, Binding: "other"}}
	_, err := f.MoveCall(f.ctx, approved, agent.CallWaiting)
	f.fails(err, agent.CodeConflict) // decided about something else
	approved.Decision.Binding = "b1"
	got, err := f.MoveCall(f.ctx, approved, agent.CallWaiting)
	f.ok(err)
	want := c
	want.State, want.Decision = agent.CallApproved, approved.Decision
	equal(t, got, want) // what the transition did not say stayed

	started := agent.ToolCall{ID: c.ID, State: agent.CallStarted}
	_, err = f.MoveCall(f.ctx, started, agent.CallApproved)
	f.fails(err, agent.CodeConflict) // the turn waits
	equal(t, f.call(c.ID).State, agent.CallApproved)
	_, err = f.Resume(f.ctx, turn.ID)
	f.ok(err)
	got, err = f.MoveCall(f.ctx, started, agent.CallApproved)
	f.ok(err)
	if got.Started.IsZero() || !got.Finished.IsZero() {
		t.Errorf("times are %v, %v", got.Started, got.Finished)
	}

	exit := 1
	labels := agent.Labels{{Source: "host", Kind: agent.LabelUntrusted}}
	got, err = f.MoveCall(f.ctx, agent.ToolCall{
		ID: c.ID, State: agent.CallFailed, Exit: &exit, Labels: labels,
		Result: []agent.Part{agent.Text{Text: "out\x00put"}, agent.Image{Attachment: agent.Attachment{Hash: "abc", Name: "n", Media: "image/png", Size: 3}}},
	}, agent.CallStarted)
	f.ok(err)
	equal(t, got, f.call(c.ID))
	if got.Finished.IsZero() || *got.Exit != 1 || got.Result[0].(agent.Text).Text != "out\uFFFDput" {
		t.Errorf("call is %+v", got)
	}
	hashes, err := f.ReferencedAttachments(f.ctx)
	f.ok(err)
	equal(t, hashes, []string{"abc"})

	_, err = f.MoveCall(f.ctx, started, agent.CallApproved, agent.CallWaiting)
	f.fails(err, agent.CodeConflict)
	_, err = f.MoveCall(f.ctx, agent.ToolCall{ID: agent.NewID(), State: agent.CallDenied}, agent.CallWaiting)
	f.fails(err, agent.CodeNotFound)
	_, err = f.Call(f.ctx, agent.NewID())
	f.fails(err, agent.CodeNotFound)
}

func TestTwoDecisionsAtOnce(t *testing.T) {
	f := newFixture(t)
	_, c := f.waiting()
	errs := race(6, func(i int) error {
		d := agent.ToolCall{ID: c.ID, State: agent.CallDenied, Decision: &agent.Decision{By: f.owner, At: now(), Reason: "no"}}
		if i%2 == 0 {
			d.State, d.Decision = agent.CallApproved, &agent.Decision{Approve: true, By: f.owner, At: now(), Binding: "b1"}
		}
		_, err := f.MoveCall(f.ctx, d, agent.CallWaiting)
		return err
	})
	oneWon(t, errs)
	got := f.call(c.ID)
	if got.Decision == nil || got.Decision.Approve != (got.State == agent.CallApproved) {
		t.Errorf("state %s with decision %+v", got.State, got.Decision)
	}
}

func TestStopAgainstStart(t *testing.T) {
	f := newFixture(t)
	for range 20 {
		f.thread = f.newThread("")
		p := f.post("run")
		c := f.reply("tools", agent.ToolCall{Name: "shell", State: agent.CallApproved}).Calls[0]
		errs := race(2, func(i int) error {
			if i == 0 {
				_, err := f.EndTurn(f.ctx, p.Turn, agent.TurnStopping)
				return err
			}
			_, err := f.MoveCall(f.ctx, agent.ToolCall{ID: c.ID, State: agent.CallStarted}, agent.CallApproved)
			return err
		})
		f.ok(errs[0])
		switch state := f.call(c.ID).State; {
		case errs[1] == nil && state == agent.CallStarted: // it began before the stop
		case agent.CodeOf(errs[1]) == agent.CodeConflict && state == agent.CallApproved: // the stop came first
		default:
			t.Fatalf("state %s, error %v", state, errs[1])
		}
		_, err := f.MoveCall(f.ctx, agent.ToolCall{ID: c.ID, State: agent.CallStarted}, agent.CallApproved)
		f.fails(err, agent.CodeConflict)
	}
}

func TestArgumentsThatAreNoJSON(t *testing.T) {
	f := newFixture(t)
	f.post("run")
	m := f.reply("tools",
		agent.ToolCall{Name: "a", Arguments: []byte("{\"cut")},
		agent.ToolCall{Name: "b", Arguments: []byte(`{"nul":"\u0000","x":"<&>"}`)})
	equal(t, string(f.call(m.Calls[0].ID).Arguments), `"{\"cut"`)
	equal(t, string(f.call(m.Calls[1].ID).Arguments), `{"nul":"\u0000","x":"<&>"}`)
	equal(t, f.call(m.Calls[1].ID).Index, 1)
}
