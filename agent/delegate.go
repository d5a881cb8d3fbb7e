package agent

import (
	"context"
	"slices"
)

// ChannelHelper is the origin of threads that a tool call began.
const ChannelHelper = "helper"

// Delegate begins a helper: a stored thread of its own below a tool call, in the place of the thread
// that asked, with a task that bears the labels of everything the model had read when it wrote it. The task is nobody's word: it has no author.
func (e *Engine) Delegate(ctx context.Context, d Delegation) (Thread, error) {
	above, err := e.Store.Thread(ctx, d.Parent.Thread)
	if err != nil {
		return Thread{}, err
	}
	now := e.Now()
	t := Thread{
		ID: NewID(), Title: d.Title, TitleSource: TitleModel, Origin: Origin{Channel: ChannelHelper, Person: above.Origin.Person},
		Model: d.Model, Root: above.Root, WorkDir: above.WorkDir, ParentCall: d.Parent.ID,
		Tools: slices.Clone(d.Tools), Budget: d.Budget, Created: now, Updated: now,
	}
	if t.Model == "" {
		t.Model = above.Model
	}
	if err := e.Store.CreateThread(ctx, t); err != nil {
		return Thread{}, err
	}
	_, err = e.Post(ctx, NewMessage{Thread: t.ID, Parts: []Part{Text{Text: d.Task, Labels: d.Labels}}})
	return t, err
}
