package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"ash/agent"
)

type messageRow struct {
	bun.BaseModel `bun:"table:messages,alias:m"`

	Seq      int64              `bun:"seq,pk,autoincrement"`
	ID       agent.ID           `bun:"id"`
	Thread   agent.ID           `bun:"thread"`
	Parent   agent.ID           `bun:"parent,nullzero"`
	Turn     agent.ID           `bun:"turn,nullzero"`
	Role     agent.Role         `bun:"role"`
	State    agent.MessageState `bun:"state"`
	Author   agent.ID           `bun:"author,nullzero"`
	Form     string             `bun:"form,nullzero"`
	Provider string             `bun:"provider"`
	Model    string             `bun:"model"`
	usageColumns
	Stop          agent.StopReason `bun:"stop"`
	FailureCode   agent.Code       `bun:"failure_code"`
	FailurePublic string           `bun:"failure_public"`
	FailureNeed   agent.Need       `bun:"failure_need"`
	CoveredBoot   string           `bun:"covered_boot"`
	CoveredSeq    int64            `bun:"covered_seq"`
	Created       int64            `bun:"created"`
	Finished      int64            `bun:"finished"`
	Preview       string           `bun:"preview"`
	Labels        string           `bun:"labels"`
	Parts         string           `bun:"parts"`
	SearchText    string           `bun:"search_text"`
}

// toMessage makes the row of a message. The text of an open reply lies in
// reply_progress; it becomes searchable when the reply is closed.
func toMessage(m agent.Message) (messageRow, error) {
	parts, err := encodeParts(m.Parts)
	if err != nil {
		return messageRow{}, err
	}
	labels, err := encodeLabels(m.Labels())
	if err != nil {
		return messageRow{}, err
	}
	row := messageRow{
		ID: m.ID, Thread: m.Thread, Parent: m.Parent, Turn: m.Turn, Role: m.Role, State: m.State,
		Author: m.Author, Form: clean(m.Form), Provider: clean(m.Model.Provider), Model: clean(m.Model.Name),
		usageColumns: toUsage(m.Usage), Stop: m.Stop,
		CoveredBoot: clean(m.Covered.Boot), CoveredSeq: int64(m.Covered.Seq),
		Created: micros(m.Created), Finished: micros(m.Finished), Labels: labels, Parts: parts,
	}
	if m.Error != nil {
		row.FailureCode, row.FailurePublic, row.FailureNeed = m.Error.Code, clean(m.Error.Public), m.Error.Need
	}
	if m.State != agent.MessageOpen {
		text := clean(m.Text())
		row.Preview, row.SearchText = preview(text), searchable(text)
	}
	return row, nil
}

func fromMessage(r messageRow) (agent.Message, error) {
	parts, err := decodeParts(r.Parts)
	if err != nil {
		return agent.Message{}, fmt.Errorf("message %s: %w", r.ID, err)
	}
	m := agent.Message{
		ID: r.ID, Thread: r.Thread, Parent: r.Parent, Turn: r.Turn, Role: r.Role, State: r.State,
		Parts: parts, Author: r.Author, Form: r.Form,
		Model: agent.ModelRef{Provider: r.Provider, Name: r.Model}, Usage: fromUsage(r.usageColumns), Stop: r.Stop,
		Created: fromMicros(r.Created), Finished: fromMicros(r.Finished),
		Covered: agent.EventID{Boot: r.CoveredBoot, Seq: uint64(r.CoveredSeq)},
	}
	if r.FailureCode != "" {
		m.Error = &agent.Failure{Code: r.FailureCode, Public: r.FailurePublic, Need: r.FailureNeed}
	}
	return m, nil
}

// Message implements agent.Reader.
func (s *Store) Message(ctx context.Context, id agent.ID) (agent.Message, error) {
	var m agent.Message
	err := s.read(ctx, func(ctx context.Context, tx bun.IDB) (err error) {
		m, err = messageByID(ctx, tx, id)
		return err
	})
	return m, err
}

func messageByID(ctx context.Context, db bun.IDB, id agent.ID) (agent.Message, error) {
	var row messageRow
	if err := fixed(db, `SELECT * FROM messages WHERE id = ?1`, id).Scan(ctx, &row); err != nil {
		return agent.Message{}, err
	}
	list, err := complete(ctx, db, []messageRow{row})
	if err != nil {
		return agent.Message{}, err
	}
	return list[0], nil
}

// complete turns rows into messages with their calls and, for open replies, the text written so far, without
// what is hidden at the moment. It costs at most three queries.
func complete(ctx context.Context, db bun.IDB, rows []messageRow) ([]agent.Message, error) {
	list := make([]agent.Message, len(rows))
	var replies, open []agent.ID
	for i, row := range rows {
		m, err := fromMessage(row)
		if err != nil {
			return nil, err
		}
		list[i] = m
		if m.State == agent.MessageOpen {
			open = append(open, m.ID)
		} else if slices.ContainsFunc(m.Parts, isToolUse) {
			replies = append(replies, m.ID)
		}
	}
	calls, err := callsOf(ctx, db, replies)
	if err != nil {
		return nil, err
	}
	progress, err := progressOf(ctx, db, open)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Calls = calls[list[i].ID]
		if p, ok := progress[list[i].ID]; ok {
			labels, err := decodeLabels(rows[i].Labels)
			if err != nil {
				return nil, err
			}
			p.applyTo(&list[i], labels)
		}
	}
	return list, mask(ctx, db, list)
}

func isToolUse(p agent.Part) bool {
	_, ok := p.(agent.ToolUse)
	return ok
}

// insertMessage stores a message and what it refers to.
func insertMessage(ctx context.Context, tx bun.IDB, m agent.Message) error {
	row, err := toMessage(m)
	if err != nil {
		return err
	}
	if err := insertRow(ctx, tx, &row); err != nil {
		return err
	}
	return noteAttachments(ctx, tx, m.ID, m.Parts)
}
