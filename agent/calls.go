package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// runCalls judges the proposed calls of the head and runs the approved ones side by side.
func (e *Engine) runCalls(ctx context.Context, tail Tail) error {
	situation, err := e.situation(ctx, tail.Thread, tail.Head.ID)
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	failures := make([]error, len(tail.Head.Calls))
	for i, call := range tail.Head.Calls {
		fresh := call.State == CallProposed
		if fresh {
			if call, failures[i] = e.judge(ctx, situation, call); failures[i] != nil {
				break
			}
		}
		if call.State == CallApproved {
			group.Go(func() { failures[i] = e.run(ctx, situation, call, fresh) })
		}
	}
	group.Wait()
	return errors.Join(failures...)
}

// situation gathers all that stood before the model when it asked for the calls of the message head. What a helper
// was told by the model above it may stem from anything that model had read: its threads count too.
func (e *Engine) situation(ctx context.Context, thread Thread, head ID) (Situation, error) {
	s := Situation{Thread: thread}
	err := e.gather(ctx, &s, thread, head)
	for depth, t := 0, thread; err == nil && t.ParentCall != ""; depth++ {
		if depth == MaxHelperDepth {
			return s, errTooDeep()
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

// gather adds the path to head, and what the person granted in its thread, to s. What came of head's own calls was not before
// the model when it asked for them, whatever has ended since.
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
		if m.ID == head {
			m.Calls = nil
		}
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
	call.Why, call.Binding, call.Question, call.Effect = e.redact(j.Why), j.Binding, j.Question, e.redactEffect(j.Effect)
	switch j.Verdict {
	case Allow:
		call.State = CallApproved
	case Ask:
		call.State = CallWaiting
	case Invalid:
		call.State, call.Finished = CallFailed, e.Now()
		call.Why, call.Result = "", []Part{Text{Text: e.redact(j.Why)}}
	default:
		call.State, call.Finished = CallDenied, e.Now()
	}
	call, err := e.Store.MoveCall(ctx, call, from)
	if err != nil {
		return call, err
	}
	e.publishCall(call, PolicyEvent{Call: call.ID, Verdict: string(j.Verdict), Why: e.redact(j.Why)})
	switch {
	case call.State == CallWaiting:
		e.publishCall(call, ConfirmRequest{Call: call})
		e.touched(ctx, call.Thread) // it shows on every page
	case call.State.Ended():
		e.publishCall(call, ToolResultEvent{Call: call})
	}
	return call, nil
}

// mayStart reports whether an approval still holds: what the person approved is what would happen, or policy, which alone
// allowed it, still does (fresh: it just did). A call for which that is not so is judged anew.
func (e *Engine) mayStart(ctx context.Context, s Situation, call ToolCall, fresh bool) (bool, error) {
	byPerson := call.Decision != nil
	if fresh && !byPerson {
		return true, nil
	}
	j, err := e.judgement(ctx, s, call)
	if err != nil {
		return false, err
	}
	open := j.Verdict == Allow || j.Verdict == Ask
	switch {
	case byPerson && open && j.Binding == call.Binding, !byPerson && j.Verdict == Allow:
		return true, nil
	case byPerson && open:
		j.Verdict, j.Why = Ask, strings.TrimSpace("What this applies to has changed since you approved it. "+j.Why)
	}
	_, err = e.rule(ctx, call, j, CallApproved)
	return false, err
}

// run executes one approved call: started is durable before the effect, the
// outcome before the turn goes on. A tool that panics has failed. An error says that the store
// refused a step, which ends the turn.
func (e *Engine) run(ctx context.Context, s Situation, call ToolCall, fresh bool) error {
	id := call.ID
	may, err := e.mayStart(ctx, s, call, fresh)
	if err == nil && !may {
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
	unlocks := e.unlocks()
	outcome, err := e.protect(ctx, s, call)
	if e.locked(ctx, err) {
		return e.restLocked(ctx, call, err, unlocks)
	}
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
	say := func(err error) { call.Result = append(slices.Clone(call.Result), Text{Text: PublicOf(err)}) }
	switch cause := context.Cause(ctx); {
	case errors.Is(err, errHeld):
		call.State = CallUnknown
		say(err)
	case errors.Is(cause, errClosing):
		call.State = CallUnknown // nobody stopped it, and nobody knows how far it came
	case errors.Is(cause, errWallTime):
		call.State = CallFailed
		say(errOutOfTime())
	case ctx.Err() != nil:
		call.State = CallStopped
	case err != nil:
		call.State = CallFailed
		say(err)
	case o.Failed:
		call.State = CallFailed
	}
	call.Result = e.redactParts(call.Result)
	return call
}

// errHeld is why a call was given up.
var errHeld = errors.New("the tool did not let go")

// protect runs a tool. A panic in it is an error; one that goes on long after its context has ended is given up.
func (e *Engine) protect(ctx context.Context, s Situation, call ToolCall) (ToolOutcome, error) {
	type end struct {
		outcome ToolOutcome
		err     error
	}
	var over atomic.Bool
	tell := func(text string) {
		if text = e.redact(text); text != "" && !over.Load() {
			e.publishCall(call, ToolProgress{Call: call.ID, Text: text})
		}
	}
	var one sync.Mutex // a tool may tell of two things at once
	sieve := e.sieve()
	progress := func(text string) {
		one.Lock()
		defer one.Unlock()
		tell(sieve.Pass(text))
	}
	release := e.hold(call)
	ends := make(chan end, 1) // so that a tool that was given up can end
	go func() {
		defer release()
		var x end
		x.outcome, x.err = e.runTool(ctx, s, call, progress)
		one.Lock()
		tell(sieve.Rest())
		one.Unlock()
		ends <- x
	}()
	defer over.Store(true)
	select {
	case x := <-ends:
		return x.outcome, x.err
	case <-ctx.Done():
	}
	patience := time.NewTimer(letGo)
	defer patience.Stop()
	select {
	case x := <-ends:
		return x.outcome, x.err
	case <-patience.C:
		e.Logger.Error("tool did not let go; it is given up", "tool", call.Name, "call", call.ID, "thread", call.Thread)
		return ToolOutcome{}, Wrap(CodeInternal, errHeld, "The tool %s did not let go when it was told to. What it did, or still does, is unknown.", call.Name)
	}
}

func (e *Engine) runTool(ctx context.Context, s Situation, call ToolCall, progress func(string)) (outcome ToolOutcome, err error) {
	defer func() {
		if r := recover(); r != nil {
			e.Logger.Error("tool panicked", "tool", call.Name, "call", call.ID, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			err = Errorf(CodeInternal, "The tool %s broke. What it did before that is unknown.", call.Name)
		}
	}()
	return e.Tools.Run(ctx, s, call, progress)
}
