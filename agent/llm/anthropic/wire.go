package anthropic

import "encoding/json"

// The shapes below are the Messages API as the vendor documents it
// (https://platform.claude.com/docs/en/api/messages); only what Ash sends and reads.

type request struct {
	Model        string        `json:"model"`
	MaxTokens    int           `json:"max_tokens"`
	Tools        []tool        `json:"tools,omitempty"`
	System       []block       `json:"system,omitempty"`
	Messages     []message     `json:"messages"`
	Temperature  *float64      `json:"temperature,omitempty"`
	Thinking     *thinking     `json:"thinking,omitempty"`
	OutputConfig *outputConfig `json:"output_config,omitempty"`
	Stream       bool          `json:"stream"`
}

type tool struct {
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"input_schema"`
	CacheControl *cacheControl   `json:"cache_control,omitempty"`
}

type thinking struct {
	Type         string `json:"type"` // adaptive, enabled or disabled
	BudgetTokens int    `json:"budget_tokens,omitempty"`
	Display      string `json:"display,omitempty"`
}

type outputConfig struct {
	Effort string `json:"effort"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// block is any content block; which fields are set depends on Type. Thinking
// and Signature are pointers because the API wants them present even when empty.
type block struct {
	Type         string          `json:"type"`
	Text         string          `json:"text,omitempty"`
	Thinking     *string         `json:"thinking,omitempty"`
	Signature    *string         `json:"signature,omitempty"`
	Data         string          `json:"data,omitempty"`
	Source       *source         `json:"source,omitempty"`
	Title        string          `json:"title,omitempty"`
	ID           string          `json:"id,omitempty"`
	Name         string          `json:"name,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	ToolUseID    string          `json:"tool_use_id,omitempty"`
	Content      []block         `json:"content,omitempty"`
	IsError      bool            `json:"is_error,omitempty"`
	CacheControl *cacheControl   `json:"cache_control,omitempty"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"` // base64 on the wire
}

type cacheControl struct {
	Type string `json:"type"`
}

// streamEvent is any event of a streamed reply.
type streamEvent struct {
	Type         string       `json:"type"`
	Index        int          `json:"index"`
	Message      *startedWire `json:"message"`
	ContentBlock *blockWire   `json:"content_block"`
	Delta        deltaWire    `json:"delta"`
	Usage        *usageWire   `json:"usage"`
	Error        *errorWire   `json:"error"`
}

type startedWire struct {
	Usage usageWire `json:"usage"`
}

type blockWire struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
}

type deltaWire struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Thinking    string `json:"thinking"`
	Signature   string `json:"signature"`
	PartialJSON string `json:"partial_json"`
	StopReason  string `json:"stop_reason"`
}

// usageWire counts tokens. Pointers tell "not said" from zero: message_delta
// repeats only some of the counts of message_start. Unlike agent.Usage,
// input_tokens leaves the cached tokens out.
type usageWire struct {
	InputTokens              *int `json:"input_tokens"`
	OutputTokens             *int `json:"output_tokens"`
	CacheCreationInputTokens *int `json:"cache_creation_input_tokens"`
	CacheReadInputTokens     *int `json:"cache_read_input_tokens"`
}

type errorWire struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

type modelList struct {
	Data    []modelWire `json:"data"`
	HasMore bool        `json:"has_more"`
	LastID  string      `json:"last_id"`
}

type modelWire struct {
	ID             string `json:"id"`
	DisplayName    string `json:"display_name"`
	MaxInputTokens int    `json:"max_input_tokens"`
	MaxTokens      int    `json:"max_tokens"`
	Capabilities   struct {
		ImageInput supported `json:"image_input"`
		PDFInput   supported `json:"pdf_input"`
		Thinking   supported `json:"thinking"`
	} `json:"capabilities"`
}

type supported struct {
	Supported bool `json:"supported"`
}
