package archive

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"
)

// chatGPT is who speaks as the assistant in an archive of ChatGPT.
const chatGPT = "ChatGPT"

// gptConversation is one of conversations.json as ChatGPT's "export data" writes it. OpenAI documents no format: these are the fields that its archives
// have had since 2023. mapping is a tree; current_node is the message that was shown last.
type gptConversation struct {
	ID             string             `json:"id"`
	ConversationID string             `json:"conversation_id"`
	Title          string             `json:"title"`
	Created        float64            `json:"create_time"`
	Current        string             `json:"current_node"`
	Mapping        map[string]gptNode `json:"mapping"`
}

type gptNode struct {
	Parent   string          `json:"parent"`
	Children []string        `json:"children"`
	Message  json.RawMessage `json:"message"`
}

type gptMessage struct {
	ID        string    `json:"id"`
	Author    gptAuthor `json:"author"`
	Created   float64   `json:"create_time"` // Unix seconds
	Recipient string    `json:"recipient"`   // "all", or the tool it is for
	Content   struct {
		Type  string            `json:"content_type"`
		Parts []json.RawMessage `json:"parts"`
		Text  string            `json:"text"`
	} `json:"content"`
	Metadata struct {
		Hidden      bool              `json:"is_visually_hidden_from_conversation"`
		Attachments []json.RawMessage `json:"attachments"`
	} `json:"metadata"`
}

type gptAuthor struct {
	Role string `json:"role"`
}

// readChatGPT reads the path to the message that was shown last.
func readChatGPT(raw json.RawMessage, n int, left *Left) []Message {
	var c gptConversation
	if err := json.Unmarshal(raw, &c); err != nil {
		left.unreadable("conversation %d: %v", n, err)
		return nil
	}
	if c.ConversationID == "" {
		c.ConversationID = c.ID
	}
	path := c.path()
	if c.ConversationID == "" || len(c.Mapping) > 0 && len(path) == 0 {
		left.unreadable("%s: it has no id, or no path to its last message", named(n, c.Title))
		return nil
	}
	on := make(map[string]bool, len(path))
	for _, id := range path {
		on[id] = true
	}
	for id, node := range c.Mapping {
		if !on[id] && isObject(node.Message) {
			left.Branches++
		}
	}
	var list []Message
	for _, id := range path {
		node := c.Mapping[id]
		if !isObject(node.Message) {
			continue // the root of the tree
		}
		var m gptMessage
		if err := json.Unmarshal(node.Message, &m); err != nil {
			left.unreadable("%s, message %s: %v", named(n, c.Title), id, err)
			continue
		}
		if m.ID == "" {
			m.ID = id
		}
		if out, ok := m.message(left); ok {
			out.Thread, out.Title = c.ConversationID, c.Title
			if out.Time == "" {
				out.Time = unixTime(c.Created)
			}
			if !fitting(out) {
				left.unreadable("%s, message %.40s: too long", named(n, c.Title), m.ID)
				continue
			}
			list = append(list, out)
		}
	}
	return list
}

// path returns the nodes from the root to the current one; without a current one to the last leaf there is. A tree that is none gives nothing.
func (c *gptConversation) path() []string {
	at := c.Current
	if _, ok := c.Mapping[at]; !ok {
		at = c.leaf()
	}
	var path []string
	for at != "" {
		node, ok := c.Mapping[at]
		if !ok {
			break
		}
		if len(path) == len(c.Mapping) {
			return nil // a ring
		}
		path = append(path, at)
		at = node.Parent
	}
	slices.Reverse(path)
	return path
}

// leaf is the newest message without children.
func (c *gptConversation) leaf() string {
	best, newest := "", math.Inf(-1)
	for id, node := range c.Mapping {
		if len(node.Children) > 0 {
			continue
		}
		var m struct {
			Created float64 `json:"create_time"`
		}
		if json.Unmarshal(node.Message, &m) != nil {
			continue
		}
		if m.Created > newest || m.Created == newest && id > best {
			best, newest = id, m.Created
		}
	}
	return best
}

// message makes a message of what the person saw; ok is false for what they did not.
func (m gptMessage) message(left *Left) (out Message, ok bool) {
	out = Message{ID: m.ID, Time: unixTime(m.Created)}
	shown := m.Recipient == "" || m.Recipient == "all"
	switch {
	case m.Metadata.Hidden || !shown:
	case m.Author.Role == "user" && m.Content.Type != "user_editable_context":
		out.Speaker, out.Owner = ownerSpeaker, true
	case m.Author.Role == "assistant" && (m.Content.Type == "" || m.Content.Type == "text" || m.Content.Type == "multimodal_text"):
		out.Speaker, out.Assistant = chatGPT, true
	}
	if out.Speaker == "" {
		left.Hidden++
		return out, false
	}
	var texts []string
	for _, part := range m.Content.Parts {
		text, file := gptPart(part)
		if file {
			left.Files++
		}
		if strings.TrimSpace(text) != "" {
			texts = append(texts, text)
		}
	}
	if m.Content.Text != "" {
		texts = append(texts, m.Content.Text)
	}
	left.Files += len(m.Metadata.Attachments)
	if out.Text = strings.Join(texts, "\n\n"); strings.TrimSpace(out.Text) == "" {
		left.Empty++
		return out, false
	}
	return out, true
}

// gptPart is the text of a part: a string, or an object such as a picture or what was heard.
func gptPart(raw json.RawMessage) (text string, file bool) {
	if json.Unmarshal(raw, &text) == nil {
		return text, false
	}
	var part struct {
		Type string `json:"content_type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &part) != nil {
		return "", true
	}
	return part.Text, part.Text == ""
}

// unixTime writes seconds since 1970 as RFC 3339; "" for a time that is none.
func unixTime(seconds float64) string {
	if math.IsNaN(seconds) || seconds <= 0 || seconds > 1e11 {
		return ""
	}
	return time.UnixMicro(int64(math.Round(seconds * 1e6))).UTC().Format(time.RFC3339Nano)
}
