package llmtest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// OpenAIFormat is the format of OpenAI's chat completions, models and embeddings
// (platform.openai.com/docs/api-reference), below any path prefix.
type OpenAIFormat struct{}

// OpenAI starts a server of that format for a test. Its base URL is URL + "/v1".
func OpenAI(t testing.TB, script ...Reply) *Server {
	t.Helper()
	return Start(t, OpenAIFormat{}, script...)
}

// Endpoint implements Format.
func (OpenAIFormat) Endpoint(r *http.Request) Endpoint {
	switch {
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/chat/completions"):
		return EndpointChat
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/embeddings"):
		return EndpointEmbed
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models"):
		return EndpointModels
	}
	return EndpointNone
}

type openAIRequest struct {
	Model         string `json:"model"`
	Stream        bool   `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// Chat implements Format.
func (f OpenAIFormat) Chat(w *Writer, req Request, reply Reply) {
	var body openAIRequest
	if err := json.Unmarshal(req.Body, &body); err != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(f.Error(ErrorRequest, false))
		return
	}
	if !body.Stream {
		f.whole(w, body, reply)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	s := openAIStream{w: w, model: body.Model}
	if s.reply(reply) && body.StreamOptions != nil && body.StreamOptions.IncludeUsage {
		w.Event(fmt.Appendf(nil, "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1760000000,\"model\":%s,\"choices\":[],\"usage\":%s}\n\n", quote(body.Model), openAIUsage(reply)))
	}
	w.Event([]byte("data: [DONE]\n\n"))
}

// openAIStream writes the chunks of one streamed reply.
type openAIStream struct {
	w     *Writer
	model string
}

func (s *openAIStream) reply(r Reply) bool {
	if !s.delta(`{"role":"assistant","content":""}`, "null") {
		return false
	}
	for _, t := range r.Thinking {
		if !s.delta(`{"reasoning_content":`+quote(t)+`}`, "null") {
			return false
		}
	}
	for _, t := range r.Text {
		if !s.delta(`{"content":`+quote(t)+`}`, "null") {
			return false
		}
	}
	ok := true
	token := ""
	var encoded []byte
	s.w.LoadPieces(func(t string) bool {
		if t != token {
			token, encoded = t, s.chunk(`{"content":`+quote(t)+`}`, "null")
		}
		ok = s.w.Event(encoded)
		return ok
	})
	for i, c := range r.Calls {
		ok = ok && s.call(i, c)
	}
	stop := r.Stop
	if stop == "" {
		stop = "stop"
		if len(r.Calls) > 0 {
			stop = "tool_calls"
		}
	}
	return ok && s.delta("{}", quote(stop))
}

func (s *openAIStream) call(index int, c Call) bool {
	extra := ""
	if c.Extra != "" {
		extra = `,"extra_content":` + c.Extra
	}
	first := fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":""}%s}]}`, index, quote(c.ID), quote(c.Name), extra)
	if !s.delta(first, "null") {
		return false
	}
	for _, a := range c.Arguments {
		if !s.delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, index, quote(a)), "null") {
			return false
		}
	}
	return true
}

func (s *openAIStream) delta(delta, stop string) bool { return s.w.Event(s.chunk(delta, stop)) }

func (s *openAIStream) chunk(delta, stop string) []byte {
	return fmt.Appendf(nil, "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1760000000,\"model\":%s,\"system_fingerprint\":\"fp_1\",\"choices\":[{\"index\":0,\"delta\":%s,\"logprobs\":null,\"finish_reason\":%s}]}\n\n",
		quote(s.model), delta, stop)
}

func (OpenAIFormat) whole(w http.ResponseWriter, req openAIRequest, r Reply) {
	type function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	type call struct {
		ID       string          `json:"id"`
		Type     string          `json:"type"`
		Function function        `json:"function"`
		Extra    json.RawMessage `json:"extra_content,omitempty"`
	}
	var calls []call
	for _, c := range r.Calls {
		calls = append(calls, call{ID: c.ID, Type: "function", Function: function{Name: c.Name, Arguments: strings.Join(c.Arguments, "")}, Extra: json.RawMessage(c.Extra)})
	}
	stop := r.Stop
	if stop == "" {
		stop = "stop"
		if calls != nil {
			stop = "tool_calls"
		}
	}
	message := map[string]any{"role": "assistant", "content": strings.Join(r.Text, "") + strings.Repeat(r.Load.Token, r.Load.Tokens)}
	if r.Thinking != nil {
		message["reasoning_content"] = strings.Join(r.Thinking, "")
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	writeJSON(w, map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1760000000, "model": req.Model,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": stop}},
		"usage":   json.RawMessage(openAIUsage(r)),
	})
}

// Error implements Format with the bodies OpenAI documents.
func (OpenAIFormat) Error(kind ErrorKind, stream bool) []byte {
	message, typ, code := "The server had an error while processing your request.", "server_error", "null"
	switch kind {
	case ErrorAuth:
		message, typ, code = "Incorrect API key provided: sk-proj-abcdefghijklmnop1234. You can find your API key at https://platform.openai.com/account/api-keys.", "invalid_request_error", `"invalid_api_key"`
	case ErrorQuota:
		message, typ, code = "You exceeded your current quota, please check your plan and billing details.", "insufficient_quota", `"insufficient_quota"`
	case ErrorRate:
		message, typ, code = "Rate limit reached for requests. Limit: 3 / min.", "requests", `"rate_limit_exceeded"`
	case ErrorOverloaded:
		message, typ = "The engine is currently overloaded, please try again later.", "overloaded_error"
	case ErrorNotFound:
		message, typ, code = "The model `nope` does not exist or you do not have access to it.", "invalid_request_error", `"model_not_found"`
	case ErrorContext:
		message, typ, code = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens. Please reduce the length of the messages.", "invalid_request_error", `"context_length_exceeded"`
	case ErrorRequest:
		message, typ = "Unrecognized request argument supplied: stream_options", "invalid_request_error"
	}
	body := fmt.Appendf(nil, `{"error":{"message":%s,"type":%s,"param":null,"code":%s}}`, quote(message), quote(typ), code)
	if stream {
		return fmt.Appendf(nil, "data: %s\n\n", body)
	}
	return body
}

// Other implements Format: the list of models and embeddings. The embedding of a text depends on the text alone.
func (OpenAIFormat) Other(w http.ResponseWriter, e Endpoint, req Request, s *Server) {
	if e == EndpointModels {
		data := []any{}
		for _, name := range s.ModelNames {
			data = append(data, map[string]any{"id": name, "object": "model", "created": 1760000000, "owned_by": "test"})
		}
		writeJSON(w, map[string]any{"object": "list", "data": data})
		return
	}
	var body struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}
	if err := json.Unmarshal(req.Body, &body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	data := []any{}
	for i, text := range body.Input {
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": Vector(text, s.Dimensions)})
	}
	writeJSON(w, map[string]any{"object": "list", "data": data, "model": body.Model, "usage": map[string]any{"prompt_tokens": len(body.Input), "total_tokens": len(body.Input)}})
}

// Vector is the embedding the servers give a text: dims numbers (0 is 8) in [-1, 1] made from its hash.
func Vector(text string, dims int) []float32 {
	if dims == 0 {
		dims = 8
	}
	out := make([]float32, dims)
	for i := range out {
		h := fnv.New32a()
		_, _ = h.Write([]byte(strconv.Itoa(i) + text))
		out[i] = float32(h.Sum32()%2001)/1000 - 1
	}
	return out
}

// UsageOf is what a server says reply took: its Usage, or one token per piece.
func UsageOf(reply Reply) Usage {
	if reply.Usage != nil {
		return *reply.Usage
	}
	return Usage{Input: 10, Output: len(reply.Thinking) + len(reply.Text) + reply.Load.Tokens + len(reply.Calls)}
}

func openAIUsage(r Reply) []byte {
	u := UsageOf(r)
	return fmt.Appendf(nil, `{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d},"completion_tokens_details":{"reasoning_tokens":%d}}`,
		u.Input, u.Output, u.Input+u.Output, u.CacheRead, len(r.Thinking))
}

// quote returns s as a JSON string.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""` // a string always encodes
	}
	return string(b)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may have gone
}
