package ollama

import "encoding/json"

// The shapes below are Ollama's native API (https://docs.ollama.com/api); only what Ash sends and reads.

type chatRequest struct {
	Model     string    `json:"model"`
	Messages  []message `json:"messages"`
	Tools     []tool    `json:"tools,omitempty"`
	Think     any       `json:"think,omitempty"` // bool, or a level where the model has levels
	Stream    bool      `json:"stream"`
	KeepAlive string    `json:"keep_alive,omitempty"`
	Options   options   `json:"options"`
}

type options struct {
	NumCtx      int      `json:"num_ctx"`
	NumPredict  int      `json:"num_predict,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
}

type message struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	Thinking   string     `json:"thinking,omitempty"`
	Images     [][]byte   `json:"images,omitempty"` // base64 on the wire
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolName   string     `json:"tool_name,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID       string   `json:"id,omitempty"`
	Function function `json:"function"`
}

type function struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // an object
}

type tool struct {
	Type     string       `json:"type"`
	Function toolFunction `json:"function"`
}

type toolFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// chatLine is one line of a streamed reply; the last has Done and the counts.
type chatLine struct {
	Message         message         `json:"message"`
	Done            bool            `json:"done"`
	DoneReason      string          `json:"done_reason"`
	PromptEvalCount int             `json:"prompt_eval_count"`
	EvalCount       int             `json:"eval_count"`
	Error           json.RawMessage `json:"error"`
}

type tagList struct {
	Models []struct {
		Name       string `json:"name"`
		Model      string `json:"model"`
		RemoteHost string `json:"remote_host"` // set for models that run in the vendor's cloud
	} `json:"models"`
}

type showRequest struct {
	Model string `json:"model"`
}

type showAnswer struct {
	Capabilities []string                   `json:"capabilities"`
	ModelInfo    map[string]json.RawMessage `json:"model_info"`
}

type embedRequest struct {
	Model     string   `json:"model"`
	Input     []string `json:"input"`
	Truncate  bool     `json:"truncate"`
	KeepAlive string   `json:"keep_alive,omitempty"`
}

type embedAnswer struct {
	Embeddings [][]float32 `json:"embeddings"`
}
