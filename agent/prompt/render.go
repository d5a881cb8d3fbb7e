package prompt

import (
	"fmt"
	"strings"
	"time"

	"ash/agent"
)

// block is a stored message as it is sent: one message, or a reply with calls
// and the message of their results. Blocks are kept or left out whole.
type block struct {
	message  agent.Message
	messages []agent.PromptMessage
	tokens   int
	labels   agent.Labels
}

func (b block) person() bool { return b.message.Role == agent.RoleUser }

// broken reports whether a reply ended before it was finished.
func (b block) broken() bool {
	return b.message.State == agent.MessageCut || b.message.State == agent.MessageStopped || b.message.Stop == agent.StopMaxTokens
}

// renderer turns stored messages into blocks.
type renderer struct {
	fence  fence
	model  agent.ModelInfo
	redact func(string) string
	zone   *time.Location
	blobs  bool
	tools  bool
	limit  int             // bytes of one file or result
	helper bool            // the thread is a helper's
	used   map[string]bool // provider ids of calls so far
}

func (b *Builder) renderer(r agent.PromptRequest, f fence, limit int) *renderer {
	return &renderer{
		fence: f, model: r.Model, redact: b.redact, zone: b.zone(), limit: limit,
		helper: r.Thread.ParentCall != "",
		blobs:  b.options.Blobs != nil, tools: len(r.Tools) > 0, used: make(map[string]bool),
	}
}

// blocks renders a path. Messages that say nothing give no block: failed and empty replies, queued and open ones.
func (rd *renderer) blocks(path []agent.Message) []block {
	last := -1
	for i, m := range path {
		if m.Role == agent.RoleUser {
			last = i
		}
	}
	var out []block
	for i, m := range path {
		var messages []agent.PromptMessage
		switch {
		case m.State == agent.MessageFailed || m.State == agent.MessageOpen || m.State == agent.MessageQueued:
		case m.Role == agent.RoleUser:
			messages = rd.person(m)
		case m.Role == agent.RoleAssistant:
			messages = rd.reply(m, i > last)
		}
		if len(messages) == 0 {
			continue
		}
		b := block{message: m, messages: messages, labels: m.Labels()}
		for _, c := range m.Calls {
			b.labels = b.labels.Union(resultLabels(c))
		}
		for _, pm := range messages {
			b.tokens += messageTokens(pm)
		}
		out = append(out, b)
	}
	return out
}

// person renders a message of the person; one without content says so, since
// it may be the one to answer.
func (rd *renderer) person(m agent.Message) []agent.PromptMessage {
	parts := rd.content(m.Parts)
	if rd.helper && m.Author == "" {
		parts = rd.task(m.Parts)
	}
	if len(parts) == 0 {
		parts = append(parts, agent.Text{Text: "[this message is empty]"})
	}
	if s := stamp(m.Created, rd.zone); s != "" {
		parts = append(parts, agent.Text{Text: s})
	}
	return []agent.PromptMessage{{Role: agent.RoleUser, Parts: join(parts)}}
}

// task renders what a helper is to do: the words of the model above it. Whatever that had read, they are not data (helperRules says
// how far they go); their labels stay.
func (rd *renderer) task(parts []agent.Part) []agent.Part {
	var out []agent.Part
	for _, p := range parts {
		if t, ok := p.(agent.Text); ok && strings.TrimSpace(t.Text) != "" {
			out = append(out, agent.Text{Text: "[task]\n" + rd.fence.defuse(rd.redact(t.Text)), Labels: t.Labels})
		}
	}
	return out
}

// reply renders an answer with the results of its calls. fresh says that it belongs to the turn at hand.
func (rd *renderer) reply(m agent.Message, fresh bool) []agent.PromptMessage {
	calls := rd.calls(m)
	var parts []agent.Part
	for _, p := range m.Parts {
		switch p := p.(type) {
		case agent.Text:
			if strings.TrimSpace(p.Text) != "" {
				parts = append(parts, agent.Text{Text: rd.redact(p.Text), Labels: p.Labels})
			}
		case agent.Thinking:
			if fresh && len(calls) > 0 && rd.tools && p.Model == rd.model.Ref {
				if clean := rd.redact(p.Text); clean != p.Text {
					p.Text, p.Signature = clean, "" // it is no longer what was signed
				}
				parts = append(parts, p)
			}
		}
	}
	parts = join(parts)
	if len(calls) == 0 {
		if len(parts) == 0 {
			return nil
		}
		return []agent.PromptMessage{{Role: agent.RoleAssistant, Parts: parts}}
	}
	if !rd.tools {
		return rd.retold(parts, calls)
	}
	asked := agent.PromptMessage{Role: agent.RoleAssistant, Parts: parts}
	results := agent.PromptMessage{Role: agent.RoleUser}
	for _, c := range calls {
		sent := rd.sent(c, m.Model)
		asked.Parts = append(asked.Parts, agent.ToolUse{Call: c.ID})
		asked.Calls = append(asked.Calls, sent)
		results.Parts = append(results.Parts, agent.ToolResult{
			Call: c.ID, ProviderID: sent.ProviderID, Name: c.Name, Content: rd.result(c),
			Failed: c.State != agent.CallFinished, Labels: resultLabels(c),
		})
	}
	return []agent.PromptMessage{asked, results}
}

// retold gives calls to a model without tools: as a note, so that no provider
// is sent calls of tools it was not told about.
func (rd *renderer) retold(parts []agent.Part, calls []agent.ToolCall) []agent.PromptMessage {
	var out []agent.PromptMessage
	if len(parts) > 0 {
		out = append(out, agent.PromptMessage{Role: agent.RoleAssistant, Parts: parts})
	}
	note := agent.PromptMessage{Role: agent.RoleUser}
	for _, c := range calls {
		note.Parts = append(note.Parts, agent.Text{Text: fmt.Sprintf("[the tool %s was used; its result:]", clean(c.Name))})
		note.Parts = append(note.Parts, rd.result(c)...)
	}
	note.Parts = join(note.Parts)
	return append(out, note)
}

// content renders the parts of a message of the person.
func (rd *renderer) content(parts []agent.Part) []agent.Part {
	var out []agent.Part
	for _, p := range parts {
		switch p := p.(type) {
		case agent.Text:
			if strings.TrimSpace(p.Text) == "" {
				continue
			}
			if text := rd.redact(p.Text); p.Labels.Untrusted() {
				out = append(out, agent.Text{Text: rd.fence.wrap(sources(p.Labels, "elsewhere"), p.Labels, text), Labels: p.Labels})
			} else {
				out = append(out, agent.Text{Text: text, Labels: p.Labels})
			}
		case agent.Image:
			out = append(out, rd.image(p)...)
		case agent.File:
			out = append(out, rd.file(p)...)
		case agent.ToolResult:
			text := fmt.Sprintf("[result of the tool %s, brought in with this conversation:]", clean(p.Name))
			out = append(append(out, agent.Text{Text: text}), rd.content(p.Content)...)
		}
	}
	return out
}

// image renders a picture: for eyes, or as a note.
func (rd *renderer) image(p agent.Image) []agent.Part {
	name := clean(p.Attachment.Name)
	if rd.model.Vision && rd.blobs {
		return []agent.Part{agent.Text{Text: "[picture " + name + ":]"}, agent.Image{Attachment: p.Attachment, Labels: p.Labels}}
	}
	return []agent.Part{agent.Text{Text: fmt.Sprintf("[picture %s (%s); this model cannot see pictures]", name, p.Attachment.Media), Labels: p.Labels}}
}

// file renders any other attachment: its text in a fence. A document goes as
// such to models that read the format; Extract then holds the fenced text for a fallback that does not.
func (rd *renderer) file(p agent.File) []agent.Part {
	name, text := clean(p.Attachment.Name), strings.TrimSpace(p.Extract)
	document := rd.model.Documents && rd.blobs && p.Attachment.Media == "application/pdf"
	if text == "" {
		if document {
			note := agent.Text{Text: "[document " + name + ":]"}
			extract := fmt.Sprintf("[document %s; no text could be read from it]", name)
			return []agent.Part{note, agent.File{Attachment: p.Attachment, Extract: extract, Labels: p.Labels}}
		}
		return []agent.Part{agent.Text{Text: fmt.Sprintf("[file %s (%s); it holds no text that could be read]", name, p.Attachment.Media), Labels: p.Labels}}
	}
	text = clipMarked(rd.redact(text), rd.limit)
	if p.Truncated {
		text += "\n[the file goes on; only its beginning is shown]"
	}
	text = rd.fence.wrap(sources(p.Labels, "file:"+name), p.Labels, text)
	if document {
		return []agent.Part{agent.Text{Text: "[document " + name + ":]"}, agent.File{Attachment: p.Attachment, Extract: text, Truncated: p.Truncated, Labels: p.Labels}}
	}
	return []agent.Part{agent.Text{Text: "[file " + name + ":]\n" + text, Labels: p.Labels}}
}

// join makes one text of neighbouring texts: what some providers want and none minds.
func join(parts []agent.Part) []agent.Part {
	out := parts[:0:0]
	for _, p := range parts {
		t, ok := p.(agent.Text)
		if ok && len(out) > 0 {
			if before, ok := out[len(out)-1].(agent.Text); ok {
				out[len(out)-1] = agent.Text{Text: before.Text + "\n\n" + t.Text, Labels: before.Labels.Union(t.Labels)}
				continue
			}
		}
		out = append(out, p)
	}
	return out
}
