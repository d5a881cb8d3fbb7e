package agent

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// step is what a conversation needs next.
type step int

const (
	stepRest     step = iota // nothing: the reply is finished, or only the person can go on
	stepReply                // ask the model
	stepContinue             // ask the model to go on after a reply that ended early
	stepTools                // judge and run tool calls
	stepWait                 // every call is ended or waits for the person
)

// nextStep decides from stored state alone.
func nextStep(t Tail) step {
	head := t.Head
	switch {
	case head.ID == "" || head.State == MessageOpen || head.State == MessageQueued:
		return stepRest
	case head.Role == RoleUser:
		return stepReply
	case head.State == MessageComplete && len(head.Calls) > 0:
		return nextForCalls(head.Calls)
	case t.Turn.Trigger == head.ID: // the turn was begun on this very reply
		return stepContinue
	}
	return stepRest
}

func nextForCalls(calls []ToolCall) step {
	waiting := false
	for _, c := range calls {
		switch c.State {
		case CallProposed, CallApproved:
			return stepTools
		case CallWaiting:
			waiting = true
		case CallStarted:
			return stepRest // of a process that died; Recover makes it unknown
		}
	}
	if waiting {
		return stepWait
	}
	return stepReply
}

// rest is how a conversation came to rest. The zero rest says that it goes on.
type rest struct {
	state TurnState
	reply *Message // its last reply as it ended, to be stored together with the end of the turn; nil: nothing is left to store
}

// Advance takes the conversation of thread from step to step until nothing is
// left to do, and returns the state its turn comes to rest in. It holds no
// state between steps: each is stored before the next is read. The caller owns
// the conversation (see Engine) and stores the returned state.
func (e *Engine) Advance(ctx context.Context, thread ID) TurnState {
	r := e.advance(ctx, thread, nil)
	if r.reply == nil {
		return r.state
	}
	storing, done := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer done()
	if err := e.closeReply(storing, *r.reply); err != nil {
		return e.halted(ctx, thread, r.reply.Turn, err)
	}
	return r.state
}

// advance is Advance for the owner, who may know what is stored, and stores the last reply and the end of the turn as one.
func (e *Engine) advance(ctx context.Context, thread ID, known *known) rest {
	settings := e.Settings()
	ctx, clock, done := withClock(ctx)
	defer done()
	for {
		tail, err := e.tail(ctx, thread, known)
		if err != nil {
			return rest{state: e.halted(ctx, thread, "", err)}
		}
		bounds := settings.Bounds.within(tail.Thread.Budget)
		clock.limit(bounds.Wall)
		switch tail.Turn.State {
		case TurnRunning:
		case TurnStopping:
			return rest{state: TurnStopped}
		default:
			return rest{state: e.halted(ctx, thread, tail.Turn.ID, Errorf(CodeConflict, "This turn has already ended."))}
		}
		next := nextStep(tail)
		if next == stepReply || next == stepContinue {
			failure, err := e.over(ctx, tail, bounds, clock.spent())
			if err != nil {
				return rest{state: e.halted(ctx, thread, tail.Turn.ID, err)}
			}
			if failure != nil {
				return e.refuse(ctx, tail, failure)
			}
		}
		var r rest
		switch next {
		case stepRest:
			return rest{state: TurnDone}
		case stepWait:
			return rest{state: TurnWaiting}
		case stepReply, stepContinue:
			r, err = e.reply(ctx, tail, known, settings, next == stepContinue)
		case stepTools:
			err = e.runCalls(ctx, tail)
		}
		if err != nil {
			return rest{state: e.halted(ctx, thread, tail.Turn.ID, err)}
		}
		if r.state != "" {
			return r
		}
		known = nil // the conversation has gone on from there
	}
}

var errWallTime = errors.New("the turn's time is used up")

// errOutOfTime is errWallTime in words for the person.
func errOutOfTime() error {
	return Wrap(CodeExhausted, errWallTime, "This turn's time is used up. Continue gives it as much again; the limit is in Settings.")
}

// halted names the state of a turn that could not go on, and tells the person
// unless they or the shutdown caused it.
func (e *Engine) halted(ctx context.Context, thread, turn ID, err error) TurnState {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errStopped):
		return TurnStopped
	case errors.Is(cause, errClosing):
		return TurnInterrupted
	case errors.Is(cause, errNotPosted):
		return TurnInterrupted // there is no such turn: nobody asks
	case errors.Is(cause, errWallTime):
		err = errOutOfTime()
	}
	e.Logger.Error("turn failed", "thread", thread, "turn", turn, "error", err)
	e.publish(thread, turn, ErrorEvent{*e.fail(err)})
	return TurnFailed
}

// over says which bound of the turn at tail is used up, if any. What its helpers took counts.
func (e *Engine) over(ctx context.Context, tail Tail, b Bounds, spent time.Duration) (*Failure, error) {
	turn := tail.Turn
	if len(tail.Head.Calls) > 0 && (b.Tokens > 0 || b.Cost > 0) {
		helped, err := e.Store.Helped(ctx, turn.ID)
		if err != nil {
			return nil, err
		}
		turn.Usage = turn.Usage.Add(helped)
	}
	return overBounds(turn, b, spent), nil
}

// overBounds says which bound of a turn is used up, if any.
func overBounds(t Turn, b Bounds, spent time.Duration) *Failure {
	var over string
	switch {
	case b.Rounds > 0 && t.Rounds >= b.Rounds:
		over = fmt.Sprintf("%d model calls", b.Rounds)
	case b.Tokens > 0 && t.Usage.Input+t.Usage.Output >= b.Tokens:
		over = fmt.Sprintf("%d tokens", b.Tokens)
	case b.Cost > 0 && t.Usage.Cost >= b.Cost:
		over = fmt.Sprintf("$%.2f", float64(b.Cost)/1e6)
	case b.Wall > 0 && spent >= b.Wall:
		over = b.Wall.String()
	default:
		return nil
	}
	return &Failure{Code: CodeExhausted, Public: "This turn reached its limit of " + over + ". Continue gives it as much again; the limit is in Settings."}
}

// refuse opens a reply that never comes, and returns it ended, with the reason.
func (e *Engine) refuse(ctx context.Context, tail Tail, f *Failure) rest {
	m := e.newReply(tail)
	m.State, m.Error, m.Finished = MessageFailed, f, m.Created
	storing, done := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer done()
	if err := e.Store.OpenReply(storing, m); err != nil {
		e.publish(m.Thread, m.Turn, ErrorEvent{*f})
		return rest{state: e.halted(ctx, tail.Thread.ID, tail.Turn.ID, err)}
	}
	return rest{TurnFailed, &m}
}

// storeTimeout bounds a write that must happen although the turn or the server ends.
const storeTimeout = 10 * time.Second

// closeReply stores the end of a reply and tells it, calls and all; what the store refuses is owed.
func (e *Engine) closeReply(ctx context.Context, m Message) error {
	store := e.closing(m)
	err := store(ctx)
	if err != nil {
		e.owe(m.Thread, store)
	}
	return err
}

// closing is the write that stores the end of a reply and tells it.
func (e *Engine) closing(m Message) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := e.Store.CloseReply(ctx, m); err != nil {
			return fmt.Errorf("close reply: %w", err)
		}
		e.publishReply(m)
		return nil
	}
}

// publishReply tells of a reply as it ended, and of the calls it brought.
func (e *Engine) publishReply(m Message) {
	e.publish(m.Thread, m.Turn, AssistantEvent{Message: m})
	for _, call := range m.Calls {
		e.publishCall(call, ToolCallEvent{Call: call})
	}
}

func (e *Engine) newReply(tail Tail) Message {
	return Message{
		ID: NewID(), Thread: tail.Thread.ID, Parent: tail.Head.ID, Turn: tail.Turn.ID,
		Role: RoleAssistant, State: MessageOpen, Created: e.Now(),
	}
}
