package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/doctor"
)

// The kinds of report.
const (
	reportHealth = "health"
	reportSafety = "safety"
)

// keptReports is how many reports of a kind are kept.
const keptReports = 30

type reportRow struct {
	bun.BaseModel `bun:"table:reports,alias:r"`

	Seq  int64    `bun:"seq,pk,autoincrement"`
	ID   agent.ID `bun:"id"`
	Kind string   `bun:"kind"`
	At   int64    `bun:"at"`
	Body string   `bun:"body"`
}

// AddHealthReport keeps a report of the doctor.
func (s *Store) AddHealthReport(ctx context.Context, r doctor.Report) error {
	return s.addReport(ctx, agent.NewID(), reportHealth, r.At, r)
}

// LastHealthReport returns the newest report of the doctor; false when there is none.
func (s *Store) LastHealthReport(ctx context.Context) (r doctor.Report, found bool, err error) {
	var rows []reportRow
	if err := fixed(s.reader, `SELECT * FROM reports WHERE kind = ?1 ORDER BY seq DESC LIMIT 1`, reportHealth).Scan(ctx, &rows); err != nil {
		return r, false, s.translate(err)
	}
	if len(rows) == 0 {
		return r, false, nil
	}
	return r, true, readReport(rows[0].Body, &r)
}

// addReport keeps a report and drops those that are older than the newest keptReports of its kind.
func (s *Store) addReport(ctx context.Context, id agent.ID, kind string, at time.Time, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return agent.Wrap(agent.CodeInternal, err, "The report cannot be written.")
	}
	row := reportRow{ID: id, Kind: kind, At: micros(at), Body: clean(string(text))}
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		if _, err := tx.NewInsert().Model(&row).ExcludeColumn("seq").Returning("NULL").Exec(ctx); err != nil {
			return err
		}
		_, err := fixed(tx, `DELETE FROM reports WHERE kind = ?1 AND seq NOT IN
			(SELECT seq FROM reports WHERE kind = ?1 ORDER BY seq DESC LIMIT ?2)`, kind, keptReports).Exec(ctx)
		return err
	})
}

func readReport(body string, into any) error {
	if err := json.Unmarshal([]byte(body), into); err != nil {
		return agent.Wrap(agent.CodeInternal, err, "A report that was kept cannot be read.")
	}
	return nil
}
