package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// runCalls judges the proposed calls of the head and runs the approved ones side by side.
func (e *Engine) runCalls(ctx context.Context, tail Tail) error {
	labels, err := e.labelsBefore(ctx, tail)
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	failures := make([]error, len(tail.Head.Calls))
	for i, call := range tail.Head.Calls {
		if call.State == CallProposed {
			if call, failures[i] = e.judge(ctx, tail.Thread, call, labels); failures[i] != nil {
				break
			}
		}
		if call.State == CallApproved {
			group.Go(func() { failures[i] = e.run(ctx, tail.Thread, call) })
		}
	}
	group.Wait()
	return errors.Join(failures...)
}

// labelsBefore returns the labels of all that stood before the model when it asked for the head's calls.
func (e *Engine) labelsBefore(ctx context.Context, tail Tail) (Labels, error) {
	path, err := e.Store.Path(ctx, tail.Head.ID, 2*e.Settings().MaxMessages)
	if err != nil {
		return nil, err
	}
	var all []Labels
	for _, m := range path {
		all = append(all, m.Labels())
	}
	summaries, err := e.Store.Summaries(ctx, tail.Thread.ID)
	if err != nil {
		return nil, err
	}
	for _, s := range summaries {
		all = append(all, s.Labels)
	}
	return Labels(nil).Union(all...), nil
}

// judge stores what policy says about a proposed call.
func (e *Engine) judge(ctx context.Context, t Thread, call ToolCall, prompt Labels) (ToolCall, error) {
	j := Judgement{Verdict: Deny, Why: "There is no tool of that name."}
	if e.Tools != nil {
		var err error
		j, err = protected(e, "policy", t.ID, func() (Judgement, error) { return e.Tools.Judge(ctx, t, call, prompt) })
		if err != nil {
			return call, err
		}
	}
	call.Why, call.Binding, call.Question = j.Why, j.Binding, j.Question
	switch j.Verdict {
	case Allow:
		call.State = CallApproved
	case Ask:
		call.State = CallWaiting
	default:
		call.State, call.Finished = CallDenied, e.Now()
	}
	call, err := e.Store.MoveCall(ctx, call, CallProposed)
	if err != nil {
		return call, err
	}
	e.publishCall(call, PolicyEvent{Call: call.ID, Verdict: string(j.Verdict), Why: j.Why})
	switch call.State {
	case CallWaiting:
		e.publishCall(call, ConfirmRequest{Call: call})
	case CallDenied:
		e.publishCall(call, ToolResultEvent{Call: call})
	}
	return call, nil
}

// run executes one approved call: started is durable before the effect, the
// outcome before the turn goes on. A tool that panics has failed. An error says that the store
// refused a step, which ends the turn.
func (e *Engine) run(ctx context.Context, t Thread, call ToolCall) error {
	id := call.ID
	call.State, call.Started = CallStarted, e.Now()
	call, err := e.Store.MoveCall(ctx, call, CallApproved)
	switch {
	case CodeOf(err) == CodeConflict:
		e.Logger.Info("call was not started", "call", id, "error", err)
		return nil // stopped or ended in the same instant: Advance sees which
	case err != nil:
		return fmt.Errorf("start call: %w", err)
	}
	e.publishCall(call, ToolCallEvent{Call: call})
	outcome, err := e.protect(ctx, t, call)
	call.State, call.Finished = CallFinished, e.Now()
	call.Result, call.Exit, call.Labels = outcome.Content, outcome.Exit, outcome.Labels
	switch {
	case errors.Is(context.Cause(ctx), errWallTime):
		call.State = CallFailed
		call.Result = append(call.Result, Text{Text: PublicOf(errOutOfTime())})
	case ctx.Err() != nil:
		call.State = CallStopped
	case err != nil:
		call.State = CallFailed
		call.Result = append(call.Result, Text{Text: PublicOf(err)})
	case outcome.Failed:
		call.State = CallFailed
	}
	storing, done := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer done()
	store := func(ctx context.Context) error {
		ended, err := e.Store.MoveCall(ctx, call, CallStarted)
		if err == nil {
			e.publishCall(ended, ToolResultEvent{Call: ended})
		}
		return err
	}
	if err := store(storing); err != nil {
		e.owe(call.Thread, store)
		return fmt.Errorf("store outcome of call: %w", err)
	}
	return nil
}

func (e *Engine) protect(ctx context.Context, t Thread, call ToolCall) (outcome ToolOutcome, err error) {
	defer func() {
		if r := recover(); r != nil {
			e.Logger.Error("tool panicked", "tool", call.Name, "call", call.ID, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			err = Errorf(CodeInternal, "The tool %s broke. What it did before that is unknown.", call.Name)
		}
	}()
	return e.Tools.Run(ctx, t, call, func(text string) {
		e.publishCall(call, ToolProgress{Call: call.ID, Text: text})
	})
}
