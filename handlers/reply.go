package handlers

import (
	"ash/agent"
	"ash/views/components"
	"ash/views/markdown"
)

// openReply is a reply whose deltas this tab is being sent.
type openReply struct {
	message  agent.Message
	alone    bool // it has no variants
	text     *markdown.Stream
	thinking *markdown.Stream
	length   int  // bytes of source given to text
	thought  int  // and to thinking
	paused   bool // reasoning came since the last text: the next text is a part of its own
	attempts []components.Attempt
}

func (t *tab) showOpened(ev agent.AssistantEvent) error {
	m := ev.Message
	if err := t.demote(m.Parent); err != nil {
		return err
	}
	short := components.Short(m.ID)
	t.open[m.ID] = &openReply{message: m, alone: ev.Alone, text: t.Stream.Stream("b-" + short), thinking: t.Stream.Stream("k-" + short)}
	m.Parts = nil // told from the beginning, by deltas
	return t.render(components.StreamUpsert(t.present.alone(m, true)))
}

func (t *tab) showDelta(d agent.AssistantDelta) error {
	reply := t.open[d.Message]
	if reply == nil {
		return nil // its end carries the whole
	}
	if err := t.answers(reply); err != nil {
		return err
	}
	if d.Thinking {
		reply.paused = reply.length > 0
		reply.thought += len(d.Text)
		t.patch(reply.thinking.Append(d.Text))
		return nil
	}
	if reply.paused {
		d.Text, reply.paused = "\n\n"+d.Text, false
	}
	reply.length += len(d.Text)
	t.patch(reply.text.Append(d.Text))
	return nil
}

// answers takes away that a model is being asked, now that it answers. What failed before stays.
func (t *tab) answers(reply *openReply) error {
	last := len(reply.attempts) - 1
	if last < 0 || reply.attempts[last].Failed != "" {
		return nil
	}
	reply.attempts = reply.attempts[:last]
	return t.showStatus(reply)
}

// showStatus says what an open reply is waiting for.
func (t *tab) showStatus(reply *openReply) error {
	m := t.present.alone(agent.Message{ID: reply.message.ID, Thread: t.thread, Role: agent.RoleAssistant, State: agent.MessageOpen}, true)
	m.Attempts = reply.attempts
	return t.render(components.StreamStatus(m))
}

func (t *tab) patch(patches []markdown.Patch) {
	for _, p := range patches {
		t.append(p.Target, components.Swap(p.Swap.String()), p.HTML)
	}
}

// showClosed ends a reply: what streamed stays, the rest of it, its status and receipt
// come. A reply this tab did not follow is shown whole.
func (t *tab) showClosed(m agent.Message) error {
	reply := t.open[m.ID]
	node, err := t.node(m, reply != nil && reply.alone)
	if err != nil {
		return err
	}
	if reply == nil { // the feed leaves out that it was opened, once it has ended
		if err := t.demote(m.Parent); err != nil {
			return err
		}
	}
	delete(t.open, m.ID)
	t.end = m
	if m.State == agent.MessageComplete && len(m.Calls) == 0 {
		t.notify(components.Short(m.ID), "", m.Text(), false)
	}
	thinking, text, ok := reply.rest(m)
	if !ok {
		return t.render(components.StreamUpsert(t.present.message(node, true)))
	}
	t.patch(reply.thinking.Append(thinking))
	t.patch(reply.thinking.Close())
	t.patch(reply.text.Append(text))
	t.patch(reply.text.Close())
	onPage := t.present
	onPage.markdown = shown{}
	return t.render(components.StreamClosed(onPage.message(node, true)))
}

// rest returns what the tab was not told yet of a reply that has ended as m: the feed drops
// deltas that the end covers. ok is false when it cannot be put after what is on the page.
func (r *openReply) rest(m agent.Message) (thinking, text string, ok bool) {
	if r == nil || m.State == agent.MessageFailed {
		return "", "", false
	}
	blocks := 0
	for _, p := range m.Parts {
		if t, is := p.(agent.Thinking); is && t.Text != "" {
			thinking += t.Text
			blocks++
		}
	}
	text = m.Text()
	// Between blocks of reasoning the page has a gap that is in none of them.
	if r.thought > len(thinking) || r.length > len(text) || blocks > 1 && r.thought < len(thinking) {
		return "", "", false
	}
	return thinking[r.thought:], text[r.length:], true
}

// shown stands in for Markdown where the page has the text already.
type shown struct{}

// HTML implements Markdown.
func (shown) HTML(string, string) string { return "" }
