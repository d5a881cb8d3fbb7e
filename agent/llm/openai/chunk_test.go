package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"ash/agent"
	"ash/agent/llm"
)

func TestPlainTextTakesTheUsualChunks(t *testing.T) {
	for name, data := range map[string]string{
		"openai":     `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"gpt-5","service_tier":"default","system_fingerprint":null,"choices":[{"index":0,"delta":{"content":" \"hi\"\n"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"abc"}`,
		"llama.cpp":  `{"choices":[{"finish_reason":null,"index":0,"delta":{"content":" \"hi\"\n"}}],"created":1,"id":"x","model":"m","system_fingerprint":"b1","object":"chat.completion.chunk"}`,
		"openrouter": `{"id":"g","provider":"P","model":"a/b","object":"chat.completion.chunk","created":1,"choices":[{"index":0,"delta":{"role":"assistant","content":" \"hi\"\n"},"finish_reason":null,"native_finish_reason":null,"logprobs":null}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			if text, ok := plainText([]byte(data)); !ok || text != " \"hi\"\n" {
				t.Errorf("got %q, %v", text, ok)
			}
		})
	}
}

func TestPlainTextLeavesTheRest(t *testing.T) {
	for name, data := range map[string]string{
		"usage":         `{"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":1}}`,
		"finish reason": `{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`,
		"second choice": `{"choices":[{"index":1,"delta":{"content":"a"}}]}`,
		"two choices":   `{"choices":[{"index":0,"delta":{"content":"a"}},{"index":1,"delta":{"content":"b"}}]}`,
		"tool call":     `{"choices":[{"index":0,"delta":{"content":"a","tool_calls":[]}}]}`,
		"reasoning":     `{"choices":[{"index":0,"delta":{"content":"","reasoning":"a"}}]}`,
		"error":         `{"error":{"message":"a"},"choices":[{"index":0,"delta":{"content":"a"}}]}`,
		"unknown key":   `{"choices":[{"index":0,"delta":{"content":"a","Content":"b"}}]}`,
		"unicode":       `{"choices":[{"index":0,"delta":{"content":"\ud83d\ude00"}}]}`,
		"cut":           `{"choices":[{"index":0,"delta":{"content":"a`,
		"trailing":      `{"choices":[{"index":0,"delta":{"content":"a"}}]}x`,
	} {
		t.Run(name, func(t *testing.T) {
			if text, ok := plainText([]byte(data)); ok {
				t.Errorf("took %q for the whole", text)
			}
		})
	}
}

// FuzzChunk: no chunk brings the decoder down, and the quick way agrees with the full one.
func FuzzChunk(f *testing.F) {
	for _, seed := range []string{
		`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"a\n\"é"},"logprobs":null,"finish_reason":null}]}`,
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"},"extra_content":{"g":1}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":-5,"completion_tokens":9e9}}`,
		`{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"text":"x"}]}],"reasoning":"r"}}],"error":"e"}`,
		`{"choices":[{"message":{"content":"<think>a</think>b"},"finish_reason":"length"}],"x_groq":{"usage":{"total_tokens":3}}}`,
		"{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\xff\"}}]}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if text, ok := plainText(data); ok {
			var c chunk
			if err := json.Unmarshal(data, &c); err != nil {
				t.Fatalf("the quick way took what is not JSON: %v", err)
			}
			if len(c.Choices) != 1 || c.Choices[0].Delta.Content.Text != text || c.Choices[0].Finish != nil || c.Usage != nil {
				t.Fatalf("quick %q, full %+v", text, c)
			}
		}
		calls := 0
		s := newStream(func(d agent.Delta, err error) bool {
			if d.Call != nil {
				if d.Call.Index < 0 || d.Call.Index > calls {
					t.Fatalf("call %d after %d calls", d.Call.Index, calls)
				}
				calls = max(calls, d.Call.Index+1)
			}
			if d.Usage != nil && (d.Usage.Input < 0 || d.Usage.Output < 0 || d.Usage.CacheRead > d.Usage.Input) {
				t.Fatalf("impossible usage %+v", *d.Usage)
			}
			return true
		})
		s.events(llm.NewEventReader(strings.NewReader("data: "+string(data)+"\n\ndata: "+string(data)), 0))
	})
}
