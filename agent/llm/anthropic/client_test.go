package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/llm"
	"ash/agent/llm/llmtest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func connect(t testing.TB, url string, change ...func(*llm.Settings)) *client {
	t.Helper()
	s := llm.Settings{Name: "anthropic", Kind: "anthropic", BaseURL: url}
	for _, f := range change {
		f(&s)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := New(llm.Connection{
		Settings: s,
		Key:      func(context.Context) (string, error) { return "sk-ant-test", nil },
		HTTP:     &http.Client{Transport: transport},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c.(*client)
}

func model(name string) agent.ModelInfo {
	return agent.ModelInfo{
		Ref: agent.ModelRef{Provider: "anthropic", Name: name}, ContextWindow: 200_000, MaxOutput: 64_000,
		Tools: true, Vision: true, Documents: true, Thinking: true,
	}
}

func hello() agent.Prompt {
	return agent.Prompt{Messages: []agent.PromptMessage{{Role: agent.RoleUser, Parts: []agent.Part{agent.Text{Text: "Hello"}}}}}
}

// reply is everything one stream yielded.
type reply struct {
	text, thinking string
	thoughts       []agent.Thinking
	calls          []agent.CallPiece // joined by index
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
			if d.Call.Index == len(r.calls) {
				r.calls = append(r.calls, agent.CallPiece{Index: d.Call.Index})
			}
			call := &r.calls[d.Call.Index]
			call.ProviderID += d.Call.ProviderID
			call.Name += d.Call.Name
			call.Arguments += d.Call.Arguments
		case agent.DeltaUsage:
			r.usage = *d.Usage
		case agent.DeltaStop:
			r.stop = d.Stop
		}
	}
	return r
}

func TestStreamWholeReply(t *testing.T) {
	s := llmtest.Anthropic(t, llmtest.Reply{
		Thinking:  []string{"Let me ", "see. <think>", llmtest.Redacted + "b3BhcXVl"},
		Signature: "EqQBCgIYAhIM+/=",
		Text:      []string{"Grüße, ", "世界 ", "👋"},
		Calls: []llmtest.Call{
			{ID: "toolu_01A", Name: "weather", Arguments: []string{`{"city":`, ` "Köln"`, `}`}},
			{ID: "toolu_01B", Name: "fs_read", Arguments: nil},
		},
		Usage: &llmtest.Usage{Input: 1100, Output: 50, CacheRead: 800, CacheWrite: 200},
	})
	info := model("claude-opus-4-8")
	p := hello()
	p.Tools = []agent.ToolSpec{{Name: "weather"}, {Name: "fs.read"}}
	got := collect(connect(t, s.URL), info, p)
	want := reply{
		text:     "Grüße, 世界 👋",
		thinking: "Let me see. <think>",
		thoughts: []agent.Thinking{
			{Text: "Let me see. <think>", Signature: "EqQBCgIYAhIM+/=", Model: info.Ref},
			{Redacted: "b3BhcXVl", Model: info.Ref},
		},
		calls: []agent.CallPiece{
			{Index: 0, ProviderID: "toolu_01A", Name: "weather", Arguments: `{"city": "Köln"}`},
			{Index: 1, ProviderID: "toolu_01B", Name: "fs.read", Arguments: `{}`},
		},
		usage: agent.Usage{Input: 1100, Output: 50, CacheRead: 800, CacheWrite: 200},
		stop:  agent.StopTools,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// record is a transport that keeps the request and answers nothing.
type record struct{ req *http.Request }

func (r *record) RoundTrip(req *http.Request) (*http.Response, error) {
	r.req = req
	return nil, errors.New("recorded")
}

// TestKeyHeaders: the vendor gets the key in its own header alone, everybody else in both.
func TestKeyHeaders(t *testing.T) {
	tests := []struct{ base, path, bearer string }{
		{"https://api.anthropic.com", "/v1/messages", ""},
		{"https://bedrock-mantle.eu-west-1.api.aws/anthropic", "/anthropic/v1/messages", "Bearer sk-ant-test"},
		{"http://127.0.0.1:4000/v1", "/v1/messages", "Bearer sk-ant-test"},
	}
	for _, tt := range tests {
		t.Run(tt.base, func(t *testing.T) {
			c := connect(t, tt.base, func(s *llm.Settings) { s.Headers = map[string]string{"X-Team": "a"} })
			r := &record{}
			c.conn.HTTP = &http.Client{Transport: r}
			collect(c, model("claude-sonnet-5"), hello())
			h := r.req.Header
			if r.req.URL.Path != tt.path || h.Get("Authorization") != tt.bearer {
				t.Errorf("path %q, authorization %q", r.req.URL.Path, h.Get("Authorization"))
			}
			if h.Get("X-Api-Key") != "sk-ant-test" || h.Get("Anthropic-Version") != "2023-06-01" || h.Get("X-Team") != "a" {
				t.Errorf("headers: %v", h)
			}
		})
	}
}

func TestStopReasons(t *testing.T) {
	for wire, want := range map[string]agent.StopReason{
		"end_turn": agent.StopEnd, "stop_sequence": agent.StopEnd, "tool_use": agent.StopTools, "refusal": agent.StopRefusal,
		"max_tokens": agent.StopMaxTokens, "model_context_window_exceeded": agent.StopMaxTokens, "pause_turn": agent.StopMaxTokens,
		"something_new": agent.StopEnd,
	} {
		t.Run(wire, func(t *testing.T) {
			s := llmtest.Anthropic(t, llmtest.Reply{Text: []string{"x"}, Stop: wire})
			if r := collect(connect(t, s.URL), model("claude-sonnet-5"), hello()); r.err != nil || r.stop != want {
				t.Errorf("stop %q, error %v; want %q", r.stop, r.err, want)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	status := func(code int, kind llmtest.ErrorKind) llmtest.Reply {
		return llmtest.Reply{Fault: llmtest.Fault{Status: code, Kind: kind}}
	}
	inStream := func(kind llmtest.ErrorKind) llmtest.Reply {
		return llmtest.Reply{Text: []string{"a", "b"}, Fault: llmtest.Fault{Stream: llmtest.StreamError, After: 4, Kind: kind}}
	}
	tests := []struct {
		name  string
		reply llmtest.Reply
		kind  llm.FaultKind
		text  string // what came before the fault
	}{
		{"key refused", llmtest.Unauthorized(), llm.FaultAuth, ""},
		{"rate limit", llmtest.RateLimited("7"), llm.FaultRateLimit, ""},
		{"no credit", status(400, llmtest.ErrorQuota), llm.FaultQuota, ""},
		{"server error", llmtest.ServerError(), llm.FaultServer, ""},
		{"overloaded", llmtest.Overloaded(), llm.FaultOverload, ""},
		{"no such model", llmtest.NoSuchModel(), llm.FaultModel, ""},
		{"too long", llmtest.ContextTooLong(), llm.FaultContext, ""},
		{"bad request", status(400, llmtest.ErrorRequest), llm.FaultRequest, ""},
		{"web page", llmtest.HTML(), llm.FaultNotAPI, ""},
		{"web page with an error", llmtest.Reply{Fault: llmtest.Fault{Status: 404, Media: "text/html", Raw: "<html>no</html>"}}, llm.FaultNotAPI, ""},
		{"overloaded in the stream", inStream(llmtest.ErrorOverloaded), llm.FaultOverload, "a"},
		{"server error in the stream", inStream(llmtest.ErrorServer), llm.FaultServer, "a"},
		{"cut", llmtest.Broken(llmtest.StreamCut, 4, "a", "b"), llm.FaultCut, "a"},
		{"cut in a character", llmtest.Broken(llmtest.StreamCutRune, 4, "a", "ü"), llm.FaultCut, "a"},
		{"ended early", llmtest.Broken(llmtest.StreamEnd, 4, "a", "b"), llm.FaultCut, "a"},
		{"ended before anything", llmtest.Broken(llmtest.StreamEnd, 0, "a"), llm.FaultCut, ""},
		{"malformed", llmtest.Broken(llmtest.StreamMalformed, 4, "a", "b"), llm.FaultMalformed, "a"},
		{"giant", llmtest.Broken(llmtest.StreamGiant, 4, "a", "b"), llm.FaultMalformed, "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := llmtest.Anthropic(t, tt.reply)
			got := collect(connect(t, s.URL), model("claude-sonnet-5"), hello())
			f := llm.FaultOf(got.err)
			if f == nil || f.Kind != tt.kind || got.text != tt.text || got.stop != "" {
				t.Errorf("fault %v, text %q, stop %q; want %s after %q", got.err, got.text, got.stop, tt.kind, tt.text)
			}
			if tt.name == "rate limit" && f.RetryAfter != 7*time.Second {
				t.Errorf("retry after %v, want 7s", f.RetryAfter)
			}
		})
	}
	t.Run("unreachable", func(t *testing.T) {
		got := collect(connect(t, "http://127.0.0.1:1"), model("claude-sonnet-5"), hello())
		if f := llm.FaultOf(got.err); f == nil || f.Kind != llm.FaultUnreachable {
			t.Errorf("got %v", got.err)
		}
	})
	t.Run("no key", func(t *testing.T) {
		c := connect(t, "http://127.0.0.1:1")
		c.conn.Key = func(context.Context) (string, error) { return "", llm.NewFault(llm.FaultNoKey, "", nil) }
		if f := llm.FaultOf(collect(c, model("claude-sonnet-5"), hello()).err); f == nil || f.Kind != llm.FaultNoKey {
			t.Errorf("got %v", f)
		}
	})
	t.Run("nothing to send", func(t *testing.T) {
		got := collect(connect(t, "http://127.0.0.1:1"), model("claude-sonnet-5"), agent.Prompt{System: "x"})
		if f := llm.FaultOf(got.err); f == nil || f.Kind != llm.FaultRequest {
			t.Errorf("got %v", got.err)
		}
	})
}

// TestLeavesNothingBehind breaks off and cancels in all places; the connection must be
// gone at once, with its goroutines.
func TestLeavesNothingBehind(t *testing.T) {
	tests := []struct {
		name  string
		reply llmtest.Reply
		leave int // break after this many deltas; 0: cancel while waiting
	}{
		{"cancel before the headers", llmtest.SlowHeaders(time.Minute, "a"), 0},
		{"cancel in a stall", llmtest.Broken(llmtest.StreamStall, 4, "a", "b"), 0},
		{"break after the first delta", llmtest.Reply{Text: []string{"a"}, Load: llmtest.Load{Tokens: 1 << 20}}, 1},
		{"break later", llmtest.Reply{Load: llmtest.Load{Tokens: 1 << 20}}, 1000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := llmtest.Anthropic(t, tt.reply)
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
			for _, err := range c.Stream(ctx, model("claude-sonnet-5"), hello()) {
				last = err
				if n++; n == tt.leave {
					break
				}
			}
			if tt.leave == 0 {
				if f := llm.FaultOf(last); f == nil || f.Kind != llm.FaultCancelled {
					t.Errorf("ended with %v, want cancelled", last)
				}
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
			buf := make([]byte, 1<<16)
			t.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		})
	}
}

func TestReusesTheConnection(t *testing.T) {
	s := llmtest.Anthropic(t, llmtest.Reply{Text: []string{"x"}, Repeat: true})
	c := connect(t, s.URL)
	var dials atomic.Int32
	c.conn.HTTP.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		dials.Add(1)
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	for range 3 {
		if r := collect(c, model("claude-sonnet-5"), hello()); r.err != nil {
			t.Fatal(r.err)
		}
	}
	if n := dials.Load(); n != 1 {
		t.Errorf("%d connections for 3 calls", n)
	}
}

func TestModels(t *testing.T) {
	s := llmtest.Anthropic(t)
	s.ModelNames = []string{"claude-a", "claude-b", "claude-c"}
	for _, base := range []string{s.URL, s.URL + "/v1"} {
		got, err := connect(t, base).Models(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, m := range got {
			names = append(names, m.Ref.String())
		}
		if want := []string{"anthropic/claude-a", "anthropic/claude-b", "anthropic/claude-c"}; !reflect.DeepEqual(names, want) {
			t.Errorf("models %v, want %v", names, want)
		}
		if m := got[0]; m.Title != "The claude-a" || m.ContextWindow != 200000 || m.MaxOutput != 64000 || !m.Vision || !m.Documents || !m.Thinking {
			t.Errorf("model %+v", m)
		}
	}
}

// golden compares got with testdata/name, or writes it with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, got, "", "  "); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, got)
	}
	pretty.WriteByte('\n')
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, pretty.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(pretty.Bytes(), want) {
		t.Errorf("%s differs (run with -update after checking):\n%s", path, pretty.Bytes())
	}
}
