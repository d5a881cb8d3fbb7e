package llm_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"ash/agent"
	"ash/agent/llm"
	"ash/agent/llm/llmtest"
	"ash/agent/llm/openai"
)

// TestKeyIsNeverRepeated lets servers quote a key that looks like an ordinary word.
func TestKeyIsNeverRepeated(t *testing.T) {
	const key = "opensesame7"
	for _, status := range []int{400, 401, 500} {
		echo := llmtest.Reply{Repeat: true, Fault: llmtest.Fault{
			Status: status, Media: "application/json", Raw: `{"error":{"message":"the key ` + key + ` is not good","type":"x"}}`,
		}}
		s := llmtest.OpenAI(t, echo)
		var log bytes.Buffer
		p, err := llm.New(llm.Options{
			Dialects:  map[string]llm.Dialect{"openai": openai.New},
			Keys:      llm.NewKeys(func(name string) (string, bool) { return key, name == "OPENAI_API_KEY" }),
			Logger:    slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			Retry:     llm.Retry{Tries: 1},
			Providers: []llm.Settings{{Name: "openai", Kind: "openai", BaseURL: s.URL + "/v1"}},
			Order:     []agent.ModelRef{{Provider: "openai", Name: "m"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		m, _, err := p.Pick(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		told := 0
		for d, err := range m.Stream(t.Context(), agent.Prompt{Messages: []agent.PromptMessage{{Role: agent.RoleUser, Parts: []agent.Part{agent.Text{Text: "hi"}}}}}) {
			if d.Attempt != nil && d.Attempt.Failed != nil && strings.Contains(d.Attempt.Failed.Public, key) {
				t.Errorf("%d: the attempt says %s", status, d.Attempt.Failed.Public)
			}
			if err != nil {
				told++
				if strings.Contains(agent.PublicOf(err)+err.Error(), key) {
					t.Errorf("%d: the error says %v", status, err)
				}
			}
		}
		if told != 1 || !strings.Contains(s.Chats()[0].Header.Get("Authorization"), key) {
			t.Errorf("%d: %d errors", status, told)
		}
		if strings.Contains(log.String(), key) {
			t.Errorf("%d: the log says %s", status, log.String())
		}
	}
}

func TestCallsThatWereStoppedAreNoWarning(t *testing.T) {
	s := llmtest.OpenAI(t, llmtest.Broken(llmtest.StreamStall, 2, "begun"))
	var log bytes.Buffer
	p, err := llm.New(llm.Options{
		Dialects: map[string]llm.Dialect{"openai": openai.New}, Keys: llm.NewKeys(noEnv),
		Logger:    slog.New(slog.NewTextHandler(&log, nil)),
		Providers: []llm.Settings{{Name: "s0", Kind: "openai", BaseURL: s.URL + "/v1"}},
		Order:     []agent.ModelRef{{Provider: "s0", Name: "m"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	ctx, stop := context.WithCancel(t.Context())
	m, _, err := p.Pick(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	for d := range m.Stream(ctx, agent.Prompt{Messages: []agent.PromptMessage{{Role: agent.RoleUser, Parts: []agent.Part{agent.Text{Text: "hi"}}}}}) {
		if d.Kind == agent.DeltaText {
			stop()
		}
	}
	stop()
	if log.Len() > 0 {
		t.Error(log.String())
	}
}
