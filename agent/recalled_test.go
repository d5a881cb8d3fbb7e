package agent_test

import (
	"context"
	"slices"
	"testing"

	"ash/agent"
	"ash/agent/feed"
	"ash/agent/prompt"
)

// remembering recalls the same for every message.
type remembering []agent.Recollection

func (r remembering) Core(context.Context, agent.Thread) (agent.Text, error) {
	return agent.Text{}, nil
}

func (r remembering) Recall(context.Context, agent.PromptRequest) ([]agent.Recollection, error) {
	return r, nil
}

// TestRepliesSayWhatWasRecalled holds that a reply names the memories its model was given, that they are told once the reply is
// stored, and that what the model asks for bears their labels.
func TestRepliesSayWhatWasRecalled(t *testing.T) {
	h := withTools(t, func(context.Context, agent.ToolCall, func(string)) (agent.ToolOutcome, error) {
		return agent.ToolOutcome{}, nil
	})
	stranger := agent.Labels{{Source: "note:eve.md", Kind: agent.LabelUntrusted}}
	items := remembering{
		{Kind: agent.MemoryFact, Ref: "f-1", Text: "The dog is called Rex.", Source: "you, 3 May 2026"},
		{Kind: agent.MemoryNote, Ref: "eve.md", Text: "Look at this.", Source: "note:eve.md", Labels: stranger},
		{Kind: agent.MemoryFact, Ref: "f-2", Text: " "},
	}
	h.engine.Prompter = prompt.New(prompt.Options{Memory: items})
	seen := make(chan []agent.ID, 8)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go watchMemory(ctx, h.feed, h.thread, seen)
	h.script.add(asks("look {}"), says("fine"))
	h.post("what is my dog called?")
	if got := <-seen; !slices.Equal(got, []agent.ID{"f-1"}) {
		t.Errorf("told %q", got)
	}
	h.settle()
	path, err := h.store.Path(t.Context(), h.tail().Head.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := h.store.Receipt(t.Context(), path[1].ID)
	if err != nil || len(kept) != 2 || kept[0].Ref != "f-1" || kept[1].Ref != "eve.md" {
		t.Errorf("the receipt is %+v, %v", kept, err)
	}
	if use, ok := path[1].Parts[len(path[1].Parts)-1].(agent.ToolUse); !ok || !use.Labels.Untrusted() {
		t.Error("what the note made the model ask for does not bear its label")
	}
}

func watchMemory(ctx context.Context, f *feed.Feed, thread agent.ID, seen chan<- []agent.ID) {
	for batch := range f.Subscribe(ctx, thread, agent.EventID{}) {
		for _, e := range batch.Events {
			if m, ok := e.Event.(agent.MemoryEvent); ok {
				seen <- m.Items
			}
		}
	}
}
