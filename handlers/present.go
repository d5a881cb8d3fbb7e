package handlers

import (
	"cmp"
	"strings"
	"time"

	"ash/agent"
	"ash/views/components"
)

// presenter makes the views' structs of the nouns, for pages and for the event
// stream alike.
type presenter struct {
	markdown Markdown
	zone     *time.Location
	token    string // CSRF token of the forms in what it makes
	model    string // the one a conversation uses that has chosen none
	helpers  helpers
	place    components.Place                         // where cards stand
	help     func(*components.Message, agent.Message) // nil: nothing helps a failed answer
	unlock   func(agent.ToolCall) *components.Unlock  // nil: there is no vault
}

// at puts a time into the zone it is shown in.
func (p presenter) at(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.In(p.zone)
}

// message presents a message with its place among its siblings; head says that
// the conversation ends with it.
func (p presenter) message(n agent.Node, head bool) components.Message {
	m := components.Message{
		ID: n.ID, Thread: n.Thread, Role: n.Role, State: n.State, Created: p.at(n.Created),
		Text: n.Text(), Files: p.files(n.Parts), Failure: n.Error, Sources: sources(n.Labels()),
		Index: n.Index, Siblings: n.Siblings, Previous: n.Previous, Next: n.Next,
		Model: n.Model.String(), Usage: n.Usage, Head: head, CSRF: p.token,
	}
	if n.Role == agent.RoleAssistant {
		m.HTML = p.markdown.HTML("b-"+components.Short(n.ID), m.Text)
		m.Thinking = p.thinking(n.Message)
		m.Memories = len(n.Recalled)
	}
	m.Calls = p.calls(n.Calls)
	if p.help != nil {
		p.help(&m, n.Message)
	}
	return m
}

// alone presents a message nobody else stands beside, as one just stored.
func (p presenter) alone(m agent.Message, head bool) components.Message {
	return p.message(agent.Node{Message: m, Index: 1, Siblings: 1}, head)
}

// thinking returns the reasoning as HTML, "" when there is none to read.
func (p presenter) thinking(m agent.Message) string {
	var texts []string
	for _, part := range m.Parts {
		if t, ok := part.(agent.Thinking); ok && t.Text != "" {
			texts = append(texts, t.Text)
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return p.markdown.HTML("k-"+components.Short(m.ID), strings.Join(texts, "\n\n"))
}

func (p presenter) files(parts []agent.Part) []components.File {
	var out []components.File
	for _, part := range parts {
		if f, ok := presentFile(part); ok {
			out = append(out, f)
		}
	}
	return out
}

// presentFile presents a part that is an attachment.
func presentFile(part agent.Part) (components.File, bool) {
	switch x := part.(type) {
	case agent.Image:
		f := attached(x.Attachment)
		f.Image = true
		return f, true
	case agent.File:
		f := attached(x.Attachment)
		switch {
		case x.Truncated:
			f.Note = "the first " + components.Bytes(int64(len(x.Extract))) + " of its text"
		case x.Extract == "":
			f.Note = "no text in it"
		}
		f.Findings = presentFindings(x.Findings)
		return f, true
	}
	return components.File{}, false
}

func presentFindings(all []agent.Finding) []components.Finding {
	var out []components.Finding
	for _, f := range all {
		out = append(out, components.Finding(f))
	}
	return out
}

func attached(a agent.Attachment) components.File {
	return components.File{Hash: a.Hash, Name: a.Name, Size: a.Size, Media: a.Media, URL: attachmentURL(a.Hash, a.Name)}
}

// attempt presents one try at one provider.
func (p presenter) attempt(a agent.Attempt) components.Attempt {
	out := components.Attempt{Model: a.Model.String(), Number: a.Number, Wait: a.Wait}
	if a.Failed != nil {
		out.Failed = a.Failed.Public
	}
	if a.Next != nil {
		out.Next = a.Next.String()
	}
	return out
}

// row presents a conversation in the list.
func (p presenter) row(t agent.ThreadSummary) components.ThreadRow {
	return components.ThreadRow{
		ID: t.ID, Title: t.Title, Snippet: t.Snippet, Updated: p.at(t.Updated),
		Pinned: t.Pinned, Archived: !t.Archived.IsZero(), Running: t.Running, Waiting: t.Waiting,
	}
}

// head presents the bar above a conversation.
func (p presenter) head(t agent.Thread) components.ThreadHead {
	return components.ThreadHead{
		ID: t.ID, Title: t.Title, Pinned: t.Pinned, Archived: !t.Archived.IsZero(),
		Model: cmp.Or(t.Model, p.model), CSRF: p.token,
	}
}

// conversation presents a window of a thread as the reader gave it: the path,
// then what is queued.
func (p presenter) conversation(t agent.Thread, nodes []agent.Node, spoke voices, earlier bool, now time.Time) components.Conversation {
	out := components.Conversation{Thread: t.ID, CSRF: p.token}
	for _, n := range nodes {
		m := p.message(n, n.ID == t.Head)
		m.Speaker, m.Said = spoke.of(n.ID)
		if n.State == agent.MessageQueued {
			out.Queued = append(out.Queued, m)
		} else {
			out.Messages = append(out.Messages, m)
		}
	}
	if earlier && len(out.Messages) > 0 {
		out.Earlier = out.Messages[0].ID
	}
	components.MarkDays(out.Messages, p.at(now))
	return out
}

// unfinish marks the end of a conversation whose turn ended without a last answer: Ash
// was killed before it began one, between two rounds of tools, or was stopped there.
func (p presenter) unfinish(conv *components.Conversation, tail agent.Tail) {
	if len(conv.Messages) == 0 || tail.Turn.Active() || tail.Turn.ID == "" {
		return
	}
	last := &conv.Messages[len(conv.Messages)-1]
	asked := last.Role == agent.RoleUser || len(last.Calls) > 0 && last.State == agent.MessageComplete
	last.Unfinished = last.ID == tail.Head.ID && asked && tail.Turn.State != agent.TurnDone
}

// hits presents what a search found.
func (p presenter) hits(found []agent.SearchHit, spoke voices) []components.Hit {
	out := make([]components.Hit, 0, len(found))
	for _, h := range found {
		hit := components.Hit{
			Thread: h.Thread.ID, Message: h.Message, Title: h.Thread.Title,
			Role: h.Role, Snippet: h.Snippet, Created: p.at(h.Created),
		}
		hit.Speaker, hit.Said = spoke.of(h.Message)
		out = append(out, hit)
	}
	return out
}
