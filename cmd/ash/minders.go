package main

import (
	"context"
	"encoding/json"
	"time"

	"ash/agent"
	"ash/agent/sandbox"
	"ash/handlers"
)

// What goes on beside the turns for the sake of the tools.

// expiryEvery is how often approvals are looked at that nobody answers.
const expiryEvery = 30 * time.Second

// minders removes what the last run left in the sandbox, then ends the jobs of turns that have ended and the approvals
// that have expired, until ctx ends.
func (a *app) minders(ctx context.Context) {
	if removed, err := a.hands.sandbox.Recover(ctx); err != nil && ctx.Err() == nil {
		a.log.Warn("what the last run left in the sandbox could not be removed", "error", err)
	} else if removed > 0 {
		a.log.Info("removed what the last run left in the sandbox", "sandboxes", removed)
	}
	a.beside.Go(func() { a.expire(ctx) })
	for batch := range a.feed.Tap(ctx) {
		for _, e := range batch.Events {
			t, ok := e.Event.(agent.TurnEvent)
			if !ok || t.Turn.Active() {
				continue
			}
			if err := a.hands.sandbox.EndJobs(ctx, t.Turn.Thread); err != nil && ctx.Err() == nil {
				a.log.Warn("what a turn left running could not be ended", "thread", t.Turn.Thread, "error", err)
			}
		}
	}
}

// expire denies approvals that were not answered in the time the settings give.
func (a *app) expire(ctx context.Context) {
	ticker := time.NewTicker(expiryEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		after := a.config.Current().Config().Tools.ApprovalExpiry
		if after <= 0 {
			continue
		}
		if _, err := a.engine.Expire(ctx, time.Now().Add(-after)); err != nil && ctx.Err() == nil {
			a.log.Warn("approvals that nobody answered could not be denied", "error", err)
		}
	}
}

// close ends everything that runs for the tools.
func (h *hands) close(ctx context.Context) error {
	h.ready.close()
	return h.sandbox.Close(ctx)
}

// halter is the kill switch: every turn, every command, at once.
type halter struct {
	engine  *agent.Engine
	sandbox *sandbox.Sandbox
}

func (h halter) StopAll(ctx context.Context) error {
	err := h.engine.StopAll(ctx)
	if halt := h.sandbox.Halt(ctx); err == nil {
		err = halt
	}
	return err
}

// trier tries tools by hand: a conversation with the offline model, which makes the call that it is told to make, so
// that it goes the way of every other call.
type trier struct {
	engine *agent.Engine
	owner  agent.ID
}

var _ handlers.Trier = trier{}

// Try implements handlers.Trier.
func (t trier) Try(ctx context.Context, tool string, arguments json.RawMessage) (agent.ID, error) {
	thread, err := t.engine.CreateThread(ctx, agent.Origin{Channel: "web", Person: t.owner})
	if err != nil {
		return "", err
	}
	title, source, model := "Tried by hand: "+tool, agent.TitlePerson, "offline/offline"
	if _, err := t.engine.PatchThread(ctx, thread.ID, agent.ThreadPatch{Title: &title, TitleSource: &source, Model: &model}); err != nil {
		return "", err
	}
	_, err = t.engine.Post(ctx, agent.NewMessage{
		Thread: thread.ID, Author: t.owner, Form: string(agent.NewID()),
		Parts: []agent.Part{agent.Text{Text: "tool " + tool + " " + string(arguments)}},
	})
	return thread.ID, err
}
