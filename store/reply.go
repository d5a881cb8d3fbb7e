package store

import (
	"context"
	"strings"

	"github.com/uptrace/bun"

	"ash/agent"
)

// progressRow is a piece of an open reply. Pieces are only ever appended, so that
// saving a reply as it grows costs what is new, however long it is.
type progressRow struct {
	bun.BaseModel `bun:"table:reply_progress,alias:p"`

	Message     agent.ID `bun:"message,pk"`
	N           int      `bun:"n,pk"`
	Text        string   `bun:"text"`
	Thinking    string   `bun:"thinking"`
	CoveredBoot string   `bun:"covered_boot"`
	CoveredSeq  int64    `bun:"covered_seq"`
}

// progress is what was stored of an open reply.
type progress struct {
	text, thinking strings.Builder
	covered        agent.EventID
}

// applyTo completes an open message as it is shown and recovered.
func (p *progress) applyTo(m *agent.Message, labels agent.Labels) {
	if p.thinking.Len() > 0 {
		m.Parts = append(m.Parts, agent.Thinking{Text: p.thinking.String(), Model: m.Model, Labels: labels})
	}
	if p.text.Len() > 0 {
		m.Parts = append(m.Parts, agent.Text{Text: p.text.String(), Labels: labels})
	}
	m.Covered = p.covered
}

func progressOf(ctx context.Context, db bun.IDB, open []agent.ID) (map[agent.ID]*progress, error) {
	if len(open) == 0 {
		return nil, nil
	}
	var rows []progressRow
	err := db.NewSelect().Model(&rows).Where("message IN (?)", bun.List(open)).Order("message", "n").Scan(ctx)
	if err != nil {
		return nil, err
	}
	of := map[agent.ID]*progress{}
	for _, row := range rows {
		p := of[row.Message]
		if p == nil {
			p = &progress{}
			of[row.Message] = p
		}
		p.text.WriteString(row.Text)
		p.thinking.WriteString(row.Thinking)
		p.covered = agent.EventID{Boot: row.CoveredBoot, Seq: uint64(row.CoveredSeq)}
	}
	return of, nil
}

// OpenReply implements agent.ReplyStore. The labels of m.Parts count for the text that follows.
func (s *Store) OpenReply(ctx context.Context, m agent.Message) error {
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		moved, err := fixed(tx, `UPDATE threads SET head = ?2, updated = ?3 WHERE id = ?1
				AND EXISTS (SELECT 1 FROM turns WHERE id = ?4 AND thread = ?1 AND state = 'running')
				AND EXISTS (SELECT 1 FROM messages WHERE id = ?5 AND thread = ?1)`,
			m.Thread, m.ID, micros(now()), m.Turn, m.Parent).Exec(ctx)
		if err != nil {
			return err
		}
		if !touched(moved) {
			return refuseReply(ctx, tx, m)
		}
		_, err = insertReply(ctx, tx, m)
		return err
	})
}

// insertReply stores an open reply and returns it as it will be read back. Its text comes in pieces; here it has none.
func insertReply(ctx context.Context, tx bun.IDB, m agent.Message) (agent.Message, error) {
	m.Role, m.State, m.Created = agent.RoleAssistant, agent.MessageOpen, orNow(m.Created)
	labels := m.Labels()
	m.Parts = nil
	row, err := toMessage(m)
	if err != nil {
		return agent.Message{}, err
	}
	if row.Labels, err = encodeLabels(labels); err != nil {
		return agent.Message{}, err
	}
	if err := insertRow(ctx, tx, &row); err != nil {
		return agent.Message{}, err
	}
	return fromMessage(row)
}

// refuseReply says why a reply could not be opened.
func refuseReply(ctx context.Context, tx bun.IDB, m agent.Message) error {
	turn, err := turnByID(ctx, tx, m.Turn)
	if err != nil {
		return err
	}
	if turn.Thread == m.Thread && turn.State != agent.TurnRunning {
		return agent.Errorf(agent.CodeConflict, "The turn was ended before the answer began.")
	}
	return errGone()
}

// SaveProgress implements agent.ReplyStore. Pieces of a reply that is closed by now are
// dropped: its end was stored whole.
func (s *Store) SaveProgress(ctx context.Context, list []agent.ReplyProgress) error {
	if len(list) == 0 {
		return nil
	}
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		for _, p := range list {
			stored, err := fixed(tx, `INSERT INTO reply_progress (message, n, text, thinking, covered_boot, covered_seq)
				SELECT id, (SELECT coalesce(max(n), 0) + 1 FROM reply_progress WHERE message = ?1), ?2, ?3, ?4, ?5
				FROM messages WHERE id = ?1 AND state = 'open'`,
				p.Message, clean(p.Text), clean(p.Thinking), clean(p.Covered.Boot), int64(p.Covered.Seq)).Exec(ctx)
			if err != nil {
				return err
			}
			if touched(stored) {
				continue
			}
			known, err := tx.NewSelect().Model((*messageRow)(nil)).Where("id = ?", p.Message).Exists(ctx)
			if err != nil {
				return err
			}
			if !known {
				return errGone()
			}
		}
		return nil
	})
}

// CloseReply implements agent.ReplyStore. CodeConflict when the reply is not open any more.
func (s *Store) CloseReply(ctx context.Context, m agent.Message) error {
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error { return closeReply(ctx, tx, m) })
}

func closeReply(ctx context.Context, tx bun.IDB, m agent.Message) error {
	if m.State == agent.MessageOpen || m.State == agent.MessageQueued {
		return agent.Errorf(agent.CodeInternal, "A reply cannot be closed as %s.", m.State)
	}
	var stored messageRow
	err := fixed(tx, `SELECT thread, turn, state FROM messages WHERE id = ?1`, m.ID).Scan(ctx, &stored)
	if err != nil {
		return err
	}
	if stored.State != agent.MessageOpen {
		return agent.Errorf(agent.CodeConflict, "This answer has already ended.")
	}
	m.Thread, m.Turn, m.Role, m.Finished = stored.Thread, stored.Turn, agent.RoleAssistant, orNow(m.Finished)
	row, err := toMessage(m)
	if err != nil {
		return err
	}
	err = updateRow(ctx, tx, &row, "state", "provider", "model", "input_tokens", "output_tokens", "cache_read_tokens",
		"cache_write_tokens", "cost", "first_token", "duration", "stop", "failure_code", "failure_public", "failure_need", "covered_boot",
		"covered_seq", "finished", "preview", "labels", "parts", "search_text")
	if err != nil {
		return err
	}
	if _, err := fixed(tx, `DELETE FROM reply_progress WHERE message = ?1`, m.ID).Exec(ctx); err != nil {
		return err
	}
	if err := noteAttachments(ctx, tx, m.ID, m.Parts); err != nil {
		return err
	}
	if err := insertCalls(ctx, tx, m); err != nil {
		return err
	}
	if len(m.Recalled) > 0 {
		if err := saveReceipt(ctx, tx, m.ID, m.Recalled); err != nil {
			return err
		}
	}
	if err := addRound(ctx, tx, m.Turn, m.Usage); err != nil {
		return err
	}
	_, err = fixed(tx, `UPDATE threads SET updated = ?2 WHERE id = ?1`, m.Thread, micros(now())).Exec(ctx)
	return err
}

// addRound adds a model call and its usage to a turn. The time to the first token stays that of the first call.
func addRound(ctx context.Context, tx bun.IDB, id agent.ID, u agent.Usage) error {
	c := toUsage(u)
	_, err := fixed(tx, `UPDATE turns SET rounds = rounds + 1, input_tokens = input_tokens + ?2, output_tokens = output_tokens + ?3,
			cache_read_tokens = cache_read_tokens + ?4, cache_write_tokens = cache_write_tokens + ?5, cost = cost + ?6,
			first_token = CASE first_token WHEN 0 THEN ?7 ELSE first_token END, duration = duration + ?8 WHERE id = ?1`,
		id, c.Input, c.Output, c.CacheRead, c.CacheWrite, c.Cost, c.FirstToken, c.Duration).Exec(ctx)
	return err
}
