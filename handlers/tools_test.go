package handlers_test

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"ash/agent"
	"ash/agent/llm/llmtest"
)

// workshop has a tool that asks, one that is refused, one that breaks and one that just runs.
type workshop struct{ hold chan struct{} }

func (workshop) Specs(context.Context, agent.Thread) []agent.ToolSpec {
	var out []agent.ToolSpec
	for _, name := range []string{"asks", "refused", "breaks", "runs"} {
		out = append(out, agent.ToolSpec{Name: name, Description: name, Schema: json.RawMessage(`{"type":"object"}`)})
	}
	return out
}

func (workshop) Judge(_ context.Context, _ agent.Situation, c agent.ToolCall) (agent.Judgement, error) {
	verdicts := map[string]agent.Verdict{"asks": agent.Ask, "refused": agent.Deny, "breaks": agent.Allow, "runs": agent.Allow}
	return agent.Judgement{Verdict: verdicts[c.Name], Why: "Because it " + c.Name + ".", Binding: "b-1"}, nil
}

func (w workshop) Run(ctx context.Context, _ agent.Situation, c agent.ToolCall, progress func(string)) (agent.ToolOutcome, error) {
	switch c.Name {
	case "breaks":
		return agent.ToolOutcome{}, agent.Errorf(agent.CodeUnavailable, "The tool is out of order.")
	case "runs":
		progress("halfway <there>\n")
		select {
		case <-w.hold:
		case <-ctx.Done():
		}
	}
	return agent.ToolOutcome{Content: []agent.Part{agent.Text{Text: "the result of <" + c.Name + ">"}}}, nil
}

func TestStreamTellsOfTools(t *testing.T) {
	var calls []llmtest.Call
	for _, name := range []string{"asks", "refused", "breaks", "runs"} {
		calls = append(calls, llmtest.Call{ID: "c-" + name, Name: name, Arguments: []string{`{"command":"`, name, `"}`}})
	}
	shop := workshop{hold: make(chan struct{})}
	h := openWith(t, plan{configured: true, tools: shop}, llmtest.Text("before"),
		llmtest.Reply{Thinking: []string{"I need tools."}, Text: []string{"I use tools."}, Calls: calls}, llmtest.Text("All done."))
	id := h.begin("one")
	s := h.watch("/chat/" + string(id))
	h.post(id, "two")
	s.has("section.call.pending .decide form.quick")
	s.has("section.call.denied")
	s.has("section.call.failed")
	s.says("section.call.started .output", "halfway <there>")
	s.says("section.call.failed", "The tool is out of order.")
	close(shop.hold)
	s.says("section.call.finished .output", "the result of <runs>")
	s.has("#composer-action.waiting")
	s.has("#t-" + string(id) + " em")
	s.same()
	var asks struct {
		Text string
		Asks bool
	}
	h.must(json.Unmarshal([]byte(s.named["ash:done"][0]), &asks))
	if !asks.Asks || asks.Text != "Because it asks." {
		t.Errorf("ash:done: %+v", asks)
	}

	other := h.watch("/chat/" + string(id))
	action, _ := s.doc.Find("section.call.pending form").Attr("action")
	h.browser.HTMX().Post(action, url.Values{"decision": {"approve"}, "binding": {"b-1"}}).Is(200)
	for _, x := range []*screen{s, other} {
		x.lacks("section.call.pending")
		x.says("section.call.finished", "the result of <asks>")
		x.says("#messages", "All done.")
		x.same()
		if n := x.doc.Find("section.call").Length(); n != len(calls) {
			t.Errorf("%d cards, want %d", n, len(calls))
		}
	}
}

// A message that waited while tools were run stands below all that was said about them.
func TestQueuedMessageStandsBehindEveryRound(t *testing.T) {
	shop := workshop{hold: make(chan struct{})}
	h := openWith(t, plan{configured: true, tools: shop}, llmtest.Text("before"),
		llmtest.Reply{Calls: []llmtest.Call{{ID: "c", Name: "runs", Arguments: []string{"{}"}}}}, llmtest.Text("It ran."), llmtest.Text("And this."))
	id := h.begin("one")
	s := h.watch("/chat/" + string(id))
	h.post(id, "two")
	s.has("section.call.started")
	h.post(id, "three")
	s.has("#queued article")
	close(shop.hold)
	s.says("#messages", "And this.")
	s.same()
	if all := s.doc.Find("#messages").Text(); strings.Index(all, "It ran.") > strings.Index(all, "three") {
		t.Error("the message that waited stands above what was said before it")
	}
}

func (workshop) Permit(context.Context, agent.Situation, agent.ToolCall, agent.Offer) error {
	return nil
}
