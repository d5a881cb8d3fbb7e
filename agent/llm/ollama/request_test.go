package ollama

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/llm"
	"ash/agent/llm/llmtest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestRequestGolden(t *testing.T) {
	warm := 0.5
	info := model("gpt-oss:20b")
	round := []agent.PromptMessage{
		user(agent.Text{Text: "Hi"}),
		{Role: agent.RoleAssistant, Parts: []agent.Part{agent.Thinking{Text: "old", Model: info.Ref}, agent.Text{Text: "Hello!"}}},
		user(agent.Text{Text: "  "}),
		user(agent.Text{Text: "What time <is> it?"}, agent.Image{Attachment: agent.Attachment{Name: "a.png", Media: "image/png"}, Data: []byte("\x89PNG")},
			agent.File{Attachment: agent.Attachment{Name: "n.txt", Media: "text/plain", Size: 5}, Extract: "bread"}),
		{Role: agent.RoleAssistant, Parts: []agent.Part{agent.Thinking{Text: "the clock", Model: info.Ref}, agent.ToolUse{Call: "id-1"}, agent.ToolUse{Call: "id-2"}},
			Calls: []agent.ToolCall{{ID: "id-1", ProviderID: "call_a", Name: "clock", Arguments: json.RawMessage(`{"zone": "CET"}`)}, {ID: "id-2", Name: "clock"}}},
		user(agent.ToolResult{Call: "id-1", ProviderID: "call_a", Name: "clock", Content: []agent.Part{agent.Text{Text: "noon"}}},
			agent.ToolResult{Call: "id-2", Name: "clock", Failed: true, Content: []agent.Part{agent.Text{Text: "no zone"}}}),
	}
	tests := []struct {
		name string
		info agent.ModelInfo
		set  func(*llm.Settings)
		p    agent.Prompt
	}{
		{"plain", model("llama3.2"), func(*llm.Settings) {}, agent.Prompt{System: "You are Ash.", Messages: hello().Messages}},
		{"options", model("qwen3"), func(s *llm.Settings) { s.KeepAlive, s.Thinking = 30*time.Minute, "high" }, agent.Prompt{MaxTokens: 100, Temperature: &warm, Messages: hello().Messages}},
		{"no_thinking", model("qwen3"), func(s *llm.Settings) { s.Thinking = "off" }, hello()},
		{"tool_round", info, func(s *llm.Settings) { s.Thinking = "low" }, agent.Prompt{Tools: clock(), Messages: round}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := llmtest.Ollama(t, llmtest.Text("ok"))
			if r := collect(connect(t, s.URL, tt.set), tt.info, tt.p); r.err != nil {
				t.Fatalf("the server refused: %v", r.err)
			}
			golden(t, tt.name+".json", s.Chats()[0].Body)
		})
	}
}

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

func TestWindow(t *testing.T) {
	long := func(n int) agent.Prompt {
		return agent.Prompt{Messages: []agent.PromptMessage{user(agent.Text{Text: strings.Repeat("x", n)})}}
	}
	tests := []struct {
		name  string
		p     agent.Prompt
		limit int
		want  int
	}{
		{"short", long(10), 131072, 8192},
		{"longer", long(30_000), 131072, 16384},
		{"long", long(200_000), 131072, 131072},
		{"longer than the model takes", long(900_000), 32768, 32768},
		{"small model", long(10), 2048, 2048},
		{"unknown model", long(9_000_000), 0, maxContext},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			info := model("x")
			info.ContextWindow = tt.limit
			r, err := build(llm.Settings{}, info, tt.p)
			if err != nil || r.Options.NumCtx != tt.want {
				t.Errorf("num_ctx %d, error %v; want %d", r.Options.NumCtx, err, tt.want)
			}
		})
	}
}
