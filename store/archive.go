package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/memory/archive"
	"ash/agent/memory/lexis"
)

// importChannel is where imported threads and their speakers are from.
const importChannel = "import"

type originRow struct {
	bun.BaseModel `bun:"table:message_origins,alias:o"`

	Message  agent.ID `bun:"message"`
	Archive  string   `bun:"archive"`
	External string   `bun:"external"`
	Speaker  string   `bun:"speaker"`
	Said     string   `bun:"said"`
}

// ImportMessages implements archive.Keeper: it stores messages of an archive in one transaction, each below the one before it in its
// thread, and returns how many were new. What was imported before, by thread and id, is left as it is.
func (s *Store) ImportMessages(ctx context.Context, list []archive.Message) (added int, err error) {
	err = s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		in := &importing{threads: map[string]*importedThread{}, persons: map[string]agent.ID{}, held: map[string]bool{}, at: now()}
		for _, m := range list {
			ok, err := in.message(ctx, tx, m)
			if err != nil {
				return err
			}
			if ok {
				added++
			}
		}
		return in.finish(ctx, tx)
	})
	if err != nil {
		return 0, err
	}
	return added, nil
}

// importing is one transaction of an import.
type importing struct {
	threads map[string]*importedThread
	order   []*importedThread
	persons map[string]agent.ID // by name as it is compared
	owner   agent.Person
	at      time.Time

	rows    []messageRow // not stored yet, with their origins
	origins []originRow
	held    map[string]bool // those of rows, by thread and id
}

// importBatch is how many messages are stored in one statement.
const importBatch = 250

// importedThread is a thread that messages are added to.
type importedThread struct {
	ID      agent.ID `bun:"id"`
	Head    agent.ID `bun:"head"`
	Updated int64    `bun:"updated"`
	changed bool
}

// message stores one message, unless it is there.
func (in *importing) message(ctx context.Context, tx bun.IDB, m archive.Message) (bool, error) {
	label, external := importChannel+":"+clean(m.Thread), clean(m.ID)
	if in.held[label+"\x00"+external] {
		return false, nil
	}
	var known int
	if err := fixed(tx, `SELECT count(*) FROM message_origins WHERE archive = ?1 AND external = ?2`, label, external).Scan(ctx, &known); err != nil || known > 0 {
		return false, err
	}
	at, dated := lexis.Said(m.Time)
	if !dated {
		at = in.at
	}
	t, err := in.thread(ctx, tx, m, at)
	if err != nil {
		return false, err
	}
	author, own, err := in.author(ctx, tx, m)
	if err != nil {
		return false, err
	}
	var labels agent.Labels
	if !own {
		labels = agent.Labels{{Source: agent.Clip(label, 256), Kind: agent.LabelUntrusted}}
	}
	message := agent.Message{
		ID: agent.NewID(), Thread: t.ID, Parent: t.Head, Role: agent.RoleUser, State: agent.MessageComplete, Author: author,
		Parts: []agent.Part{agent.Text{Text: clean(m.Text), Labels: labels}}, Created: at, Finished: at,
	}
	if m.Assistant {
		message.Role = agent.RoleAssistant
	}
	row, err := toMessage(message)
	if err != nil {
		return false, err
	}
	t.Head, t.changed, t.Updated = message.ID, true, max(t.Updated, micros(at))
	origin := originRow{Message: message.ID, Archive: label, External: external, Speaker: clean(m.Speaker), Said: clean(m.Time)}
	if m.Owner {
		origin.Speaker = "" // the owner has a name of their own
	}
	in.rows, in.origins, in.held[label+"\x00"+external] = append(in.rows, row), append(in.origins, origin), true
	if len(in.rows) < importBatch {
		return true, nil
	}
	return true, in.store(ctx, tx)
}

// store stores the messages that wait for it.
func (in *importing) store(ctx context.Context, tx bun.IDB) error {
	if err := insertRows(ctx, tx, in.rows); err != nil {
		return err
	}
	if err := insertRows(ctx, tx, in.origins); err != nil {
		return err
	}
	in.rows, in.origins = in.rows[:0], in.origins[:0]
	clear(in.held)
	return nil
}

// author returns who said a message, "" for an assistant, and whether it counts as the owner's own words.
func (in *importing) author(ctx context.Context, tx bun.IDB, m archive.Message) (agent.ID, bool, error) {
	switch {
	case m.Assistant:
		return "", false, nil
	case m.Owner:
		owner, err := in.self(ctx, tx)
		return owner.ID, m.Own, err
	}
	return in.person(ctx, tx, m.Speaker)
}

// thread finds or makes the thread of a message.
func (in *importing) thread(ctx context.Context, tx bun.IDB, m archive.Message, at time.Time) (*importedThread, error) {
	name := clean(m.Thread)
	if t := in.threads[name]; t != nil {
		return t, nil
	}
	t := &importedThread{}
	err := fixed(tx, `SELECT id, ifnull(head, '') AS head, updated FROM threads WHERE channel = ?1 AND external_id = ?2`, importChannel, name).Scan(ctx, t)
	if errors.Is(err, sql.ErrNoRows) {
		t, err = in.newThread(ctx, tx, m, at)
	}
	if err != nil {
		return nil, err
	}
	in.threads[name] = t
	in.order = append(in.order, t)
	return t, nil
}

func (in *importing) newThread(ctx context.Context, tx bun.IDB, m archive.Message, at time.Time) (*importedThread, error) {
	owner, err := in.self(ctx, tx)
	if err != nil {
		return nil, err
	}
	title := m.Title
	if title == "" {
		title = m.Thread
	}
	if runes := []rune(title); len(runes) > maxTitle {
		title = string(runes[:maxTitle])
	}
	row, err := toThread(agent.Thread{
		ID: agent.NewID(), Title: title, TitleSource: agent.TitleWords, Created: at, Updated: at,
		Origin: agent.Origin{Channel: importChannel, ExternalID: m.Thread, Person: owner.ID},
	})
	if err != nil {
		return nil, err
	}
	return &importedThread{ID: row.ID, Updated: row.Updated}, insertRow(ctx, tx, &row)
}

// self returns the owner.
func (in *importing) self(ctx context.Context, tx bun.IDB) (agent.Person, error) {
	if in.owner.ID != "" {
		return in.owner, nil
	}
	var row personRow
	if err := fixed(tx, `SELECT * FROM persons WHERE owner = ?1`, 1).Scan(ctx, &row); err != nil {
		return agent.Person{}, err
	}
	in.owner = fromPerson(row, nil)
	return in.owner, nil
}

// person finds or makes the person of a speaker's name, and says whether it is the owner.
func (in *importing) person(ctx context.Context, tx bun.IDB, speaker string) (agent.ID, bool, error) {
	owner, err := in.self(ctx, tx)
	if err != nil {
		return "", false, err
	}
	key := strings.ToLower(strings.TrimSpace(clean(speaker)))
	if owner.DisplayName != "" && key == strings.ToLower(owner.DisplayName) {
		return owner.ID, true, nil
	}
	if id, ok := in.persons[key]; ok {
		return id, id == owner.ID, nil
	}
	var id agent.ID
	err = fixed(tx, `SELECT person FROM person_channels WHERE channel = ?1 AND external_id = ?2`, importChannel, key).Scan(ctx, &id)
	if errors.Is(err, sql.ErrNoRows) {
		id = agent.NewID()
		row := personRow{ID: id, DisplayName: clean(speaker), Created: micros(in.at)}
		if err = insertRow(ctx, tx, &row); err == nil {
			err = insertRow(ctx, tx, &channelRow{Channel: importChannel, ExternalID: key, Person: id})
		}
	}
	if err != nil {
		return "", false, err
	}
	in.persons[key] = id
	return id, id == owner.ID, nil
}

// finish stores what is left and moves the heads.
func (in *importing) finish(ctx context.Context, tx bun.IDB) error {
	if err := in.store(ctx, tx); err != nil {
		return err
	}
	for _, t := range in.order {
		if !t.changed {
			continue
		}
		if _, err := fixed(tx, `UPDATE threads SET head = ?2, updated = ?3 WHERE id = ?1`, t.ID, t.Head, t.Updated).Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}
