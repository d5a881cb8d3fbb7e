package agent

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"
)

// The answer to a message is opened together with it, and the model is asked while both are on their way to
// the disk: the person waits for the slower of the two instead of for both. Nothing of it is told, and no tool runs, before they are
// stored; if they are not, the request to the model ends and nothing has happened.

// begun is a reply that is opened together with the message it answers, and who writes it.
type begun struct {
	message Message
	model   Model
	info    ModelInfo
	opening *opening // while it is being stored; nil once it is
}

// begins prepares the reply to a message that is about to be stored in thread. It returns nil when no model can be had for it: the message is
// stored all the same, and its turn says why.
func (e *Engine) begins(ctx context.Context, thread Thread) *begun {
	b := &begun{message: e.newReply(Tail{})}
	_, err := protected(e, "picking a model", thread.ID, func() (none struct{}, err error) {
		b.model, b.info, err = e.Models.Pick(ctx, thread.Model)
		return none, err
	})
	if err != nil {
		return nil
	}
	b.message.Thread, b.message.Parent, b.message.Turn, b.message.Model = thread.ID, NewID(), NewID(), b.info.Ref
	return b
}

// expect waits for the reply to be stored together with its message.
func (b *begun) expect(e *Engine) *opening {
	o := e.expect(b.message)
	o.alone = true
	return o
}

// errNotPosted ends what was begun for a message that was not stored, or not as it was expected.
var errNotPosted = errors.New("the message was not stored")

// early is a turn that is being advanced while the message it answers is on its way into the store.
type early struct {
	advancing
	opening *opening
	tail    Tail // as it will be
}

// askEarly has the model asked before m is stored. It returns nil where m may be refused, or be stored other than as it is known: the turn then
// begins when the message is stored.
func (c *conversation) askEarly(tail Tail, above *ahead, b *begun, m NewMessage) *early {
	if !tail.Thread.Deleted.IsZero() || len(tail.Head.Calls) > 0 || !storedAsIs(m.Parts) {
		return nil
	}
	now := c.engine.Now()
	message := Message{
		ID: b.message.Parent, Thread: c.thread, Parent: tail.Thread.Head, Turn: b.message.Turn, Role: RoleUser, State: MessageComplete,
		Parts: m.Parts, Author: m.Author, Form: m.Form, Created: now, Finished: now,
	}
	turn := Turn{ID: b.message.Turn, Thread: c.thread, Trigger: message.ID, State: TurnRunning, Started: now}
	x := &early{opening: b.expect(c.engine), tail: Tail{Thread: tail.Thread, Turn: turn, Head: message}}
	x.tail.Thread.Head = message.ID
	with := *b
	with.opening = x.opening
	x.advancing = c.advance(turn, &known{x.tail, above, &with})
	return x
}

// fits reports whether what was stored is what the model was asked about.
func (x *early) fits(p Posted) bool {
	return p.Reply != nil && p.Reply.ID == x.opening.message.ID && p.Message.Parent == x.tail.Head.Parent && len(p.Superseded) == 0
}

// drop ends what was begun for nothing. A nil early has nothing to end.
func (x *early) drop() {
	if x != nil {
		x.cancel(errNotPosted)
		x.opening.stored(errNotPosted)
	}
}

// storedAsIs reports whether the store will keep parts exactly as they are.
func storedAsIs(parts []Part) bool {
	for _, p := range parts {
		t, ok := p.(Text)
		if !ok || !utf8.ValidString(t.Text) || strings.ContainsRune(t.Text, 0) {
			return false
		}
	}
	return true
}
