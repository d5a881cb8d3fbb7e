package agent

import (
	"cmp"
	"context"
	"slices"
)

// ChannelHelper is the origin of threads that a tool call began.
const ChannelHelper = "helper"

// MaxHelperDepth is how deep helpers may start helpers: those of a conversation's own call are at depth 1.
const MaxHelperDepth = 3

// NoTools in Delegation.Tools alone leaves a helper without any tool. It is the name of none.
const NoTools = "-"

// helperShare is the part of what a turn has left that one helper may use: several work at once.
const helperShare = 4

func errTooDeep() error {
	return Errorf(CodeInvalid, "Helpers may start helpers of their own at most %d deep. Do this part yourself.", MaxHelperDepth)
}

// Depth returns how many helpers stand above what runs in t: 0 for a conversation of the person.
// More than MaxHelperDepth is CodeInvalid.
func (e *Engine) Depth(ctx context.Context, t Thread) (int, error) {
	for depth := 0; ; depth++ {
		if t.ParentCall == "" {
			return depth, nil
		}
		if depth == MaxHelperDepth {
			return depth, errTooDeep()
		}
		call, err := e.Store.Call(ctx, t.ParentCall)
		if err == nil {
			t, err = e.Store.Thread(ctx, call.Thread)
		}
		if err != nil {
			return depth, err
		}
	}
}

// Delegate begins a helper: a stored thread of its own below a tool call, in the place of the thread
// that asked, with a task that bears the labels of everything the model had read when it wrote it. The task is nobody's word: it has no author.
// It gets its budget, but no more than a share of what the turn has left. Errors: CodeInvalid when it would be too deep, CodeExhausted when
// the turn has nothing left. A thread that bears an id was stored also when there is an error, and may have begun.
func (e *Engine) Delegate(ctx context.Context, d Delegation) (Thread, error) {
	tail, err := e.Store.Tail(ctx, d.Parent.Thread)
	if err != nil {
		return Thread{}, err
	}
	above := tail.Thread
	if depth, err := e.Depth(ctx, above); err != nil || depth == MaxHelperDepth {
		return Thread{}, cmp.Or(err, errTooDeep())
	}
	budget, err := e.share(ctx, tail, d.Budget)
	if err != nil {
		return Thread{}, err
	}
	now := e.Now()
	t := Thread{
		ID: NewID(), Title: d.Title, TitleSource: TitleModel, Origin: Origin{Channel: ChannelHelper, Person: above.Origin.Person},
		Model: d.Model, Root: above.Root, WorkDir: above.WorkDir, ParentCall: d.Parent.ID,
		Tools: e.helperTools(ctx, above, d), Budget: budget, Created: now, Updated: now,
	}
	if t.Title == "" {
		t.Title = FirstWords(d.Task, maxTitle)
	}
	if t.Model == "" {
		t.Model = above.Model
	}
	task := []Part{Text{Text: d.Task, Labels: d.Labels}}
	if err := checkParts(task); err != nil {
		return Thread{}, err
	}
	if err := e.Store.CreateThread(ctx, t); err != nil {
		return Thread{}, err
	}
	_, err = e.Post(ctx, NewMessage{Thread: t.ID, Parts: task, Lent: e.lentFor(tail.Turn)})
	return t, err
}

// helperTools returns the tools of a helper: never empty, which would be all.
func (e *Engine) helperTools(ctx context.Context, above Thread, d Delegation) []string {
	tools := slices.Clone(d.Tools)
	if len(tools) == 0 && e.Tools != nil {
		for _, s := range e.Tools.Specs(ctx, above) {
			if s.Name != d.Parent.Name {
				tools = append(tools, s.Name)
			}
		}
	}
	if len(tools) == 0 {
		tools = []string{NoTools}
	}
	return tools
}

// share narrows a helper's budget to its part of what the turn at tail and its helpers have left.
func (e *Engine) share(ctx context.Context, tail Tail, b Budget) (Budget, error) {
	bounds := e.Settings().Bounds.within(tail.Thread.Budget)
	helped, err := e.Store.Helped(ctx, tail.Turn.ID)
	if err != nil {
		return b, err
	}
	used := tail.Turn.Usage.Add(helped)
	spent := Turn{Usage: used}
	if f := overBounds(spent, Bounds{Tokens: bounds.Tokens, Cost: bounds.Cost}, 0); f != nil {
		return b, &Error{Code: f.Code, Public: f.Public}
	}
	if bounds.Tokens > 0 {
		b.Tokens = tighter(b.Tokens, max(1, (bounds.Tokens-used.Input-used.Output)/helperShare))
	}
	if bounds.Cost > 0 {
		b.Cost = tighter(b.Cost, max(1, (bounds.Cost-used.Cost)/helperShare))
	}
	return b, nil
}
