package agent

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"runtime"
	"strings"
)

// MaxReply bounds one reply, in bytes of text, thinking and arguments together.
const MaxReply = 4 << 20

const (
	maxCalls  = 128 // tool calls of one reply
	pieceSize = 64  // bytes that a part without text counts against MaxReply
)

// reply asks the model for one message and streams it. A reply that proposes calls is stored to its end, and the turn goes on; any other
// is returned with the state the turn rests in.
func (e *Engine) reply(ctx context.Context, tail Tail, known *known, s Settings, goOn bool) (rest, error) {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &replyWriter{engine: e, said: e.sieve(), pondered: e.sieve()}
	var model Model
	var info ModelInfo
	if known != nil && known.begun != nil {
		w.message, model, info, w.opening = known.begun.message, known.begun.model, known.begun.info, known.begun.opening
		if w.opening == nil {
			w.opening = known.begun.expect(e)
			w.opening.stored(nil)
		}
	} else {
		var err error
		if model, info, err = e.Models.Pick(ctx, tail.Thread.Model); err != nil {
			return e.refuse(ctx, tail, e.fail(err)), nil
		}
		w.message = e.newReply(tail)
		w.message.Model = info.Ref
		w.opening = e.open(ctx, w.message, cancel)
	}
	began := e.Now()
	_, failure := protected(e, "model call", w.message.Thread, func() (none struct{}, err error) {
		r := PromptRequest{Thread: tail.Thread, Model: info, Continue: goOn, Now: began}
		if r.Path, r.Summaries, err = e.history(asking, tail, known, 2*s.MaxMessages); err != nil {
			return none, err
		}
		prompt, err := e.prompt(asking, tail, s, model, r, w.opened)
		if err != nil {
			return none, err
		}
		if w.opening.crowded {
			if err := w.opened(); err != nil {
				return none, err
			}
		}
		w.recalled(prompt.Recalled)
		w.labels, began = prompt.Labels, e.Now()
		return none, w.follow(model.Stream(asking, prompt.Prompt))
	})
	if err := w.opened(); err != nil {
		return rest{}, err
	}
	if w.message.Usage.Duration == 0 {
		w.message.Usage.Duration = e.Now().Sub(began)
	}
	if failure == nil {
		failure = ctx.Err()
	}
	return w.close(ctx, failure)
}

// replyWriter turns deltas into a stored, published message.
type replyWriter struct {
	engine  *Engine
	message Message
	opening *opening
	labels  Labels  // of all that the model had before it: what it asks for may stem from any of it
	covered EventID // zero until the reply is stored as open
	text    strings.Builder
	thought strings.Builder

	said, pondered Sieve // what text and thinking pass before anybody is told

	calls []*pendingCall
	size  int
}

// pendingCall is a tool call whose pieces are still arriving.
type pendingCall struct {
	piece     CallPiece
	arguments strings.Builder
}

// recalled notes which memories the model was given.
func (w *replyWriter) recalled(list []Recollection) {
	w.message.Recalled = list
	var items []ID
	for _, r := range list {
		if r.Kind != MemoryNote { // its reference is a path
			items = append(items, ID(r.Ref))
		}
	}
	if len(items) > 0 {
		w.opening.tell(MemoryEvent{Items: items})
	}
}

// follow takes deltas until the stream ends or goes wrong.
func (w *replyWriter) follow(deltas iter.Seq2[Delta, error]) error {
	for d, err := range deltas {
		if err == nil {
			err = w.take(d)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// take adds one delta.
func (w *replyWriter) take(d Delta) (err error) {
	switch d.Kind {
	case DeltaText:
		err = w.ponder(w.pondered.Rest())
		w.flushThought(nil)
		err = errors.Join(err, w.say(w.said.Pass(d.Text)))
	case DeltaThinking:
		err = w.say(w.said.Rest())
		w.flushText()
		err = errors.Join(err, w.ponder(w.pondered.Pass(d.Text)))
	case DeltaThought:
		err = errors.Join(w.say(w.said.Rest()), w.ponder(w.pondered.Rest()))
		w.flushText()
		w.size += len(d.Thinking.Text) + len(d.Thinking.Signature) + len(d.Thinking.Redacted) + pieceSize
		w.flushThought(d.Thinking)
	case DeltaCall:
		w.piece(d.Call)
	case DeltaUsage:
		w.message.Usage = *d.Usage
	case DeltaStop:
		w.message.Stop = d.Stop
	case DeltaAttempt:
		w.opening.tell(ProgressEvent{Message: w.message.ID, Attempt: w.engine.redactAttempt(d.Attempt)})
	case DeltaSource:
		w.message.Model = d.Model.Ref
	}
	switch {
	case err != nil:
		return err
	case w.size > MaxReply:
		return errEndless()
	case len(w.calls) > maxCalls:
		return Errorf(CodeExhausted, "The model asked for more than %d tools at once; Ash cut it off.", maxCalls)
	}
	return nil
}

func errEndless() error {
	return Errorf(CodeExhausted, "The model wrote more than %d MB without an end; Ash cut it off.", MaxReply>>20)
}

// opened waits until the reply is stored as open.
func (w *replyWriter) opened() error {
	if w.covered != (EventID{}) {
		return nil
	}
	covered, err := w.opening.wait()
	w.covered = covered
	return err
}

// say adds text that has passed its sieve.
func (w *replyWriter) say(text string) error {
	w.text.WriteString(text)
	return w.emit(text, false)
}

// ponder is say for thinking.
func (w *replyWriter) ponder(text string) error {
	w.thought.WriteString(text)
	return w.emit(text, true)
}

// emit publishes new text and has it saved.
func (w *replyWriter) emit(text string, thinking bool) error {
	if text == "" {
		return nil
	}
	if err := w.opened(); err != nil {
		return err
	}
	first := w.size == 0
	w.size += len(text)
	w.covered = w.engine.publish(w.message.Thread, w.message.Turn,
		AssistantDelta{Message: w.message.ID, Text: text, Thinking: thinking})
	w.engine.saver.add(w.message.ID, text, thinking, w.covered)
	if first { // whoever shows the answer gets its beginning now, also while a fast model keeps this goroutine busy
		runtime.Gosched()
	}
	return nil
}

// piece adds a part of a tool call.
func (w *replyWriter) piece(p *CallPiece) {
	w.size += len(p.ProviderID) + len(p.Name) + len(p.Arguments) + len(p.Extra)
	for _, c := range w.calls {
		if c.piece.Index == p.Index {
			c.piece.ProviderID += p.ProviderID
			c.piece.Name += p.Name
			if p.Extra != nil {
				c.piece.Extra = p.Extra
			}
			c.arguments.WriteString(p.Arguments)
			return
		}
	}
	c := &pendingCall{piece: *p}
	c.arguments.WriteString(p.Arguments)
	w.calls = append(w.calls, c)
}

func (w *replyWriter) flushText() {
	if w.text.Len() > 0 {
		w.message.Parts = append(w.message.Parts, Text{Text: w.text.String()})
		w.text.Reset()
	}
}

// flushThought ends the open thinking block; end bears its signature, or replaces it.
func (w *replyWriter) flushThought(end *Thinking) {
	text := w.thought.String()
	w.thought.Reset()
	if end == nil {
		if text != "" {
			w.message.Parts = append(w.message.Parts, Thinking{Text: text, Model: w.message.Model})
		}
		return
	}
	block := *end
	block.Model = w.message.Model
	if block.Text == "" {
		block.Text = text
	}
	w.message.Parts = append(w.message.Parts, block)
}

// close makes of the reply what is stored of it, and says what its end means for the turn.
func (w *replyWriter) close(ctx context.Context, failure error) (rest, error) {
	e, m := w.engine, &w.message
	if err := errors.Join(w.ponder(w.pondered.Rest()), w.say(w.said.Rest())); failure == nil {
		failure = err
	}
	w.flushThought(nil)
	w.flushText()
	m.Parts = e.redactParts(m.Parts)
	state := w.conclude(ctx, failure)
	m.Finished, m.Covered = e.Now(), w.covered
	for i, p := range w.calls {
		call := p.call(*m, i)
		call.Arguments, call.Name = e.redactJSON(call.Arguments), e.redact(call.Name)
		if m.State != MessageComplete {
			call.State, call.Finished = CallCancelled, m.Finished
		}
		m.Calls = append(m.Calls, call)
		m.Parts = append(m.Parts, ToolUse{Call: call.ID, Labels: w.labels})
	}
	e.saver.forget(m.ID)
	if state != "" {
		return rest{state, m}, nil
	}
	storing, done := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer done()
	return rest{}, e.closeReply(storing, *m)
}

// conclude sets the message's final state from how the stream ended.
func (w *replyWriter) conclude(ctx context.Context, failure error) TurnState {
	m := &w.message
	empty := len(m.Parts) == 0 && len(w.calls) == 0
	cause := context.Cause(ctx)
	switch {
	case failure == nil && m.Stop == StopMaxTokens && len(w.calls) > 0:
		failure = Errorf(CodeExhausted, "The answer reached its limit of tokens in the middle of what it wanted to do, so nothing of that was done. Continue, or allow longer answers in Settings.")
	case failure == nil && !empty:
		m.State = MessageComplete
		if len(w.calls) == 0 {
			return TurnDone // what Advance would read next is what is stored now
		}
		return ""
	case failure == nil:
		m.State = MessageFailed
		m.Error = &Failure{Code: CodeUnavailable, Public: "The model answered with nothing. Try again, or choose another model."}
		return TurnFailed
	case errors.Is(cause, errStopped):
		m.State = MessageStopped
		return TurnStopped
	case errors.Is(cause, errClosing):
		m.State = MessageCut
		m.Error = &Failure{Code: CodeUnavailable, Public: "Ash was stopped while this was being written."}
		return TurnInterrupted
	case errors.Is(cause, errWallTime):
		failure = errOutOfTime()
	}
	m.State = MessageCut
	if empty {
		m.State = MessageFailed
	}
	m.Error = w.engine.fail(failure)
	w.engine.Logger.Warn("reply ended early", "thread", m.Thread, "turn", m.Turn, "model", m.Model.String(), "code", m.Error.Code)
	w.engine.Logger.Debug("reply ended early", "turn", m.Turn, "error", failure) // may quote what was said
	return TurnFailed
}

// call makes the stored call of the pieces. Arguments that are not JSON are kept as a JSON string, which
// no tool accepts: the model is told.
func (p *pendingCall) call(m Message, index int) ToolCall {
	arguments := json.RawMessage(p.arguments.String())
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	if !json.Valid(arguments) {
		quoted, err := json.Marshal(string(arguments))
		if err != nil {
			quoted = []byte(`""`)
		}
		arguments = quoted
	}
	return ToolCall{
		ID: NewID(), Thread: m.Thread, Turn: m.Turn, Message: m.ID, Index: index,
		ProviderID: p.piece.ProviderID, Name: p.piece.Name, Arguments: arguments, Extra: p.piece.Extra,
		State: CallProposed, Created: m.Finished,
	}
}

// prompt builds what is sent, summarising what does not fit. A summary is told of and stored, so it waits until the reply is.
func (e *Engine) prompt(ctx context.Context, tail Tail, s Settings, model Model, r PromptRequest, stored func() error) (BuiltPrompt, error) {
	if e.Tools != nil && r.Model.Tools {
		r.Tools = e.Tools.Specs(ctx, tail.Thread)
	}
	built, err := e.Prompter.Build(ctx, r)
	if err != nil {
		return BuiltPrompt{}, err
	}
	if len(built.Overflow) > 0 && s.Summarise {
		if err := stored(); err != nil {
			return BuiltPrompt{}, err
		}
		built, err = e.summarise(ctx, tail, model, r, built)
		if err != nil {
			return BuiltPrompt{}, err
		}
	}
	built.Prompt.Temperature = s.Temperature
	built.Prompt.Charge = Charge{Thread: tail.Thread.ID, Purpose: PurposeChat}
	if s.MaxTokens > 0 {
		built.Prompt.MaxTokens = s.MaxTokens
	}
	return built, nil
}
