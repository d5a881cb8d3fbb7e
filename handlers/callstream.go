package handlers

import (
	"html"
	"strings"

	"ash/agent"
	"ash/views/components"
)

// maxLive is how much live output of a running call a page takes in, in bytes; the end of the call brings what a card
// shows of it.
const maxLive = 64 << 10

// showCall shows a call anew, and what one decision can cover of the reply that asked for it.
func (t *tab) showCall(c agent.ToolCall) error {
	if c.State.Ended() {
		delete(t.live, c.ID)
	}
	if err := t.render(components.StreamCall(c.Message, t.present.call(c))); err != nil {
		return err
	}
	if c.State != agent.CallWaiting && c.Binding == "" {
		return nil // it never waited
	}
	m, err := t.Reader.Message(t.ctx, c.Message)
	if err != nil {
		return err
	}
	if len(m.Calls) < 2 {
		return nil
	}
	return t.render(components.StreamAll(t.present.batch(m)))
}

// showProgressOf shows that a running call has gone on: what it printed, or what the helper it began is doing.
func (t *tab) showProgressOf(e agent.Envelope, ev agent.ToolProgress) error {
	if strings.HasSuffix(e.Path, "› sub_agent") {
		return t.showLane(ev.Call)
	}
	if t.live == nil {
		t.live = map[agent.ID]int{}
	}
	was := t.live[ev.Call]
	if was >= maxLive {
		return nil
	}
	text := ev.Text
	t.live[ev.Call] = was + len(text)
	if was+len(text) >= maxLive {
		text = agent.Clip(text, maxLive-was) + "\n[more comes when it ends]\n"
	}
	t.append("o-"+components.Short(ev.Call), components.SwapAppend, html.EscapeString(text))
	return nil
}

// showLane shows anew what a helper does.
func (t *tab) showLane(call agent.ID) error {
	c, err := t.Reader.Call(t.ctx, call)
	if err != nil {
		return err
	}
	card := t.present.call(c)
	if card.Lane == nil {
		return nil
	}
	return t.render(components.StreamLane(*card.Lane))
}
