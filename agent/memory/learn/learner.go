package learn

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"ash/agent"
)

const (
	takenUp    = 200              // conversations that are taken up after a start
	lockedPace = 3                // as after so many tries, a locked vault is looked at again
	busyAgain  = 30 * time.Second // before a busy model is asked for again
)

// errStirred ends a run because somebody writes.
var errStirred = errors.New("somebody writes")

// Learner learns from conversations that rest. It is safe for concurrent use.
type Learner struct {
	o       Options
	phrases func() *phrasebook // made on first use
	stirred chan struct{}      // holds one: the queue has changed

	mu      sync.Mutex
	queue   map[agent.ID]*waiting
	running *running // nil: none
	lost    lost
}

// waiting is a conversation that is to be learned from.
type waiting struct {
	due   time.Time
	tries int // that went wrong
}

// running is the run of now.
type running struct {
	thread agent.ID
	asking bool // a model is at it
	cancel context.CancelCauseFunc
}

// New returns a Learner. It does nothing until Run.
func New(o Options) *Learner {
	return &Learner{
		o: o.complete(), phrases: sync.OnceValue(newPhrasebook),
		stirred: make(chan struct{}, 1), queue: map[agent.ID]*waiting{},
	}
}

// Rested tells that a turn of a conversation has ended. It returns at once; the conversation is learned from when
// nothing has been said in it for Bounds.Idle.
func (l *Learner) Rested(thread agent.ID) {
	l.mu.Lock()
	l.queue[thread] = &waiting{due: time.Now().Add(l.idle())}
	l.mu.Unlock()
	l.wake()
}

// Stirred tells that somebody writes in a conversation: a run over it ends at once, and so does the call to a model of any other. What
// it was at is made up for later.
func (l *Learner) Stirred(thread agent.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.queue[thread]; w != nil {
		w.due = time.Now().Add(l.idle())
	}
	if r := l.running; r != nil && (r.thread == thread || r.asking) {
		r.cancel(errStirred)
	}
}

// idle is how long nothing is said before a conversation counts as resting.
func (l *Learner) idle() time.Duration {
	if d := l.o.Idle(); d > 0 {
		return d
	}
	return l.o.Bounds.Idle
}

func (l *Learner) wake() {
	select {
	case l.stirred <- struct{}{}:
	default:
	}
}

// Run learns until ctx ends, one conversation after the other. It begins with what an earlier life of the program did not
// get to.
func (l *Learner) Run(ctx context.Context) {
	l.takeUp(ctx)
	for {
		thread, wait := l.next()
		if thread != "" && wait <= 0 {
			l.attempt(ctx, thread)
			if ctx.Err() != nil {
				return
			}
			continue
		}
		var timer <-chan time.Time
		var t *time.Timer
		if thread != "" {
			t = time.NewTimer(wait)
			timer = t.C
		}
		select {
		case <-ctx.Done():
		case <-l.stirred:
		case <-timer:
		}
		if t != nil {
			t.Stop()
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// takeUp queues the conversations that rest unlearned.
func (l *Learner) takeUp(ctx context.Context) {
	list, err := l.o.Conversations.Unlearned(ctx, l.o.Now().Add(-l.o.Bounds.Reach), takenUp)
	if err != nil {
		if ctx.Err() == nil {
			l.o.Log.Warn("conversations to learn from could not be listed", "code", agent.CodeOf(err), "error", err)
		}
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, thread := range list {
		if l.queue[thread] == nil {
			l.queue[thread] = &waiting{due: time.Now().Add(l.idle())}
		}
	}
}

// next returns the conversation that is due first and how long until then, "" when none waits.
func (l *Learner) next() (agent.ID, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var first agent.ID
	for thread, w := range l.queue {
		if first == "" || w.due.Before(l.queue[first].due) {
			first = thread
		}
	}
	if first == "" {
		return "", 0
	}
	return first, time.Until(l.queue[first].due)
}

// attempt learns from one conversation, and puts it back when that has to wait.
func (l *Learner) attempt(ctx context.Context, thread agent.ID) {
	l.mu.Lock()
	w := l.queue[thread]
	if w == nil || time.Until(w.due) > 0 {
		l.mu.Unlock()
		return
	}
	if l.o.Busy() {
		w.due = time.Now().Add(busyAgain)
		l.mu.Unlock()
		return
	}
	delete(l.queue, thread)
	pass, cancel := context.WithCancelCause(ctx)
	l.running = &running{thread: thread, cancel: cancel}
	l.mu.Unlock()

	more, err := l.guarded(pass, thread, w.tries)
	cause := context.Cause(pass)

	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = nil
	cancel(nil)
	if l.queue[thread] != nil {
		return // it rested anew meanwhile
	}
	switch {
	case ctx.Err() != nil:
	case errors.Is(cause, errStirred), agent.CodeOf(err) == agent.CodeConflict: // somebody writes, or changed what would be changed
		l.queue[thread] = &waiting{due: time.Now().Add(l.idle()), tries: w.tries}
	case agent.CodeOf(err) == agent.CodeLocked: // the model's key lies in the vault: that may take days, and is no failure of anything
		l.queue[thread] = &waiting{due: time.Now().Add(l.backoff(lockedPace)), tries: w.tries}
	case agent.CodeOf(err) == agent.CodeNotFound: // the conversation is gone
	case err != nil:
		l.queue[thread] = &waiting{due: time.Now().Add(l.backoff(w.tries)), tries: w.tries + 1}
		l.o.Log.Info("learning waits", "thread", thread, "tries", w.tries+1, "code", agent.CodeOf(err))
		l.o.Log.Debug("learning waits", "thread", thread, "error", err) // may quote what was said
	case more:
		l.queue[thread] = &waiting{due: time.Now()}
	}
}

// backoff is the wait after so many tries that went wrong before.
func (l *Learner) backoff(tries int) time.Duration {
	return min(l.o.Bounds.Retry<<min(tries, 20), l.o.Bounds.Slowest)
}

// guarded is learn, with a panic as an error.
func (l *Learner) guarded(ctx context.Context, thread agent.ID, tries int) (more bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			l.o.Log.Error("learning panicked", "thread", thread, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			err = agent.Errorf(agent.CodeInternal, "Learning from this conversation broke.")
		}
	}()
	return l.learn(ctx, thread, tries)
}

// asks notes whether the run of now waits for a model.
func (l *Learner) asks(asking bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running != nil {
		l.running.asking = asking
	}
}
