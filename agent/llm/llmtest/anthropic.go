package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// AnthropicFormat is the format of the Anthropic Messages API, streamed, and its list of models
// (https://platform.claude.com/docs/en/api/messages), below any path prefix. It refuses requests that
// the real one refuses: without the version header, without max_tokens, or with blank content.
type AnthropicFormat struct{}

// Anthropic starts a server of that format for a test. Its base URL is URL.
func Anthropic(t testing.TB, script ...Reply) *Server {
	t.Helper()
	return Start(t, AnthropicFormat{}, script...)
}

// Redacted as a piece of Reply.Thinking makes a redacted_thinking block of what follows it.
const Redacted = "\x00redacted:"

// Endpoint implements Format.
func (AnthropicFormat) Endpoint(r *http.Request) Endpoint {
	switch {
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/v1/messages"):
		return EndpointChat
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/v1/models"):
		return EndpointModels
	}
	return EndpointNone
}

// Chat implements Format.
func (f AnthropicFormat) Chat(w *Writer, req Request, reply Reply) {
	model, complaint := checkMessages(req)
	if complaint != "" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(anthropicError("invalid_request_error", complaint))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Request-Id", "req_011CTest")
	s := anthropicStream{w: w}
	s.reply(model, reply)
}

// wireBlock is what is checked of a content block.
type wireBlock struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text"`
	ID        string          `json:"id"`
	ToolUseID string          `json:"tool_use_id"`
	Cache     json.RawMessage `json:"cache_control"`
}

type wireMessage struct {
	Role    string      `json:"role"`
	Content []wireBlock `json:"content"`
}

// checkMessages holds a request against the rules the API enforces; it returns what the API complains about.
func checkMessages(req Request) (model, complaint string) {
	var body struct {
		Model     string        `json:"model"`
		MaxTokens int           `json:"max_tokens"`
		Stream    bool          `json:"stream"`
		System    []wireBlock   `json:"system"`
		Tools     []wireBlock   `json:"tools"`
		Messages  []wireMessage `json:"messages"`
	}
	if err := json.Unmarshal(req.Body, &body); err != nil {
		return "", "The request body is not valid JSON: " + err.Error()
	}
	switch {
	case req.Header.Get("Anthropic-Version") == "":
		return "", "anthropic-version: header is required"
	case body.MaxTokens < 1:
		return "", "max_tokens: Field required"
	case len(body.Messages) == 0:
		return "", "messages: at least one message is required"
	case !body.Stream:
		return "", "this server only streams"
	}
	if complaint := checkTurns(body.Messages); complaint != "" {
		return "", complaint
	}
	blocks := append(append([]wireBlock(nil), body.System...), body.Tools...)
	for _, m := range body.Messages {
		blocks = append(blocks, m.Content...)
	}
	return body.Model, checkBlocks(blocks)
}

// checkTurns checks that roles alternate and that every call is answered in the next message.
func checkTurns(ms []wireMessage) string {
	pending, seen := map[string]bool{}, map[string]bool{}
	for i, m := range ms {
		if want := [2]string{"user", "assistant"}[i%2]; m.Role != want {
			return fmt.Sprintf("messages.%d: roles must alternate", i)
		}
		if len(m.Content) == 0 {
			return fmt.Sprintf("messages.%d: content must not be empty", i)
		}
		asked := map[string]bool{}
		for _, b := range m.Content {
			switch b.Type {
			case "tool_use":
				if seen[b.ID] || b.ID == "" {
					return fmt.Sprintf("messages.%d: `tool_use` ids must be unique", i)
				}
				seen[b.ID], asked[b.ID] = true, true
			case "tool_result":
				if !pending[b.ToolUseID] {
					return fmt.Sprintf("messages.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s", i, b.ToolUseID)
				}
				delete(pending, b.ToolUseID)
			}
		}
		if len(pending) > 0 {
			return fmt.Sprintf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after", i-1)
		}
		pending = asked
	}
	return ""
}

// checkBlocks refuses blank text and too many cache breakpoints.
func checkBlocks(blocks []wireBlock) string {
	marks := 0
	for _, b := range blocks {
		if b.Type == "text" && (b.Text == nil || strings.TrimSpace(*b.Text) == "") {
			return "messages: text content blocks must contain non-whitespace text"
		}
		if b.Cache != nil {
			marks++
		}
	}
	if marks > 4 {
		return fmt.Sprintf("A maximum of 4 blocks with cache_control may be provided. Found %d.", marks)
	}
	return ""
}

// anthropicStream writes the events of one reply.
type anthropicStream struct {
	w     *Writer
	index int
	ok    bool
}

func (s *anthropicStream) send(name, data string) bool {
	s.ok = s.w.Event(fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, data))
	return s.ok
}

func (s *anthropicStream) start(block string) bool {
	return s.send("content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, s.index, block))
}

func (s *anthropicStream) delta(delta string) bool {
	return s.send("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, s.index, delta))
}

func (s *anthropicStream) stop() bool {
	ok := s.send("content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, s.index))
	s.index++
	return ok
}

func (s *anthropicStream) reply(model string, r Reply) {
	u := UsageOf(r)
	started := fmt.Sprintf(`{"type":"message_start","message":{"id":"msg_01Test","type":"message","role":"assistant","model":%s,"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":1,"service_tier":"standard"}}}`,
		quote(model), u.Input-u.CacheRead-u.CacheWrite, u.CacheWrite, u.CacheRead)
	if !s.send("message_start", started) || !s.thinking(r) || !s.text(r) || !s.calls(r) {
		return
	}
	stop := r.Stop
	if stop == "" {
		stop = "end_turn"
		if len(r.Calls) > 0 {
			stop = "tool_use"
		}
	}
	if s.send("message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%s,"stop_sequence":null},"usage":{"output_tokens":%d}}`, quote(stop), u.Output)) {
		s.send("message_stop", `{"type":"message_stop"}`)
	}
}

func (s *anthropicStream) thinking(r Reply) bool {
	open := false
	finish := func() bool {
		if !open {
			return true
		}
		open = false
		return s.delta(`{"type":"signature_delta","signature":`+quote(r.Signature)+`}`) && s.stop()
	}
	for _, t := range r.Thinking {
		if data, ok := strings.CutPrefix(t, Redacted); ok {
			if !finish() || !s.start(`{"type":"redacted_thinking","data":`+quote(data)+`}`) || !s.stop() {
				return false
			}
			continue
		}
		if !open && !s.start(`{"type":"thinking","thinking":"","signature":""}`) {
			return false
		}
		open = true
		if !s.delta(`{"type":"thinking_delta","thinking":` + quote(t) + `}`) {
			return false
		}
	}
	return finish()
}

func (s *anthropicStream) text(r Reply) bool {
	if len(r.Text) == 0 && r.Load.Tokens == 0 {
		return true
	}
	if !s.start(`{"type":"text","text":""}`) || !s.send("ping", `{"type": "ping"}`) {
		return false
	}
	for _, t := range r.Text {
		if !s.delta(`{"type":"text_delta","text":` + quote(t) + `}`) {
			return false
		}
	}
	s.ok = true
	token, encoded := "", []byte(nil)
	s.w.LoadPieces(func(t string) bool {
		if t != token {
			token = t
			encoded = fmt.Appendf(nil, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"text_delta\",\"text\":%s}}\n\n", s.index, quote(t))
		}
		s.ok = s.w.Event(encoded)
		return s.ok
	})
	return s.ok && s.stop()
}

func (s *anthropicStream) calls(r Reply) bool {
	for _, c := range r.Calls {
		if !s.start(fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%s,"input":{}}`, quote(c.ID), quote(c.Name))) ||
			!s.delta(`{"type":"input_json_delta","partial_json":""}`) {
			return false
		}
		for _, a := range c.Arguments {
			if !s.delta(`{"type":"input_json_delta","partial_json":` + quote(a) + `}`) {
				return false
			}
		}
		if !s.stop() {
			return false
		}
	}
	return true
}

// Error implements Format with the bodies the vendor documents.
func (AnthropicFormat) Error(kind ErrorKind, stream bool) []byte {
	typ, message := "api_error", "Internal server error"
	switch kind {
	case ErrorAuth:
		typ, message = "authentication_error", "invalid x-api-key"
	case ErrorQuota:
		typ, message = "invalid_request_error", "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."
	case ErrorRate:
		typ, message = "rate_limit_error", "This request would exceed your organization's rate limit of 50 requests per minute."
	case ErrorOverloaded:
		typ, message = "overloaded_error", "Overloaded"
	case ErrorNotFound:
		typ, message = "not_found_error", "model: claude-nope"
	case ErrorContext:
		typ, message = "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"
	case ErrorRequest:
		typ, message = "invalid_request_error", "tools.0.custom.input_schema: JSON schema is invalid."
	}
	body := anthropicError(typ, message)
	if stream {
		return fmt.Appendf(nil, "event: error\ndata: %s\n\n", body)
	}
	return body
}

func anthropicError(typ, message string) []byte {
	return fmt.Appendf(nil, `{"type":"error","error":{"type":%s,"message":%s},"request_id":"req_011CTest"}`, quote(typ), quote(message))
}

// Other implements Format: the list of models, two to a page, so that paging is exercised.
func (AnthropicFormat) Other(w http.ResponseWriter, _ Endpoint, req Request, s *Server) {
	const perPage = 2
	from := 0
	for i, name := range s.ModelNames {
		if strings.Contains("&"+req.Query+"&", "&after_id="+name+"&") {
			from = i + 1
		}
	}
	page := s.ModelNames[from:min(from+perPage, len(s.ModelNames))]
	data := []any{}
	for _, name := range page {
		yes := map[string]any{"supported": true}
		data = append(data, map[string]any{
			"type": "model", "id": name, "display_name": "The " + name, "created_at": "2026-01-01T00:00:00Z",
			"max_input_tokens": 200000, "max_tokens": 64000,
			"capabilities": map[string]any{"image_input": yes, "pdf_input": yes, "thinking": yes},
		})
	}
	last := ""
	if len(page) > 0 {
		last = page[len(page)-1]
	}
	writeJSON(w, map[string]any{"data": data, "has_more": from+perPage < len(s.ModelNames), "first_id": "", "last_id": last})
}
