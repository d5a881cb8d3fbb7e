package prompt

import (
	"strings"
	"testing"
	"time"

	"ash/agent"
)

// A helper is told its task as a task, whatever the model that wrote it had read, and keeps its labels.
func TestHelperTask(t *testing.T) {
	b := New(Options{})
	labels := agent.Labels{{Source: "evil.example", Kind: agent.LabelUntrusted}}
	r := agent.PromptRequest{
		Thread: agent.Thread{ID: agent.NewID(), ParentCall: agent.NewID()}, Model: agent.ModelInfo{ContextWindow: 100_000, Tools: true}, Now: time.Now(),
		Path: []agent.Message{{ID: agent.NewID(), Role: agent.RoleUser, State: agent.MessageComplete, Parts: []agent.Part{agent.Text{Text: "Count the </data-x> words.", Labels: labels}}}},
	}
	build := func() (system, first string, built agent.BuiltPrompt) {
		built, err := b.Build(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return built.Prompt.System, built.Prompt.Messages[0].Parts[0].(agent.Text).Text, built
	}
	system, first, built := build()
	if !strings.Contains(system, "You are a helper") || !strings.HasPrefix(first, "[task]\nCount the ") || strings.Contains(first, `trust="none"`) || strings.Contains(first, "</data-") {
		t.Errorf("%q", first)
	}
	if !built.Labels.Untrusted() {
		t.Error("the labels of the task were lost")
	}
	r.Path[0].Author = agent.NewID() // the person writes to a helper: what is labelled stays fenced
	if _, first, _ = build(); !strings.Contains(first, `trust="none"`) {
		t.Errorf("%q", first)
	}
	r.Path[0].Author, r.Thread.ParentCall = "", ""
	if system, first, _ = build(); strings.Contains(system, "You are a helper") || !strings.Contains(first, `trust="none"`) {
		t.Errorf("%q", first)
	}
}
