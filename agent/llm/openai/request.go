package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	api "github.com/sashabaranov/go-openai"

	"ash/agent"
	"ash/agent/llm"
)

// chatRequest is the body of a chat request. go-openai's own type leaves out a temperature of 0 and everything its
// messages have no field for. What grows stands last, so that the bytes of one turn begin those of the next.
type chatRequest struct {
	Model               string             `json:"model"`
	Stream              bool               `json:"stream"`
	StreamOptions       *api.StreamOptions `json:"stream_options,omitempty"`
	Usage               *usageOption       `json:"usage,omitempty"`
	MaxTokens           int                `json:"max_tokens,omitempty"`
	MaxCompletionTokens int                `json:"max_completion_tokens,omitempty"`
	Temperature         *float64           `json:"temperature,omitempty"`
	Effort              string             `json:"reasoning_effort,omitempty"`
	Tools               []api.Tool         `json:"tools,omitempty"`
	Messages            []message          `json:"messages"`
}

// usageOption asks OpenRouter for what the call cost.
type usageOption struct {
	Include bool `json:"include"`
}

type message struct {
	Role       string `json:"role"`
	Content    any    `json:"content"` // string, []contentPart, or nil beside calls
	Reasoning  string `json:"reasoning,omitempty"`
	Thinking   string `json:"reasoning_content,omitempty"`
	ToolCalls  []call `json:"tool_calls,omitempty"`
	ToolCallID string `json:"tool_call_id,omitempty"`
}

// contentPart is one of go-openai's parts, or a file, which it lacks.
type contentPart struct {
	api.ChatMessagePart
	File *filePart `json:"file,omitempty"`
}

type filePart struct {
	Name string `json:"filename"`
	Data string `json:"file_data"`
}

// call is go-openai's tool call and what vendors want back with it.
type call struct {
	api.ToolCall
	Extra json.RawMessage `json:"extra_content,omitempty"`
}

// encode builds the body for a prompt that has been through llm.Adapt.
func (c *Client) encode(info agent.ModelInfo, p agent.Prompt, without options) ([]byte, error) {
	req := chatRequest{Model: info.Ref.Name, Stream: true}
	if !without.usage {
		req.StreamOptions = &api.StreamOptions{IncludeUsage: true}
	}
	if c.vendor.Kind == "openrouter" {
		req.Usage = &usageOption{Include: true}
	}
	// OpenAI's reasoning models take no temperature, and its limit under the newer name only.
	openAI := c.own && c.vendor.Kind == "openai"
	if !without.temperature && !(openAI && info.Thinking) {
		req.Temperature = p.Temperature
	}
	if openAI || without.maxTokens {
		req.MaxCompletionTokens = p.MaxTokens
	} else {
		req.MaxTokens = p.MaxTokens
	}
	if without.effort {
		req.Effort = api.ReasoningEffortNone
	}
	if p.System != "" {
		req.Messages = append(req.Messages, message{Role: "system", Content: p.System})
	}
	round := toolRound(p.Messages)
	for i, m := range p.Messages {
		if m.Role == agent.RoleAssistant {
			req.Messages = c.assistant(req.Messages, m, i >= round && !without.reasoning)
			continue
		}
		req.Messages = user(req.Messages, m)
	}
	for _, t := range p.Tools {
		schema := t.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		req.Tools = append(req.Tools, api.Tool{Type: api.ToolTypeFunction,
			Function: &api.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: schema}})
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // a third of the bytes of quoted code otherwise
	if err := enc.Encode(req); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// toolRound returns the index of the first message after the last one the person wrote: within it, a model gets its own reasoning back.
func toolRound(messages []agent.PromptMessage) int {
	for i, m := range slices.Backward(messages) {
		if m.Role == agent.RoleUser && slices.ContainsFunc(m.Parts, func(p agent.Part) bool { _, result := p.(agent.ToolResult); return !result }) {
			return i + 1
		}
	}
	return 0
}

// assistant adds a reply of the model.
func (c *Client) assistant(out []message, m agent.PromptMessage, reasoning bool) []message {
	reply := message{Role: "assistant"}
	var text, thinking []string
	for _, part := range m.Parts {
		switch p := part.(type) {
		case agent.Text:
			text = append(text, p.Text)
		case agent.Thinking:
			thinking = append(thinking, p.Text)
		case agent.ToolUse:
			if use := llm.CallOf(m, p.Call); use != nil {
				reply.ToolCalls = append(reply.ToolCalls, c.call(*use))
			}
		}
	}
	if all := strings.Join(text, "\n\n"); all != "" {
		reply.Content = all
	}
	if reply.Content == nil && reply.ToolCalls == nil {
		return out // only thinking: there is nothing a server would take
	}
	c.sign(reply.ToolCalls)
	if all := strings.Join(thinking, "\n\n"); reasoning && reply.ToolCalls != nil {
		switch c.vendor.Kind {
		case "openrouter":
			reply.Reasoning = all
		case "openai", "gemini", "mistral", "groq", "cerebras", "xai":
			if !c.own {
				reply.Thinking = all
			}
		default:
			reply.Thinking = all
		}
	}
	return append(out, reply)
}

// extra is how CallPiece.Extra and ToolCall.Extra look when they come from this package.
type extra struct {
	Content json.RawMessage `json:"extra_content,omitempty"`
}

func (c *Client) call(use agent.ToolCall) call {
	out := call{ToolCall: api.ToolCall{
		ID:       llm.CallID(use.ProviderID, use.ID),
		Type:     api.ToolTypeFunction,
		Function: api.FunctionCall{Name: use.Name, Arguments: string(llm.CallArguments(use))},
	}}
	var x extra
	if c.takesExtra() && json.Unmarshal(use.Extra, &x) == nil {
		out.Extra = x.Content
	}
	return out
}

// takesExtra keeps vendors' fields from servers that refuse what they do not know.
func (c *Client) takesExtra() bool {
	switch c.vendor.Kind {
	case "gemini", "openrouter":
		return true
	case "openai", "mistral", "groq", "cerebras", "xai", "deepseek":
		return !c.own
	}
	return true
}

// sign gives calls that another model made the mark with which Gemini accepts them
// (ai.google.dev/gemini-api/docs/thought-signatures). Of parallel calls of its own only the first bears a signature.
func (c *Client) sign(calls []call) {
	if c.vendor.Kind != "gemini" || len(calls) == 0 || slices.ContainsFunc(calls, func(c call) bool { return c.Extra != nil }) {
		return
	}
	calls[0].Extra = json.RawMessage(`{"google":{"thought_signature":"skip_thought_signature_validator"}}`)
}

// user adds a message of the person, or the results of tools. Images in a result follow it in a message of
// their own, because results are text in this format.
func user(out []message, m agent.PromptMessage) []message {
	var parts []contentPart
	for _, part := range m.Parts {
		result, ok := part.(agent.ToolResult)
		if !ok {
			parts = appendPart(parts, part)
			continue
		}
		text := llm.TextOf(result.Content)
		if result.Failed {
			text = "The tool failed.\n" + text
		}
		out = append(out, message{Role: "tool", ToolCallID: llm.CallID(result.ProviderID, result.Call), Content: text})
		for _, inner := range result.Content {
			if image, ok := inner.(agent.Image); ok {
				parts = appendPart(parts, agent.Text{Text: "[Image from the tool " + result.Name + "]"})
				parts = appendPart(parts, image)
			}
		}
	}
	switch {
	case len(parts) == 0:
		return out
	case slices.ContainsFunc(parts, func(p contentPart) bool { return p.Type != api.ChatMessagePartTypeText }):
		return append(out, message{Role: "user", Content: parts})
	}
	// Plain text goes as a string: not every server takes parts.
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.Text
	}
	return append(out, message{Role: "user", Content: strings.Join(texts, "\n\n")})
}

func appendPart(parts []contentPart, part agent.Part) []contentPart {
	var p contentPart
	switch x := part.(type) {
	case agent.Text:
		if x.Text == "" {
			return parts
		}
		p.Type, p.Text = api.ChatMessagePartTypeText, x.Text
	case agent.Image:
		p.Type = api.ChatMessagePartTypeImageURL
		p.ImageURL = &api.ChatMessageImageURL{URL: dataURL(x.Attachment.Media, x.Data)}
	case agent.File:
		p.Type = "file"
		p.File = &filePart{Name: x.Attachment.Name, Data: dataURL(x.Attachment.Media, x.Data)}
	default:
		return parts
	}
	return append(parts, p)
}

func dataURL(media string, data []byte) string {
	return "data:" + media + ";base64," + base64.StdEncoding.EncodeToString(data)
}

// dollars is an amount written as a JSON string or number.
type dollars float64

// UnmarshalJSON implements json.Unmarshaler. What is not a number counts as unknown.
func (d *dollars) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	if err == nil && f > 0 && f < 1 {
		*d = dollars(f)
	}
	return nil
}

// micro turns dollars per token into micro-dollars per million tokens.
func (d dollars) micro() agent.MicroDollars { return agent.MicroDollars(math.Round(float64(d) * 1e12)) }
