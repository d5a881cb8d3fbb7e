package agent

import (
	"context"
	"log/slog"
	"slices"
)

// Lent is a key of a provider that whoever asks brings along for the one turn their message begins. It is held in memory until that turn has
// ended and stored nowhere: after a restart it is gone. Printing one in any way shows no key.
type Lent struct {
	Provider string // the section of the settings: the key goes to no other
	key      string
}

// NewLent takes a key for a provider.
func NewLent(provider, key string) Lent { return Lent{provider, key} }

// Key returns the key itself.
func (l Lent) Key() string { return l.key }

// String hides the key.
func (l Lent) String() string { return "a key for " + l.Provider }

// GoString hides the key.
func (l Lent) GoString() string { return l.String() }

// LogValue hides the key.
func (l Lent) LogValue() slog.Value { return slog.StringValue(l.String()) }

type lentKey struct{}

// WithLent gives the calls below ctx a lent key.
func WithLent(ctx context.Context, l Lent) context.Context {
	return context.WithValue(ctx, lentKey{}, l)
}

// LentTo returns the key that was lent to what runs with ctx.
func LentTo(ctx context.Context) (Lent, bool) {
	l, ok := ctx.Value(lentKey{}).(Lent)
	return l, ok
}

// loan is a lent key and the turn it was lent for. A conversation has one at most.
type loan struct {
	Lent
	turn ID
}

// LentKeys returns the keys that are lent at this moment, so that they can be taken out of whatever is written.
func (e *Engine) LentKeys() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.lent) == 0 {
		return nil
	}
	keys := make([]string, 0, len(e.lent))
	for _, l := range e.lent {
		keys = append(keys, l.key)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// lend notes the key that came with a message for the turn it begins or answers.
func (e *Engine) lend(turn Turn, l *Lent) {
	if l == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lent[turn.Thread] = loan{*l, turn.ID}
}

// lentFor returns the key of a turn, nil when it uses Ash's own. What was lent for another turn of the conversation is forgotten.
func (e *Engine) lentFor(turn Turn) *Lent {
	e.mu.Lock()
	defer e.mu.Unlock()
	l, ok := e.lent[turn.Thread]
	if !ok {
		return nil
	}
	if l.turn != turn.ID {
		delete(e.lent, turn.Thread)
		return nil
	}
	return &l.Lent
}

// returned forgets the key of a turn that has ended, and reports whether it had one.
func (e *Engine) returned(turn Turn) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	had := e.lent[turn.Thread].turn == turn.ID && turn.ID != ""
	delete(e.lent, turn.Thread)
	return had
}
