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

// Advance takes the conversation of thread from step to step until nothing is
// left to do, and returns the state its turn comes to rest in. It holds no
// state between steps: each is stored before the next is read. The caller owns
// the conversation (see Engine) and stores the returned state.
func (e *Engine) Advance(ctx context.Context, thread ID) TurnState {
	settings := e.Settings()
	wall := settings.Bounds.Wall
	started := e.Now()
	for {
		tail, err := e.Store.Tail(ctx, thread)
		if err != nil {
			return e.halted(ctx, thread, "", err)
		}
		next := nextStep(tail)
		if next == stepReply || next == stepContinue {
			if failure := overBounds(tail.Turn, settings.Bounds, e.Now().Sub(started)); failure != nil {
				e.refuse(ctx, tail, failure)
				return TurnFailed
			}
		}
		var rest TurnState
		switch next {
		case stepRest:
			return TurnDone
		case stepWait:
			return TurnWaiting
		case stepReply, stepContinue:
			rest, err = e.boundedReply(ctx, tail, settings, next == stepContinue, wall-e.Now().Sub(started))
		case stepTools:
			err = e.runCalls(ctx, tail)
		}
		if err != nil {
			return e.halted(ctx, thread, tail.Turn.ID, err)
		}
		if rest != "" {
			return rest
		}
	}
}

// boundedReply is reply within what is left of the turn's time.
func (e *Engine) boundedReply(ctx context.Context, tail Tail, s Settings, goOn bool, left time.Duration) (TurnState, error) {
	if s.Bounds.Wall <= 0 {
		return e.reply(ctx, tail, s, goOn)
	}
	bounded, cancel := context.WithTimeoutCause(ctx, left, errWallTime)
	defer cancel()
	return e.reply(bounded, tail, s, goOn)
}

var errWallTime = errors.New("the turn's time is used up")

// halted names the state of a turn that could not go on, and tells the person
// unless they or the shutdown caused it.
func (e *Engine) halted(ctx context.Context, thread, turn ID, err error) TurnState {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errStopped):
		return TurnStopped
	case errors.Is(cause, errClosing):
		return TurnInterrupted
	}
	e.Logger.Error("turn failed", "thread", thread, "turn", turn, "error", err)
	e.publish(thread, turn, ErrorEvent{Failure{CodeOf(err), PublicOf(err)}})
	return TurnFailed
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
	return &Failure{CodeExhausted, "This turn reached its limit of " + over + ". Continue gives it as much again; the limit is in Settings."}
}

// refuse stores a reply that never came, with the reason.
func (e *Engine) refuse(ctx context.Context, tail Tail, f *Failure) {
	m := e.newReply(tail)
	m.State, m.Error, m.Finished = MessageFailed, f, m.Created
	err := e.Store.OpenReply(ctx, m)
	if err == nil {
		err = e.Store.CloseReply(ctx, m)
	}
	if err != nil {
		e.Logger.Error("failed reply could not be stored", "thread", tail.Thread.ID, "error", err)
	}
	e.publish(m.Thread, m.Turn, AssistantEvent{Message: m})
}

func (e *Engine) newReply(tail Tail) Message {
	return Message{
		ID: NewID(), Thread: tail.Thread.ID, Parent: tail.Head.ID, Turn: tail.Turn.ID,
		Role: RoleAssistant, State: MessageOpen, Created: e.Now(),
	}
}
