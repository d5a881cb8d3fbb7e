package agent

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Store is everything the engine keeps its conversations in.
type Store interface {
	ThreadStore
	TurnStore
	ReplyStore
	CallStore
	HistoryStore
	WaitingStore
}

// Settings are the engine's own settings, read anew for every turn.
type Settings struct {
	Bounds      Bounds
	MaxMessages int      // of history sent; twice as many are looked at, so that a long tool round keeps its question
	MaxTokens   int      // of one reply; 0 leaves it to the model
	Temperature *float64 // nil leaves it to the provider
	Titles      bool     // let a model name a conversation after its first exchange
	TitleModel  string   // which one; "" is the thread's own
	Summarise   bool     // summarise what no longer fits
}

// Options wires an Engine. All fields but Tools, Logger and Now are required.
type Options struct {
	Store     Store
	Prompter  Prompter
	Models    Models
	Publisher Publisher
	Tools     Tools                    // nil: no tools
	Redact    func(text string) string // takes secrets out before the first write; nil: none are known
	Sieve     func() Sieve             // takes them out of a text that is told while it grows; nil: they are not looked for
	Inspect   Inspect                  // looks for orders in attached files; nil: they are not looked through
	Settings  func() Settings
	// Unlocks returns how often the vault was unlocked since Ash started; it grows in the instant in which the vault gives its secrets. nil: there
	// is no vault, and nothing waits for one.
	Unlocks func() uint64
	Logger  *slog.Logger
	Now     func() time.Time
}

// Inspect looks through a text that came into a thread for instructions to the assistant.
type Inspect func(ctx context.Context, thread ID, text string) []Finding

// Engine advances conversations. Each one that has work is owned by one
// goroutine, which ends when the conversation rests; commands of the person
// reach it as messages, so nothing about a turn needs a lock.
type Engine struct {
	Options
	saver   *saver
	storing atomic.Int32 // messages and open replies on their way into the store
	// beginning has room for the conversations that may take a message at once. More would not be stored sooner, for there is one writer;
	// they would only stand before the text of the answers that are being written.
	beginning chan struct{}

	ctx    context.Context
	cancel context.CancelCauseFunc
	owners sync.WaitGroup

	mu            sync.Mutex // guards the rest
	conversations map[ID]*conversation
	owed          map[ID][]func(context.Context) error // see owe
	held          map[ID]ToolCall                      // see hold
	lent          map[ID]loan                          // by thread; see Lent
	closed        bool
}

var (
	errStopped = errors.New("stopped by the person")
	errClosing = errors.New("ash is shutting down")
)

// maxBeginning is how many conversations take a message at once.
const maxBeginning = 3

// NewEngine returns an engine at rest. Close it to store what is being said.
func NewEngine(o Options) *Engine {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = func() time.Time { return time.Now().UTC() }
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	return &Engine{
		Options:       o,
		saver:         newSaver(o.Store, o.Logger),
		ctx:           ctx,
		cancel:        cancel,
		conversations: map[ID]*conversation{},
		owed:          map[ID][]func(context.Context) error{},
		held:          map[ID]ToolCall{},
		beginning:     make(chan struct{}, maxBeginning),
		lent:          map[ID]loan{},
	}
}

// Close ends every turn: open replies are stored as far as they came and marked as cut,
// their turns as interrupted. It waits until that is done or ctx ends.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.cancel(errClosing)
	done := make(chan struct{})
	go func() {
		e.owners.Wait()
		e.saver.close()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return Wrap(CodeUnavailable, ctx.Err(), "Some conversations did not end in time.")
	}
}

// CreateThread stores an empty thread.
func (e *Engine) CreateThread(ctx context.Context, o Origin) (Thread, error) {
	now := e.Now()
	t := Thread{ID: NewID(), Origin: o, Created: now, Updated: now}
	if err := e.Store.CreateThread(ctx, t); err != nil {
		return Thread{}, err
	}
	e.touched(ctx, t.ID)
	return t, nil
}

// PatchThread changes a thread and tells everybody who shows it.
func (e *Engine) PatchThread(ctx context.Context, id ID, p ThreadPatch) (Thread, error) {
	if p.Title != nil {
		title := e.redact(*p.Title)
		p.Title = &title
	}
	t, err := e.Store.PatchThread(ctx, id, p)
	if err != nil {
		return Thread{}, err
	}
	e.touched(ctx, id)
	return t, nil
}

// Post stores a message of the person and wakes the conversation. The message
// is durable when Post returns. The same Form twice is one message. Empty parts are CodeInvalid.
func (e *Engine) Post(ctx context.Context, m NewMessage) (Posted, error) {
	if err := checkParts(m.Parts); err != nil {
		return Posted{}, err
	}
	return command(ctx, e, m.Thread, func(c *conversation) (Posted, error) { return c.post(ctx, m) })
}

// Edit stores a variant of the user message old and answers it.
func (e *Engine) Edit(ctx context.Context, old ID, m NewMessage) (Posted, error) {
	if err := checkParts(m.Parts); err != nil {
		return Posted{}, err
	}
	return command(ctx, e, m.Thread, func(c *conversation) (Posted, error) { return c.edit(ctx, old, m) })
}

// Regenerate answers again where the reply message stands; the old reply becomes its sibling.
func (e *Engine) Regenerate(ctx context.Context, thread, message ID) (Turn, error) {
	return command(ctx, e, thread, func(c *conversation) (Turn, error) { return c.regenerate(ctx, message) })
}

// Continue goes on after a reply that was cut off, stopped or failed, or takes up an interrupted turn.
func (e *Engine) Continue(ctx context.Context, thread ID) (Turn, error) {
	return command(ctx, e, thread, func(c *conversation) (Turn, error) { return c.goOn(ctx) })
}

// Stop ends the running turn of a thread, or closes a waiting one. A thread at rest is left as it is.
func (e *Engine) Stop(ctx context.Context, thread ID) error {
	_, err := command(ctx, e, thread, func(c *conversation) (struct{}, error) { return struct{}{}, c.stop(ctx, false) })
	return err
}

// Branch moves the thread's head to the newest leaf below message.
func (e *Engine) Branch(ctx context.Context, thread, message ID) (Thread, error) {
	return command(ctx, e, thread, func(c *conversation) (Thread, error) { return c.branch(ctx, message) })
}

// Decide answers a waiting call. The second answer is CodeConflict, and so is one given for other arguments than
// the stored ones (d.Binding).
func (e *Engine) Decide(ctx context.Context, call ID, d Decision) (ToolCall, error) {
	stored, err := e.Store.Call(ctx, call)
	if err != nil {
		return ToolCall{}, err
	}
	return command(ctx, e, stored.Thread, func(c *conversation) (ToolCall, error) { return c.decide(ctx, call, d) })
}

// Busy returns how many conversations are owned right now.
func (e *Engine) Busy() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.conversations)
}

// checkParts refuses a message with nothing in it.
func checkParts(parts []Part) error {
	for _, p := range parts {
		if t, ok := p.(Text); !ok || t.Text != "" {
			return nil
		}
	}
	return Errorf(CodeInvalid, "The message is empty. Write something, or attach a file.")
}

// publish puts an event of a turn on the feed.
func (e *Engine) publish(thread, turn ID, ev Event) EventID {
	return e.Publisher.Publish(Envelope{Thread: thread, Turn: turn, Path: "ash", Event: ev})
}

// touched tells the whole house that a thread changed: every list shows it.
func (e *Engine) touched(ctx context.Context, thread ID) { e.publishThread(ctx, thread, "", false) }

// moved tells everybody who shows a thread that its head went elsewhere.
func (e *Engine) moved(ctx context.Context, thread ID) { e.publishThread(ctx, thread, thread, true) }

// publishThread puts a thread as lists show it on a topic: a thread's own, or "" for the house. No list
// shows helpers: of theirs, the house is told of the conversation they work for.
func (e *Engine) publishThread(ctx context.Context, thread, topic ID, moved bool) {
	t, err := e.Store.Summary(ctx, thread)
	helper := false
	for depth := 0; err == nil && topic == "" && t.ParentCall != "" && depth < MaxHelperDepth; depth++ {
		var call ToolCall
		helper = true
		if call, err = e.Store.Call(ctx, t.ParentCall); err == nil {
			t, err = e.Store.Summary(ctx, call.Thread)
		}
	}
	if err != nil {
		e.Logger.Warn("thread could not be read", "thread", thread, "error", err)
		return
	}
	e.Publisher.Publish(Envelope{Thread: topic, Path: "ash", Event: ThreadEvent{Thread: t, Moved: moved, Helper: helper}})
}
