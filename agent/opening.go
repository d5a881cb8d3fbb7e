package agent

import (
	"context"
	"sync"
)

// fewWrites may be on their way into the store at once while a model is asked already. With more, what the model
// says would only wait, and waiting is told best as what it is: a model that is still to be asked.
const fewWrites = 2

// opening is an open reply on its way into the store, beside the request to the model: the disk and the
// network are waited for together. Nothing of the reply is told before it is stored.
type opening struct {
	engine  *Engine
	message Message
	crowded bool          // it waits for others: the model had better be asked after it
	done    chan struct{} // closed when it is stored, or refused
	covered EventID       // of the event that told of it; valid after done
	err     error         // valid after done

	mu   sync.Mutex
	held []Event // told once it is stored
	told bool    // it is: what comes now is told at once
}

// open begins to store the open reply m. If the store refuses it, cancel ends the request to the model, and
// wait says why. Who opened waits.
func (e *Engine) open(ctx context.Context, m Message, cancel context.CancelFunc) *opening {
	o := &opening{engine: e, message: m, crowded: e.storing.Add(1) > fewWrites, done: make(chan struct{})}
	go func() {
		defer close(o.done)
		defer e.storing.Add(-1)
		_, o.err = protected(e, "opening a reply", m.Thread, func() (struct{}, error) { return struct{}{}, e.Store.OpenReply(ctx, m) })
		if o.err != nil {
			cancel()
			return
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.covered, o.told = e.publish(m.Thread, m.Turn, AssistantEvent{Message: m}), true
		for _, ev := range o.held {
			e.publish(m.Thread, m.Turn, ev)
		}
	}()
	return o
}

// tell publishes what happens to the reply before its text comes, now or once it is stored.
func (o *opening) tell(ev Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.told {
		o.held = append(o.held, ev)
		return
	}
	o.engine.publish(o.message.Thread, o.message.Turn, ev)
}

// wait returns the event that told of the open reply, or why there is none.
func (o *opening) wait() (EventID, error) {
	<-o.done
	return o.covered, o.err
}
