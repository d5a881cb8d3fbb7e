package ollama

import (
	"context"
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/llm"
	"ash/agent/llm/llmtest"
)

func connection(t testing.TB, url string, change ...func(*llm.Settings)) llm.Connection {
	t.Helper()
	s := llm.Settings{Name: "ollama", Kind: "ollama", BaseURL: url}
	for _, f := range change {
		f(&s)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	t.Cleanup(transport.CloseIdleConnections)
	return llm.Connection{
		Settings: s,
		Key:      func(context.Context) (string, error) { return "", nil },
		HTTP:     &http.Client{Transport: transport},
	}
}

func connect(t testing.TB, url string, change ...func(*llm.Settings)) *client {
	t.Helper()
	return newClient(connection(t, url, change...))
}

func model(name string) agent.ModelInfo {
	return agent.ModelInfo{Ref: agent.ModelRef{Provider: "ollama", Name: name}, ContextWindow: 40960, Tools: true, Vision: true, Thinking: true, Local: true}
}

func user(parts ...agent.Part) agent.PromptMessage {
	return agent.PromptMessage{Role: agent.RoleUser, Parts: parts}
}

func hello() agent.Prompt {
	return agent.Prompt{Messages: []agent.PromptMessage{user(agent.Text{Text: "Hello"})}}
}

func clock() []agent.ToolSpec { return []agent.ToolSpec{{Name: "clock", Description: "The time."}} }

// reply is everything one stream yielded.
type reply struct {
	text, thinking string
	thoughts       []agent.Thinking
	calls          []agent.CallPiece
	usage          agent.Usage
	stop           agent.StopReason
	err            error
}

func collect(c *client, info agent.ModelInfo, p agent.Prompt) reply {
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
		case agent.DeltaThought:
			r.thoughts = append(r.thoughts, *d.Thinking)
		case agent.DeltaCall:
			r.calls = append(r.calls, *d.Call)
		case agent.DeltaUsage:
			r.usage = *d.Usage
		case agent.DeltaStop:
			r.stop = d.Stop
		}
	}
	return r
}

func TestStreamWholeReply(t *testing.T) {
	info := model("qwen3:8b")
	tests := []struct {
		name  string
		reply llmtest.Reply
		want  reply
	}{
		{
			name: "thinking, text and two calls",
			reply: llmtest.Reply{
				Thinking: []string{"Let me ", "see."}, Text: []string{"Grüße, ", "世界 👋"},
				Calls: []llmtest.Call{{ID: "call_a", Name: "clock", Arguments: []string{`{"zone": "Köln"}`}}, {Name: "date", Arguments: []string{`{}`}}},
				Usage: &llmtest.Usage{Input: 300, Output: 40},
			},
			want: reply{
				thinking: "Let me see.", text: "Grüße, 世界 👋",
				thoughts: []agent.Thinking{{Text: "Let me see.", Model: info.Ref}},
				calls: []agent.CallPiece{
					{Index: 0, ProviderID: "call_a", Name: "clock", Arguments: `{"zone": "Köln"}`},
					{Index: 1, Name: "date", Arguments: `{}`},
				},
				usage: agent.Usage{Input: 300, Output: 40}, stop: agent.StopTools,
			},
		},
		{
			name:  "cut off by the limit",
			reply: llmtest.Reply{Text: []string{"x"}, Stop: "length", Usage: &llmtest.Usage{}},
			want:  reply{text: "x", stop: agent.StopMaxTokens},
		},
		{
			name:  "markup in the text",
			reply: llmtest.Reply{Text: []string{"<thi", "nk>hm</think>", "So: <tool_call>{\"name\":\"clock\",", "\"arguments\":{}}</tool_call>"}, Usage: &llmtest.Usage{}},
			want: reply{
				thinking: "hm", text: "So: ", thoughts: []agent.Thinking{{Text: "hm", Model: info.Ref}},
				calls: []agent.CallPiece{{Index: 0, Name: "clock", Arguments: "{}"}}, stop: agent.StopTools,
			},
		},
		{
			name:  "thinking alone",
			reply: llmtest.Reply{Thinking: []string{"hm"}, Usage: &llmtest.Usage{}},
			want:  reply{thinking: "hm", thoughts: []agent.Thinking{{Text: "hm", Model: info.Ref}}, stop: agent.StopEnd},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := llmtest.Ollama(t, tt.reply)
			got := collect(connect(t, s.URL), info, hello())
			got.text = strings.TrimRight(got.text, " ")
			tt.want.text = strings.TrimRight(tt.want.text, " ")
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	tests := []struct {
		name  string
		reply llmtest.Reply
		kind  llm.FaultKind
		text  string // what came before the fault
	}{
		{"key refused", llmtest.Unauthorized(), llm.FaultAuth, ""},
		{"rate limit", llmtest.RateLimited("7"), llm.FaultRateLimit, ""},
		{"server error", llmtest.ServerError(), llm.FaultServer, ""},
		{"busy", llmtest.Reply{Fault: llmtest.Fault{Status: 503}}, llm.FaultOverload, ""},
		{"overloaded", llmtest.Overloaded(), llm.FaultOverload, ""},
		{"not pulled", llmtest.NoSuchModel(), llm.FaultModel, ""},
		{"too long", llmtest.ContextTooLong(), llm.FaultContext, ""},
		{"bad request", llmtest.Reply{Fault: llmtest.Fault{Status: 400, Kind: llmtest.ErrorRequest}}, llm.FaultRequest, ""},
		{"web page", llmtest.HTML(), llm.FaultNotAPI, ""},
		{"error in the stream", llmtest.Reply{Text: []string{"a", "b"}, Fault: llmtest.Fault{Stream: llmtest.StreamError, After: 1, Kind: llmtest.ErrorServer}}, llm.FaultServer, "a"},
		{"cut", llmtest.Broken(llmtest.StreamCut, 1, "a", "b"), llm.FaultCut, "a"},
		{"cut in a character", llmtest.Broken(llmtest.StreamCutRune, 1, "a", "ü"), llm.FaultCut, "a"},
		{"ended early", llmtest.Broken(llmtest.StreamEnd, 1, "a", "b"), llm.FaultCut, "a"},
		{"malformed", llmtest.Broken(llmtest.StreamMalformed, 1, "a", "b"), llm.FaultMalformed, "a"},
		{"giant", llmtest.Broken(llmtest.StreamGiant, 1, "a", "b"), llm.FaultMalformed, "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := llmtest.Ollama(t, tt.reply)
			got := collect(connect(t, s.URL), model("nope"), hello())
			f := llm.FaultOf(got.err)
			if f == nil || f.Kind != tt.kind || got.text != tt.text || got.stop != "" {
				t.Errorf("fault %v, text %q, stop %q; want %s after %q", got.err, got.text, got.stop, tt.kind, tt.text)
			}
			if tt.name == "not pulled" && !strings.Contains(f.Public(), "ollama pull nope") {
				t.Errorf("the person reads %q", f.Public())
			}
		})
	}
	t.Run("not running", func(t *testing.T) {
		if f := llm.FaultOf(collect(connect(t, "http://127.0.0.1:1"), model("x"), hello()).err); f == nil || f.Kind != llm.FaultUnreachable {
			t.Errorf("got %v", f)
		}
	})
	t.Run("nothing to send", func(t *testing.T) {
		if f := llm.FaultOf(collect(connect(t, "http://127.0.0.1:1"), model("x"), agent.Prompt{System: "s"}).err); f == nil || f.Kind != llm.FaultRequest {
			t.Errorf("got %v", f)
		}
	})
}

// TestSlowLoad stands for a model that is loaded from disk first: nothing here gives up on it.
func TestSlowLoad(t *testing.T) {
	s := llmtest.Ollama(t, llmtest.SlowHeaders(300*time.Millisecond, "here"))
	if r := collect(connect(t, s.URL), model("x"), hello()); r.err != nil || r.text != "here" {
		t.Errorf("got %+v", r)
	}
}

func TestLeavesNothingBehind(t *testing.T) {
	tests := []struct {
		name  string
		reply llmtest.Reply
		leave int // break after this many deltas; 0: cancel while waiting
	}{
		{"cancel while the model loads", llmtest.SlowHeaders(time.Minute, "a"), 0},
		{"cancel in a stall", llmtest.Broken(llmtest.StreamStall, 1, "a", "b"), 0},
		{"break after the first delta", llmtest.Reply{Load: llmtest.Load{Tokens: 1 << 20}}, 1},
		{"break in the thinking", llmtest.Reply{Thinking: []string{"a", "b"}, Load: llmtest.Load{Tokens: 1 << 20}}, 2},
		{"break at the thought", llmtest.Reply{Thinking: []string{"a", "b"}, Load: llmtest.Load{Tokens: 1 << 20}}, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := llmtest.Ollama(t, tt.reply)
			c := connect(t, s.URL)
			before := runtime.NumGoroutine()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tt.leave == 0 {
				time.AfterFunc(30*time.Millisecond, cancel)
			}
			start := time.Now()
			n := 0
			var last error
			for _, err := range c.Stream(ctx, model("x"), hello()) {
				last = err
				if n++; n == tt.leave {
					break
				}
			}
			if f := llm.FaultOf(last); tt.leave == 0 && (f == nil || f.Kind != llm.FaultCancelled) {
				t.Errorf("ended with %v, want cancelled", last)
			}
			if d := time.Since(start); d > 2*time.Second {
				t.Errorf("took %v to leave", d)
			}
			for range 200 {
				if runtime.NumGoroutine() <= before {
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
			t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		})
	}
}

// TestLearnsWhatAModelLacks: a model refuses tools or thinking; it is asked again without, and
// the next call does not try again.
func TestLearnsWhatAModelLacks(t *testing.T) {
	s := llmtest.Start(t, llmtest.OllamaFormat{NoTools: []string{"gemma"}, NoThinking: []string{"gemma"}}, llmtest.Text("a"), llmtest.Text("b"), llmtest.Text("c"), llmtest.Text("d"))
	c := connect(t, s.URL, func(s *llm.Settings) { s.Thinking = "high" })
	p := hello()
	p.Tools = clock()
	for i, want := range []int{3, 4} { // refused twice, then answered; then answered at once
		if r := collect(c, model("gemma"), p); r.err != nil || r.text == "" {
			t.Fatalf("call %d: %+v", i, r)
		}
		if n := len(s.Chats()); n != want {
			t.Errorf("%d requests after call %d, want %d", n, i, want)
		}
	}
}

func TestModels(t *testing.T) {
	s := llmtest.Start(t, llmtest.OllamaFormat{NoTools: []string{"gemma"}, EmbedOnly: []string{"nomic-embed-text"}})
	s.ModelNames = []string{"qwen3:8b", "gemma", "nomic-embed-text"}
	for _, suffix := range []string{"", "/api", "/v1"} {
		got, err := connect(t, s.URL+suffix).Models(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := []agent.ModelInfo{model("qwen3:8b"), model("gemma")}
		want[1].Tools = false
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
	if _, err := connect(t, "http://127.0.0.1:1").Models(t.Context()); llm.FaultOf(err) == nil {
		t.Errorf("error %v is no fault", err)
	}
}
