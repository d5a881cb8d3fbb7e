package openai

import (
	"encoding/json"
	"strings"
)

// chunk is what Ash reads of a streamed chunk, or of a whole completion from a server that does not stream.
type chunk struct {
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
	Groq    *struct {
		Usage *usage `json:"usage"`
	} `json:"x_groq"`
}

type choice struct {
	Index   int     `json:"index"`
	Delta   delta   `json:"delta"`
	Message *delta  `json:"message"` // of a whole completion
	Finish  *string `json:"finish_reason"`
}

type delta struct {
	Content   content     `json:"content"`
	Refusal   string      `json:"refusal"`
	Thinking  string      `json:"reasoning_content"` // DeepSeek, llama.cpp, older vLLM, xAI
	Reasoning string      `json:"reasoning"`         // OpenRouter, Groq, Cerebras, newer vLLM
	ToolCalls []callPiece `json:"tool_calls"`
}

type callPiece struct {
	Index    *int   `json:"index"` // some servers leave it out
	ID       string `json:"id"`
	Function struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	} `json:"function"`
	Extra json.RawMessage `json:"extra_content"` // Gemini's thought signature
}

// content is the text of a delta: a string, or Mistral's list of text and thinking parts.
type content struct {
	Text, Thinking string
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *content) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '[' {
		return json.Unmarshal(b, &c.Text)
	}
	var parts []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Thinking []struct {
			Text string `json:"text"`
		} `json:"thinking"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	var text, thinking strings.Builder
	for _, p := range parts {
		text.WriteString(p.Text)
		for _, t := range p.Thinking {
			thinking.WriteString(t.Text)
		}
	}
	c.Text, c.Thinking = text.String(), thinking.String()
	return nil
}

// arguments are a piece of JSON text. A server that sends the object itself means its text.
type arguments string

// UnmarshalJSON implements json.Unmarshaler.
func (a *arguments) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		*a = arguments(b)
		return nil
	}
	return json.Unmarshal(b, (*string)(a))
}

// usage holds the counts in the ways vendors write them.
type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Details    *struct {
		Cached  int `json:"cached_tokens"`
		Written int `json:"cache_write_tokens"` // OpenRouter
	} `json:"prompt_tokens_details"`
	CacheHit int     `json:"prompt_cache_hit_tokens"` // DeepSeek
	Cost     dollars `json:"cost"`                    // OpenRouter
}
