package store

import (
	"context"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/memory"
)

var _ memory.Records = (*Store)(nil)

type memoryRunRow struct {
	bun.BaseModel `bun:"table:memory_runs,alias:r"`

	Seq      int64         `bun:"seq,pk,autoincrement"`
	ID       agent.ID      `bun:"id"`
	Kind     agent.RunKind `bun:"kind"`
	Thread   agent.ID      `bun:"thread,nullzero"`
	Through  agent.ID      `bun:"through,nullzero"`
	Provider string        `bun:"provider"`
	Model    string        `bun:"model"`
	usageColumns
	FailureCode   agent.Code `bun:"failure_code"`
	FailurePublic string     `bun:"failure_public"`
	Undone        int64      `bun:"undone"`
	Created       int64      `bun:"created"`
	Changes       string     `bun:"changes"`
}

func toMemoryRun(r agent.MemoryRun) (memoryRunRow, error) {
	changes, err := encodeChanges(r.Changes)
	row := memoryRunRow{
		ID: r.ID, Kind: r.Kind, Thread: r.Thread, Through: r.Through, Provider: clean(r.Model.Provider), Model: clean(r.Model.Name),
		usageColumns: toUsage(r.Usage), Undone: micros(r.Undone), Created: micros(r.Created), Changes: changes,
	}
	if r.Failure != nil {
		row.FailureCode, row.FailurePublic = r.Failure.Code, clean(r.Failure.Public)
	}
	return row, err
}

func fromMemoryRun(row memoryRunRow) (agent.MemoryRun, error) {
	changes, err := decodeChanges(row.Changes)
	r := agent.MemoryRun{
		ID: row.ID, Kind: row.Kind, Thread: row.Thread, Through: row.Through, Model: agent.ModelRef{Provider: row.Provider, Name: row.Model},
		Usage: fromUsage(row.usageColumns), Changes: changes, Undone: fromMicros(row.Undone), Created: fromMicros(row.Created),
	}
	if row.FailureCode != "" {
		r.Failure = &agent.Failure{Code: row.FailureCode, Public: row.FailurePublic}
	}
	return r, err
}

func insertRun(ctx context.Context, tx bun.IDB, r agent.MemoryRun) error {
	row, err := toMemoryRun(r)
	if err != nil {
		return err
	}
	return insertRow(ctx, tx, &row)
}

// markUndone notes that a run no longer stands; the second to undo it gets CodeConflict.
func markUndone(ctx context.Context, tx bun.IDB, id agent.ID) error {
	done, err := fixed(tx, `UPDATE memory_runs SET undone = ?2 WHERE id = ?1 AND undone = 0`, id, micros(now())).Exec(ctx)
	if err == nil && !touched(done) {
		return agent.Errorf(agent.CodeConflict, "This was already undone.")
	}
	return err
}

// MemoryRun implements memory.Records.
func (s *Store) MemoryRun(ctx context.Context, id agent.ID) (agent.MemoryRun, error) {
	var row memoryRunRow
	if err := fixed(s.reader, `SELECT * FROM memory_runs WHERE id = ?1`, id).Scan(ctx, &row); err != nil {
		return agent.MemoryRun{}, s.translate(err)
	}
	r, err := fromMemoryRun(row)
	return r, s.translate(err)
}

// LearnedThrough returns the newest run of learning over a thread, zero when there was none.
func (s *Store) LearnedThrough(ctx context.Context, thread agent.ID) (agent.MemoryRun, error) {
	var rows []memoryRunRow
	err := fixed(s.reader, `SELECT * FROM memory_runs WHERE thread = ?1 AND kind = 'learn' ORDER BY seq DESC LIMIT 1`, thread).Scan(ctx, &rows)
	if err != nil || len(rows) == 0 {
		return agent.MemoryRun{}, s.translate(err)
	}
	r, err := fromMemoryRun(rows[0])
	return r, s.translate(err)
}

// MemoryRuns implements memory.Records.
func (s *Store) MemoryRuns(ctx context.Context, kind agent.RunKind, after string, limit int) ([]agent.MemoryRun, string, error) {
	limit = min(max(limit, 1), maxPage)
	at := listPlace{seq: 1 << 62}
	if after != "" {
		var err error
		if at, err = parsePlace(after); err != nil {
			return nil, "", err
		}
	}
	var rows []memoryRunRow
	err := fixed(s.reader, `SELECT * FROM memory_runs WHERE seq < ?1 AND (?2 = '' OR kind = ?2) ORDER BY seq DESC LIMIT ?3`, at.seq, kind, limit+1).Scan(ctx, &rows)
	if err != nil {
		return nil, "", s.translate(err)
	}
	next := ""
	if len(rows) > limit {
		rows = rows[:limit]
		next = listPlace{0, rows[limit-1].Seq}.String()
	}
	page := make([]agent.MemoryRun, len(rows))
	for i, row := range rows {
		if page[i], err = fromMemoryRun(row); err != nil {
			return nil, "", s.translate(err)
		}
	}
	return page, next, nil
}
