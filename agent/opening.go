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
	alone   bool          // it was opened with the message it answers: it has no variants
	covered EventID       // of the event that told of it; valid after done
	err     error         // valid after done

	mu   sync.Mutex
	held []Event // told once it is stored
	told bool    // it is: what comes now is told at once
}

// open begins to store the open reply m. If the store refuses it, cancel ends the request to the model, and
// wait says why. Who opened waits.
func (e *Engine) open(ctx context.Context, m Message, cancel context.CancelFunc) *opening {
	o := e.expect(m)
	o.crowded = e.storing.Add(1) > fewWrites
	go func() {
		defer e.storing.Add(-1)
		_, err := protected(e, "opening a reply", m.Thread, func() (struct{}, error) { return struct{}{}, e.Store.OpenReply(ctx, m) })
		if err != nil {
			cancel()
		}
		o.stored(err)
	}()
	return o
}

// expect waits for the open reply m to be stored; who stores it says so.
func (e *Engine) expect(m Message) *opening {
	return &opening{engine: e, message: m, done: make(chan struct{})}
}

// stored tells of the reply and of what has happened to it meanwhile, or notes why it is not stored.
func (o *opening) stored(err error) {
	defer close(o.done)
	if err != nil {
		o.err = err
		return
	}
	m := o.message
	o.mu.Lock()
	defer o.mu.Unlock()
	o.covered, o.told = o.engine.publish(m.Thread, m.Turn, AssistantEvent{Message: m, Alone: o.alone}), true
	for _, ev := range o.held {
		o.engine.publish(m.Thread, m.Turn, ev)
	}
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
