package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"ash/agent"
	"ash/handlers"
)

// printer shows the events of a turn: the answer on standard output, everything
// else beside it.
type printer struct {
	out, notes io.Writer
	json       bool
	wrote      string // of the open answer
	paused     bool   // reasoning came since: what follows is a part of its own
	live       string // the end of the live output that was shown, "" before any
	failure    *handlers.ControlError
	waits      []handlers.ControlCall // left waiting
}

func (p *printer) print(ev handlers.ControlEvent) error {
	switch {
	case ev.Kind == "assistant" && ev.State != string(agent.MessageOpen), ev.Kind == "error":
		p.failure = ev.Error
	case ev.Kind == "confirm_request" && ev.Detail != nil:
		p.waits = append(p.waits, *ev.Detail)
	case ev.Detail != nil && ev.Detail.State != agent.CallWaiting:
		p.waits = slices.DeleteFunc(p.waits, func(c handlers.ControlCall) bool { return c.ID == ev.Call })
	}
	if p.json {
		return json.NewEncoder(p.out).Encode(ev)
	}
	var err error
	switch ev.Kind {
	case "assistant_delta":
		err = p.delta(ev)
	case "assistant":
		err = p.answer(ev)
	case "progress":
		if ev.Error != nil {
			fmt.Fprintf(p.notes, "[%s: %s]\n", ev.Model, ev.Error.Error)
		} else if ev.Text != "" {
			fmt.Fprintf(p.notes, "[%s]\n", ev.Text)
		}
	case "tool_call":
		if ev.State == string(agent.CallStarted) {
			p.rest()
			fmt.Fprintf(p.notes, "• %s\n", callLine(ev))
		}
	case "tool_progress":
		p.progress(ev.Text)
	case "tool_result":
		p.rest()
		fmt.Fprintf(p.notes, "  └ %s\n", resultLine(ev))
	}
	return err
}

func (p *printer) delta(ev handlers.ControlEvent) error {
	if ev.Thinking {
		p.paused = p.wrote != ""
		return nil
	}
	if p.paused {
		ev.Text, p.paused = "\n\n"+ev.Text, false
	}
	p.wrote += ev.Text
	_, err := io.WriteString(p.out, ev.Text)
	return err
}

// progress shows live output, beside the answer.
func (p *printer) progress(text string) {
	if text == "" {
		return
	}
	if p.live == "" || strings.HasSuffix(p.live, "\n") {
		fmt.Fprint(p.notes, "  │ ")
	}
	body := strings.TrimSuffix(shown(text), "\n")
	fmt.Fprint(p.notes, strings.ReplaceAll(body, "\n", "\n  │ "))
	if strings.HasSuffix(text, "\n") {
		fmt.Fprintln(p.notes)
	}
	p.live = text[len(text)-1:]
}

// rest ends a line that is open, in the answer or beside it.
func (p *printer) rest() {
	if p.live != "" && !strings.HasSuffix(p.live, "\n") {
		fmt.Fprintln(p.notes)
	}
	p.live = ""
}

// callLine says what a call does, on one line.
func callLine(ev handlers.ControlEvent) string {
	title, what := ev.Tool, ""
	if c := ev.Detail; c != nil && c.Effect != nil {
		title, what = cmp.Or(c.Effect.Title, title), cmp.Or(agent.FirstWords(c.Effect.Text, 120), c.Effect.Target)
	}
	if what != "" {
		title += ": " + what
	}
	return shown(title)
}

// resultLine says how a call ended, on one line.
func resultLine(ev handlers.ControlEvent) string {
	out := ev.Tool + " " + ev.State
	c := ev.Detail
	if c == nil {
		return shown(out)
	}
	if c.Exit != nil && *c.Exit != 0 {
		out += fmt.Sprintf(", exit %d", *c.Exit)
	}
	switch {
	case c.State == agent.CallDenied && c.Decision == nil && c.Why != "":
		out += ": " + c.Why
	case c.State == agent.CallFailed && c.Exit == nil:
		out += ": " + agent.FirstWords(c.Output, 200)
	}
	if len(c.From) > 0 {
		out += " (from " + strings.Join(c.From, ", ") + ")"
	}
	return shown(out)
}

// waitsError says that the turn was left waiting for a decision.
type waitsError struct{ public *agent.Error }

// Error implements error.
func (e waitsError) Error() string { return e.public.Error() }

// Unwrap returns what the person reads.
func (e waitsError) Unwrap() error { return e.public }

// waiting is the error of a turn that is left waiting.
func (p *printer) waiting() error {
	var b strings.Builder
	b.WriteString("It waits for your decision")
	for i, c := range p.waits {
		if i == 3 {
			fmt.Fprintf(&b, "\n  and %d more", len(p.waits)-i)
			break
		}
		what := string(c.Arguments)
		if c.Effect != nil {
			what = cmp.Or(c.Effect.Text, c.Effect.Target, what)
		}
		fmt.Fprintf(&b, "\n  %s: %s", shown(c.Tool), shown(agent.FirstWords(what, 200)))
		if c.Why != "" {
			fmt.Fprintf(&b, "\n    %s", shown(c.Why))
		}
	}
	b.WriteString("\nDecide in the browser, or with ash chat --last.")
	return waitsError{&agent.Error{Code: agent.CodeDenied, Public: b.String()}}
}

// answer ends an answer. Deltas that were not read when it ended are not told any
// more: its text has them.
func (p *printer) answer(ev handlers.ControlEvent) error {
	if ev.State == string(agent.MessageOpen) {
		return nil
	}
	rest, ok := strings.CutPrefix(ev.Text, p.wrote)
	if !ok {
		rest = "\n" + ev.Text
	}
	if all := p.wrote + rest; all != "" && !strings.HasSuffix(all, "\n") {
		rest += "\n"
	}
	p.wrote, p.paused = "", false
	_, err := io.WriteString(p.out, rest)
	return err
}

// end turns the turn's last state into the command's result.
func (p *printer) end(state string) error {
	switch agent.TurnState(state) {
	case agent.TurnDone:
		return nil
	case agent.TurnWaiting:
		return p.waiting()
	case agent.TurnStopped:
		return context.Canceled
	}
	if p.failure != nil {
		return &agent.Error{Code: p.failure.Code, Public: p.failure.Error}
	}
	return agent.Errorf(agent.CodeUnavailable, "The answer was cut off.")
}
