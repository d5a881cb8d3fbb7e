package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"
	"unicode"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/memory"
	"ash/agent/memory/lexis"
	"ash/agent/memory/recall"
)

// spokenRow is a message on its way into the index.
type spokenRow struct {
	Seq     int64      `bun:"seq"`
	ID      agent.ID   `bun:"id"`
	Thread  agent.ID   `bun:"thread"`
	Role    agent.Role `bun:"role"`
	Created int64      `bun:"created"`
	Labels  string     `bun:"labels"`
	Parts   string     `bun:"parts"`
	Author  string     `bun:"author"`
	Speaker string     `bun:"speaker"` // as an import gave it
	Said    string     `bun:"said"`
	Masked  bool       `bun:"masked"`
}

// sittings knows, for each thread, the sitting that its last message belongs to.
type sittings map[agent.ID]sat

type sat struct {
	Section int64  `bun:"section"`
	Time    int64  `bun:"time"`
	said    string // of one whose time nobody knows
}

// builtIn is the provider of the model that is built in.
const builtIn = "offline"

// indexMessages makes the items of messages that have none, oldest first, and moves the floor below
// which there is nothing left to do: messages that are still being written keep it down. What the built-in model says is no memory:
// it quotes what is stored, and would come back as an echo of it.
func indexMessages(ctx context.Context, tx bun.IDB, limit int) (bool, error) {
	var rows []spokenRow
	err := fixed(tx, `SELECT m.seq, m.id, m.thread, m.role, m.created, m.labels, m.parts, ifnull(p.display_name, '') AS author,
			ifnull(o.speaker, '') AS speaker, ifnull(o.said, '') AS said,
			EXISTS (SELECT 1 FROM message_masks k WHERE k.message = m.id) AS masked
		FROM messages m LEFT JOIN persons p ON p.id = m.author LEFT JOIN message_origins o ON o.message = m.id
		WHERE m.seq > (SELECT floor FROM recall_state) AND m.state NOT IN ('open', 'queued') AND NOT (m.role = 'assistant' AND m.provider = ?2)
			AND NOT EXISTS (SELECT 1 FROM recall_items i WHERE i.kind = 'message' AND i.ref = m.id AND i.part = 0)
		ORDER BY m.seq LIMIT ?1`, limit, builtIn).Scan(ctx, &rows)
	if err != nil {
		return false, err
	}
	seen, came, items := sittings{}, taints{}, make([]recall.Item, len(rows))
	for i, r := range rows {
		it, err := seen.item(ctx, tx, r)
		if err != nil {
			return false, err
		}
		if r.Role == agent.RoleAssistant {
			labels, err := came.before(ctx, tx, r.Thread, r.Seq)
			if err != nil {
				return false, err
			}
			it.Labels = it.Labels.Union(labels)
		}
		items[i] = it
	}
	if err := putItems(ctx, tx, items); err != nil {
		return false, err
	}
	if len(rows) == limit {
		_, err = fixed(tx, `UPDATE recall_state SET floor = max(floor, min(?1,
			ifnull((SELECT min(seq) - 1 FROM messages WHERE state IN ('open', 'queued')), ?1)))`, rows[limit-1].Seq).Exec(ctx)
		return true, err
	}
	_, err = fixed(tx, `UPDATE recall_state SET floor = ifnull((SELECT min(seq) - 1 FROM messages WHERE state IN ('open', 'queued')),
		(SELECT ifnull(max(seq), 0) FROM messages)) WHERE ?1`, true).Exec(ctx)
	return false, err
}

// item makes the item of a message.
func (s sittings) item(ctx context.Context, tx bun.IDB, r spokenRow) (recall.Item, error) {
	parts, err := decodeParts(r.Parts)
	if err != nil {
		return recall.Item{}, err
	}
	labels, err := decodeLabels(r.Labels)
	if err != nil {
		return recall.Item{}, err
	}
	it := recall.Item{
		Kind: agent.MemoryMessage, Ref: string(r.ID), Thread: r.Thread, Place: r.Seq, Time: fromMicros(r.Created),
		Speaker: r.speaker(), Labels: labels, Text: agent.Message{Parts: parts}.Text(),
	}
	if r.Said != "" {
		if _, known := lexis.Said(r.Said); !known {
			it.Time = time.Time{}
		}
	}
	if r.Masked {
		if it.Text, err = unmasked(ctx, tx, r.ID, it.Text); err != nil {
			return recall.Item{}, err
		}
	}
	it.Text = strings.ReplaceAll(it.Text, memory.Blank, "…") // nobody is to find it by the word for that
	if !strings.ContainsFunc(it.Text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
		it.Text = "" // nor by its neighbours
	}
	it.Section, err = s.section(ctx, tx, it, r.Said)
	return it, err
}

func (r spokenRow) speaker() string {
	switch {
	case r.Speaker != "":
		return r.Speaker
	case r.Role == agent.RoleAssistant:
		return "Ash"
	}
	return r.Author
}

// section returns the place at which the sitting of an item began.
func (s sittings) section(ctx context.Context, tx bun.IDB, it recall.Item, said string) (int64, error) {
	last, known := s[it.Thread]
	if !known {
		err := fixed(tx, `SELECT section, time FROM recall_items WHERE thread = ?1 AND place < ?2 ORDER BY place DESC LIMIT 1`,
			it.Thread, it.Place).Scan(ctx, &last)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return 0, err
		}
	}
	at := micros(it.Time)
	apart := at - last.Time
	same := last.Section != 0 && apart <= sitting.Microseconds() && apart >= -sitting.Microseconds()
	if at == 0 {
		same = last.Section != 0 && last.Time == 0 && (last.said == said || last.said == "")
	}
	if !same {
		last.Section = it.Place
	}
	last.Time, last.said = at, said
	s[it.Thread] = last
	return last.Section, nil
}

// unmasked returns a text without the passages that may not be shown.
func unmasked(ctx context.Context, tx bun.IDB, message agent.ID, text string) (string, error) {
	var passages []string
	if err := fixed(tx, `SELECT passage FROM message_masks WHERE message = ?1 ORDER BY passage`, message).Scan(ctx, &passages); err != nil {
		return "", err
	}
	masks := make([]agent.Mask, len(passages))
	for i, p := range passages {
		masks[i] = agent.Mask{Message: message, Passage: p}
	}
	shown := memory.Masked(agent.Message{ID: message, Parts: []agent.Part{agent.Text{Text: text}}}, masks).Text()
	return shown, nil
}
