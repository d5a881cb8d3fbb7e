package agent

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// runCalls judges the proposed calls of the head and runs the approved ones side by side.
func (e *Engine) runCalls(ctx context.Context, tail Tail) error {
	labels, err := e.labelsBefore(ctx, tail)
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	defer group.Wait()
	for _, call := range tail.Head.Calls {
		if call.State == CallProposed {
			if call, err = e.judge(ctx, tail.Thread, call, labels); err != nil {
				return err
			}
		}
		if call.State == CallApproved {
			group.Go(func() { e.run(ctx, tail.Thread, call) })
		}
	}
	return nil
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
		if j, err = e.Tools.Judge(ctx, t, call, prompt); err != nil {
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
// outcome before the turn goes on. A tool that panics has failed.
func (e *Engine) run(ctx context.Context, t Thread, call ToolCall) {
	call.State, call.Started = CallStarted, e.Now()
	call, err := e.Store.MoveCall(ctx, call, CallApproved)
	if err != nil {
		e.Logger.Warn("call was not started", "call", call.ID, "tool", call.Name, "error", err)
		return // stopped in the same instant, or the store is gone: Advance sees which
	}
	e.publishCall(call, ToolCallEvent{Call: call})
	outcome, err := e.protect(ctx, t, call)
	call.State, call.Finished = CallFinished, e.Now()
	call.Result, call.Exit, call.Labels = outcome.Content, outcome.Exit, outcome.Labels
	switch {
	case ctx.Err() != nil:
		call.State = CallStopped
	case err != nil:
		call.State = CallFailed
		call.Result = append(call.Result, Text{Text: PublicOf(err)})
	case outcome.Failed:
		call.State = CallFailed
	}
	storing, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer done()
	ended, err := e.Store.MoveCall(storing, call, CallStarted)
	if err != nil {
		e.Logger.Error("outcome of a call could not be stored", "call", call.ID, "tool", call.Name, "error", err)
		return
	}
	e.publishCall(ended, ToolResultEvent{Call: ended})
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
