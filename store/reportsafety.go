package store

import (
	"context"
	"encoding/json"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/audit"
)

// AddAuditReport keeps a report of the audit.
func (s *Store) AddAuditReport(ctx context.Context, r audit.Report) error {
	return s.addReport(ctx, r.ID, reportSafety, r.At, r)
}

// AuditReports returns the reports of the audit that are kept, the newest first.
func (s *Store) AuditReports(ctx context.Context) ([]audit.Report, error) {
	var rows []reportRow
	if err := fixed(s.reader, `SELECT * FROM reports WHERE kind = ?1 ORDER BY seq DESC LIMIT ?2`, reportSafety, keptReports).Scan(ctx, &rows); err != nil {
		return nil, s.translate(err)
	}
	list := make([]audit.Report, len(rows))
	for i, row := range rows {
		if err := readReport(row.Body, &list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// AuditReport returns a report of the audit. CodeNotFound when it is not kept.
func (s *Store) AuditReport(ctx context.Context, id agent.ID) (r audit.Report, err error) {
	var row reportRow
	if err := fixed(s.reader, `SELECT * FROM reports WHERE kind = ?1 AND id = ?2`, reportSafety, id).Scan(ctx, &row); err != nil {
		return r, s.translate(err)
	}
	return r, readReport(row.Body, &r)
}

// ChangeAuditReport has change alter a kept report, in one step. CodeNotFound when it is not kept.
func (s *Store) ChangeAuditReport(ctx context.Context, id agent.ID, change func(r *audit.Report)) error {
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		var row reportRow
		if err := fixed(tx, `SELECT * FROM reports WHERE kind = ?1 AND id = ?2`, reportSafety, id).Scan(ctx, &row); err != nil {
			return err
		}
		var r audit.Report
		if err := readReport(row.Body, &r); err != nil {
			return err
		}
		change(&r)
		text, err := json.Marshal(r)
		if err != nil {
			return agent.Wrap(agent.CodeInternal, err, "The report cannot be written.")
		}
		_, err = fixed(tx, `UPDATE reports SET body = ?2 WHERE id = ?1`, id, clean(string(text))).Exec(ctx)
		return err
	})
}
