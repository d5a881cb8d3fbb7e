package main

import (
	"context"
	"sync"

	"ash/agent"
	"ash/agent/memory/learn"
)

// works knows which turns have a model on this machine at work: learning leaves it to them.
type works struct {
	mu    sync.Mutex
	local map[agent.ID]bool // by turn
}

// busy reports whether any has.
func (w *works) busy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.local) > 0
}

func (w *works) clear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.local)
}

func (w *works) set(turn agent.ID, at bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.local == nil {
		w.local = map[agent.ID]bool{}
	}
	if at {
		w.local[turn] = true
	} else {
		delete(w.local, turn)
	}
}

// follow notes what a turn does now. A turn that waits for the person leaves the machine alone, and the built-in model is none to wait for.
func (a *app) follow(ctx context.Context, t agent.Turn) {
	if t.State != agent.TurnRunning && t.State != agent.TurnStopping {
		a.works.set(t.ID, false)
		return
	}
	model := ""
	if thread, err := a.store.Thread(ctx, t.Thread); err == nil {
		model = thread.Model
	}
	_, info, err := a.providers.Pick(ctx, model)
	a.works.set(t.ID, err == nil && info.Local && info.Ref.Provider != "offline")
}

// watchTurns tells learning what goes on in conversations, until ctx ends.
func (a *app) watchTurns(ctx context.Context, l *learn.Learner) {
	for batch := range a.feed.Tap(ctx) {
		if batch.Resync {
			a.works.clear() // ends of turns may have been missed
		}
		for _, e := range batch.Events {
			switch x := e.Event.(type) {
			case agent.UserEvent:
				l.Stirred(x.Message.Thread)
			case agent.TurnEvent:
				a.follow(ctx, x.Turn)
				if x.Turn.Active() {
					l.Stirred(x.Turn.Thread) // it goes on after an approval
				} else {
					l.Rested(x.Turn.Thread)
				}
			}
		}
	}
}
