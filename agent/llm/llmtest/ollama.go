package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// OllamaFormat is the format of Ollama's native API (https://docs.ollama.com/api). Its zero value serves
// models that can do everything; NoTools and NoThinking name those that refuse it, as the real server does.
type OllamaFormat struct {
	NoTools    []string
	NoThinking []string
	EmbedOnly  []string // listed, but cannot chat
}

// Ollama starts a server of that format for a test. Its base URL is URL.
func Ollama(t testing.TB, script ...Reply) *Server {
	t.Helper()
	return Start(t, OllamaFormat{}, script...)
}

// Endpoint implements Format.
func (OllamaFormat) Endpoint(r *http.Request) Endpoint {
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/api/chat":
		return EndpointChat
	case r.Method == http.MethodGet && r.URL.Path == "/api/tags":
		return EndpointModels
	case r.Method == http.MethodPost && r.URL.Path == "/api/embed":
		return EndpointEmbed
	case r.Method == http.MethodPost && r.URL.Path == "/api/show":
		return EndpointOther
	}
	return EndpointNone
}

// Chat implements Format.
func (f OllamaFormat) Chat(w *Writer, req Request, reply Reply) {
	model, complaint := f.check(req)
	if complaint != "" {
		ollamaError(w, http.StatusBadRequest, complaint)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	s := ollamaStream{w: w, model: model}
	for _, t := range reply.Thinking {
		if !s.message(fmt.Sprintf(`{"role":"assistant","content":"","thinking":%s}`, quote(t))) {
			return
		}
	}
	for _, t := range reply.Text {
		if !s.message(fmt.Sprintf(`{"role":"assistant","content":%s}`, quote(t))) {
			return
		}
	}
	ok, token := true, ""
	var encoded []byte
	w.LoadPieces(func(t string) bool {
		if t != token {
			token, encoded = t, s.line(fmt.Sprintf(`{"role":"assistant","content":%s}`, quote(t)))
		}
		ok = w.Event(encoded)
		return ok
	})
	for _, c := range reply.Calls {
		ok = ok && s.message(fmt.Sprintf(`{"role":"assistant","content":"","tool_calls":[{"id":%s,"function":{"index":0,"name":%s,"arguments":%s}}]}`, quote(c.ID), quote(c.Name), strings.Join(c.Arguments, "")))
	}
	if !ok {
		return
	}
	stop := reply.Stop
	if stop == "" {
		stop = "stop"
	}
	u := UsageOf(reply)
	w.Event(fmt.Appendf(nil, `{"model":%s,"created_at":"2026-01-01T00:00:00.000000001Z","message":{"role":"assistant","content":""},"done":true,"done_reason":%s,"total_duration":5191566416,"load_duration":2154458,"prompt_eval_count":%d,"prompt_eval_duration":383809000,"eval_count":%d,"eval_duration":4799921000}`+"\n",
		quote(model), quote(stop), u.Input, u.Output))
}

// check refuses what the real server refuses.
func (f OllamaFormat) check(req Request) (model, complaint string) {
	var body struct {
		Model    string            `json:"model"`
		Messages []json.RawMessage `json:"messages"`
		Tools    []json.RawMessage `json:"tools"`
		Think    any               `json:"think"`
	}
	if err := json.Unmarshal(req.Body, &body); err != nil {
		return "", err.Error()
	}
	for _, raw := range body.Messages {
		var m struct {
			Role      string `json:"role"`
			ToolCalls []struct {
				Function struct {
					Arguments map[string]any `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			return "", err.Error()
		}
	}
	switch {
	case body.Model == "":
		return "", "model is required"
	case len(body.Tools) > 0 && slices.Contains(f.NoTools, body.Model):
		return "", fmt.Sprintf("registry.ollama.ai/library/%s does not support tools", body.Model)
	case body.Think != nil && body.Think != false && slices.Contains(f.NoThinking, body.Model):
		return "", fmt.Sprintf("%q does not support thinking", body.Model)
	}
	return body.Model, ""
}

// ollamaStream writes the lines of one reply.
type ollamaStream struct {
	w     *Writer
	model string
}

func (s ollamaStream) line(message string) []byte {
	return fmt.Appendf(nil, `{"model":%s,"created_at":"2026-01-01T00:00:00.000000001Z","message":%s,"done":false}`+"\n", quote(s.model), message)
}

func (s ollamaStream) message(message string) bool { return s.w.Event(s.line(message)) }

// Error implements Format with the bodies the server gives.
func (OllamaFormat) Error(kind ErrorKind, stream bool) []byte {
	message := "an error was encountered while running the model: unexpected EOF"
	switch kind {
	case ErrorAuth:
		message = "unauthorized"
	case ErrorQuota:
		message = "you've reached your hourly usage limit, please upgrade to continue"
	case ErrorRate:
		message = "too many concurrent requests"
	case ErrorOverloaded:
		message = "server busy, please try again.  maximum pending requests exceeded"
	case ErrorNotFound:
		message = "model 'nope' not found"
	case ErrorContext:
		message = "prompt too long; exceeded max context length by 2048 tokens"
	case ErrorRequest:
		message = "invalid option provided"
	}
	body := fmt.Appendf(nil, `{"error":%s}`, quote(message))
	if stream {
		return append(body, '\n')
	}
	return body
}

func ollamaError(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":%s}`, quote(message))
}

// Other implements Format: tags, show and embeddings.
func (f OllamaFormat) Other(w http.ResponseWriter, e Endpoint, req Request, s *Server) {
	var body struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}
	if e != EndpointModels {
		if err := json.Unmarshal(req.Body, &body); err != nil {
			ollamaError(w, http.StatusBadRequest, err.Error())
			return
		}
		if !slices.Contains(s.ModelNames, body.Model) {
			ollamaError(w, http.StatusNotFound, fmt.Sprintf("model '%s' not found", body.Model))
			return
		}
	}
	switch e {
	case EndpointModels:
		models := []any{}
		for _, name := range s.ModelNames {
			models = append(models, map[string]any{"name": name, "model": name, "modified_at": "2026-01-01T00:00:00Z", "size": 3338801804, "digest": "a80c4f17acd5", "details": map[string]any{"family": "test", "parameter_size": "4.3B", "quantization_level": "Q4_K_M"}})
		}
		writeJSON(w, map[string]any{"models": models})
	case EndpointEmbed:
		vectors := [][]float32{}
		for _, text := range body.Input {
			vectors = append(vectors, Vector(text, s.Dimensions))
		}
		writeJSON(w, map[string]any{"model": body.Model, "embeddings": vectors, "total_duration": 14143917, "prompt_eval_count": len(body.Input)})
	default:
		writeJSON(w, map[string]any{
			"details":      map[string]any{"family": "test"},
			"capabilities": f.capabilities(body.Model),
			"model_info":   map[string]any{"general.architecture": "test", "test.context_length": 40960, "test.embedding_length": 8},
		})
	}
}

func (f OllamaFormat) capabilities(model string) []string {
	if slices.Contains(f.EmbedOnly, model) {
		return []string{"embedding"}
	}
	out := []string{"completion", "vision"}
	if !slices.Contains(f.NoTools, model) {
		out = append(out, "tools")
	}
	if !slices.Contains(f.NoThinking, model) {
		out = append(out, "thinking")
	}
	return out
}
