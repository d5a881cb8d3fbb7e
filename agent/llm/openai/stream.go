package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"ash/agent"
	"ash/agent/llm"
)

var (
	errNoChunk  = errors.New("not a chunk of a completion")
	errTooEarly = errors.New("the stream ended before the model said why")
)

// stream turns chunks into deltas. It is used by one Stream call.
type stream struct {
	yield  func(agent.Delta, error) bool
	emit   func(agent.Delta) bool // yield without an error
	markup *llm.Markup
	calls  []openCall
	usage  *usage
	finish string // why the model ended, as the server says it
	ended  bool   // the reason has come, or [DONE]
	told   bool   // the caller has it
	seen   bool   // any event at all
	clean  bool   // the body was read to its end without trouble
}

// openCall is a tool call whose pieces are arriving.
type openCall struct {
	index int    // the server's, -1 when it gives none
	id    string // the server's, "" when it gives none
	name  string
	args  []byte // kept only while needed to tell calls apart
}

func newStream(yield func(agent.Delta, error) bool) *stream {
	s := &stream{yield: yield}
	s.emit = func(d agent.Delta) bool { return s.yield(d, nil) }
	s.markup = llm.NewMarkup(func() int {
		s.calls = append(s.calls, openCall{index: -1})
		return len(s.calls) - 1
	})
	return s
}

// events reads a streamed answer to its end.
func (s *stream) events(r *llm.EventReader) {
	for {
		name, data, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			s.close(nil)
			return
		case err != nil:
			s.close(llm.TransportFault(err))
			return
		case string(data) == "[DONE]":
			s.ended = true
			s.close(nil)
			return
		case string(name) == "error":
			s.fail(llm.BodyFault(0, data))
			return
		}
		s.seen = true
		more, fault := s.chunk(data)
		if fault != nil {
			if fault.Kind == llm.FaultMalformed && r.Partial() {
				fault = llm.NewFault(llm.FaultCut, "", fault)
			}
			s.fail(fault)
			return
		}
		if !more {
			return
		}
	}
}

// whole reads an answer that came in one piece.
func (s *stream) whole(body io.Reader) {
	data, err := io.ReadAll(io.LimitReader(body, llm.MaxBody))
	if err != nil {
		s.fail(llm.TransportFault(err))
		return
	}
	more, fault := s.chunk(data)
	switch {
	case fault != nil:
		s.fail(fault)
	case more:
		s.close(nil)
	}
}

// chunk passes one chunk on. It reports false when the caller wants no more.
func (s *stream) chunk(data []byte) (more bool, fault *llm.Fault) {
	if text, ok := plainText(data); ok {
		return s.markup.Text(text, s.emit), nil
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return false, llm.NewFault(llm.FaultMalformed, "", fmt.Errorf("%w: %w", errNoChunk, err))
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return false, llm.BodyFault(0, data)
	}
	switch {
	case c.Usage != nil:
		s.usage = c.Usage
	case c.Groq != nil && c.Groq.Usage != nil:
		s.usage = c.Groq.Usage
	}
	for i := range c.Choices {
		if c.Choices[i].Index != 0 {
			continue // Ash asks for one answer
		}
		if !s.choice(&c.Choices[i]) {
			return false, nil
		}
	}
	return true, nil
}

func (s *stream) choice(c *choice) bool {
	d := &c.Delta
	if c.Message != nil {
		d = c.Message
	}
	thinking := d.Thinking
	if thinking == "" {
		thinking = d.Reasoning // newer vLLM sends both, alike
	}
	if thinking += d.Content.Thinking; thinking != "" {
		if !s.emit(agent.Delta{Kind: agent.DeltaThinking, Text: thinking}) {
			return false
		}
	}
	if !s.markup.Text(d.Content.Text+d.Refusal, s.emit) {
		return false
	}
	for i := range d.ToolCalls {
		if !s.call(&d.ToolCalls[i]) {
			return false
		}
	}
	if d.Refusal != "" && s.finish == "" {
		s.finish = "refusal"
	}
	if c.Finish == nil || *c.Finish == "" || s.ended {
		return true
	}
	if s.finish == "" || *c.Finish != "stop" {
		s.finish = *c.Finish
	}
	s.ended = true
	return s.stop()
}

// call passes a piece of a tool call on. Id and name go out once, with the first piece that has them.
func (s *stream) call(p *callPiece) bool {
	at := s.find(p)
	if at < 0 {
		at = len(s.calls)
		s.calls = append(s.calls, openCall{index: -1})
	}
	c := &s.calls[at]
	if p.Index != nil {
		c.index = *p.Index
	}
	out := agent.CallPiece{Index: at, Arguments: string(p.Function.Arguments)}
	if c.id == "" && p.ID != "" {
		c.id, out.ProviderID = p.ID, p.ID
	}
	if c.name == "" && p.Function.Name != "" {
		c.name, out.Name = p.Function.Name, p.Function.Name
	}
	if c.id == "" {
		c.args = append(c.args, out.Arguments...)
	}
	if len(p.Extra) > 0 && string(p.Extra) != "null" {
		wrapped, err := json.Marshal(extra{Content: p.Extra})
		if err == nil { // p.Extra has been decoded, so it encodes
			out.Extra = wrapped
		}
	}
	return s.emit(agent.Delta{Kind: agent.DeltaCall, Call: &out})
}

// find returns the open call a piece belongs to, or -1 for a new one. The index should tell, but some servers leave it out and
// others (Gemini's endpoint) give all parallel calls the same; then a new id, or a name after complete arguments, begins a call.
func (s *stream) find(p *callPiece) int {
	if p.Index == nil && p.ID == "" && p.Function.Name == "" {
		return len(s.calls) - 1
	}
	for i := len(s.calls) - 1; i >= 0; i-- {
		c := &s.calls[i]
		switch {
		case p.ID != "" && c.id == p.ID:
			return i
		case p.Index == nil || c.index != *p.Index:
			continue
		case p.ID != "" && c.id != "":
			return -1
		case p.Function.Name != "" && c.name != "" && p.ID == "" && json.Valid(c.args):
			return -1
		default:
			return i
		}
	}
	return -1
}

// stop says why the model ended, once all it wrote has been passed on.
func (s *stream) stop() bool {
	s.told = true
	if !s.markup.End(s.emit) {
		return false
	}
	reason := agent.StopEnd
	switch s.finish {
	case "length", "max_tokens", "model_length":
		reason = agent.StopMaxTokens
	case "content_filter", "refusal", "safety", "SAFETY":
		reason = agent.StopRefusal
	case "error":
		s.yield(agent.Delta{}, llm.NewFault(llm.FaultServer, "", errTooEarly))
		return false
	default:
		if len(s.calls) > 0 {
			reason = agent.StopTools // also where the server says "stop", as Gemini's does
		}
	}
	return s.emit(agent.Delta{Kind: agent.DeltaStop, Stop: reason})
}

// close ends the answer. Trouble after the model has ended is none.
func (s *stream) close(fault *llm.Fault) {
	switch {
	case !s.ended && fault == nil && !s.seen:
		s.fail(llm.NewFault(llm.FaultMalformed, "the answer is empty or not a stream", errNoChunk))
	case !s.ended && fault == nil:
		s.fail(llm.NewFault(llm.FaultCut, "", errTooEarly))
	case !s.ended:
		s.fail(fault)
	case !s.told && !s.stop(): // [DONE] without a reason
	default:
		s.clean = fault == nil && s.report()
	}
}

// fail ends the answer with a fault, after what is known of it.
func (s *stream) fail(fault *llm.Fault) {
	if s.markup.End(s.emit) && s.report() {
		s.yield(agent.Delta{}, fault)
	}
}

// report passes the counts on, if there are any.
func (s *stream) report() bool {
	u := s.usage
	if u == nil {
		return true
	}
	out := agent.Usage{
		Input: max(u.Prompt, 0),
		// Gemini and xAI leave thinking out of the completion but not out of the total.
		Output:    max(u.Completion, u.Total-u.Prompt, 0),
		CacheRead: u.CacheHit,
		Cost:      u.Cost.micro() / 1_000_000,
	}
	if u.Details != nil {
		out.CacheRead = max(out.CacheRead, u.Details.Cached)
		out.CacheWrite = max(u.Details.Written, 0)
	}
	out.CacheRead = min(max(out.CacheRead, 0), out.Input)
	return s.emit(agent.Delta{Kind: agent.DeltaUsage, Usage: &out})
}
