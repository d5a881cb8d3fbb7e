package handlers

import (
	"encoding/json"
	"time"

	"ash/agent"
)

// The wire forms of conversations. Fields may be added, never renamed or given another meaning.
type (
	// APIThread is a conversation.
	APIThread struct {
		ID      agent.ID       `json:"id"`
		Title   string         `json:"title,omitempty" jsonschema:"left out until something was said"`
		Model   string         `json:"model,omitempty" jsonschema:"provider/name; left out when it follows the settings"`
		State   APIThreadState `json:"state" jsonschema:"waiting: the owner has to decide something, which only they can"`
		Created time.Time      `json:"created"`
		Updated time.Time      `json:"updated"`
	}
	// APIThreadState says whether a conversation is at work.
	APIThreadState string
	// APIThreads is a page of conversations.
	APIThreads struct {
		Threads []APIThread `json:"threads"`
		Next    string      `json:"next,omitempty" jsonschema:"pass it as after to get the next page; left out on the last one"`
	}
	// APINewThread is a conversation to begin.
	APINewThread struct {
		Title string `json:"title,omitempty" jsonschema:"at most 200 characters; made of the first message when it is left out"`
		Model string `json:"model,omitempty" jsonschema:"provider/name; the settings' default when it is left out"`
	}
	// APINewMessage is something to say.
	APINewMessage struct {
		Text   string     `json:"text"`
		Model  string     `json:"model,omitempty" jsonschema:"provider/name: who answers in this conversation from here on"`
		Labels []APILabel `json:"labels,omitempty" jsonschema:"what the owner did not write must say so: untrusted, and from where; at most 8"`
	}
	// APIPosted tells what became of a message. The answer comes over the events.
	APIPosted struct {
		Thread   agent.ID           `json:"thread"`
		Message  agent.ID           `json:"message,omitempty" jsonschema:"left out when it was the answer to a question"`
		Turn     agent.ID           `json:"turn,omitempty" jsonschema:"the turn it began, or the one it waits for"`
		State    agent.MessageState `json:"state,omitempty" jsonschema:"queued: it joins when the turn that runs has ended"`
		Answered agent.ID           `json:"answered,omitempty" jsonschema:"the call whose question it answered"`
	}
	// APIMessage is one message of a conversation.
	APIMessage struct {
		ID       agent.ID           `json:"id"`
		Thread   agent.ID           `json:"thread"`
		Role     agent.Role         `json:"role"`
		State    agent.MessageState `json:"state"`
		Text     string             `json:"text"`
		Calls    []APICall          `json:"calls,omitempty"`
		Model    string             `json:"model,omitempty" jsonschema:"who wrote it: provider/name"`
		Usage    *ControlUsage      `json:"usage,omitempty"`
		Error    *ControlError      `json:"error,omitempty" jsonschema:"why it broke off"`
		Labels   []APILabel         `json:"labels"`
		Variants int                `json:"variants" jsonschema:"how many there are in its place, itself included"`
		Created  time.Time          `json:"created"`
		Finished time.Time          `json:"finished,omitzero"`
	}
	// APICall is something the assistant does or wants to.
	APICall struct {
		ID        agent.ID        `json:"id"`
		Tool      string          `json:"tool"`
		State     agent.CallState `json:"state"`
		Why       string          `json:"why,omitempty" jsonschema:"why it asks, or why it was refused"`
		Arguments json.RawMessage `json:"arguments"`
		Output    string          `json:"output,omitempty" jsonschema:"clipped"`
	}
	// APIMessages is a page of a conversation, oldest first.
	APIMessages struct {
		Messages []APIMessage `json:"messages"`
		Before   agent.ID     `json:"before,omitempty" jsonschema:"pass it as before to get what was said earlier; left out at the beginning"`
	}
)

// The states of a conversation.
const (
	APIResting APIThreadState = "resting"
	APIRunning APIThreadState = "running"
	APIWaiting APIThreadState = "waiting"
)

func apiThread(t agent.ThreadSummary) APIThread {
	out := APIThread{ID: t.ID, Title: t.Title, Model: t.Model, State: APIResting, Created: t.Created, Updated: t.Updated}
	switch {
	case t.Waiting > 0:
		out.State = APIWaiting
	case t.Running:
		out.State = APIRunning
	}
	return out
}

func apiMessage(n agent.Node) APIMessage {
	m := n.Message
	out := APIMessage{
		ID: m.ID, Thread: m.Thread, Role: m.Role, State: m.State, Text: m.Text(), Labels: []APILabel{}, Variants: n.Siblings,
		Created: m.Created, Finished: m.Finished, Error: controlFault(m.Error),
	}
	for _, l := range m.Labels() {
		out.Labels = append(out.Labels, APILabel(l))
	}
	if m.Role == agent.RoleAssistant {
		out.Model, out.Usage = m.Model.String(), controlUsage(m.Usage)
	}
	for _, c := range m.Calls {
		out.Calls = append(out.Calls, APICall{
			ID: c.ID, Tool: c.Name, State: c.State, Why: c.Why, Arguments: c.Arguments,
			Output: agent.Clip(agent.Message{Parts: c.Result}.Text(), maxOutput),
		})
	}
	return out
}
