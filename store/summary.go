package store

import (
	"context"

	"github.com/uptrace/bun"

	"ash/agent"
)

type summaryRow struct {
	bun.BaseModel `bun:"table:summaries,alias:s"`

	Seq      int64    `bun:"seq,pk,autoincrement"`
	ID       agent.ID `bun:"id"`
	Thread   agent.ID `bun:"thread"`
	From     agent.ID `bun:"from_message"`
	To       agent.ID `bun:"to_message"`
	Provider string   `bun:"provider"`
	Model    string   `bun:"model"`
	usageColumns
	Disabled bool   `bun:"disabled"`
	Created  int64  `bun:"created"`
	Labels   string `bun:"labels"`
	Text     string `bun:"text"`
}

func toSummary(s agent.Summary) (summaryRow, error) {
	labels, err := encodeLabels(s.Labels)
	return summaryRow{
		ID: s.ID, Thread: s.Thread, From: s.From, To: s.To,
		Provider: clean(s.Model.Provider), Model: clean(s.Model.Name), usageColumns: toUsage(s.Usage),
		Disabled: s.Disabled, Created: micros(s.Created), Labels: labels, Text: clean(s.Text),
	}, err
}

func fromSummary(r summaryRow) (agent.Summary, error) {
	labels, err := decodeLabels(r.Labels)
	return agent.Summary{
		ID: r.ID, Thread: r.Thread, From: r.From, To: r.To, Text: r.Text, Labels: labels,
		Model: agent.ModelRef{Provider: r.Provider, Name: r.Model}, Usage: fromUsage(r.usageColumns),
		Disabled: r.Disabled, Created: fromMicros(r.Created),
	}, err
}

// Summaries implements agent.HistoryStore. An unknown thread has none.
func (s *Store) Summaries(ctx context.Context, thread agent.ID) ([]agent.Summary, error) {
	var rows []summaryRow
	if err := fixed(s.reader, `SELECT * FROM summaries WHERE thread = ?1 ORDER BY seq DESC`, thread).Scan(ctx, &rows); err != nil {
		return nil, s.translate(err)
	}
	list := make([]agent.Summary, len(rows))
	for i, row := range rows {
		one, err := fromSummary(row)
		if err != nil {
			return nil, s.translate(err)
		}
		list[i] = one
	}
	return list, nil
}

// AddSummary implements agent.HistoryStore. A summary whose id is known replaces its Disabled only:
// what was summarised does not change afterwards.
func (s *Store) AddSummary(ctx context.Context, sum agent.Summary) error {
	sum.Created = orNow(sum.Created)
	row, err := toSummary(sum)
	if err != nil {
		return s.translate(err)
	}
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		_, err := tx.NewInsert().Model(&row).On("CONFLICT (id) DO UPDATE").Set("disabled = excluded.disabled").
			Returning("NULL").Exec(ctx)
		return err
	})
}
