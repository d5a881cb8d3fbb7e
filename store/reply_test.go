package store

import (
	"testing"
	"time"

	"ash/agent"
)

func TestReplyFromOpeningToEnd(t *testing.T) {
	f := newFixture(t)
	p := f.post("q")
	labels := agent.Labels{{Source: "example.org", Kind: agent.LabelUntrusted}}
	m := agent.Message{
		ID: agent.NewID(), Thread: f.thread, Parent: p.Message.ID, Turn: p.Turn.ID, Created: now(),
		Model: agent.ModelRef{Provider: "p", Name: "m/v"}, Parts: []agent.Part{agent.Text{Labels: labels}},
	}
	f.ok(f.OpenReply(f.ctx, m))
	equal(t, f.tail().Head.ID, m.ID)
	for i, piece := range []string{"Hel", "lo ", "wörld"} {
		f.ok(f.SaveProgress(f.ctx, []agent.ReplyProgress{{
			Message: m.ID, Text: piece, Thinking: "hm" + piece, Covered: agent.EventID{Boot: "b", Seq: uint64(i + 1)},
		}}))
	}
	want := m
	want.Role, want.State, want.Covered = agent.RoleAssistant, agent.MessageOpen, agent.EventID{Boot: "b", Seq: 3}
	want.Parts = []agent.Part{
		agent.Thinking{Text: "hmHelhmlo hmwörld", Model: m.Model, Labels: labels},
		agent.Text{Text: "Hello wörld", Labels: labels},
	}
	got, err := f.Message(f.ctx, m.ID)
	f.ok(err)
	equal(t, got, want)
	equal(t, f.tail().Head, want)
	path, err := f.Path(f.ctx, m.ID, 10)
	f.ok(err)
	equal(t, path[1], want)
	nodes, _, err := f.Window(f.ctx, f.thread, "", 10)
	f.ok(err)
	equal(t, nodes[1].Message, want)

	end := want
	exit := 3
	end.State, end.Stop, end.Finished = agent.MessageComplete, agent.StopTools, now()
	end.Usage = agent.Usage{Input: 10, Output: 5, CacheRead: 4, CacheWrite: 3, Cost: 2, FirstToken: time.Second + 1, Duration: 2 * time.Second}
	end.Error = &agent.Failure{Code: agent.CodeExhausted, Public: "x"}
	end.Calls = []agent.ToolCall{{
		ID: agent.NewID(), ProviderID: "call_1", Name: "shell", Arguments: []byte(`{"big": 12345678901234567890}`), Extra: []byte(`{"sig":"x"}`),
		State: agent.CallProposed, Why: "w", Binding: "b", Exit: &exit, Created: now(), Result: text("r"), Labels: labels,
	}}
	end.Parts = append(end.Parts, agent.ToolUse{Call: end.Calls[0].ID})
	f.ok(f.CloseReply(f.ctx, end))
	end.Calls[0].Thread, end.Calls[0].Turn, end.Calls[0].Message = f.thread, p.Turn.ID, m.ID
	got, err = f.Message(f.ctx, m.ID)
	f.ok(err)
	equal(t, got, end)
	left, err := f.reader.NewSelect().Model((*progressRow)(nil)).Count(f.ctx)
	f.ok(err)
	equal(t, left, 0)

	turn := f.tail().Turn
	equal(t, turn.Rounds, 1)
	equal(t, turn.Usage, end.Usage)
	f.reply("second round")
	equal(t, f.tail().Turn.Rounds, 2)

	f.fails(f.CloseReply(f.ctx, end), agent.CodeConflict)
	f.ok(f.SaveProgress(f.ctx, []agent.ReplyProgress{{Message: m.ID, Text: "late"}}))
	got, err = f.Message(f.ctx, m.ID)
	f.ok(err)
	equal(t, got, end)
}

func TestReplyIsRefused(t *testing.T) {
	f := newFixture(t)
	p := f.post("q")
	m := agent.Message{ID: agent.NewID(), Thread: f.thread, Parent: p.Message.ID, Turn: p.Turn.ID}
	stray := m
	stray.Parent = agent.NewID()
	f.fails(f.OpenReply(f.ctx, stray), agent.CodeNotFound)
	stray = m
	stray.Thread = f.newThread("")
	f.fails(f.OpenReply(f.ctx, stray), agent.CodeNotFound)
	_, err := f.EndTurn(f.ctx, p.Turn, agent.TurnStopping)
	f.ok(err)
	f.fails(f.OpenReply(f.ctx, m), agent.CodeConflict)
	equal(t, f.tail().Head.ID, p.Message.ID)
	f.fails(f.SaveProgress(f.ctx, []agent.ReplyProgress{{Message: m.ID, Text: "x"}}), agent.CodeNotFound)
	m.State = agent.MessageComplete
	f.fails(f.CloseReply(f.ctx, m), agent.CodeNotFound)
	m.State = agent.MessageOpen
	f.fails(f.CloseReply(f.ctx, m), agent.CodeInternal)
}

func TestProgressOfSeveralRepliesIsOneTransaction(t *testing.T) {
	f := newFixture(t)
	f.post("q")
	a := f.openReply()
	f.thread = f.newThread("")
	f.post("q")
	b := f.openReply()
	f.ok(f.SaveProgress(f.ctx, []agent.ReplyProgress{{Message: a.ID, Text: "a1"}, {Message: b.ID, Text: "b1"}, {Message: a.ID, Text: "a2"}}))
	f.fails(f.SaveProgress(f.ctx, []agent.ReplyProgress{{Message: a.ID, Text: "a3"}, {Message: agent.NewID(), Text: "?"}}), agent.CodeNotFound)
	for id, want := range map[agent.ID]string{a.ID: "a1a2", b.ID: "b1"} {
		m, err := f.Message(f.ctx, id)
		f.ok(err)
		equal(t, m.Text(), want)
	}
	f.ok(f.SaveProgress(f.ctx, nil))
}

// The bounds of a turn and what a page says it took hang on these sums.
func TestRoundsAddUp(t *testing.T) {
	f := newFixture(t)
	other := f.post("of another conversation").Turn
	f.thread = f.newThread("")
	f.post("q")
	for i, u := range []agent.Usage{
		{Input: 1, Output: 20, CacheRead: 300, CacheWrite: 4000, Cost: 50_000, Duration: 6}, // failed before a token came
		{Input: 2, Output: 30, CacheRead: 500, CacheWrite: 7000, Cost: 11_000, FirstToken: 13, Duration: 17},
		{Input: 5, Output: 10, CacheRead: 100, CacheWrite: 2000, Cost: 7_000, FirstToken: 2, Duration: 19},
	} {
		m := f.openReply()
		m.State, m.Usage = agent.MessageComplete, u
		f.ok(f.CloseReply(f.ctx, m))
		equal(t, f.tail().Turn.Rounds, i+1)
	}
	for _, f := range []*fixture{f, f.killed()} {
		turn := f.tail().Turn
		equal(t, turn.Rounds, 3)
		equal(t, turn.Usage, agent.Usage{Input: 8, Output: 60, CacheRead: 900, CacheWrite: 13_000, Cost: 68_000, FirstToken: 13, Duration: 42})
		stored, err := turnByID(f.ctx, f.reader, other.ID)
		f.ok(err)
		equal(t, stored, other)
	}
}
