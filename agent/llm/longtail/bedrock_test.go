package longtail

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"ash/agent"
	"ash/agent/llm"
	"ash/agent/llm/llmtest"
)

// format is Bedrock's runtime API, as far as this dialect uses it: InvokeModelWithResponseStream with Claude's
// events in AWS's framing, InvokeModel with Nova's answer, and the two lists of the control plane. It refuses what is not signed, and
// what Bedrock refuses of the bodies.
type format struct{}

func (format) Endpoint(r *http.Request) llmtest.Endpoint {
	switch {
	case r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/model/"):
		return llmtest.EndpointChat
	case r.Method == http.MethodGet:
		return llmtest.EndpointModels
	}
	return llmtest.EndpointNone
}

// body is what is checked of a request, of both makers.
type body struct {
	Version     string          `json:"anthropic_version"`
	MaxTokens   int             `json:"max_tokens"`
	System      json.RawMessage `json:"system"`
	Temperature *float64        `json:"temperature"`
	Messages    []struct {
		Role    string                       `json:"role"`
		Content []map[string]json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools  json.RawMessage `json:"tools"`
	Config struct {
		MaxTokens   int      `json:"maxTokens"`
		Temperature *float64 `json:"temperature"`
	} `json:"inferenceConfig"`
}

func (f format) Chat(w *llmtest.Writer, req llmtest.Request, reply llmtest.Reply) {
	if code, complaint := check(req); complaint != "" {
		refuse(w, 400, code, complaint)
		return
	}
	if strings.HasSuffix(req.Path, "/invoke") {
		w.Header().Set("Content-Type", "application/json")
		var blocks []map[string]string
		for _, t := range reply.Text {
			blocks = append(blocks, map[string]string{"text": t})
		}
		stop := reply.Stop
		if stop == "" {
			stop = "end_turn"
		}
		raw, _ := json.Marshal(map[string]any{
			"output": map[string]any{"message": map[string]any{"role": "assistant", "content": blocks}}, "stopReason": stop,
			"usage": map[string]int{"inputTokens": 11, "outputTokens": 7},
		})
		w.Event(raw)
		return
	}
	w.Header().Set("Content-Type", eventStream)
	claude(w, reply)
}

func claude(w *llmtest.Writer, r llmtest.Reply) {
	stop := r.Stop
	if stop == "" {
		stop = "end_turn"
	}
	send := func(format string, args ...any) bool { return w.Event(chunk(fmt.Sprintf(format, args...))) }
	ok := send(`{"type":"message_start","message":{"id":"msg_1","role":"assistant","content":[],"usage":{"input_tokens":11,"output_tokens":1}}}`) &&
		send(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`) && send(`{"type":"ping"}`)
	for _, t := range r.Text {
		ok = ok && send(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}`, quote(t))
	}
	if ok {
		w.LoadPieces(func(t string) bool {
			return send(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}`, quote(t))
		})
	}
	_ = ok && send(`{"type":"content_block_stop","index":0}`) &&
		send(`{"type":"message_delta","delta":{"stop_reason":%s},"usage":{"output_tokens":7}}`, quote(stop)) &&
		send(`{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":11,"outputTokenCount":7}}`)
}

// check says why Bedrock would refuse a request; "" when it would not.
func check(req llmtest.Request) (code, complaint string) {
	if a := req.Header.Get("Authorization"); !strings.HasPrefix(a, "AWS4-HMAC-SHA256 ") || !strings.Contains(a, "/us-east-1/bedrock/aws4_request") {
		return "MissingAuthenticationTokenException", "Missing Authentication Token: " + a
	}
	var b body
	if err := json.Unmarshal(req.Body, &b); err != nil {
		return "ValidationException", "Malformed input request: " + err.Error()
	}
	refuse := func(what string) (string, string) {
		return "ValidationException", "Malformed input request: " + what
	}
	isNova := strings.Contains(req.Path, "nova")
	switch {
	case !isNova && (b.Version != "bedrock-2023-05-31" || b.MaxTokens < 1):
		return refuse("anthropic_version, max_tokens: required")
	case isNova && (b.Config.MaxTokens < 1 || bytes.Contains(b.System, []byte("{}"))):
		return refuse("maxTokens or an empty block")
	case len(b.Messages) == 0 || b.Messages[0].Role != "user" || b.Messages[len(b.Messages)-1].Role != "user":
		return refuse("the conversation must begin and end with the user")
	}
	for i, m := range b.Messages {
		if i > 0 && b.Messages[i-1].Role == m.Role {
			return refuse("roles must alternate")
		}
		for _, c := range m.Content {
			if text, ok := c["text"]; len(c) == 0 || ok && strings.TrimSpace(strings.Trim(string(text), `"`)) == "" {
				return refuse("text content blocks must be non-empty")
			}
		}
	}
	return "", ""
}

func (format) Error(kind llmtest.ErrorKind, stream bool) []byte {
	if stream {
		return frame("exception", map[string]string{":exception-type": "throttlingException"}, `{"message":"Too many tokens, please wait before trying again."}`)
	}
	return []byte(`{"message":"` + string(kind) + `"}`)
}

func (format) Other(w http.ResponseWriter, _ llmtest.Endpoint, req llmtest.Request, _ *llmtest.Server) {
	if !strings.Contains(req.Header.Get("Authorization"), "/us-east-1/bedrock/aws4_request") {
		refuse(w, 403, "AccessDeniedException", "unsigned")
		return
	}
	if req.Path == "/inference-profiles" {
		_, _ = w.Write([]byte(`{"inferenceProfileSummaries":[{"inferenceProfileId":"us.anthropic.claude-sonnet-4-5-20250929-v1:0","inferenceProfileName":"US Claude Sonnet 4.5","status":"ACTIVE"},{"inferenceProfileId":"us.meta.llama4","inferenceProfileName":"Llama","status":"ACTIVE"}]}`))
		return
	}
	_, _ = w.Write([]byte(`{"modelSummaries":[{"modelId":"amazon.nova-pro-v1:0","modelName":"Nova Pro","inputModalities":["TEXT","IMAGE"]}]}`))
}

// refuse answers as Bedrock does.
func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Amzn-Errortype", code+":http://internal.amazon.com/coral/com.amazon.bedrock/")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"message":%s}`, quote(message))
}

// chunk frames one of Claude's events.
func chunk(event string) []byte {
	payload, _ := json.Marshal(map[string][]byte{"bytes": []byte(event)}) // []byte becomes base64
	return frame("event", map[string]string{":event-type": "chunk", ":content-type": "application/json"}, string(payload))
}

// frame makes a message of application/vnd.amazon.eventstream.
func frame(kind string, headers map[string]string, payload string) []byte {
	m := eventstream.Message{Payload: []byte(payload)}
	m.Headers.Set(":message-type", eventstream.StringValue(kind))
	for k, v := range headers {
		m.Headers.Set(k, eventstream.StringValue(v))
	}
	var b bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&b, m); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

const (
	sonnet = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
	novaID = "us.amazon.nova-pro-v1:0"
)

// signedIn is an AWS home of its own, with a profile that has keys and a region. Nothing of the machine's shines through.
func signedIn(t testing.TB) {
	t.Helper()
	awsHome(t, "[default]\nregion = us-east-1\naws_access_key_id = AKIAIOSFODNN7EXAMPLE\naws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n")
}

func awsHome(t testing.TB, settings string) string {
	t.Helper()
	home := t.TempDir()
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("HOME", home)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_MAX_ATTEMPTS", "5") // the chain alone tries again, whatever this says
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(home, "config"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(home, "credentials"))
	writeSettings(t, settings)
	return home
}

func writeSettings(t testing.TB, settings string) {
	t.Helper()
	if err := os.WriteFile(os.Getenv("AWS_CONFIG_FILE"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
}

func connect(t testing.TB, url string) llm.Client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := New(llm.Connection{
		Settings: llm.Settings{Name: "aws", Kind: "bedrock-aws", BaseURL: url, Headers: map[string]string{"X-Gateway": "yes"}},
		Key:      func(context.Context) (string, error) { return "", nil },
		HTTP:     &http.Client{Transport: transport},
		Logger:   slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func info(name string) agent.ModelInfo {
	return agent.ModelInfo{Ref: agent.ModelRef{Provider: "aws", Name: name}, ContextWindow: 200_000, MaxOutput: 8192, Vision: true}
}

func says(role agent.Role, text string) agent.PromptMessage {
	return agent.PromptMessage{Role: role, Parts: []agent.Part{agent.Text{Text: text}}}
}

func hello() agent.Prompt {
	return agent.Prompt{Messages: []agent.PromptMessage{says(agent.RoleUser, "Hello")}}
}

// reply is everything one stream yielded.
type reply struct {
	pieces []string
	usage  agent.Usage
	stop   agent.StopReason
	err    error
}

func collect(t testing.TB, c llm.Client, m agent.ModelInfo, p agent.Prompt) reply {
	t.Helper()
	var r reply
	for d, err := range c.Stream(t.Context(), m, p) {
		switch {
		case err != nil:
			r.err = err
		case d.Kind == agent.DeltaText:
			r.pieces = append(r.pieces, d.Text)
		case d.Kind == agent.DeltaUsage:
			r.usage = *d.Usage
		case d.Kind == agent.DeltaStop:
			r.stop = d.Stop
		default:
			t.Errorf("an unexpected delta: %+v", d)
		}
	}
	return r
}
