package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"ash/agent"
	"ash/agent/llm"
)

// decoder turns the events of one reply into deltas.
type decoder struct {
	model  agent.ModelRef
	names  map[string]string // tool name on the wire → ours, where they differ
	yield  func(agent.Delta, error) bool
	counts counts
	blocks map[int]*openBlock
	calls  int
	stop   agent.StopReason
}

// counts are the token counts as the API splits them.
type counts struct{ input, output, read, written int }

// openBlock is a content block that has begun and not yet ended.
type openBlock struct {
	kind      string
	call      int // index of the tool call
	input     bool
	text      strings.Builder
	signature strings.Builder
	redacted  string
}

// errStopped says that the reader of the deltas broke off.
var errStopped = errors.New("reader broke off")

// decode reads a streamed reply. It returns nil after a whole one, errStopped when yield
// returned false, else the *llm.Fault that ended it.
func (d *decoder) decode(body io.Reader) error {
	d.blocks = map[int]*openBlock{}
	events := llm.NewEventReader(body, 0)
	var e streamEvent
	for {
		_, data, err := events.Next()
		if err != nil {
			if d.stop != "" && errors.Is(err, io.EOF) {
				return nil
			}
			return llm.TransportFault(err)
		}
		e = streamEvent{}
		if index, text, ok := plainDelta(data); ok {
			e.Type, e.Index, e.Delta.Type, e.Delta.Text = "content_block_delta", index, "text_delta", text
		} else if err := json.Unmarshal(data, &e); err != nil {
			if events.Partial() {
				return llm.NewFault(llm.FaultCut, "", err)
			}
			return llm.NewFault(llm.FaultMalformed, "an event of the stream is not JSON", err)
		}
		if e.Type == "message_stop" && d.stop != "" {
			return nil
		}
		if err := d.event(&e, data); err != nil {
			return err
		}
	}
}

// plainDelta reads the commonest event without a JSON decoder, which would be most of the work of a
// long answer: a piece of text in the very form the vendor sends it, without escapes. Anything else is not ok.
func plainDelta(data []byte) (index int, text string, ok bool) {
	rest, ok := bytes.CutPrefix(data, []byte(`{"type":"content_block_delta","index":`))
	if !ok || len(rest) == 0 || rest[0] < '0' || rest[0] > '9' {
		return 0, "", false
	}
	index = int(rest[0] - '0') // blocks beyond the tenth take the long way
	rest, ok = bytes.CutPrefix(rest[1:], []byte(`,"delta":{"type":"text_delta","text":"`))
	if !ok {
		return 0, "", false
	}
	rest, ok = bytes.CutSuffix(bytes.TrimRight(rest, " "), []byte(`}`)) // the vendor pads some events with spaces
	if !ok {
		return 0, "", false
	}
	rest, ok = bytes.CutSuffix(bytes.TrimRight(rest, " "), []byte(`"}`))
	if !ok || !utf8.Valid(rest) {
		return 0, "", false
	}
	for _, c := range rest {
		if c == '"' || c == '\\' || c < ' ' {
			return 0, "", false
		}
	}
	return index, string(rest), true
}

// event handles one event. Kinds that are not known (ping among them) are passed over, as the vendor asks.
func (d *decoder) event(e *streamEvent, raw []byte) error {
	switch e.Type {
	case "content_block_delta":
		return d.delta(e)
	case "content_block_start":
		if e.ContentBlock == nil {
			return llm.NewFault(llm.FaultMalformed, "a content block without content", nil)
		}
		return d.open(e.Index, e.ContentBlock)
	case "content_block_stop":
		return d.close(e.Index)
	case "message_start":
		if e.Message != nil {
			return d.count(&e.Message.Usage)
		}
	case "message_delta":
		if err := d.count(e.Usage); err != nil {
			return err
		}
		return d.ended(e.Delta.StopReason)
	case "message_stop":
		return llm.NewFault(llm.FaultCut, "", nil)
	case "error":
		return llm.BodyFault(0, raw)
	}
	return nil
}

func (d *decoder) send(delta agent.Delta) error {
	if !d.yield(delta, nil) {
		return errStopped
	}
	return nil
}

func (d *decoder) open(index int, b *blockWire) error {
	o := &openBlock{kind: b.Type, redacted: b.Data}
	d.blocks[index] = o
	switch b.Type {
	case "text":
		if b.Text != "" {
			return d.send(agent.Delta{Kind: agent.DeltaText, Text: b.Text})
		}
	case "thinking":
		o.signature.WriteString(b.Signature)
		if b.Thinking != "" {
			o.text.WriteString(b.Thinking)
			return d.send(agent.Delta{Kind: agent.DeltaThinking, Text: b.Thinking})
		}
	case "tool_use":
		o.call = d.calls
		d.calls++
		piece := &agent.CallPiece{Index: o.call, ProviderID: b.ID, Name: b.Name}
		if ours, ok := d.names[b.Name]; ok {
			piece.Name = ours
		}
		// The vendor sends {} here and the input in pieces; some compatible servers send it whole.
		if in := strings.TrimSpace(string(b.Input)); in != "" && in != "{}" && in != "null" {
			piece.Arguments, o.input = in, true
		}
		return d.send(agent.Delta{Kind: agent.DeltaCall, Call: piece})
	}
	return nil
}

func (d *decoder) delta(e *streamEvent) error {
	o := d.blocks[e.Index]
	if o == nil {
		return llm.NewFault(llm.FaultMalformed, "a piece of a content block that has not begun", nil)
	}
	switch e.Delta.Type {
	case "text_delta":
		if e.Delta.Text != "" && o.kind == "text" {
			return d.send(agent.Delta{Kind: agent.DeltaText, Text: e.Delta.Text})
		}
	case "thinking_delta":
		if e.Delta.Thinking != "" && o.kind == "thinking" {
			o.text.WriteString(e.Delta.Thinking)
			return d.send(agent.Delta{Kind: agent.DeltaThinking, Text: e.Delta.Thinking})
		}
	case "signature_delta":
		o.signature.WriteString(e.Delta.Signature)
	case "input_json_delta":
		if e.Delta.PartialJSON != "" && o.kind == "tool_use" {
			o.input = true
			return d.send(agent.Delta{Kind: agent.DeltaCall, Call: &agent.CallPiece{Index: o.call, Arguments: e.Delta.PartialJSON}})
		}
	}
	return nil
}

func (d *decoder) close(index int) error {
	o := d.blocks[index]
	if o == nil {
		return nil
	}
	delete(d.blocks, index)
	switch o.kind {
	case "thinking", "redacted_thinking":
		return d.send(agent.Delta{Kind: agent.DeltaThought, Thinking: &agent.Thinking{
			Text: o.text.String(), Signature: o.signature.String(), Redacted: o.redacted, Model: d.model,
		}})
	case "tool_use":
		if !o.input { // a tool without arguments
			return d.send(agent.Delta{Kind: agent.DeltaCall, Call: &agent.CallPiece{Index: o.call, Arguments: "{}"}})
		}
	}
	return nil
}

// count takes over what u says and reports the sum; agent.Usage.Input includes what the cache served or took.
func (d *decoder) count(u *usageWire) error {
	if u == nil {
		return nil
	}
	set := func(to *int, from *int) {
		if from != nil && *from >= 0 {
			*to = *from
		}
	}
	set(&d.counts.input, u.InputTokens)
	set(&d.counts.output, u.OutputTokens)
	set(&d.counts.read, u.CacheReadInputTokens)
	set(&d.counts.written, u.CacheCreationInputTokens)
	return d.send(agent.Delta{Kind: agent.DeltaUsage, Usage: &agent.Usage{
		Input:      d.counts.input + d.counts.read + d.counts.written,
		Output:     d.counts.output,
		CacheRead:  d.counts.read,
		CacheWrite: d.counts.written,
	}})
}

func (d *decoder) ended(reason string) error {
	switch reason {
	case "":
		return nil
	case "tool_use":
		d.stop = agent.StopTools
	case "max_tokens", "model_context_window_exceeded", "pause_turn":
		// A paused turn, like a full window, is not finished: the person may continue it.
		d.stop = agent.StopMaxTokens
	case "refusal":
		d.stop = agent.StopRefusal
	default: // end_turn, stop_sequence
		d.stop = agent.StopEnd
	}
	return d.send(agent.Delta{Kind: agent.DeltaStop, Stop: d.stop})
}
