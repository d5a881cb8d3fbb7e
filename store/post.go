package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"ash/agent"
)

// Post implements agent.TurnStore. It stands between a person's Enter and the
// first token: one transaction of four statements when nothing waits, five with an open reply.
func (s *Store) Post(ctx context.Context, m agent.NewMessage) (agent.Posted, error) {
	var posted agent.Posted
	err := s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		pl, err := placeOf(ctx, tx, m.Thread, m.Form)
		if err != nil {
			return err
		}
		if pl.Known != "" {
			posted, err = again(ctx, tx, pl)
			return err
		}
		if err := pl.open(); err != nil {
			return err
		}
		if pl.busy() {
			posted, err = pl.queue(ctx, tx, m)
			return err
		}
		if posted.Superseded, err = pl.closeCalls(ctx, tx, agent.CallSuperseded, pl.Head); err != nil {
			return err
		}
		if posted.Joined, err = pl.rest(ctx, tx); err != nil {
			return err
		}
		posted.Alone = !pl.Beside && len(posted.Joined) == 0
		return pl.begin(ctx, tx, m, pl.Head, &posted)
	})
	return posted, err
}

// Edit implements agent.TurnStore. Like Post it answers a known Form with the message stored then.
func (s *Store) Edit(ctx context.Context, old agent.ID, m agent.NewMessage) (agent.Posted, error) {
	var posted agent.Posted
	err := s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		pl, err := placeOf(ctx, tx, m.Thread, m.Form)
		if err != nil {
			return err
		}
		if pl.Known != "" {
			posted, err = again(ctx, tx, pl)
			return err
		}
		if err := pl.open(); err != nil {
			return err
		}
		if posted.Joined, err = pl.rest(ctx, tx); err != nil {
			return err
		}
		var row messageRow
		if err := tx.NewSelect().Model(&row).Column("id", "parent", "role").
			Where("id = ? AND thread = ?", old, m.Thread).Scan(ctx); err != nil {
			return err
		}
		if row.Role != agent.RoleUser {
			return agent.Errorf(agent.CodeInvalid, "Only your own messages can be edited.")
		}
		if posted.Superseded, err = pl.cancelOff(ctx, tx, row.Parent); err != nil {
			return err
		}
		return pl.begin(ctx, tx, m, row.Parent, &posted)
	})
	return posted, err
}

// again answers a form that was stored before.
func again(ctx context.Context, tx bun.IDB, pl place) (agent.Posted, error) {
	m, err := messageByID(ctx, tx, pl.Known)
	if err != nil {
		return agent.Posted{}, err
	}
	posted := agent.Posted{Message: m, Again: true}
	if m.Turn != "" {
		posted.Turn, err = turnByID(ctx, tx, m.Turn)
	} else if pl.Turn != "" {
		posted.Turn, err = turnByID(ctx, tx, pl.Turn)
	}
	return posted, err
}

// queue stores a message that waits for the end of the running turn.
func (pl *place) queue(ctx context.Context, tx bun.IDB, m agent.NewMessage) (agent.Posted, error) {
	posted := agent.Posted{Message: ownMessage(m)}
	posted.Message.State = agent.MessageQueued
	if err := insertMessage(ctx, tx, posted.Message); err != nil {
		return agent.Posted{}, err
	}
	turn, err := turnByID(ctx, tx, pl.Turn)
	posted.Turn = turn
	return posted, err
}

// begin stores a message below parent, makes it the head, and begins the turn that answers it.
func (pl *place) begin(ctx context.Context, tx bun.IDB, m agent.NewMessage, parent agent.ID, posted *agent.Posted) error {
	message := ownMessage(m)
	turn := agent.Turn{
		ID: agent.NewID(), Thread: pl.Thread, Trigger: message.ID, State: agent.TurnRunning, Started: message.Created,
	}
	if m.Reply != nil {
		message.ID, turn.ID, turn.Trigger = m.Reply.Parent, m.Reply.Turn, m.Reply.Parent
		at := m.Reply.Created.UTC().Truncate(time.Microsecond) // not after the reply: pages put in order by it
		message.Created, message.Finished, turn.Started = at, at, at
	}
	message.Parent, message.Turn = parent, turn.ID
	if err := insertMessage(ctx, tx, message); err != nil {
		return err
	}
	if err := insertTurn(ctx, tx, turn); err != nil {
		return err
	}
	posted.Message, posted.Turn = message, turn
	head := message.ID
	if m.Reply != nil {
		reply, err := insertReply(ctx, tx, *m.Reply)
		if err != nil {
			return err
		}
		posted.Reply, head = &reply, reply.ID
	}
	if err := pl.moveHead(ctx, tx, head); err != nil || m.Title == "" {
		return err
	}
	return pl.name(ctx, tx, m.Title)
}

// name gives a thread that has none a title made of words said in it.
func (pl *place) name(ctx context.Context, tx bun.IDB, title string) error {
	title = clean(title)
	if err := checkTitle(title); err != nil {
		return err
	}
	_, err := fixed(tx, `UPDATE threads SET title = ?2, title_source = ?3, search_title = ?4 WHERE id = ?1 AND title_source = ''`,
		pl.Thread, title, agent.TitleWords, searchable(title)).Exec(ctx)
	return err
}

// ownMessage makes the person's message of what they sent, cleaned, so that what Post
// returns is what will be read back.
func ownMessage(m agent.NewMessage) agent.Message {
	at := now()
	return agent.Message{
		ID: agent.NewID(), Thread: m.Thread, Role: agent.RoleUser, State: agent.MessageComplete,
		Parts: cleanParts(m.Parts), Author: m.Author, Form: clean(m.Form), Created: at, Finished: at,
	}
}
