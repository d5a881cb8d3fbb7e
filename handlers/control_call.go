package handlers

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/views/components"
)

// maxWaiting bounds the list of what waits.
const maxWaiting = 200

type (
	// ControlCall is a tool call: what it would do, and what came of it.
	ControlCall struct {
		ID        agent.ID         `json:"id"`
		Thread    agent.ID         `json:"thread"`
		Turn      agent.ID         `json:"turn"`
		Tool      string           `json:"tool"`
		State     agent.CallState  `json:"state"`
		Question  bool             `json:"question,omitempty"`
		Locked    bool             `json:"locked,omitempty"` // waits for the vault to be unlocked, not for a decision
		Why       string           `json:"why,omitempty"`
		Binding   string           `json:"binding,omitempty"`
		Arguments json.RawMessage  `json:"arguments"`
		Effect    *ControlEffect   `json:"effect,omitempty"`
		Decision  *ControlDecision `json:"decision,omitempty"`
		Output    string           `json:"output,omitempty"` // at most 32 KB
		Exit      *int             `json:"exit,omitempty"`
		From      []string         `json:"untrusted_sources,omitempty"` // of the output
		Millis    int64            `json:"duration_ms,omitempty"`
	}
	// ControlEffect is what a call would do.
	ControlEffect struct {
		Kind    agent.EffectKind `json:"kind"`
		Title   string           `json:"title,omitempty"`
		Target  string           `json:"target,omitempty"`
		Text    string           `json:"text,omitempty"`
		Diff    string           `json:"diff,omitempty"`
		Hosts   []string         `json:"hosts,omitempty"`
		Choices []string         `json:"choices,omitempty"`
		Sources []string         `json:"sources,omitempty"`
		Private []string         `json:"private,omitempty"`
		Opaque  bool             `json:"opaque,omitempty"`
		Offers  []ControlOffer   `json:"offers,omitempty"`
	}
	// ControlOffer is a standing permission that can be given with an approval.
	ControlOffer struct {
		Rule   string `json:"rule"`
		Label  string `json:"label"`
		Thread bool   `json:"thread,omitempty"`
	}
	// ControlDecision is the person's word on a waiting call. Binding must be the call's.
	ControlDecision struct {
		Approve   bool            `json:"approve"`
		Binding   string          `json:"binding,omitempty"`
		Reason    string          `json:"reason,omitempty"`
		Answer    string          `json:"answer,omitempty"`
		Always    string          `json:"always,omitempty"`
		Arguments json.RawMessage `json:"arguments,omitempty"`
	}
	// ControlHalted is what the kill switch did.
	ControlHalted struct {
		Threads []ControlThread `json:"threads"`           // whose turns were ended
		Holding []string        `json:"holding,omitempty"` // tools that had not let go
		Problem string          `json:"problem,omitempty"` // what could not be stopped, and why
	}
)

// call fills in what an event tells of a call.
func (e *ControlEvent) call(c agent.ToolCall) {
	e.Call, e.Tool, e.State = c.ID, c.Name, string(c.State)
	e.Detail = controlCall(c)
}

func controlCall(c agent.ToolCall) *ControlCall {
	out := &ControlCall{
		ID: c.ID, Thread: c.Thread, Turn: c.Turn, Tool: c.Name, State: c.State, Question: c.Question, Locked: c.Locked, Why: c.Why, Binding: c.Binding,
		Arguments: c.Arguments, Output: agent.Clip(agent.Message{Parts: c.Result}.Text(), maxOutput), Exit: c.Exit, From: sources(c.Labels),
	}
	if !c.Started.IsZero() && !c.Finished.IsZero() {
		out.Millis = c.Finished.Sub(c.Started).Milliseconds()
	}
	if d := c.Decision; d != nil {
		out.Decision = &ControlDecision{Approve: d.Approve, Reason: d.Reason, Answer: d.Answer, Always: d.Always}
	}
	if e := c.Effect; e != nil {
		out.Effect = &ControlEffect{
			Kind: e.Kind, Title: e.Title, Target: e.Target, Text: e.Text, Diff: e.Diff, Hosts: e.Hosts, Choices: e.Choices,
			Sources: e.Sources, Private: e.Private, Opaque: e.Opaque,
		}
		for _, o := range e.Offers {
			out.Effect.Offers = append(out.Effect.Offers, ControlOffer(o))
		}
	}
	return out
}

// waiting lists what waits for the person: anywhere, or in one thread and the helpers that work for it.
func (h Control) waiting(c echo.Context) error {
	ctx := c.Request().Context()
	within := agent.ID("")
	if c.Param("thread") != "" {
		var err error
		if within, err = param(c, "thread"); err != nil {
			return err
		}
		if _, err := h.Threads.Thread(ctx, within); err != nil {
			return err
		}
	}
	calls, err := h.Threads.WaitingCalls(ctx, maxWaiting)
	if err != nil {
		return err
	}
	out := make([]*ControlCall, 0, len(calls))
	for _, call := range calls {
		belongs, err := h.worksFor(ctx, call.Thread, within)
		if err != nil {
			return err
		}
		if belongs {
			out = append(out, controlCall(call))
		}
	}
	return c.JSON(http.StatusOK, out)
}

// worksFor reports whether thread is within ("" is every one), or a helper's somewhere below it.
func (h Control) worksFor(ctx context.Context, thread, within agent.ID) (bool, error) {
	for depth := 0; within != "" && thread != within; depth++ {
		t, err := h.Threads.Thread(ctx, thread)
		if err != nil || t.ParentCall == "" || depth == agent.MaxHelperDepth {
			return false, err
		}
		call, err := h.Threads.Call(ctx, t.ParentCall)
		if err != nil {
			return false, err
		}
		thread = call.Thread
	}
	return true, nil
}

func (h Control) decide(c echo.Context) error {
	id, err := param(c, "call")
	if err != nil {
		return err
	}
	var in ControlDecision
	if err := readControl(c, &in); err != nil {
		return err
	}
	d := agent.Decision{Approve: in.Approve, By: h.Owner, Binding: in.Binding, Always: in.Always, Arguments: in.Arguments}
	if d.Reason, err = clean(strings.TrimSpace(in.Reason)); err != nil {
		return err
	}
	if d.Answer, err = clean(strings.TrimSpace(in.Answer)); err != nil {
		return err
	}
	if len(d.Reason) > 4*maxReason || len(d.Answer) > maxText || len(d.Arguments) > maxText {
		return agent.Errorf(agent.CodeInvalid, "The decision is too long: an answer has at most %s.", components.Bytes(maxText))
	}
	call, err := h.Engine.Decide(c.Request().Context(), id, d)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, controlCall(call))
}

// halt is the kill switch: every turn, then what runs beside them. What could be stopped is, whatever else could not.
func (h Control) halt(c echo.Context) error {
	ctx := c.Request().Context()
	halted, err := h.Engine.Halt(ctx)
	var problems []string
	if err != nil {
		problems = append(problems, agent.PublicOf(err))
	}
	if h.Halt != nil {
		if err := h.Halt(ctx); err != nil {
			problems = append(problems, agent.PublicOf(err))
		}
	}
	out := ControlHalted{Threads: []ControlThread{}, Problem: strings.Join(problems, " ")}
	if held := halted.Held(); held != "" {
		out.Holding = strings.Split(held, ", ")
	}
	for _, id := range halted.Threads {
		t, err := h.Threads.Thread(ctx, id)
		if err != nil {
			return err
		}
		out.Threads = append(out.Threads, controlThread(t))
	}
	return c.JSON(http.StatusOK, out)
}
