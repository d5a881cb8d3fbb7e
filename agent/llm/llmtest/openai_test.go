package llmtest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ash/agent/llm/llmtest"
)

// post sends a chat request and returns status, header and as much of the body as came, with how it ended.
func post(t *testing.T, url, body string) (*http.Response, string, error) {
	t.Helper()
	resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp, string(b), err
}

const streamed = `{"model":"m","stream":true,"stream_options":{"include_usage":true}}`

func TestOpenAIStream(t *testing.T) {
	s := llmtest.OpenAI(t, llmtest.Reply{Thinking: []string{"t"}, Text: []string{"a", "é\n"}, Calls: []llmtest.Call{{ID: "c", Name: "f", Arguments: []string{"{", "}"}, Extra: `{"x":1}`}}})
	resp, body, err := post(t, s.URL, streamed)
	if err != nil || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
		t.Fatalf("%v %v", resp, err)
	}
	var got []string
	for event := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(event, "data: ")
		if !ok {
			t.Fatalf("event %q", event)
		}
		if data == "[DONE]" {
			got = append(got, data)
			continue
		}
		var c struct {
			Object, Model string
			Choices       []struct {
				Delta  json.RawMessage
				Finish *string `json:"finish_reason"`
			}
			Usage json.RawMessage
		}
		if err := json.Unmarshal([]byte(data), &c); err != nil || c.Object != "chat.completion.chunk" || c.Model != "m" {
			t.Fatalf("chunk %s: %v", data, err)
		}
		if len(c.Choices) == 0 {
			got = append(got, "usage")
			continue
		}
		word := string(c.Choices[0].Delta)
		if f := c.Choices[0].Finish; f != nil {
			word += *f
		}
		got = append(got, word)
	}
	want := []string{
		`{"role":"assistant","content":""}`, `{"reasoning_content":"t"}`, `{"content":"a"}`, `{"content":"é\n"}`,
		`{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":""},"extra_content":{"x":1}}]}`,
		`{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}`,
		"{}tool_calls", "usage", "[DONE]",
	}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestOpenAIWhole(t *testing.T) {
	s := llmtest.OpenAI(t, llmtest.Reply{Text: []string{"a", "b"}, Usage: &llmtest.Usage{Input: 3, Output: 2, CacheRead: 1}})
	_, body, err := post(t, s.URL, `{"model":"m"}`)
	var c struct {
		Choices []struct {
			Message struct{ Content string }
			Finish  string `json:"finish_reason"`
		}
		Usage struct {
			Total   int `json:"total_tokens"`
			Details struct {
				Cached int `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		}
	}
	if err != nil || json.Unmarshal([]byte(body), &c) != nil || c.Choices[0].Message.Content != "ab" || c.Choices[0].Finish != "stop" || c.Usage.Total != 5 || c.Usage.Details.Cached != 1 {
		t.Errorf("%v: %s", err, body)
	}
}

func TestFaults(t *testing.T) {
	cases := map[string]struct {
		reply  llmtest.Reply
		status int
		has    string
		ends   error
	}{
		"unauthorized":  {llmtest.Unauthorized(), 401, `"invalid_api_key"`, nil},
		"rate limited":  {llmtest.RateLimited("2"), 429, `"rate_limit_exceeded"`, nil},
		"quota":         {llmtest.QuotaSpent(), 429, `"insufficient_quota"`, nil},
		"server error":  {llmtest.ServerError(), 500, `"server_error"`, nil},
		"overloaded":    {llmtest.Overloaded(), 529, `overloaded`, nil},
		"no such model": {llmtest.NoSuchModel(), 404, `"model_not_found"`, nil},
		"too long":      {llmtest.ContextTooLong(), 400, `"context_length_exceeded"`, nil},
		"status alone":  {llmtest.Reply{Fault: llmtest.Fault{Status: 503}}, 503, `overloaded`, nil},
		"web page":      {llmtest.HTML(), 200, "<!DOCTYPE html>", nil},
		"cut":           {llmtest.Broken(llmtest.StreamCut, 2, "aa", "bb"), 200, `"aa"`, io.ErrUnexpectedEOF},
		"ends early":    {llmtest.Broken(llmtest.StreamEnd, 2, "aa", "bb"), 200, `"aa"`, nil},
		"malformed":     {llmtest.Broken(llmtest.StreamMalformed, 1, "aa"), 200, `{"broken": tru,`, nil},
		"giant":         {llmtest.Broken(llmtest.StreamGiant, 1, "aa"), 200, strings.Repeat("x", 16<<20), nil},
		"error inside":  {llmtest.Reply{Text: []string{"aa"}, Fault: llmtest.Fault{Stream: llmtest.StreamError, Kind: llmtest.ErrorServer, After: 1}}, 200, `data: {"error":`, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			resp, body, err := post(t, llmtest.OpenAI(t, tc.reply).URL, streamed)
			if resp.StatusCode != tc.status || !strings.Contains(body, tc.has) || !errors.Is(err, tc.ends) {
				t.Errorf("%d, %v: %.300s", resp.StatusCode, err, body)
			}
			if resp.Header.Get("Retry-After") != tc.reply.Fault.RetryAfter {
				t.Errorf("Retry-After %q", resp.Header.Get("Retry-After"))
			}
			if tc.reply.Fault.Stream != "" && strings.Contains(body, "[DONE]") {
				t.Error("a broken stream is ended properly")
			}
		})
	}
}

func TestCutInsideARune(t *testing.T) {
	_, body, err := post(t, llmtest.OpenAI(t, llmtest.Broken(llmtest.StreamCutRune, 1, "日本")).URL, streamed)
	if err == nil || utf8.ValidString(body) {
		t.Errorf("got %q, %v", body, err)
	}
}

func TestStallAndDelayEndWithTheServer(t *testing.T) {
	for name, reply := range map[string]llmtest.Reply{
		"stall": llmtest.Broken(llmtest.StreamStall, 2, "a", "b"),
		"delay": llmtest.SlowHeaders(time.Hour, "a"),
		"pace":  {Load: llmtest.Load{Tokens: 1000, Rate: 0.001}},
	} {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(llmtest.OpenAIFormat{}, reply)
			h := httptest.NewServer(s.Handler())
			defer h.Close()
			time.AfterFunc(50*time.Millisecond, s.Close)
			start := time.Now()
			if _, body, err := post(t, h.URL, streamed); strings.Contains(body, "[DONE]") || time.Since(start) < 40*time.Millisecond {
				t.Errorf("after %v: %q, %v", time.Since(start), body, err)
			}
		})
	}
}

func TestScript(t *testing.T) {
	s := llmtest.OpenAI(t, llmtest.Text("one"))
	s.Push(llmtest.Reply{Text: []string{"two"}, Repeat: true})
	for _, want := range []string{"one", "two", "two"} {
		if _, body, _ := post(t, s.URL, `{}`); !strings.Contains(body, want) {
			t.Errorf("want %s: %s", want, body)
		}
	}
	if got := s.Chats(); len(got) != 3 || string(got[0].Body) != `{}` || got[0].Header.Get("Content-Type") != "application/json" {
		t.Errorf("recorded %+v", got)
	}
	used := llmtest.OpenAI(t)
	if resp, body, _ := post(t, used.URL, `{}`); resp.StatusCode != 500 || !strings.Contains(body, "used up") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if resp, _, _ := post(t, s.URL, `{`); resp.StatusCode != 400 {
		t.Errorf("broken JSON: %d", resp.StatusCode)
	}
}

func TestLoadKeepsItsPace(t *testing.T) {
	s := llmtest.OpenAI(t, llmtest.Reply{Load: llmtest.Load{Tokens: 21, Rate: 200, Token: "tok"}})
	start := time.Now()
	_, body, err := post(t, s.URL, streamed)
	if n := strings.Count(body, `"tok"`); n != 21 || err != nil || time.Since(start) < 90*time.Millisecond {
		t.Errorf("%d tokens in %v, %v", n, time.Since(start), err)
	}
}

func TestOtherEndpoints(t *testing.T) {
	s := llmtest.OpenAI(t)
	s.ModelNames, s.Dimensions, s.Forget = []string{"x"}, 2, true
	get := func(method, path, body string) string {
		req, err := http.NewRequest(method, s.URL+path, bytes.NewBufferString(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return string(b)
	}
	if got := get("GET", "/v1/models", ""); !strings.Contains(got, `"id":"x"`) {
		t.Errorf("models: %s", got)
	}
	one, two := get("POST", "/v1/embeddings", `{"model":"m","input":["a"]}`), get("POST", "/v1/embeddings", `{"model":"m","input":["a"]}`)
	if one != two || !strings.Contains(one, `"embedding":[`) || one == get("POST", "/v1/embeddings", `{"model":"m","input":["b"]}`) {
		t.Errorf("embeddings: %s", one)
	}
	if got := get("GET", "/nope", ""); !strings.Contains(got, "404") {
		t.Errorf("unknown path: %s", got)
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests kept", n)
	}
}
