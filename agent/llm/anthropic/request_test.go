package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ash/agent"
	"ash/agent/llm"
	"ash/agent/llm/llmtest"
)

func user(parts ...agent.Part) agent.PromptMessage {
	return agent.PromptMessage{Role: agent.RoleUser, Parts: parts}
}

func assistant(parts ...agent.Part) agent.PromptMessage {
	return agent.PromptMessage{Role: agent.RoleAssistant, Parts: parts}
}

func text(s string) agent.Part { return agent.Text{Text: s} }

func cached(m agent.PromptMessage) agent.PromptMessage {
	m.Cache = true
	return m
}

func calling(m agent.PromptMessage, calls ...agent.ToolCall) agent.PromptMessage {
	for _, c := range calls {
		m.Parts = append(m.Parts, agent.ToolUse{Call: c.ID})
	}
	m.Calls = calls
	return m
}

func result(call agent.ID, provider, out string, failed bool) agent.Part {
	return agent.ToolResult{Call: call, ProviderID: provider, Content: []agent.Part{agent.Text{Text: out}}, Failed: failed}
}

func thought(model, words, signature string) agent.Part {
	return agent.Thinking{Text: words, Signature: signature, Model: agent.ModelRef{Provider: "anthropic", Name: model}}
}

func weather() []agent.ToolSpec {
	return []agent.ToolSpec{
		{Name: "clock", Description: "The time."},
		{Name: "weather", Description: "The weather <now>.", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)},
	}
}

// toolRound is a conversation in the middle of a tool round, with two calls at once.
func toolRound(model string) []agent.PromptMessage {
	return []agent.PromptMessage{
		user(text("Hi")),
		assistant(thought(model, "old thinking", "c2lnMA=="), text("Hello!")),
		cached(user(text("Weather in Köln & Bonn?"))),
		calling(assistant(thought(model, "two calls <b>", "c2lnMQ=="), agent.Thinking{Redacted: "b3BhcXVl", Model: agent.ModelRef{Provider: "anthropic", Name: model}}, text("I look.")),
			agent.ToolCall{ID: "018f-1", ProviderID: "toolu_01A", Name: "weather", Arguments: json.RawMessage(`{"city": "Köln"}`)},
			agent.ToolCall{ID: "018f-2", ProviderID: "toolu_01B", Name: "weather", Arguments: json.RawMessage(`{"city": "Bonn"}`)}),
		cached(user(result("018f-2", "toolu_01B", "no such city", true), result("018f-1", "toolu_01A", "rain", false))),
	}
}

func TestRequestGolden(t *testing.T) {
	warm := 0.7
	png := agent.Image{Attachment: agent.Attachment{Name: "a.png", Media: "image/png"}, Data: []byte("\x89PNG")}
	tests := []struct {
		name  string
		model string
		think level
		p     agent.Prompt
	}{
		{name: "plain", model: "claude-haiku-4-5", p: agent.Prompt{System: "You are Ash.", MaxTokens: 500, Temperature: &warm, Messages: []agent.PromptMessage{user(text("Hello"))}}},
		{name: "tool_round_adaptive", model: "claude-opus-4-8", think: levelHigh, p: agent.Prompt{System: "You are Ash.", Tools: weather(), Temperature: &warm, Messages: toolRound("claude-opus-4-8")}},
		{name: "tool_round_budget", model: "claude-haiku-4-5", think: levelLow, p: agent.Prompt{Tools: weather(), Temperature: &warm, Messages: toolRound("claude-haiku-4-5")}},
		{name: "tool_round_of_another_model", model: "claude-haiku-4-5", think: levelLow, p: agent.Prompt{Tools: weather(), Messages: toolRound("claude-opus-4-8")}},
		{name: "attachments", model: "claude-sonnet-5", think: levelOff, p: agent.Prompt{Messages: []agent.PromptMessage{user(
			text("What is this?"), png,
			agent.File{Attachment: agent.Attachment{Name: "paper.pdf", Media: "application/pdf"}, Data: []byte("%PDF-1.7")},
			agent.File{Attachment: agent.Attachment{Name: "notes.txt", Media: "text/plain", Size: 12}, Extract: "bread, milk", Truncated: true},
			agent.Image{Attachment: agent.Attachment{Name: "a.tiff", Media: "image/tiff"}, Data: []byte("II*")},
		)}}},
		{name: "mended", model: "claude-sonnet-5", p: agent.Prompt{System: " \n", Messages: []agent.PromptMessage{
			assistant(text("I begin.")),
			user(text("  ")),
			user(text("one")), user(text("two"), result("018f-9", "gone", "stray", false)),
			calling(assistant(),
				agent.ToolCall{ID: "018f-1", ProviderID: "call:0", Name: "fs.read", Arguments: json.RawMessage(`"not an object"`)},
				agent.ToolCall{ID: "018f-2", ProviderID: "call_0", Name: "clock"}),
			user(text("the person wrote on"), result("018f-2", "call_0", "", false)),
			calling(assistant(), agent.ToolCall{ID: "018f-3", ProviderID: "call_0", Name: "clock", Arguments: json.RawMessage(`{}`)}),
			user(result("018f-3", "call_0", "noon", false)),
			assistant(text("It is n")),
		}}},
		{name: "breakpoints", model: "claude-sonnet-5", p: agent.Prompt{System: "s", Tools: weather(), Messages: []agent.PromptMessage{
			cached(user(text("1"))), cached(assistant(text("2"))), cached(user(text("3"))), cached(assistant(text("4"))), cached(user(text("5"), png)),
		}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := llmtest.Anthropic(t, llmtest.Text("ok"))
			c := connect(t, s.URL, func(s *llm.Settings) { s.Thinking = string(tt.think) })
			if r := collect(c, model(tt.model), tt.p); r.err != nil {
				t.Fatalf("the server refused: %v", r.err)
			}
			golden(t, tt.name+".json", s.Chats()[0].Body)
		})
	}
}

// TestSamePrefix holds what prompt caching rests on: a longer conversation begins with the
// very bytes of the shorter one, the marks aside.
func TestSamePrefix(t *testing.T) {
	body := func(n int) []byte {
		p := agent.Prompt{System: "You are Ash.", Tools: weather()}
		for i := range n {
			p.Messages = append(p.Messages, user(text(fmt.Sprint("question ", i))), assistant(text(fmt.Sprint("answer ", i))))
		}
		p.Messages = append(p.Messages, user(text("and now?")))
		r, err := build(model("claude-sonnet-5"), p, levelDefault)
		if err != nil {
			t.Fatal(err)
		}
		b, err := r.encode()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	short, long := body(20), body(21)
	at := bytes.Index(short, []byte("and now?"))
	if !bytes.HasPrefix(long, short[:at]) {
		t.Errorf("the prefix changed:\n%s\n%s", short[:at], long[:at])
	}
}

func TestMaxTokens(t *testing.T) {
	tests := []struct{ prompt, limit, want int }{{0, 0, defaultMaxTokens}, {0, 64000, 64000}, {100, 64000, 100}, {100, 0, 100}, {99999, 64000, 64000}, {-1, 0, defaultMaxTokens}}
	for _, tt := range tests {
		if got := maxTokens(agent.ModelInfo{MaxOutput: tt.limit}, agent.Prompt{MaxTokens: tt.prompt}); got != tt.want {
			t.Errorf("prompt %d, model %d: %d, want %d", tt.prompt, tt.limit, got, tt.want)
		}
	}
}

func TestVersionOf(t *testing.T) {
	for name, want := range map[string]version{
		"claude-opus-4-8": {4, 8}, "claude-haiku-4-5-20251001": {4, 5}, "claude-3-5-haiku-20241022": {3, 5}, "claude-sonnet-5": {5, 0},
		"claude-opus-5-5": {5, 5}, "claude-mythos-preview": {4, 7}, "claude-sonnet-4-20250514": {4, 0}, "my-model": {}, "": {},
		"us.anthropic.claude-sonnet-4-5-20250929-v1:0": {4, 5}, "anthropic.claude-sonnet-5": {5, 0}, "anthropic.claude-mythos-preview": {4, 7},
	} {
		if got := versionOf(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// TestTinyBudget leaves thinking out where the API's smallest budget does not fit the reply.
func TestTinyBudget(t *testing.T) {
	p := hello()
	p.MaxTokens = 1500
	r, err := build(model("claude-haiku-4-5"), p, levelHigh)
	if err != nil || r.Thinking != nil {
		t.Errorf("thinking %+v, error %v", r.Thinking, err)
	}
}

// FuzzBuild throws conversations of any order at build; the server holds the result against the API's rules.
func FuzzBuild(f *testing.F) {
	f.Add("utaxruUcTR", false)
	f.Add("axxrrrrtu", true)
	f.Add("r", false)
	f.Add("xuxuxurrrATaTr", true)
	handler := llmtest.New(llmtest.AnthropicFormat{}, llmtest.Reply{Text: []string{"ok"}, Repeat: true}).Handler()
	f.Fuzz(func(t *testing.T, script string, same bool) {
		p := fuzzPrompt(script, same)
		r, err := build(model("claude-haiku-4-5"), p, levelLow)
		if err != nil {
			return // nothing to send
		}
		body, err := r.encode()
		if err != nil {
			t.Fatal(err)
		}
		w := answer{header: http.Header{}}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x/v1/messages", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Anthropic-Version", apiVersion)
		handler.ServeHTTP(&w, req)
		if w.status >= 400 {
			t.Fatalf("%q: %s\n%s", script, w.body.String(), body)
		}
	})
}

// fuzzPrompt reads script letter by letter: u and a begin messages, the rest adds parts.
func fuzzPrompt(script string, same bool) agent.Prompt {
	var p agent.Prompt
	if len(script) > 200 {
		script = script[:200]
	}
	at := func() *agent.PromptMessage {
		if len(p.Messages) == 0 {
			p.Messages = append(p.Messages, user())
		}
		return &p.Messages[len(p.Messages)-1]
	}
	id := func(i int) (agent.ID, string) {
		provider := "call_0"
		if !same {
			provider = fmt.Sprintf("c:%d", i)
		}
		return agent.ID(fmt.Sprint("id-", i)), provider
	}
	calls, results := 0, 0
	for _, c := range script {
		switch c {
		case 'u', 'U':
			p.Messages = append(p.Messages, agent.PromptMessage{Role: agent.RoleUser, Cache: c == 'U'})
		case 'a', 'A':
			p.Messages = append(p.Messages, agent.PromptMessage{Role: agent.RoleAssistant, Cache: c == 'A'})
		case 'x':
			if m := at(); m.Role == agent.RoleAssistant {
				call, provider := id(calls)
				calls++
				m.Calls = append(m.Calls, agent.ToolCall{ID: call, ProviderID: provider, Name: "clock"})
				m.Parts = append(m.Parts, agent.ToolUse{Call: call})
			}
		case 'r', 'R':
			if m := at(); m.Role == agent.RoleUser {
				call, provider := id(results)
				results++
				m.Parts = append(m.Parts, result(call, provider, "done", c == 'R'))
			}
		case 'c':
			at().Cache = true
		case ' ':
			m := at()
			m.Parts = append(m.Parts, text(" "))
		case 'T':
			m := at()
			m.Parts = append(m.Parts, thought("claude-haiku-4-5", "hm", "c2ln"))
		default:
			m := at()
			m.Parts = append(m.Parts, text(string(c)))
		}
	}
	return p
}

// answer keeps what a handler wrote.
type answer struct {
	header http.Header
	status int
	body   strings.Builder
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }
