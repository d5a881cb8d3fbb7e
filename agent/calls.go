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
	situation, err := e.situation(ctx, tail)
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	failures := make([]error, len(tail.Head.Calls))
	for i, call := range tail.Head.Calls {
		if call.State == CallProposed {
			if call, failures[i] = e.judge(ctx, situation, call); failures[i] != nil {
				break
			}
		}
		if call.State == CallApproved {
			group.Go(func() { failures[i] = e.run(ctx, situation, call) })
		}
	}
	group.Wait()
	return errors.Join(failures...)
}

// maxHelpers bounds how deep helpers may start helpers.
const maxHelpers = 4

// situation gathers all that stood before the model when it asked for the head's calls. What a helper
// was told by the model above it may stem from anything that model had read: its threads count too.
func (e *Engine) situation(ctx context.Context, tail Tail) (Situation, error) {
	s := Situation{Thread: tail.Thread}
	err := e.gather(ctx, &s, tail.Thread, tail.Head.ID)
	for depth, t := 0, tail.Thread; err == nil && t.ParentCall != ""; depth++ {
		if depth == maxHelpers {
			return s, Errorf(CodeInvalid, "Helpers may start helpers of their own at most %d deep.", maxHelpers)
		}
		var call ToolCall
		if call, err = e.Store.Call(ctx, t.ParentCall); err != nil {
			break
		}
		if t, err = e.Store.Thread(ctx, call.Thread); err != nil {
			break
		}
		err = e.gather(ctx, &s, t, call.Message)
	}
	return s, err
}

// gather adds the path to head, and what the person granted in its thread, to s.
func (e *Engine) gather(ctx context.Context, s *Situation, t Thread, head ID) error {
	path, err := e.Store.Path(ctx, head, 2*e.Settings().MaxMessages)
	if err != nil {
		return err
	}
	summaries, err := e.Store.Summaries(ctx, t.ID)
	if err != nil {
		return err
	}
	all := make([]Labels, 0, len(path)+len(summaries))
	for _, m := range path {
		all = append(all, m.Labels())
	}
	for _, x := range summaries {
		all = append(all, x.Labels)
	}
	s.Labels = s.Labels.Union(all...)
	s.Path = append(path, s.Path...)
	s.Summaries = append(s.Summaries, summaries...)
	s.Grants = append(s.Grants, t.Grants...)
	return nil
}

// judge stores what policy says about a proposed call.
func (e *Engine) judge(ctx context.Context, s Situation, call ToolCall) (ToolCall, error) {
	j, err := e.judgement(ctx, s, call)
	if err != nil {
		return call, err
	}
	return e.rule(ctx, call, j, CallProposed)
}

// judgement asks policy about a call.
func (e *Engine) judgement(ctx context.Context, s Situation, call ToolCall) (Judgement, error) {
	if e.Tools == nil {
		return Judgement{Verdict: Invalid, Why: "There is no tool of that name."}, nil
	}
	return protected(e, "policy", s.Thread.ID, func() (Judgement, error) { return e.Tools.Judge(ctx, s, call) })
}

// rule moves a call from a state to the one that a judgement leaves it in.
func (e *Engine) rule(ctx context.Context, call ToolCall, j Judgement, from CallState) (ToolCall, error) {
	call.Why, call.Binding, call.Question, call.Effect = j.Why, j.Binding, j.Question, j.Effect
	switch j.Verdict {
	case Allow:
		call.State = CallApproved
	case Ask:
		call.State = CallWaiting
	case Invalid:
		call.State, call.Finished = CallFailed, e.Now()
		call.Why, call.Result = "", []Part{Text{Text: j.Why}}
	default:
		call.State, call.Finished = CallDenied, e.Now()
	}
	call, err := e.Store.MoveCall(ctx, call, from)
	if err != nil {
		return call, err
	}
	e.publishCall(call, PolicyEvent{Call: call.ID, Verdict: string(j.Verdict), Why: j.Why})
	switch {
	case call.State == CallWaiting:
		e.publishCall(call, ConfirmRequest{Call: call})
		e.touched(ctx, call.Thread) // it shows on every page
	case call.State.Ended():
		e.publishCall(call, ToolResultEvent{Call: call})
	}
	return call, nil
}

// unchanged reports whether what the person approved is still what would happen. A call for which it is not is judged anew.
func (e *Engine) unchanged(ctx context.Context, s Situation, call ToolCall) (bool, error) {
	if call.Decision == nil {
		return true, nil
	}
	j, err := e.judgement(ctx, s, call)
	if err != nil {
		return false, err
	}
	if j.Binding == call.Binding && (j.Verdict == Allow || j.Verdict == Ask) {
		return true, nil
	}
	if j.Verdict == Allow || j.Verdict == Ask {
		j.Verdict, j.Why = Ask, "What this applies to has changed since you approved it. "+j.Why
	}
	_, err = e.rule(ctx, call, j, CallApproved)
	return false, err
}

// run executes one approved call: started is durable before the effect, the
// outcome before the turn goes on. A tool that panics has failed. An error says that the store
// refused a step, which ends the turn.
func (e *Engine) run(ctx context.Context, s Situation, call ToolCall) error {
	id := call.ID
	same, err := e.unchanged(ctx, s, call)
	if err == nil && !same {
		return nil
	}
	if err == nil {
		call.State, call.Started = CallStarted, e.Now()
		call, err = e.Store.MoveCall(ctx, call, CallApproved)
	}
	switch {
	case CodeOf(err) == CodeConflict:
		e.Logger.Info("call was not started", "call", id, "error", err)
		return nil // stopped or ended in the same instant: Advance sees which
	case err != nil:
		return fmt.Errorf("start call: %w", err)
	}
	e.publishCall(call, ToolCallEvent{Call: call})
	outcome, err := e.protect(ctx, s, call)
	call = e.outcome(ctx, call, outcome, err)
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

// outcome returns call as it ended.
func (e *Engine) outcome(ctx context.Context, call ToolCall, o ToolOutcome, err error) ToolCall {
	call.State, call.Finished = CallFinished, e.Now()
	call.Result, call.Exit, call.Labels, call.Findings = o.Content, o.Exit, o.Labels, o.Findings
	switch {
	case errors.Is(context.Cause(ctx), errWallTime):
		call.State = CallFailed
		call.Result = append(call.Result, Text{Text: PublicOf(errOutOfTime())})
	case ctx.Err() != nil:
		call.State = CallStopped
	case err != nil:
		call.State = CallFailed
		call.Result = append(call.Result, Text{Text: PublicOf(err)})
	case o.Failed:
		call.State = CallFailed
	}
	call.Result = e.redactParts(call.Result)
	return call
}

func (e *Engine) protect(ctx context.Context, s Situation, call ToolCall) (outcome ToolOutcome, err error) {
	defer func() {
		if r := recover(); r != nil {
			e.Logger.Error("tool panicked", "tool", call.Name, "call", call.ID, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			err = Errorf(CodeInternal, "The tool %s broke. What it did before that is unknown.", call.Name)
		}
	}()
	return e.Tools.Run(ctx, s, call, func(text string) {
		e.publishCall(call, ToolProgress{Call: call.ID, Text: e.redact(text)})
	})
}
