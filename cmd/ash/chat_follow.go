package main

import (
	"context"
	"time"

	"ash/agent"
	"ash/handlers"
)

// told is an event of a stream, or what ended it.
type told struct {
	event handlers.ControlEvent
	err   error
}

// follow sets off a turn with begin and prints until that turn rests. Where somebody is there to decide, it asks. Ctrl-C
// stops the answer; the turn's end is then told like any other.
func (t *terminal) follow(ctx context.Context, begin func(context.Context) (agent.ID, error)) error {
	return t.followFrom(ctx, nil, begin)
}

// takeUp decides about what waits in the conversation, if anything does.
func (t *terminal) takeUp(ctx context.Context) error {
	if t.thread == "" || !t.ask {
		return nil
	}
	waiting, err := t.link.waiting(ctx, t.thread)
	if err != nil || len(waiting) == 0 {
		return err
	}
	turn := agent.ID("")
	for _, c := range waiting {
		if c.Thread == t.thread {
			turn = c.Turn
		}
	}
	return t.followFrom(ctx, waiting, func(context.Context) (agent.ID, error) { return turn, nil })
}

func (t *terminal) followFrom(ctx context.Context, waiting []handlers.ControlCall, begin func(context.Context) (agent.ID, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := t.link.follow(ctx, t.thread)
	if err != nil {
		return err
	}
	defer stream.close()
	turn, err := begin(ctx)
	if err != nil {
		return err
	}
	defer t.stopOnInterrupt(ctx, cancel)()
	a := &asking{terminal: t, printer: &printer{out: t.out, notes: t.notes, json: t.json}, queue: waiting, helpers: map[agent.ID]bool{}}
	return a.watch(ctx, pump(ctx, stream), turn)
}

// pump reads a stream beside everything else, until it ends or ctx does.
func pump(ctx context.Context, s *eventStream) <-chan told {
	out := make(chan told)
	go func() {
		defer close(out)
		for ev, err := range s.events() {
			select {
			case out <- told{ev, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// helperPoll is how often what helpers wait for is asked: the conversation's own stream does not tell.
const helperPoll = time.Second

// watch prints what happens until turn rests, and asks for what waits where somebody is there.
func (a *asking) watch(ctx context.Context, events <-chan told, turn agent.ID) error {
	poll := time.NewTicker(helperPoll)
	defer poll.Stop()
	for {
		a.show()
		select {
		case x, ok := <-events:
			switch {
			case ctx.Err() != nil:
				return ctx.Err() // interrupted twice
			case !ok:
				return nil
			case x.err != nil:
				return x.err
			}
			if rests, err := a.take(ctx, x.event, turn); rests || err != nil {
				return err
			}
		case line, more := <-a.answers():
			if !more {
				return a.leave()
			}
			if left, err := a.answer(ctx, line); left || err != nil {
				return err
			}
		case <-poll.C:
			if len(a.helpers) == 0 {
				continue
			}
			if err := a.refresh(ctx); err != nil {
				return err
			}
		}
	}
}

// take prints one event and reports whether the turn rests with it.
func (a *asking) take(ctx context.Context, ev handlers.ControlEvent, turn agent.ID) (rests bool, err error) {
	a.note(ev)
	if err := a.printer.print(ev); err != nil {
		return false, err
	}
	if ev.Kind != "turn" || ev.Turn != turn || !resting(ev.State) {
		return false, nil
	}
	if ev.State == string(agent.TurnWaiting) && a.terminal.ask {
		if err := a.refresh(ctx); err != nil {
			return false, err
		}
		if len(a.queue) > 0 {
			return false, nil
		}
		// All was decided in this very instant: the turn goes on, or tells that it waits again.
		return false, nil
	}
	return true, a.printer.end(ev.State)
}
