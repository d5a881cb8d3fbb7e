package longtail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/llm"
	"ash/agent/llm/llmtest"
)

func TestStream(t *testing.T) {
	tests := map[string]struct {
		model  string
		script llmtest.Reply
		want   reply
	}{
		"Claude in pieces": {sonnet, llmtest.Text("Grüße, ", "世界", " 👋"),
			reply{pieces: []string{"Grüße, ", "世界", " 👋"}, usage: agent.Usage{Input: 11, Output: 7}, stop: agent.StopEnd}},
		"Claude cut off by the limit": {sonnet, llmtest.Reply{Text: []string{"so"}, Stop: "max_tokens"},
			reply{pieces: []string{"so"}, usage: agent.Usage{Input: 11, Output: 7}, stop: agent.StopMaxTokens}},
		"Claude declines": {sonnet, llmtest.Reply{Text: []string{"no"}, Stop: "refusal"},
			reply{pieces: []string{"no"}, usage: agent.Usage{Input: 11, Output: 7}, stop: agent.StopRefusal}},
		"Claude says nothing": {sonnet, llmtest.Reply{}, reply{usage: agent.Usage{Input: 11, Output: 7}, stop: agent.StopEnd}},
		"Nova whole":          {novaID, llmtest.Text("All at once."), reply{pieces: []string{"All at once."}, usage: agent.Usage{Input: 11, Output: 7}, stop: agent.StopEnd}},
		"Nova filtered": {novaID, llmtest.Reply{Text: []string{"I"}, Stop: "content_filtered"},
			reply{pieces: []string{"I"}, usage: agent.Usage{Input: 11, Output: 7}, stop: agent.StopRefusal}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			signedIn(t)
			s := llmtest.Start(t, format{}, tt.script)
			if got := collect(t, connect(t, s.URL), info(tt.model), hello()); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
			chats := s.Chats()
			if len(chats) != 1 || !strings.HasPrefix(chats[0].Path, "/model/"+tt.model+"/invoke") || chats[0].Header.Get("X-Gateway") != "yes" {
				t.Errorf("requests: %+v", chats)
			}
		})
	}
}

// TestConversation: what both makers get to read of a long conversation with everything in it.
func TestConversation(t *testing.T) {
	zero := 0.0
	call := agent.ToolCall{ID: "c1", Name: "weather", Arguments: json.RawMessage(`{"city":"Köln"}`)}
	p := agent.Prompt{
		System: "You are Ash.", MaxTokens: 100, Temperature: &zero,
		Tools: []agent.ToolSpec{{Name: "weather"}},
		Messages: []agent.PromptMessage{
			says(agent.RoleAssistant, "earlier"),
			{Role: agent.RoleUser, Parts: []agent.Part{
				agent.Text{Text: "Look"},
				agent.Image{Attachment: agent.Attachment{Name: "a.png", Media: "image/png"}, Data: []byte("png")},
				agent.Image{Attachment: agent.Attachment{Name: "a.tiff", Media: "image/tiff"}, Data: []byte("tiff")},
				agent.File{Attachment: agent.Attachment{Name: "a.txt", Media: "text/plain"}, Extract: "notes"},
			}},
			{Role: agent.RoleAssistant, Parts: []agent.Part{agent.Thinking{Text: "hm"}, agent.Text{Text: " \n"}, agent.ToolUse{Call: "c1"}}, Calls: []agent.ToolCall{call}},
			{Role: agent.RoleUser, Parts: []agent.Part{agent.ToolResult{Call: "c1", Name: "weather", Content: []agent.Part{agent.Text{Text: "rain"}}}}},
			says(agent.RoleUser, "and?"),
			says(agent.RoleAssistant, "It rai"),
		},
	}
	for _, name := range []string{sonnet, novaID} {
		t.Run(string(makerOf(name)), func(t *testing.T) {
			signedIn(t)
			s := llmtest.Start(t, format{}, llmtest.Text("ok"))
			m := info(name)
			m.Tools, m.Documents = true, true // a person may claim so in the settings
			if r := collect(t, connect(t, s.URL), m, p); r.err != nil {
				t.Fatal(r.err)
			}
			var b body
			if err := json.Unmarshal(s.Chats()[0].Body, &b); err != nil {
				t.Fatal(err)
			}
			limit, temperature := b.MaxTokens, b.Temperature
			if makerOf(name) == nova {
				limit, temperature = b.Config.MaxTokens, b.Config.Temperature
			}
			if limit != 100 || temperature == nil || *temperature != leastTemperature || b.Tools != nil || !strings.Contains(string(b.System), "You are Ash.") {
				t.Errorf("limit %d, temperature %v, tools %s, system %s", limit, temperature, b.Tools, b.System)
			}
			all := string(s.Chats()[0].Body)
			for _, want := range []string{openingText, "Look", "cG5n", "a.tiff", "notes", "used the tool weather", "Köln", "rain", "and?", "It rai", continueText} {
				if !strings.Contains(all, want) {
					t.Errorf("%q does not reach the model:\n%s", want, all)
				}
			}
			if strings.Contains(all, "hm") {
				t.Error("thinking went back")
			}
		})
	}
}

func TestTakesTemperature(t *testing.T) {
	for name, want := range map[string]bool{
		"anthropic.claude-v2:1": true, "anthropic.claude-3-haiku-20240307-v1:0": true, sonnet: true, "eu.anthropic.claude-opus-4-20250514-v1:0": true,
		"anthropic.claude-opus-4-6-v1": true, "anthropic.claude-opus-4-7": false, "global.anthropic.claude-sonnet-5": false, novaID: true,
	} {
		if got := takesTemperature(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestRefusals: how Bedrock refuses, and what the person reads.
func TestRefusals(t *testing.T) {
	tests := map[string]struct {
		status        int
		code, message string
		retryAfter    string
		kind          llm.FaultKind
		says          string
	}{
		"no access to the model":   {403, "AccessDeniedException", "You don't have access to the model with the specified model ID.", "", llm.FaultDenied, "bedrock:InvokeModelWithResponseStream"},
		"keys unknown":             {403, "UnrecognizedClientException", "The security token included in the request is invalid.", "", llm.FaultAuth, "aws configure"},
		"keys expired":             {403, "ExpiredTokenException", "The security token included in the request is expired", "", llm.FaultAuth, "aws sso login"},
		"clock wrong":              {403, "InvalidSignatureException", "Signature expired: 20260101T000000Z is now earlier than", "", llm.FaultAuth, "clock"},
		"throttled":                {429, "ThrottlingException", "Too many tokens, please wait before trying again.", "7", llm.FaultRateLimit, "too many requests"},
		"quota":                    {400, "ServiceQuotaExceededException", "Too many requests", "", llm.FaultRateLimit, "too many requests"},
		"model warming up":         {429, "ModelNotReadyException", "not ready", "", llm.FaultOverload, "overloaded"},
		"broken":                   {500, "InternalServerException", "oops", "", llm.FaultServer, "internal error"},
		"busy":                     {503, "ServiceUnavailableException", "busy", "", llm.FaultOverload, "overloaded"},
		"model too slow":           {408, "ModelTimeoutException", "took too long", "", llm.FaultServer, "internal error"},
		"too long":                 {400, "ValidationException", "Input is too long for requested model.", "", llm.FaultContext, "too long"},
		"too long, as Claude says": {400, "ValidationException", "prompt is too long: 210000 tokens > 200000 maximum", "", llm.FaultContext, "too long"},
		"no such model":            {400, "ValidationException", "The provided model identifier is invalid.", "", llm.FaultModel, "inference profile"},
		"needs a profile":          {400, "ValidationException", "Invocation of model ID x with on-demand throughput isn’t supported.", "", llm.FaultModel, "us., eu."},
		"end of life":              {404, "ResourceNotFoundException", "This model version has reached the end of its life.", "", llm.FaultModel, "end of its life"},
		"not allowed":              {400, "ValidationException", "Operation not allowed", "", llm.FaultDenied, "access to the model"},
		"body refused":             {400, "ValidationException", "Malformed input request: #/x", "", llm.FaultRequest, "refused"},
		"a proxy without words":    {502, "", "", "", llm.FaultServer, "internal error"},
	}
	for name, tt := range tests {
		for _, model := range []string{sonnet, novaID} {
			t.Run(name+" "+model, func(t *testing.T) {
				signedIn(t)
				var requests atomic.Int32
				url := llmtest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					requests.Add(1)
					if tt.retryAfter != "" {
						w.Header().Set("Retry-After", tt.retryAfter)
					}
					refuse(w, tt.status, tt.code, tt.message)
				}))
				r := collect(t, connect(t, url), info(model), hello())
				f := llm.FaultOf(r.err)
				if f == nil || f.Kind != tt.kind || f.Status != tt.status {
					t.Fatalf("got %v, want %s", r.err, tt.kind)
				}
				if public := llm.Wrap(f, info(model).Ref).Public; !strings.Contains(public, tt.says) {
					t.Errorf("the person reads: %s", public)
				}
				if (f.RetryAfter == 7*time.Second) != (tt.retryAfter != "") {
					t.Errorf("retry after %v", f.RetryAfter)
				}
				if n := requests.Load(); n != 1 {
					t.Errorf("%d requests for one call", n)
				}
			})
		}
	}
}

// TestBrokenStreams: how a stream goes wrong. after counts the events before that; the fourth is the first text, which langchaingo
// drops when it learns of the failure at the same time.
func TestBrokenStreams(t *testing.T) {
	tests := map[string]struct {
		fault  llmtest.StreamFault
		after  int
		pieces int
		kind   llm.FaultKind
	}{
		"cut before the text":      {llmtest.StreamCut, 1, 0, llm.FaultCut},
		"cut in the text":          {llmtest.StreamCut, 4, 1, llm.FaultCut},
		"ends too early":           {llmtest.StreamEnd, 4, 1, llm.FaultCut},
		"ends before it began":     {llmtest.StreamEnd, 0, 0, llm.FaultCut},
		"an event is damaged":      {llmtest.StreamMalformed, 4, 1, llm.FaultMalformed},
		"an event claims too much": {llmtest.StreamGiant, 4, 1, llm.FaultMalformed},
		"throttled on the way":     {llmtest.StreamError, 4, 1, llm.FaultRateLimit},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			signedIn(t)
			s := llmtest.Start(t, format{}, llmtest.Broken(tt.fault, tt.after, "one", "two"))
			r := collect(t, connect(t, s.URL), info(sonnet), hello())
			if f := llm.FaultOf(r.err); f == nil || f.Kind != tt.kind || len(r.pieces) > tt.pieces || r.stop != "" {
				t.Errorf("got %+v (%v), want %s after at most %d pieces", r, r.err, tt.kind, tt.pieces)
			}
			if n := len(s.Chats()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// TestOtherAnswers: whole answers that are not what they should be.
func TestOtherAnswers(t *testing.T) {
	tests := map[string]struct {
		model, media, body string
		kind               llm.FaultKind
	}{
		"a web page for Claude":          {sonnet, "text/html; charset=utf-8", "<!doctype html><p>Sign in", llm.FaultNotAPI},
		"a web page for Nova":            {novaID, "text/html", "<html>", llm.FaultNotAPI},
		"an event that is not JSON":      {sonnet, eventStream, string(chunk(`{"type":content_block_delta}`)), llm.FaultMalformed},
		"an exception nobody knows":      {sonnet, eventStream, string(frame("exception", map[string]string{":exception-type": "somethingException"}, `{"message":"strange"}`)), llm.FaultRequest},
		"the window is full":             {sonnet, eventStream, string(chunk(`{"type":"message_delta","delta":{"stop_reason":"model_context_window_exceeded"}}`)), llm.FaultContext},
		"Nova's answer is not JSON":      {novaID, "application/json", `{"output":`, llm.FaultMalformed},
		"Nova's answer is empty":         {novaID, "application/json", `{"output":{"message":{"content":[]}},"stopReason":"end_turn"}`, llm.FaultMalformed},
		"Nova ends for an unknown cause": {novaID, "application/json", `{"output":{"message":{"content":[{"text":"x"}]}},"stopReason":"moon"}`, llm.FaultMalformed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			signedIn(t)
			url := llmtest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.media)
				_, _ = w.Write([]byte(tt.body))
			}))
			r := collect(t, connect(t, url), info(tt.model), hello())
			if f := llm.FaultOf(r.err); f == nil || f.Kind != tt.kind {
				t.Errorf("got %v, want %s", r.err, tt.kind)
			}
		})
	}
}

// TestLeaving: breaking off and cancelling close the connection at once and leave nothing running.
func TestLeaving(t *testing.T) {
	slow := llmtest.Reply{Load: llmtest.Load{Tokens: 10_000, Rate: 200}}
	stall := llmtest.Broken(llmtest.StreamStall, 4, "one", "two")
	tests := map[string]struct {
		model  string
		script llmtest.Reply
		leave  int // deltas until the caller breaks off; 0: cancelled after a while
	}{
		"break off":                    {sonnet, slow, 3},
		"cancel while it streams":      {sonnet, slow, 0},
		"cancel while it stands still": {sonnet, stall, 0},
		"cancel before the headers":    {sonnet, llmtest.SlowHeaders(time.Minute, "late"), 0},
		"cancel while Nova thinks":     {novaID, llmtest.SlowHeaders(time.Minute, "late"), 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			signedIn(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			gone := make(chan struct{})
			s := llmtest.New(format{}, tt.script)
			t.Cleanup(s.Close)
			url := llmtest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				context.AfterFunc(r.Context(), func() { close(gone) })
				if tt.leave == 0 {
					time.AfterFunc(50*time.Millisecond, cancel)
				}
				s.Handler().ServeHTTP(w, r)
			}))
			c := connect(t, url)
			before := runtime.NumGoroutine()
			start, n := time.Now(), 0
			var last error
			for _, err := range c.Stream(ctx, info(tt.model), hello()) {
				last = err
				if n++; n == tt.leave {
					break
				}
			}
			if f := llm.FaultOf(last); tt.leave == 0 && (f == nil || f.Kind != llm.FaultCancelled) {
				t.Errorf("ended with %v after %v, want cancelled (%v)", last, time.Since(start), ctx.Err())
			}
			if d := time.Since(start); d > 2*time.Second {
				t.Errorf("took %v to leave", d)
			}
			select {
			case <-gone:
			case <-time.After(5 * time.Second):
				t.Error("the server still has the connection")
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

func TestUnreachable(t *testing.T) {
	signedIn(t)
	r := collect(t, connect(t, "http://127.0.0.1:1"), info(sonnet), hello())
	if f := llm.FaultOf(r.err); f == nil || f.Kind != llm.FaultUnreachable {
		t.Errorf("got %v", r.err)
	}
}

func TestOtherMakersAreRefused(t *testing.T) {
	awsHome(t, "")
	for _, name := range []string{"meta.llama3-70b-instruct-v1:0", "mistral.mistral-large-2402-v1:0", "arn:aws:bedrock:us-east-1:1:application-inference-profile/abc", ""} {
		f := llm.FaultOf(collect(t, connect(t, "http://127.0.0.1:1"), info(name), hello()).err)
		if f == nil || f.Kind != llm.FaultModel || !strings.Contains(f.Public(), "Claude and Amazon Nova") {
			t.Errorf("%q: %v", name, f)
		}
	}
	if f := llm.FaultOf(collect(t, connect(t, ""), info(sonnet), agent.Prompt{}).err); f == nil || f.Kind != llm.FaultRequest {
		t.Errorf("an empty prompt: %v", f)
	}
}

// TestThroughProviders: what a person meets who sets the kind and nothing else.
func TestThroughProviders(t *testing.T) {
	signedIn(t)
	s := llmtest.Start(t, format{}, llmtest.Text("ready"))
	p, err := llm.New(llm.Options{
		Providers: []llm.Settings{{Name: "aws", Kind: "bedrock-aws", BaseURL: s.URL}, {Name: "west", Kind: "bedrock-aws", BaseURL: "https://bedrock-runtime.us-east-1.amazonaws.com"}},
		Dialects:  map[string]llm.Dialect{"bedrock-aws": New}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, ref := range []string{"aws/" + sonnet, "west/" + sonnet, "west/" + novaID, "west/unheard-of"} {
		if _, m, err := p.Pick(t.Context(), ref); err != nil || m.Tools || m.Documents || m.Thinking {
			t.Errorf("%s: %+v, %v", ref, m, err)
		}
	}
	report, err := p.Test(t.Context(), "aws/"+sonnet)
	if err != nil || report.Answer != "ready" {
		t.Fatalf("%+v, %v", report, err)
	}
	models, err := p.ListModels(t.Context(), "aws")
	var names []string
	for _, m := range models {
		names = append(names, fmt.Sprint(m.Ref.Name, " ", m.Title, " ", m.Vision, m.Tools))
	}
	if want := []string{"amazon.nova-pro-v1:0 Nova Pro true false", sonnet + " US Claude Sonnet 4.5 true false"}; err != nil || !reflect.DeepEqual(names, want) {
		t.Errorf("models %q, %v", names, err)
	}
	var public *agent.Error
	if _, err := p.Test(t.Context(), "west/meta.llama"); !errors.As(err, &public) || public.Code != agent.CodeNotFound {
		t.Errorf("another maker: %v", err)
	}
}

// TestSilence: the chain's limits reach through langchaingo.
func TestSilence(t *testing.T) {
	for name, tt := range map[string]struct {
		model  string
		script llmtest.Reply
		kind   llm.FaultKind
	}{
		"Claude does not begin": {sonnet, llmtest.SlowHeaders(time.Minute, "late"), llm.FaultTimeout},
		"Nova does not answer":  {novaID, llmtest.SlowHeaders(time.Minute, "late"), llm.FaultTimeout},
		"Claude stands still":   {sonnet, llmtest.Broken(llmtest.StreamStall, 4, "one", "two"), llm.FaultStall},
	} {
		t.Run(name, func(t *testing.T) {
			signedIn(t)
			s := llmtest.Start(t, format{}, tt.script)
			p, err := llm.New(llm.Options{
				Providers: []llm.Settings{{Name: "aws", Kind: "bedrock-aws", BaseURL: s.URL, FirstToken: 300 * time.Millisecond, Stall: 100 * time.Millisecond}},
				Dialects:  map[string]llm.Dialect{"bedrock-aws": New}, Retry: llm.Retry{Tries: 1}, Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			m, _, err := p.Pick(t.Context(), "aws/"+tt.model)
			if err != nil {
				t.Fatal(err)
			}
			var last error
			for _, err := range m.Stream(t.Context(), hello()) {
				last = err
			}
			if f := llm.FaultOf(last); f == nil || f.Kind != tt.kind {
				t.Errorf("ended with %v, want %s", last, tt.kind)
			}
		})
	}
}

// TestOwnBody: the AWS client's early close of the request's body does not break the stream that answers it.
func TestOwnBody(t *testing.T) {
	signedIn(t)
	s := llmtest.Start(t, format{}, llmtest.Reply{Load: llmtest.Load{Tokens: 20, Rate: 5000}, Repeat: true})
	c := connect(t, s.URL)
	broken := 0
	for range 100 {
		if r := collect(t, c, info(sonnet), hello()); r.err != nil {
			broken++
		}
	}
	if broken > 0 {
		t.Errorf("%d of 100 streams broke", broken)
	}
}
