package ollama

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"ash/agent"
	"ash/agent/llm"
)

const (
	// minContext is the smallest window asked for, in tokens. Ollama's own default (4096, long 2048) cuts longer
	// prompts off at the front without a word.
	minContext = 8 << 10
	// maxContext is the largest window asked for when the model's own is not known.
	maxContext = 128 << 10
	// replyRoom is kept free in the window for the answer, in tokens.
	replyRoom = 2 << 10
	// bytesPerToken errs towards too large a window; images cost what a common vision model makes of them.
	bytesPerToken  = 3
	tokensPerImage = 1 << 10
)

// build makes the request for p. Errors: a *llm.Fault when nothing is left to send.
func build(s llm.Settings, info agent.ModelInfo, p agent.Prompt) (chatRequest, error) {
	r := chatRequest{
		Model:   info.Ref.Name,
		Tools:   tools(p.Tools),
		Think:   think(s.Thinking, info),
		Stream:  true,
		Options: options{NumPredict: max(p.MaxTokens, 0), Temperature: p.Temperature},
	}
	if s.KeepAlive > 0 {
		r.KeepAlive = s.KeepAlive.String()
	}
	if strings.TrimSpace(p.System) != "" {
		r.Messages = append(r.Messages, message{Role: "system", Content: p.System})
	}
	before := len(r.Messages)
	round := roundStart(p.Messages)
	for i, m := range p.Messages {
		r.Messages = append(r.Messages, messages(m, info.Ref, i >= round)...)
	}
	if len(r.Messages) == before {
		return r, llm.NewFault(llm.FaultRequest, "there is nothing to send: the message is empty", nil)
	}
	r.Options.NumCtx = window(r, info, p)
	return r, nil
}

func (r chatRequest) encode() ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

// window returns the context to ask for: enough for the prompt and an answer, in powers of two because another
// size makes the server load the model anew, and no more than the model has, because memory grows with it.
func window(r chatRequest, info agent.ModelInfo, p agent.Prompt) int {
	size, images := 0, 0
	for _, m := range r.Messages {
		size += len(m.Content) + len(m.Thinking) + 16
		images += len(m.Images)
		for _, c := range m.ToolCalls {
			size += len(c.Function.Name) + len(c.Function.Arguments)
		}
	}
	for _, t := range r.Tools {
		size += len(t.Function.Name) + len(t.Function.Description) + len(t.Function.Parameters)
	}
	need := size/bytesPerToken + images*tokensPerImage + max(p.MaxTokens, replyRoom)
	limit := info.ContextWindow
	if limit <= 0 {
		limit = maxContext
	}
	n := minContext
	for n < need && n < limit {
		n *= 2
	}
	return min(n, limit)
}

// think says whether to think. A model that cannot refuses even the question, and only gpt-oss knows levels.
func think(level string, info agent.ModelInfo) any {
	switch {
	case !info.Thinking || level == "":
		return nil
	case level == "off":
		return false
	case strings.Contains(info.Ref.Name, "gpt-oss"):
		return level
	}
	return true
}

func tools(specs []agent.ToolSpec) []tool {
	var out []tool
	for _, s := range specs {
		schema := s.Schema
		if !isObject(schema) {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		out = append(out, tool{Type: "function", Function: toolFunction{Name: s.Name, Description: s.Description, Parameters: schema}})
	}
	return out
}

// roundStart returns the index after the last message of the person that is more than tool results.
func roundStart(ms []agent.PromptMessage) int {
	for i := len(ms) - 1; i >= 0; i-- {
		if ms[i].Role != agent.RoleUser {
			continue
		}
		for _, p := range ms[i].Parts {
			if _, ok := p.(agent.ToolResult); !ok {
				return i + 1
			}
		}
	}
	return 0
}

// messages converts one message: results of tools become messages of their own, ahead of the rest.
func messages(m agent.PromptMessage, ref agent.ModelRef, current bool) []message {
	var out []message
	own := message{Role: "user"}
	if m.Role == agent.RoleAssistant {
		own.Role = "assistant"
	}
	var words []string
	for _, p := range m.Parts {
		switch p := p.(type) {
		case agent.Text:
			words = append(words, p.Text)
		case agent.Thinking:
			if current && p.Model == ref && own.Role == "assistant" {
				own.Thinking += p.Text
			}
		case agent.Image:
			own.Images = append(own.Images, p.Data)
		case agent.File:
			words = append(words, llm.FileText(p))
		case agent.ToolUse:
			if c := llm.CallOf(m, p.Call); c != nil {
				own.ToolCalls = append(own.ToolCalls, toolCall{ID: llm.CallID(c.ProviderID, c.ID), Function: function{Name: c.Name, Arguments: llm.CallArguments(*c)}})
			}
		case agent.ToolResult:
			out = append(out, result(p))
		}
	}
	own.Content = join(words)
	if own.Content != "" || len(own.Images) > 0 || len(own.ToolCalls) > 0 {
		out = append(out, own)
	}
	return out
}

func result(r agent.ToolResult) message {
	m := message{Role: "tool", ToolName: r.Name, ToolCallID: llm.CallID(r.ProviderID, r.Call)}
	var words []string
	if r.Failed {
		words = append(words, "The tool failed:") // the API has no field for it
	}
	for _, p := range r.Content {
		switch p := p.(type) {
		case agent.Text:
			words = append(words, p.Text)
		case agent.Image:
			m.Images = append(m.Images, p.Data)
		}
	}
	m.Content = join(words)
	return m
}

func join(words []string) string {
	kept := words[:0]
	for _, w := range words {
		if strings.TrimSpace(w) != "" {
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, "\n\n")
}

func isObject(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 1 && raw[0] == '{' && json.Valid(raw)
}
