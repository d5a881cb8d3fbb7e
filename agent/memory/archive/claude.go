package archive

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// claude is who speaks as the assistant in an archive of Claude.
const claude = "Claude"

// ownerSpeaker stands for the owner of an account, who has no name in these archives.
const ownerSpeaker = "user"

// noParent is what Claude writes for the parent of a first message.
const noParent = "00000000-0000-4000-8000-000000000000"

// claudeConversation is one of conversations.json as Claude's "export data" writes it. Anthropic documents no format: these are the fields that its archives
// have had since 2024.
type claudeConversation struct {
	ID       string            `json:"uuid"`
	Name     string            `json:"name"`
	Created  string            `json:"created_at"`
	Current  string            `json:"current_leaf_message_uuid"`
	Messages []json.RawMessage `json:"chat_messages"`
}

type claudeMessage struct {
	ID      string `json:"uuid"`
	Parent  string `json:"parent_message_uuid"`
	Sender  string `json:"sender"` // "human" or "assistant"
	Text    string `json:"text"`
	Created string `json:"created_at"` // RFC 3339
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Attachments []struct {
		Name string `json:"file_name"`
		Text string `json:"extracted_content"`
	} `json:"attachments"`
	Files []json.RawMessage `json:"files"`
}

// readClaude reads a conversation; of one with variants the path that was shown last.
func readClaude(raw json.RawMessage, n int, left *Left) []Message {
	var c claudeConversation
	if err := json.Unmarshal(raw, &c); err != nil {
		left.unreadable("conversation %d: %v", n, err)
		return nil
	}
	if c.ID == "" {
		left.unreadable("%s: it has no id", named(n, c.Name))
		return nil
	}
	var all []claudeMessage
	for i, raw := range c.Messages {
		var m claudeMessage
		if err := json.Unmarshal(raw, &m); err != nil || m.ID == "" || m.Sender == "" {
			left.unreadable("%s, message %d: it is no message", named(n, c.Name), i+1)
			continue
		}
		all = append(all, m)
	}
	var list []Message
	for _, m := range c.shown(all, left) {
		out, ok := m.message(left)
		if !ok {
			continue
		}
		out.Thread, out.Title = c.ID, c.Name
		if out.Time == "" {
			out.Time = rfcTime(c.Created)
		}
		if !fitting(out) {
			left.unreadable("%s, message %.40s: too long", named(n, c.Name), m.ID)
			continue
		}
		list = append(list, out)
	}
	return list
}

// shown returns the messages of the path that was shown last, where the archive tells parents; otherwise all, as they stand.
func (c *claudeConversation) shown(all []claudeMessage, left *Left) []claudeMessage {
	at := make(map[string]int, len(all))
	for i, m := range all {
		at[m.ID] = i
	}
	branched, children := false, map[string]int{}
	for _, m := range all {
		if m.Parent == "" {
			return all
		}
		children[m.Parent]++
		branched = branched || children[m.Parent] > 1
	}
	if !branched {
		return all
	}
	id := c.Current
	if _, ok := at[id]; !ok {
		id = all[len(all)-1].ID
	}
	var path []claudeMessage
	for id != noParent {
		i, ok := at[id]
		if !ok {
			break
		}
		if len(path) == len(all) {
			return all // a ring: no tree
		}
		path = append(path, all[i])
		id = all[i].Parent
	}
	slices.Reverse(path)
	left.Branches += len(all) - len(path)
	return path
}

// message makes a message of what was said; ok is false for one without text.
func (m claudeMessage) message(left *Left) (out Message, ok bool) {
	out = Message{ID: m.ID, Time: rfcTime(m.Created)}
	switch m.Sender {
	case "human", "user":
		out.Speaker, out.Owner = ownerSpeaker, true
	case "assistant":
		out.Speaker, out.Assistant = claude, true
	default:
		left.Hidden++
		return out, false
	}
	var texts []string
	for _, c := range m.Content {
		switch {
		case c.Type != "text":
			left.Hidden++ // reasoning, tool calls and their results
		case strings.TrimSpace(c.Text) != "":
			texts = append(texts, c.Text)
		}
	}
	if len(m.Content) == 0 && strings.TrimSpace(m.Text) != "" {
		texts = append(texts, m.Text)
	}
	left.Files += len(m.Attachments) + len(m.Files)
	if out.Text = strings.Join(texts, "\n\n"); out.Text == "" {
		left.Empty++
		return out, false
	}
	return out, true
}

// rfcTime returns a time that can be read, "" for any other.
func rfcTime(s string) string {
	if _, err := time.Parse(time.RFC3339Nano, s); err != nil {
		return ""
	}
	return s
}
