package llm

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"ash/agent"
)

// TestBodyFault uses error bodies as the vendors document or send them.
func TestBodyFault(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		body   string
		want   FaultKind
	}{
		"openai key":             {401, `{"error":{"message":"Incorrect API key provided: sk-abcd1234efgh.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, FaultAuth},
		"openai quota":           {429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`, FaultQuota},
		"openai rate":            {429, `{"error":{"message":"Rate limit reached for gpt-5 on tokens per min (TPM)","type":"tokens","code":"rate_limit_exceeded"}}`, FaultRateLimit},
		"openai context":         {400, `{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`, FaultContext},
		"openai model":           {404, `{"error":{"message":"The model 'x' does not exist","type":"invalid_request_error","code":"model_not_found"}}`, FaultModel},
		"openai server":          {500, `{"error":{"message":"The server had an error","type":"server_error"}}`, FaultServer},
		"openai region":          {403, `{"error":{"message":"Country not supported","code":"unsupported_country_region_territory"}}`, FaultDenied},
		"anthropic overloaded":   {529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, FaultOverload},
		"anthropic in stream":    {0, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, FaultOverload},
		"anthropic key":          {401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, FaultAuth},
		"anthropic credit":       {400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, FaultQuota},
		"anthropic too long":     {400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, FaultContext},
		"anthropic too large":    {413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, FaultContext},
		"anthropic rate":         {429, `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 40,000 input tokens per minute"}}`, FaultRateLimit},
		"anthropic model":        {404, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-x"}}`, FaultModel},
		"gemini key":             {400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, FaultAuth},
		"gemini quota a minute":  {429, `[{"error":{"code":429,"message":"You exceeded your current quota.","status":"RESOURCE_EXHAUSTED"}}]`, FaultRateLimit},
		"gemini overloaded":      {503, `[{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]`, FaultOverload},
		"gemini too long":        {400, `[{"error":{"code":400,"message":"The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, FaultContext},
		"mistral key":            {401, `{"message":"Unauthorized","request_id":"x"}`, FaultAuth},
		"mistral unknown field":  {422, `{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}`, FaultRequest},
		"deepseek balance":       {402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}`, FaultQuota},
		"groq decommissioned":    {400, `{"error":{"message":"The model x has been decommissioned","code":"model_decommissioned"}}`, FaultModel},
		"openrouter credits":     {402, `{"error":{"message":"Insufficient credits","code":402}}`, FaultQuota},
		"openrouter in stream":   {0, `{"error":{"code":429,"message":"Provider returned error"}}`, FaultRateLimit},
		"ollama no model":        {404, `{"error":"model 'llama9' not found"}`, FaultModel},
		"ollama broke":           {500, `{"error":"llama runner process has terminated"}`, FaultServer},
		"llama.cpp too long":     {400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, FaultContext},
		"vllm too long":          {400, `{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}`, FaultContext},
		"azure filter":           {400, `{"error":{"code":"content_filter","message":"The response was filtered"}}`, FaultFilter},
		"wrong path":             {404, `404 page not found`, FaultAddress},
		"gateway timeout":        {504, ``, FaultTimeout},
		"proxy error page":       {502, `<html><h1>502 Bad Gateway</h1></html>`, FaultServer},
		"plain bad request":      {400, `{"error":{"message":"bad"}}`, FaultRequest},
		"nonsense":               {418, `{{{`, FaultRequest},
		"null error":             {500, `{"error":null}`, FaultServer},
		"messages in a list":     {400, `{"error":{"message":["a","b"]}}`, FaultRequest},
		"rate not taken for len": {429, `{"error":{"message":"too many tokens per minute, rate limit"}}`, FaultRateLimit},
	} {
		t.Run(name, func(t *testing.T) {
			f := BodyFault(tc.status, []byte(tc.body))
			if f.Kind != tc.want {
				t.Errorf("got %s (%s), want %s", f.Kind, f.Detail, tc.want)
			}
			if strings.Contains(f.Public()+f.Error(), "sk-abcd") || strings.Contains(f.Detail, "<html>") {
				t.Errorf("shows too much: %s", f.Public())
			}
		})
	}
}

func TestTransportFault(t *testing.T) {
	known := NewFault(FaultQuota, "", nil)
	for name, tc := range map[string]struct {
		err  error
		want FaultKind
	}{
		"a fault stays":     {fmt.Errorf("x: %w", known), FaultQuota},
		"cancelled":         {fmt.Errorf("x: %w", context.Canceled), FaultCancelled},
		"deadline":          {context.DeadlineExceeded, FaultTimeout},
		"refused":           {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, FaultUnreachable},
		"no route":          {&net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH}, FaultUnreachable},
		"no such host":      {&net.OpError{Op: "dial", Err: &net.DNSError{Name: "x.invalid", IsNotFound: true}}, FaultUnreachable},
		"not TLS":           {tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, FaultUnreachable},
		"reset":             {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, FaultCut},
		"unexpected end":    {io.ErrUnexpectedEOF, FaultCut},
		"too long":          {ErrTooLong, FaultMalformed},
		"foreign redirect":  {errForeignRedirect, FaultNotAPI},
		"HTTP/2 reset":      {errors.New("stream error: stream ID 1; INTERNAL_ERROR"), FaultCut},
		"connect timed out": {&net.OpError{Op: "dial", Err: timeout{}}, FaultUnreachable},
		"read timed out":    {timeout{}, FaultTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			if got := TransportFault(tc.err); got.Kind != tc.want {
				t.Errorf("got %s, want %s", got.Kind, tc.want)
			}
		})
	}
}

type timeout struct{}

func (timeout) Error() string   { return "i/o timeout" }
func (timeout) Timeout() bool   { return true }
func (timeout) Temporary() bool { return true }

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		header, value string
		want          time.Duration
	}{
		"none":         {"X", "1", 0},
		"seconds":      {"Retry-After", "7", 7 * time.Second},
		"fraction":     {"Retry-After", "0.5", 500 * time.Millisecond},
		"date":         {"Retry-After", "Sun, 01 Mar 2026 12:00:30 GMT", 30 * time.Second},
		"past date":    {"Retry-After", "Sun, 01 Mar 2026 11:00:00 GMT", 0},
		"milliseconds": {"Retry-After-Ms", "1200", 1200 * time.Millisecond},
		"negative":     {"Retry-After", "-3", 0},
		"absurd":       {"Retry-After", "1e300", 0},
		"words":        {"Retry-After", "soon", 0},
		"not a number": {"Retry-After", "NaN", 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := RetryAfter(http.Header{tc.header: {tc.value}}, now); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// TestEveryFaultSaysWhatToDo: each kind has a sentence of its own and a code.
func TestEveryFaultSaysWhatToDo(t *testing.T) {
	seen := map[string]FaultKind{}
	for _, kind := range []FaultKind{FaultContext, FaultNoKey, FaultAuth, FaultDenied, FaultQuota, FaultRateLimit, FaultOverload, FaultServer, FaultModel, FaultAddress,
		FaultRequest, FaultFilter, FaultTimeout, FaultStall, FaultUnreachable, FaultNotAPI, FaultMalformed, FaultCut, FaultCancelled} {
		e := Wrap(NewFault(kind, "", nil), agent.ModelRef{Provider: "groq", Name: "llama"})
		if other, double := seen[e.Public]; double || e.Public == "" || strings.Contains(e.Public, "failed. Try") {
			t.Errorf("%s says %q, as does %q", kind, e.Public, other)
		}
		seen[e.Public] = kind
		if kind != FaultCancelled && !strings.Contains(strings.ToLower(e.Public), "groq") && !strings.Contains(e.Public, "llama") {
			t.Errorf("%s does not say who: %q", kind, e.Public)
		}
	}
}

func TestFaultNamesTheProvider(t *testing.T) {
	for provider, want := range map[string]string{
		"openai": "OpenAI cannot be reached.", "llamacpp": "llama.cpp cannot be reached.", "home": "Home cannot be reached.", "": "The provider cannot be reached.",
	} {
		f := &Fault{Kind: FaultUnreachable, Model: agent.ModelRef{Provider: provider}}
		if got := f.Public(); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q", provider, got)
		}
	}
	f := &Fault{Kind: FaultLocked, Model: agent.ModelRef{Provider: "xai"}}
	if got := f.Public(); !strings.HasPrefix(got, "The key of xAI lies") {
		t.Errorf("within a sentence: %q", got)
	}
}

func TestExcerpt(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"lines":       {"a\n\tb\x00c", "a b c"},
		"openai key":  {"key sk-proj-AbC123_x-yz9 wrong", "key [redacted] wrong"},
		"masked key":  {"key sk-ab***********wxyz.", "key [redacted]"},
		"google key":  {"AIzaSyA1234567890abcdefg", "[redacted]"},
		"bearer":      {"got Authorization: Bearer abc.def", "got Authorization: [redacted]"},
		"long token":  {strings.Repeat("a1", 20), "[redacted]"},
		"short words": {"the model gpt-4o-mini-2024-07-18 is fine", "the model gpt-4o-mini-2024-07-18 is fine"},
		"broken utf8": {"a\xffb", "a b"},
		"long":        {strings.Repeat("word ", 100), strings.Repeat("word ", 60) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := excerpt(tc.in); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
