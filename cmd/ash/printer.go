package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
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
	failure    *handlers.ControlError
}

func (p *printer) print(ev handlers.ControlEvent) error {
	switch {
	case ev.Kind == "assistant" && ev.State != string(agent.MessageOpen), ev.Kind == "error":
		p.failure = ev.Error
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
	case "confirm_request":
		fmt.Fprintf(p.notes, "[%s waits for your approval in the browser: %s]\n", ev.Tool, ev.Text)
	case "tool_result":
		fmt.Fprintf(p.notes, "[%s %s]\n", ev.Tool, ev.State)
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
		return agent.Errorf(agent.CodeDenied, "The turn waits for your decision; take it in the browser.")
	case agent.TurnStopped:
		return context.Canceled
	}
	if p.failure != nil {
		return &agent.Error{Code: p.failure.Code, Public: p.failure.Error}
	}
	return agent.Errorf(agent.CodeUnavailable, "The answer was cut off.")
}
