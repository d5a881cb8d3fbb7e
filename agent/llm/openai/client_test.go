package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/llm"
	"ash/agent/llm/llmtest"
	"ash/agent/llm/openai"
)

// connect makes a client of the server at url.
func connect(t testing.TB, url, kind string) *openai.Client {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	c, err := openai.New(llm.Connection{
		Settings: llm.Settings{Name: "test", Kind: kind, BaseURL: url, Headers: map[string]string{"X-Gateway": "yes"}},
		Key:      func(context.Context) (string, error) { return "sk-test", nil },
		HTTP:     client,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c.(*openai.Client)
}

// reply is a stream put together.
type reply struct {
	text, thinking string
	calls          []agent.CallPiece
	usage          agent.Usage
	stop           agent.StopReason
	err            error
}

func collect(c *openai.Client, info agent.ModelInfo, p agent.Prompt) reply {
	var r reply
	for d, err := range c.Stream(context.Background(), info, p) {
		if err != nil {
			r.err = err
			continue
		}
		switch d.Kind {
		case agent.DeltaText:
			r.text += d.Text
		case agent.DeltaThinking:
			r.thinking += d.Text
		case agent.DeltaUsage:
			r.usage = *d.Usage
		case agent.DeltaStop:
			r.stop = d.Stop
		case agent.DeltaCall:
			for len(r.calls) <= d.Call.Index {
				r.calls = append(r.calls, agent.CallPiece{Index: len(r.calls)})
			}
			at := &r.calls[d.Call.Index]
			at.ProviderID += d.Call.ProviderID
			at.Name += d.Call.Name
			at.Arguments += d.Call.Arguments
			if d.Call.Extra != nil {
				at.Extra = d.Call.Extra
			}
		}
	}
	return r
}

var model = agent.ModelInfo{Ref: agent.ModelRef{Provider: "test", Name: "m"}, Tools: true, Vision: true}

func hello() agent.Prompt {
	return agent.Prompt{Messages: []agent.PromptMessage{{Role: agent.RoleUser, Parts: []agent.Part{agent.Text{Text: "hello"}}}}}
}

func TestStream(t *testing.T) {
	for name, tc := range map[string]struct {
		script llmtest.Reply
		want   reply
	}{
		"text": {
			llmtest.Reply{Text: []string{"Grüß ", "dich, ", "世界 \"quoted\"\n"}, Usage: &llmtest.Usage{Input: 100, Output: 7, CacheRead: 80}},
			reply{text: "Grüß dich, 世界 \"quoted\"\n", usage: agent.Usage{Input: 100, Output: 7, CacheRead: 80}, stop: agent.StopEnd},
		},
		"thinking": {
			llmtest.Reply{Thinking: []string{"hm ", "so"}, Text: []string{"yes"}, Usage: &llmtest.Usage{Input: 1, Output: 3}},
			reply{thinking: "hm so", text: "yes", usage: agent.Usage{Input: 1, Output: 3}, stop: agent.StopEnd},
		},
		"markup": {
			llmtest.Reply{Text: []string{"<th", "ink>plan</thi", "nk>\n\nDone. <tool", "_call>{\"name\":\"clock\",\"arguments\":{\"zone\":\"UTC\"}}</tool_call>"}, Usage: &llmtest.Usage{}},
			reply{thinking: "plan", text: "Done. ", calls: []agent.CallPiece{{Name: "clock", Arguments: `{"zone":"UTC"}`}}, stop: agent.StopTools},
		},
		"parallel calls in pieces": {
			llmtest.Reply{Usage: &llmtest.Usage{}, Calls: []llmtest.Call{
				{ID: "a", Name: "read", Arguments: []string{`{"path"`, `:"x"}`}, Extra: `{"google":{"thought_signature":"c2ln"}}`},
				{ID: "b", Name: "list", Arguments: []string{`{}`}},
			}},
			reply{stop: agent.StopTools, calls: []agent.CallPiece{
				{ProviderID: "a", Name: "read", Arguments: `{"path":"x"}`, Extra: json.RawMessage(`{"extra_content":{"google":{"thought_signature":"c2ln"}}}`)},
				{Index: 1, ProviderID: "b", Name: "list", Arguments: `{}`},
			}},
		},
		"cut off by the limit": {
			llmtest.Reply{Text: []string{"one two"}, Stop: "length", Usage: &llmtest.Usage{}},
			reply{text: "one two", stop: agent.StopMaxTokens},
		},
		"filtered": {
			llmtest.Reply{Text: []string{"I"}, Stop: "content_filter", Usage: &llmtest.Usage{}},
			reply{text: "I", stop: agent.StopRefusal},
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.OpenAI(t, tc.script)
			got := collect(connect(t, server.URL+"/v1", "openai"), model, hello())
			if got.err != nil {
				t.Fatal(got.err)
			}
			compare(t, got, tc.want)
		})
	}
}

func compare(t *testing.T, got, want reply) {
	t.Helper()
	g, _ := json.Marshal([]any{got.text, got.thinking, got.calls, got.usage, got.stop})
	w, _ := json.Marshal([]any{want.text, want.thinking, want.calls, want.usage, want.stop})
	if string(g) != string(w) {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
}

// events serves fixed bytes as a stream.
func events(t *testing.T, media string, lines ...string) string {
	t.Helper()
	body := ""
	for _, l := range lines {
		body += "data: " + l + "\n\n"
	}
	if media != "text/event-stream" {
		body = strings.Join(lines, "\n")
	}
	return llmtest.Start(t, llmtest.OpenAIFormat{}, llmtest.Reply{Fault: llmtest.Fault{Raw: body, Media: media}}).URL + "/v1"
}

func TestVendorsStreams(t *testing.T) {
	const sse = "text/event-stream"
	for name, tc := range map[string]struct {
		media string
		lines []string
		want  reply
	}{
		"gemini gives parallel calls one index and says stop": {sse, []string{
			`{"choices":[{"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"x1","type":"function","function":{"name":"a","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s=="}}}]},"index":0}]}`,
			`{"choices":[{"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"x2","type":"function","function":{"name":"b","arguments":"{\"n\":1}"}}]},"finish_reason":"stop","index":0}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":17}}`,
			`[DONE]`,
		}, reply{stop: agent.StopTools, usage: agent.Usage{Input: 5, Output: 12}, calls: []agent.CallPiece{
			{ProviderID: "x1", Name: "a", Arguments: "{}", Extra: json.RawMessage(`{"extra_content":{"google":{"thought_signature":"s=="}}}`)},
			{Index: 1, ProviderID: "x2", Name: "b", Arguments: `{"n":1}`},
		}}},
		"calls without index or id": {sse, []string{
			`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"a","arguments":"{\"x\""}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":":1}"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"b","arguments":{"y":2}}}]}}]}`,
			`{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`,
		}, reply{stop: agent.StopTools, calls: []agent.CallPiece{{Name: "a", Arguments: `{"x":1}`}, {Index: 1, Name: "b", Arguments: `{"y":2}`}}}},
		"id and name repeated in every piece": {sse, []string{
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"a","arguments":"{\"x\""}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"a","arguments":":1}"}}]},"finish_reason":"tool_calls"}]}`,
		}, reply{stop: agent.StopTools, calls: []agent.CallPiece{{ProviderID: "c", Name: "a", Arguments: `{"x":1}`}}}},
		"deepseek counts its cache apart": {sse, []string{
			`{"choices":[{"index":0,"delta":{"content":null,"reasoning_content":"think"}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"\u00e9"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12,"prompt_cache_hit_tokens":4}}`,
			`[DONE]`,
		}, reply{thinking: "think", text: "é", stop: agent.StopEnd, usage: agent.Usage{Input: 9, Output: 3, CacheRead: 4}}},
		"openrouter tells the cost and sends comments": {sse, []string{
			`{"choices":[{"index":0,"delta":{"reasoning":"r","content":""}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}`,
			`{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2,"cost":0.0123}}`,
		}, reply{thinking: "r", text: "ok", stop: agent.StopEnd, usage: agent.Usage{Input: 1, Output: 1, Cost: 12300}}},
		"mistral sends parts": {sse, []string{
			`{"choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"t"}]}]}}]}`,
			`{"choices":[{"index":0,"delta":{"content":[{"type":"text","text":"a"}]},"finish_reason":"stop"}]}`,
		}, reply{thinking: "t", text: "a", stop: agent.StopEnd}},
		"done without a reason": {sse, []string{`{"choices":[{"index":0,"delta":{"content":"a"}}]}`, `[DONE]`}, reply{text: "a", stop: agent.StopEnd}},
		"a refusal in words":    {sse, []string{`{"choices":[{"index":0,"delta":{"refusal":"No."}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`}, reply{text: "No.", stop: agent.StopRefusal}},
		"whole instead of streamed": {"application/json", []string{
			`{"choices":[{"index":0,"message":{"role":"assistant","content":"hi","tool_calls":[{"id":"i","function":{"name":"a","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":2,"completion_tokens":1}}`,
		}, reply{text: "hi", stop: agent.StopTools, usage: agent.Usage{Input: 2, Output: 1}, calls: []agent.CallPiece{{ProviderID: "i", Name: "a", Arguments: "{}"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := collect(connect(t, events(t, tc.media, tc.lines...), "openai"), model, hello())
			if got.err != nil {
				t.Fatal(got.err)
			}
			compare(t, got, tc.want)
		})
	}
}

func TestFaults(t *testing.T) {
	long := strings.Repeat("é", 20)
	for name, tc := range map[string]struct {
		reply llmtest.Reply
		kind  llm.FaultKind
		text  string // that got through before
	}{
		"refused key":      {llmtest.Unauthorized(), llm.FaultAuth, ""},
		"rate limit":       {llmtest.RateLimited("7"), llm.FaultRateLimit, ""},
		"no credit":        {llmtest.QuotaSpent(), llm.FaultQuota, ""},
		"broken server":    {llmtest.ServerError(), llm.FaultServer, ""},
		"overloaded":       {llmtest.Overloaded(), llm.FaultOverload, ""},
		"unknown model":    {llmtest.NoSuchModel(), llm.FaultModel, ""},
		"too long":         {llmtest.ContextTooLong(), llm.FaultContext, ""},
		"web page":         {llmtest.HTML(), llm.FaultNotAPI, ""},
		"cut in an event":  {llmtest.Broken(llmtest.StreamCut, 2, "a", "b", "c"), llm.FaultCut, "a"},
		"cut in a rune":    {llmtest.Broken(llmtest.StreamCutRune, 2, long, long), llm.FaultCut, long},
		"ends too early":   {llmtest.Broken(llmtest.StreamEnd, 3, "a", "b", "c"), llm.FaultCut, "ab"},
		"malformed":        {llmtest.Broken(llmtest.StreamMalformed, 2, "a", "b"), llm.FaultMalformed, "a"},
		"giant event":      {llmtest.Broken(llmtest.StreamGiant, 2, "a", "b"), llm.FaultMalformed, "a"},
		"error in stream":  {llmtest.Reply{Text: []string{"a", "b"}, Fault: llmtest.Fault{Stream: llmtest.StreamError, Kind: llmtest.ErrorOverloaded, After: 2}}, llm.FaultOverload, "a"},
		"not a stream":     {llmtest.Reply{Fault: llmtest.Fault{Raw: "hello", Media: "text/plain"}}, llm.FaultMalformed, ""},
		"empty body":       {llmtest.Reply{Fault: llmtest.Fault{Raw: "\n", Media: "text/event-stream"}}, llm.FaultMalformed, ""},
		"finish is error":  {llmtest.Reply{Text: []string{"a"}, Stop: "error"}, llm.FaultServer, "a"},
		"a JSON non-chunk": {llmtest.Reply{Fault: llmtest.Fault{Raw: `[]`, Media: "application/json"}}, llm.FaultMalformed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := llmtest.OpenAI(t, tc.reply)
			got := collect(connect(t, server.URL+"/v1", "openai"), model, hello())
			f := llm.FaultOf(got.err)
			if f == nil || f.Kind != tc.kind {
				t.Fatalf("got %v, want kind %s", got.err, tc.kind)
			}
			if got.text != tc.text {
				t.Errorf("text before the fault %q, want %q", got.text, tc.text)
			}
			for _, s := range []string{f.Error(), f.Public()} {
				if strings.Contains(s, "sk-") {
					t.Errorf("a key-shaped string is shown: %s", s)
				}
			}
			if tc.kind == llm.FaultRateLimit && f.RetryAfter != 7*time.Second {
				t.Errorf("Retry-After %v, want 7s", f.RetryAfter)
			}
		})
	}
}

// TestConnectionIsReused: a finished stream leaves its connection to the next call.
func TestConnectionIsReused(t *testing.T) {
	url := llmtest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n")
		w.(http.Flusher).Flush()
		time.Sleep(10 * time.Millisecond) // as servers do: the end of the body comes a little after the last event
	}))
	var dialled atomic.Int32
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		dialled.Add(1)
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}}
	defer client.CloseIdleConnections()
	c, err := openai.New(llm.Connection{Settings: llm.Settings{Name: "test", Kind: "vllm", BaseURL: url}, HTTP: client,
		Key: func(context.Context) (string, error) { return "", nil }})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if got := collect(c.(*openai.Client), model, hello()); got.err != nil {
			t.Fatal(got.err)
		}
	}
	if n := dialled.Load(); n != 1 {
		t.Errorf("%d connections for five calls", n)
	}
}

// TestBodyThatNeverEnds: the answer is whole with [DONE]; a server that holds the connection open does not hold up the turn.
func TestBodyThatNeverEnds(t *testing.T) {
	url := llmtest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	start := time.Now()
	if got := collect(connect(t, url, "vllm"), model, hello()); got.err != nil || got.text != "a" || time.Since(start) > 3*time.Second {
		t.Errorf("got %q, %v after %v", got.text, got.err, time.Since(start))
	}
}

func TestRefusedConnection(t *testing.T) {
	got := collect(connect(t, "http://127.0.0.1:1/v1", "openai"), model, hello())
	if f := llm.FaultOf(got.err); f == nil || f.Kind != llm.FaultUnreachable {
		t.Fatalf("got %v", got.err)
	}
}

func TestCancelEndsAtOnce(t *testing.T) {
	server := llmtest.OpenAI(t, llmtest.Broken(llmtest.StreamStall, 2, "a", "b"))
	c := connect(t, server.URL+"/v1", "openai")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var last error
	start := time.Now()
	for d, err := range c.Stream(ctx, model, hello()) {
		last = err
		if d.Kind == agent.DeltaText {
			time.AfterFunc(20*time.Millisecond, cancel)
		}
	}
	if f := llm.FaultOf(last); f == nil || f.Kind != llm.FaultCancelled || !errors.Is(last, context.Canceled) {
		t.Errorf("got %v", last)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
}
