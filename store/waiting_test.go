package store

import (
	"testing"

	"ash/agent"
)

// asked brings the thread to rest on a call that waits for an answer, or for an approval when it is no question.
func (f *fixture) asked(question bool) agent.ToolCall {
	f.t.Helper()
	f.post("do it")
	c := f.reply("Which one?", agent.ToolCall{Name: "ask"}).Calls[0]
	c.State, c.Question, c.Binding = agent.CallWaiting, question, "b"
	c, err := f.MoveCall(f.ctx, c, agent.CallProposed)
	f.ok(err)
	f.end(agent.TurnWaiting)
	return c
}

// decided stores the person's word on a call, sent with a form.
func (f *fixture) decided(c agent.ToolCall, to agent.CallState, form string) agent.ToolCall {
	f.t.Helper()
	c.State, c.Result = to, text("the blue one")
	c.Decision = &agent.Decision{Approve: true, By: f.owner, At: now(), Answer: "the blue one", Form: form, Binding: c.Binding}
	c, err := f.MoveCall(f.ctx, c, agent.CallWaiting)
	f.ok(err)
	return c
}

// What was sent twice is told apart by what became of it the first time, however far the conversation has gone on.
func TestSent(t *testing.T) {
	// became checks what the store, and what a kill would leave of it, say about a form.
	became := func(f *fixture, form string, answered agent.ToolCall, stored bool) {
		f.t.Helper()
		for _, f := range []*fixture{f, f.killed()} {
			call, found, err := f.Sent(f.ctx, f.thread, form)
			f.ok(err)
			equal(f.t, call, answered)
			equal(f.t, found, stored)
		}
	}
	none := agent.ToolCall{}
	send := func(f *fixture, form string) agent.Posted {
		f.t.Helper()
		p, err := f.Post(f.ctx, agent.NewMessage{Thread: f.thread, Parts: text("x"), Author: f.owner, Form: form})
		f.ok(err)
		return p
	}
	t.Run("never", func(t *testing.T) {
		f := newFixture(t)
		became(f, "form", none, false) // nor anything else
		f.post("without a form")
		f.end(agent.TurnDone)
		f.decided(f.asked(true), agent.CallFinished, "")
		f.asked(true) // waits for its answer
		became(f, "form", none, false)
		became(f, "", none, false)
	})
	t.Run("as a message", func(t *testing.T) {
		f := newFixture(t)
		send(f, "begins")
		equal(t, send(f, "waits").Message.State, agent.MessageQueued)
		became(f, "begins", none, true)
		became(f, "waits", none, true)
		f.end(agent.TurnDone)
		f.end(agent.TurnDone)
		send(f, "nul\x00") // stored visibly, and found by what was sent
		became(f, "begins", none, true)
		became(f, "waits", none, true)
		became(f, "nul\x00", none, true)
		f.thread = f.newThread("")
		f.post("in another conversation")
		became(f, "begins", none, false)
	})
	t.Run("as the answer of a question", func(t *testing.T) {
		f := newFixture(t)
		c := f.decided(f.asked(true), agent.CallFinished, "answer\x00")
		became(f, "answer\x00", f.call(c.ID), false)
		_, err := f.Resume(f.ctx, c.Turn)
		f.ok(err)
		f.reply("The blue one, then.")
		f.end(agent.TurnDone)
		f.exchange("and now?", "Done.")
		other := f.decided(f.asked(true), agent.CallFinished, "another answer")
		became(f, "answer\x00", f.call(c.ID), false) // not at the end any more
		became(f, "another answer", f.call(other.ID), false)
		f.thread = f.newThread("")
		f.post("in another conversation")
		became(f, "another answer", none, false)
	})
	t.Run("an approval answers no question", func(t *testing.T) {
		f := newFixture(t)
		f.decided(f.asked(false), agent.CallApproved, "form")
		became(f, "form", none, false)
	})
}
