package agent

import (
	"context"
)

// A store that refuses a write (a full disk) must not cost what was said or done
// meanwhile. The end of a reply and the outcome of a call are then owed: kept in
// memory, and offered again before anything else happens in their thread.

// owe keeps a write of thread that the store refused. Each kept write is bounded: a reply by
// MaxReply, an outcome by its tool; and while they are owed, the thread begins nothing new.
func (e *Engine) owe(thread ID, write func(context.Context) error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.owed[thread] = append(e.owed[thread], write)
}

// pay offers what is owed of thread, in order, and reports whether there was anything. A write that no longer
// applies is dropped. It returns the first error of another kind; the rest stays owed.
func (e *Engine) pay(ctx context.Context, thread ID) (paid bool, err error) {
	e.mu.Lock()
	owed := e.owed[thread]
	delete(e.owed, thread)
	e.mu.Unlock()
	for i, write := range owed {
		err := write(ctx)
		switch CodeOf(err) {
		case "":
		case CodeConflict, CodeNotFound:
			e.Logger.Warn("what was owed no longer applies", "thread", thread, "error", err)
		default:
			e.mu.Lock()
			e.owed[thread] = owed[i:]
			e.mu.Unlock()
			return i > 0, err
		}
	}
	return len(owed) > 0, nil
}

// forgive drops what is owed of thread.
func (e *Engine) forgive(thread ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.owed, thread)
}
