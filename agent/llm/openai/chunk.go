package openai

import (
	"bytes"
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

// plainText reads the chunk nearly every token comes in, which holds one piece of text and nothing else of interest, at
// a fraction of what encoding/json takes. It reports false for anything it is not sure of, errors included; the
// caller then decodes the chunk in full. Where both succeed they agree (FuzzChunk).
func plainText(data []byte) (string, bool) {
	s := scanner{data: data}
	text, found := []byte(nil), false
	ok := s.object(func(key []byte) bool {
		switch string(key) {
		case "choices":
			return !found && s.lit('[') && s.object(func(key []byte) bool {
				switch string(key) {
				case "delta":
					return !found && s.object(func(key []byte) bool {
						switch string(key) {
						case "content":
							var ok bool
							if found {
								return false
							}
							text, ok = s.str()
							found = ok
							return ok
						case "role":
							return s.skipString()
						case "refusal", "tool_calls", "function_call", "reasoning", "reasoning_content":
							return s.null()
						}
						return false
					})
				case "index":
					return s.zero()
				case "logprobs", "finish_reason", "native_finish_reason", "stop_reason", "token_ids":
					return s.null()
				}
				return false
			}) && s.lit(']')
		case "id", "object", "model", "system_fingerprint", "service_tier", "obfuscation", "provider", "created":
			return s.skipScalar()
		case "usage", "error", "x_groq", "prompt_token_ids":
			return s.null()
		}
		return false
	})
	if !ok || !found || !s.end() {
		return "", false
	}
	return string(text), true
}

// scanner reads JSON strictly, and only what plainText needs. Every method reports false when something else stands there.
type scanner struct {
	data []byte
	pos  int
	buf  []byte
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

func (s *scanner) lit(c byte) bool {
	s.space()
	if s.pos < len(s.data) && s.data[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

func (s *scanner) end() bool {
	s.space()
	return s.pos == len(s.data)
}

// object reads {"key": value, …}; value is called with each key and must consume its value.
func (s *scanner) object(value func(key []byte) bool) bool {
	if !s.lit('{') {
		return false
	}
	for {
		key, ok := s.raw()
		if !ok || !s.lit(':') || !value(key) {
			return false
		}
		if s.lit(',') {
			continue
		}
		return s.lit('}')
	}
}

// raw reads a string of printable ASCII without escapes.
func (s *scanner) raw() ([]byte, bool) {
	if !s.lit('"') {
		return nil, false
	}
	n := bytes.IndexByte(s.data[s.pos:], '"')
	if n < 0 {
		return nil, false
	}
	out := s.data[s.pos : s.pos+n]
	for _, c := range out {
		if c < ' ' || c >= 0x80 || c == '\\' {
			return nil, false
		}
	}
	s.pos += n + 1
	return out, true
}

func (s *scanner) skipString() bool {
	_, ok := s.raw()
	return ok
}

// skipScalar passes over a plain string, null, or a small whole number.
func (s *scanner) skipScalar() bool {
	s.space()
	if s.pos >= len(s.data) {
		return false
	}
	switch c := s.data[s.pos]; {
	case c == '"':
		return s.skipString()
	case c == 'n':
		return s.null()
	case c >= '1' && c <= '9':
		for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
			s.pos++
		}
		return true
	}
	return false
}

func (s *scanner) null() bool {
	s.space()
	if bytes.HasPrefix(s.data[s.pos:], []byte("null")) {
		s.pos += 4
		return true
	}
	return false
}

func (s *scanner) zero() bool { return s.lit('0') }
