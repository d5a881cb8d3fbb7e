package ollama

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"ash/agent"
	"ash/agent/llm"
)

// errStopped says that the reader of the deltas broke off.
var errStopped = errors.New("reader broke off")

// decoder turns the lines of one reply into deltas.
type decoder struct {
	model    agent.ModelRef
	yield    func(agent.Delta, error) bool
	markup   *llm.Markup
	thinking strings.Builder // of the block under way
	calls    int
	err      error // of the last delta sent from within markup
}

// decode reads a streamed reply. It returns nil after a whole one, errStopped when yield
// returned false, else the *llm.Fault that ended it.
func (d *decoder) decode(body io.Reader) error {
	d.markup = llm.NewMarkup(d.nextCall)
	lines := llm.NewLineReader(body, 0)
	var l chatLine
	for {
		raw, err := lines.Next()
		if err != nil {
			return llm.TransportFault(err)
		}
		if len(bytes.TrimSpace(raw)) == 0 {
			continue
		}
		l = chatLine{}
		if err := json.Unmarshal(raw, &l); err != nil {
			if lines.Partial() {
				return llm.NewFault(llm.FaultCut, "", err)
			}
			return llm.NewFault(llm.FaultMalformed, "a line of the stream is not JSON", err)
		}
		if len(l.Error) > 0 && string(l.Error) != "null" {
			return llm.BodyFault(0, raw)
		}
		if err := d.line(&l); err != nil {
			return err
		}
		if l.Done {
			return nil
		}
	}
}

// nextCall gives the next tool call its index.
func (d *decoder) nextCall() int {
	d.calls++
	return d.calls - 1
}

// send passes a delta on; reasoning is closed before anything else follows it.
func (d *decoder) send(delta agent.Delta) error {
	if delta.Kind == agent.DeltaThinking {
		d.thinking.WriteString(delta.Text)
	} else if err := d.endThought(); err != nil {
		return err
	}
	if !d.yield(delta, nil) {
		return errStopped
	}
	return nil
}

// pass is send in the form the markup filter wants.
func (d *decoder) pass(delta agent.Delta) bool {
	d.err = d.send(delta)
	return d.err == nil
}

func (d *decoder) line(l *chatLine) error {
	if t := l.Message.Thinking; t != "" {
		if err := d.send(agent.Delta{Kind: agent.DeltaThinking, Text: t}); err != nil {
			return err
		}
	}
	// Models whose template the server does not know write their markup into the text.
	if t := l.Message.Content; t != "" && !d.markup.Text(t, d.pass) {
		return d.err
	}
	for _, c := range l.Message.ToolCalls { // each comes whole
		piece := &agent.CallPiece{Index: d.nextCall(), ProviderID: c.ID, Name: c.Function.Name, Arguments: string(c.Function.Arguments)}
		if piece.Arguments == "" || piece.Arguments == "null" {
			piece.Arguments = "{}"
		}
		if err := d.send(agent.Delta{Kind: agent.DeltaCall, Call: piece}); err != nil {
			return err
		}
	}
	if !l.Done {
		return nil
	}
	if !d.markup.End(d.pass) {
		return d.err
	}
	return d.end(l)
}

// endThought closes the reasoning under way, so that it is known which model thought it.
func (d *decoder) endThought() error {
	if d.thinking.Len() == 0 {
		return nil
	}
	t := &agent.Thinking{Text: d.thinking.String(), Model: d.model}
	d.thinking.Reset()
	if !d.yield(agent.Delta{Kind: agent.DeltaThought, Thinking: t}, nil) {
		return errStopped
	}
	return nil
}

func (d *decoder) end(l *chatLine) error {
	usage := &agent.Usage{Input: max(l.PromptEvalCount, 0), Output: max(l.EvalCount, 0)}
	if err := d.send(agent.Delta{Kind: agent.DeltaUsage, Usage: usage}); err != nil {
		return err
	}
	stop := agent.StopEnd
	switch {
	case l.DoneReason == "length":
		stop = agent.StopMaxTokens
	case d.calls > 0:
		stop = agent.StopTools
	}
	return d.send(agent.Delta{Kind: agent.DeltaStop, Stop: stop})
}
