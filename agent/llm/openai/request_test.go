package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"ash/agent"
	"ash/agent/llm"
	"ash/agent/llm/llmtest"
)

// conversation has everything a request can hold.
func conversation() agent.Prompt {
	warm := 0.0
	text := func(s string) agent.Part { return agent.Text{Text: s} }
	return agent.Prompt{
		System: "Be <brief> & true.",
		Messages: []agent.PromptMessage{
			{Role: agent.RoleUser, Parts: []agent.Part{text("look"), agent.Image{Attachment: agent.Attachment{Media: "image/png"}, Data: []byte{1, 2, 3}}}},
			{Role: agent.RoleAssistant, Parts: []agent.Part{agent.Thinking{Text: "old"}, text("I see.")}},
			{Role: agent.RoleUser, Parts: []agent.Part{text("read both"), text("please")}},
			{Role: agent.RoleAssistant, Parts: []agent.Part{agent.Thinking{Text: "new"}, agent.ToolUse{Call: "1"}, agent.ToolUse{Call: "2"}}, Calls: []agent.ToolCall{
				{ID: "1", ProviderID: "c1", Name: "read", Arguments: json.RawMessage(`{"p":"a"}`), Extra: json.RawMessage(`{"extra_content":{"google":{"thought_signature":"sig+/="}}}`)},
				{ID: "2", Name: "read", Arguments: json.RawMessage(`"{broken"`)},
			}},
			{Role: agent.RoleUser, Parts: []agent.Part{
				agent.ToolResult{Call: "1", ProviderID: "c1", Name: "read", Content: []agent.Part{text("A"), agent.Image{Attachment: agent.Attachment{Media: "image/gif"}, Data: []byte{9}}}},
				agent.ToolResult{Call: "2", Name: "read", Failed: true, Content: []agent.Part{text("no such file")}},
			}},
		},
		Tools:       []agent.ToolSpec{{Name: "read", Description: "Reads.", Schema: json.RawMessage(`{"type":"object","properties":{"p":{"type":"string"}}}`)}},
		MaxTokens:   99,
		Temperature: &warm,
	}
}

// sent returns the request the server saw, as parsed JSON.
func sent(t *testing.T, kind string, p agent.Prompt) (map[string]any, llmtest.Request) {
	t.Helper()
	server := llmtest.OpenAI(t, llmtest.Text("ok"))
	if got := collect(connect(t, server.URL+"/v1", kind), model, p); got.err != nil {
		t.Fatal(got.err)
	}
	r := server.Chats()[0]
	var body map[string]any
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Fatal(err)
	}
	return body, r
}

func TestRequest(t *testing.T) {
	_, r := sent(t, "gemini", conversation())
	want := `{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":99,"temperature":0,` +
		`"tools":[{"function":{"name":"read","description":"Reads.","parameters":{"type":"object","properties":{"p":{"type":"string"}}}},"type":"function"}],"messages":[` +
		`{"role":"system","content":"Be <brief> & true."},` +
		`{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AQID"}}]},` +
		`{"role":"assistant","content":"I see."},` +
		`{"role":"user","content":"read both\n\nplease"},` +
		`{"role":"assistant","content":null,"reasoning_content":"new","tool_calls":[` +
		`{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"p\":\"a\"}"},"extra_content":{"google":{"thought_signature":"sig+/="}}},` +
		`{"id":"2","type":"function","function":{"name":"read","arguments":"{\"invalid_arguments\":\"{broken\"}"}}]},` +
		`{"role":"tool","content":"A","tool_call_id":"c1"},` +
		`{"role":"tool","content":"The tool failed.\nno such file","tool_call_id":"2"},` +
		`{"role":"user","content":[{"type":"text","text":"[Image from the tool read]"},{"type":"image_url","image_url":{"url":"data:image/gif;base64,CQ=="}}]}]}` + "\n"
	if string(r.Body) != want {
		t.Errorf("got\n%s\nwant\n%s", r.Body, want)
	}
	for name, value := range map[string]string{"Authorization": "Bearer sk-test", "X-Gateway": "yes", "Accept": "text/event-stream"} {
		if got := r.Header.Get(name); got != value {
			t.Errorf("header %s is %q, want %q", name, got, value)
		}
	}
}

func TestGeminiGetsMarkForForeignCalls(t *testing.T) {
	p := conversation()
	p.Messages[3].Calls[0].Extra = nil
	_, r := sent(t, "gemini", p)
	if n := strings.Count(string(r.Body), `"extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}}`); n != 1 {
		t.Errorf("the mark is there %d times, want once: %s", n, r.Body)
	}
}

// TestOptionsRefused: what a server does not take is left out, once and for later calls.
func TestOptionsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		complaint string
		gone      string
		instead   string
	}{
		"stream_options":         {"Unrecognized request argument supplied: stream_options", "stream_options", ""},
		"temperature":            {"Unsupported value: 'temperature' does not support 0 with this model", "temperature", ""},
		"max_tokens":             {"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "max_tokens", "max_completion_tokens"},
		"tools beside reasoning": {"Function tools with reasoning_effort are not supported for this model in /v1/chat/completions. Please use /v1/responses instead.", "", `"reasoning_effort":"none"`},
		"reasoning_content":      {"messages.4: property 'reasoning_content' is unsupported", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			refusal, err := json.Marshal(map[string]any{"error": map[string]any{"message": tc.complaint, "type": "invalid_request_error"}})
			if err != nil {
				t.Fatal(err)
			}
			server := llmtest.OpenAI(t, llmtest.Reply{Fault: llmtest.Fault{Status: 400, Raw: string(refusal), Media: "application/json"}}, llmtest.Text("ok"), llmtest.Text("ok"))
			c := connect(t, server.URL+"/v1", "vllm")
			for range 2 {
				if got := collect(c, model, conversation()); got.err != nil {
					t.Fatal(got.err)
				}
			}
			chats := server.Chats()
			if len(chats) != 3 {
				t.Fatalf("%d requests, want 3: the refusal is remembered", len(chats))
			}
			for _, r := range chats[1:] {
				if tc.gone != "" && strings.Contains(string(r.Body), `"`+tc.gone+`":`) || !strings.Contains(string(r.Body), tc.instead) || strings.Contains(string(r.Body), "reasoning_content") && name == "reasoning_content" {
					t.Errorf("sent again: %s", r.Body)
				}
			}
		})
	}
}

func TestRefusalThatCannotBeHelped(t *testing.T) {
	server := llmtest.OpenAI(t, llmtest.Reply{Fault: llmtest.Fault{Status: 400, Media: "application/json", Raw: `{"error":{"message":"bad schema"}}`}})
	got := collect(connect(t, server.URL+"/v1", "openai"), model, conversation())
	if f := llm.FaultOf(got.err); f == nil || f.Kind != llm.FaultRequest || !strings.Contains(f.Public(), "bad schema") {
		t.Errorf("got %v", got.err)
	}
	if n := len(server.Chats()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

func TestModels(t *testing.T) {
	raw := `{"object":"list","data":[
		{"id":"models/gemini-x","object":"model"},
		{"id":"text-embedding-3-small"},
		{"id":"maker/big","name":"Big","context_length":200000,"supported_parameters":["tools","reasoning"],"architecture":{"input_modalities":["text","image"]},
		 "pricing":{"prompt":"0.000003","completion":"0.000015","input_cache_read":"0.0000003"}},
		{"id":"local","max_model_len":4096,"meta":{"n_ctx":8192}},
		{"id":"free","pricing":{"prompt":"-1","completion":"x"}}]}`
	c := connect(t, serve(t, "application/json", raw), "openai")
	got, err := c.Models(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := []agent.ModelInfo{
		{Ref: agent.ModelRef{Name: "gemini-x"}},
		{Ref: agent.ModelRef{Name: "maker/big"}, Title: "Big", ContextWindow: 200000, Tools: true, Vision: true, Thinking: true,
			Price: agent.Price{Input: 3_000_000, Output: 15_000_000, CacheRead: 300_000, CacheWrite: 3_000_000}},
		{Ref: agent.ModelRef{Name: "local"}, ContextWindow: 8192},
		{Ref: agent.ModelRef{Name: "free"}},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

// serve answers every request with one body.
func serve(t *testing.T, media, body string) string {
	t.Helper()
	return llmtest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		_, _ = w.Write([]byte(body))
	}))
}

func TestModelsFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		media, body string
		kind        llm.FaultKind
	}{
		"web page":    {"text/html", "<html></html>", llm.FaultNotAPI},
		"not JSON":    {"application/json", "{", llm.FaultMalformed},
		"not a list":  {"application/json", `{"status":"ok"}`, llm.FaultMalformed},
		"wrong types": {"application/json", `{"data":[{"id":1}]}`, llm.FaultMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := connect(t, serve(t, tc.media, tc.body), "openai").Models(context.Background())
			if f := llm.FaultOf(err); f == nil || f.Kind != tc.kind {
				t.Errorf("got %v, want %s", err, tc.kind)
			}
		})
	}
}

func TestEmbed(t *testing.T) {
	server := llmtest.OpenAI(t)
	server.Dimensions = 4
	e := connect(t, server.URL+"/v1", "openai").Embedder("some-model", 0)
	texts := make([]string, 300)
	for i := range texts {
		texts[i] = strings.Repeat("x", i)
	}
	got, err := e.Embed(context.Background(), texts)
	if err != nil {
		t.Fatal(err)
	}
	if e.Dimensions() != 4 || len(server.Requests()) != 3 {
		t.Errorf("dimensions %d in %d requests, want 4 in 3", e.Dimensions(), len(server.Requests()))
	}
	for i, v := range got {
		if !slices.Equal(v, llmtest.Vector(texts[i], 4)) {
			t.Fatalf("vector %d is not that of its text", i)
		}
	}
}

func TestEmbedFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		body string
		kind llm.FaultKind
	}{
		"too few":          {`{"data":[{"index":0,"embedding":[1,2]}]}`, llm.FaultMalformed},
		"doubled":          {`{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`, llm.FaultMalformed},
		"foreign index":    {`{"data":[{"index":7,"embedding":[1]},{"index":0,"embedding":[1]}]}`, llm.FaultMalformed},
		"uneven":           {`{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}]}`, llm.FaultMalformed},
		"cannot be parsed": {`{"data":`, llm.FaultMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := connect(t, serve(t, "application/json", tc.body), "openai").Embedder("m", 0).Embed(context.Background(), []string{"a", "b"})
			var e *agent.Error
			if f := llm.FaultOf(err); !errors.As(err, &e) || f == nil || f.Kind != tc.kind {
				t.Errorf("got %v, want %s", err, tc.kind)
			}
		})
	}
}
