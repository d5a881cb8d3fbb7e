package handlers_test

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/llm/llmtest"
)

// asking is one tool that asks before it runs.
type asking struct{}

func (asking) Specs(context.Context, agent.Thread) []agent.ToolSpec {
	return []agent.ToolSpec{{Name: "shell", Description: "Runs a command.", Schema: json.RawMessage(`{"type":"object"}`)}}
}

func (asking) Judge(context.Context, agent.Situation, agent.ToolCall) (agent.Judgement, error) {
	return agent.Judgement{Verdict: agent.Ask, Why: "It deletes files.", Binding: "b-1"}, nil
}

func (asking) Run(context.Context, agent.Situation, agent.ToolCall, func(string)) (agent.ToolOutcome, error) {
	return agent.ToolOutcome{Content: []agent.Part{agent.Text{Text: "gone <b>"}}}, nil
}

func TestApprovals(t *testing.T) {
	call := llmtest.Call{ID: "c1", Name: "shell", Arguments: []string{`{"command":"rm -rf`, ` notes"}`}}
	h := openWith(t, plan{configured: true, tools: asking{}},
		llmtest.Reply{Calls: []llmtest.Call{call}}, llmtest.Text("done"),
		llmtest.Reply{Calls: []llmtest.Call{call}}, llmtest.Text("as you like"))
	id := h.begin("clean up")
	base := "/chat/" + string(id)
	p := h.browser.Get(base).Is(200).Has("section.call.pending").Says("It deletes files.").Says("rm -rf notes").Has("#composer-action.waiting")
	if got := p.Text("#badge-rail"); !strings.HasPrefix(got, "1") {
		t.Errorf("badge %q", got)
	}
	card := p.Attr("section.call form", "action")
	foreign := strings.Replace(card, string(id), string(h.empty()), 1)
	h.browser.HTMX().Post(foreign, url.Values{"decision": {"approve"}, "binding": {"b-1"}}).Is(404)
	h.browser.HTMX().Post(card, url.Values{"decision": {"approve"}, "binding": {"b-2"}}).Is(409).Says("has changed")
	h.browser.HTMX().Post(card, url.Values{"decision": {"perhaps"}, "binding": {"b-1"}}).Is(422)
	h.browser.HTMX().Post(card, url.Values{"decision": {"approve"}, "binding": {"b-1"}}).Is(200).Has("hx-upsert section.call").Lacks(".pending")
	h.browser.HTMX().Post(card, url.Values{"decision": {"deny"}, "binding": {"b-1"}}).Is(409).Says("already")
	h.rest(id)
	p = h.browser.Get(base).Is(200).Has("section.call.finished").Lacks("section.call b b")
	if got := p.Text("section.call .output"); got != "gone <b>" {
		t.Errorf("output %q", got)
	}

	h.browser.Post(base+"/messages", url.Values{"text": {"again"}}).Is(303)
	h.rest(id)
	card = h.browser.Get(base).Attr("section.call.pending form", "action")
	if to := h.browser.Post(card, url.Values{"decision": {"deny"}, "binding": {"b-1"}, "reason": {"too risky"}}).Leads(); to != base {
		t.Errorf("deciding leads to %s", to)
	}
	h.rest(id)
	h.browser.Get(base).Has("section.call.denied").Says("too risky").Says("as you like")
}

func TestSummariesCanBeTakenBack(t *testing.T) {
	h := open(t, llmtest.Reply{Text: []string{"fine"}, Repeat: true})
	id := h.begin("one")
	base := "/chat/" + string(id)
	to := h.thread(id).Head
	h.browser.Post(base+"/messages", url.Values{"text": {"two"}}).Is(303)
	h.rest(id)
	s := agent.Summary{ID: agent.NewID(), Thread: id, From: to, To: to, Text: "They said *one*.", Created: time.Now()}
	h.must(h.store.AddSummary(context.Background(), s))
	h.browser.Get(base).Is(200).Has("article.me details.summary em").Lacks("details.summary.off")
	path := base + "/summaries/" + string(s.ID)
	h.browser.HTMX().Post(path, url.Values{"disabled": {"1"}}).Is(200).Has("hx-partial details.summary.off")
	all, err := h.store.Summaries(context.Background(), id)
	h.must(err)
	if !all[0].Disabled || all[0].Text != s.Text {
		t.Errorf("stored %+v", all[0])
	}
	h.browser.Post(path, url.Values{"disabled": {"0"}}).Is(303)
	h.browser.Get(base).Lacks("details.summary.off")
	h.browser.Post(base+"/summaries/"+string(agent.NewID()), url.Values{"disabled": {"0"}}).Is(404)
}

func TestInterruptedTurnsSaySoAndContinueOnRequest(t *testing.T) {
	h := open(t, llmtest.Broken(llmtest.StreamCut, 2, "begun ", "and "), llmtest.Text("ended."), llmtest.Text("answered."))
	id := h.begin("tell me")
	base := "/chat/" + string(id)
	p := h.browser.Get(base).Is(200).Has("article.ash .ending").Has("article.ash form.resume")
	path := p.Attr("form.resume", "action")
	h.browser.HTMX().Post(path, nil).Is(204)
	h.rest(id)
	if got := h.browser.Get(base).Lacks("form.resume").Text("article.ash .prose"); !strings.Contains(got, "ended.") {
		t.Errorf("after Continue the page shows %q", got)
	}

	// Ash dies after a question is stored and before its answer is begun.
	ctx := context.Background()
	posted, err := h.store.Post(ctx, agent.NewMessage{Thread: id, Parts: []agent.Part{agent.Text{Text: "and now?"}}})
	h.must(err)
	_, err = h.store.Recover(ctx)
	h.must(err)
	p = h.browser.Get(base).Is(200).Has("#m-" + string(posted.Message.ID) + " .ending")
	path = p.Attr("form.resume", "action")
	h.browser.HTMX().Post(path, nil).Is(200).Has("hx-upsert article.me").Lacks(".ending")
	h.rest(id)
	if got := h.browser.Get(base).Lacks("form.resume").Text("article.ash .prose"); !strings.Contains(got, "answered.") {
		t.Errorf("after Continue the page shows %q", got)
	}
}

func (asking) Permit(context.Context, agent.Situation, agent.ToolCall, agent.Offer) error {
	return nil
}
