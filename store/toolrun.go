package store

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/uptrace/bun"

	"ash/agent"
)

// What pages read of tool calls beyond the conversation they stand in.

// searchedRuns is how many calls one page of a search looks into: the next ones are looked into for the next page.
const searchedRuns = 2000

// HelperThread returns the thread of the helper that a call began, the newest should there be several; CodeNotFound when there
// is none.
func (s *Store) HelperThread(ctx context.Context, call agent.ID) (agent.Thread, error) {
	var row threadRow
	err := s.reader.NewSelect().Model(&row).Where("parent_call = ?", call).Order("seq DESC").Limit(1).Scan(ctx)
	if err != nil {
		return agent.Thread{}, s.translate(err)
	}
	t, err := fromThread(row)
	return t, s.translate(err)
}

// WaitingCalls returns the calls that wait for the person in any conversation that is not deleted, the
// oldest first, at most limit.
func (s *Store) WaitingCalls(ctx context.Context, limit int) ([]agent.ToolCall, error) {
	calls, err := selectCalls(ctx, s.reader.NewSelect().Where("state = 'waiting'").Where(alive).Order("seq").Limit(int64(max(limit, 1))))
	return calls, s.translate(err)
}

// CountWaiting counts the calls that wait for the person.
func (s *Store) CountWaiting(ctx context.Context) (int, error) {
	var n int
	err := s.reader.NewRaw(`SELECT count(*) FROM tool_calls AS c WHERE state = 'waiting' AND `+alive).Scan(ctx, &n)
	return n, s.translate(err)
}

// alive is the condition for a call whose conversation is not deleted.
const alive = `NOT EXISTS (SELECT 1 FROM threads AS t WHERE t.id = c.thread AND t.deleted <> 0)`

// Runs returns a page of the history of calls. The cost of a page is bounded, also while it searches for a text. CodeInvalid for a
// cursor that Runs did not give out.
func (s *Store) Runs(ctx context.Context, f agent.RunFilter) (agent.RunPage, error) {
	limit := min(max(f.Limit, 1), maxPage)
	q := s.reader.NewSelect().Order("seq DESC")
	if err := narrow(q, f); err != nil {
		return agent.RunPage{}, err
	}
	var page agent.RunPage
	if f.Text == "" {
		calls, seqs, err := runs(ctx, q.Limit(int64(limit)+1))
		if err != nil {
			return page, s.translate(err)
		}
		if len(calls) > limit {
			page.Next = runCursor(seqs[limit-1])
			calls = calls[:limit]
		}
		page.Calls = calls
		return page, nil
	}
	var err error
	page.Calls, page.Next, err = s.searchRuns(ctx, q, f.Text, limit)
	return page, s.translate(err)
}

// searchRuns looks for a text in the next searchedRuns calls that q selects.
func (s *Store) searchRuns(ctx context.Context, q *bun.SelectQuery, text string, limit int) ([]agent.ToolCall, string, error) {
	var window []int64
	if err := q.Model((*callRow)(nil)).Column("seq").Limit(searchedRuns+1).Scan(ctx, &window); err != nil || len(window) == 0 {
		return nil, "", err
	}
	next := ""
	if len(window) > searchedRuns {
		window = window[:searchedRuns]
		next = runCursor(window[searchedRuns-1])
	}
	like := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(clean(text)) + "%"
	found := s.reader.NewSelect().Where("seq IN (?)", bun.List(window)).Order("seq DESC").Limit(int64(limit)+1).
		Where(`(arguments LIKE ?0 ESCAPE '\' OR result LIKE ?0 ESCAPE '\' OR why LIKE ?0 ESCAPE '\' OR name LIKE ?0 ESCAPE '\')`, like)
	calls, seqs, err := runs(ctx, found)
	if err != nil {
		return nil, "", err
	}
	if len(calls) > limit {
		calls, next = calls[:limit], runCursor(seqs[limit-1])
	}
	return calls, next, nil
}

// narrow adds the conditions of a filter.
func narrow(q *bun.SelectQuery, f agent.RunFilter) error {
	if f.Tool != "" {
		q.Where("name = ?", clean(f.Tool))
	}
	if len(f.States) > 0 {
		q.Where("state IN (?)", bun.List(f.States))
	}
	if f.Thread != "" {
		q.Where("thread = ?", f.Thread)
	}
	if !f.From.IsZero() {
		q.Where("created >= ?", micros(f.From))
	}
	if !f.Until.IsZero() {
		q.Where("created < ?", micros(f.Until))
	}
	if f.After == "" {
		return nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(f.After)
	var seq int64
	if err == nil {
		seq, err = strconv.ParseInt(string(raw), 10, 64)
	}
	if err != nil {
		return agent.Wrap(agent.CodeInvalid, err, "This page of the history does not exist. Go back to its beginning.")
	}
	q.Where("seq < ?", seq)
	return nil
}

func runCursor(seq int64) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d", seq))
}

// runs reads calls with their places in the order of storing.
func runs(ctx context.Context, q *bun.SelectQuery) ([]agent.ToolCall, []int64, error) {
	var rows []callRow
	if err := q.Model(&rows).Scan(ctx); err != nil {
		return nil, nil, err
	}
	calls, seqs := make([]agent.ToolCall, len(rows)), make([]int64, len(rows))
	for i, row := range rows {
		c, err := fromCall(row)
		if err != nil {
			return nil, nil, err
		}
		calls[i], seqs[i] = c, row.Seq
	}
	return calls, seqs, nil
}

// ToolHistory returns how the newest n calls of a tool went; n is at most 200.
func (s *Store) ToolHistory(ctx context.Context, tool string, n int) (agent.ToolHistory, error) {
	var h agent.ToolHistory
	err := s.read(ctx, func(ctx context.Context, tx bun.IDB) error {
		var rows []callRow
		err := tx.NewSelect().Model(&rows).Column("id", "thread", "state", "exit_code", "created", "started", "finished").
			Where("name = ?", clean(tool)).Order("seq DESC").Limit(int64(min(max(n, 1), maxPage))).Scan(ctx)
		if err != nil {
			return err
		}
		for _, r := range rows {
			h.Last = append(h.Last, agent.ToolCall{
				ID: r.ID, Thread: r.Thread, Name: tool, State: r.State, Exit: r.ExitCode,
				Created: fromMicros(r.Created), Started: fromMicros(r.Started), Finished: fromMicros(r.Finished),
			})
		}
		calls, err := tx.NewSelect().Model((*callRow)(nil)).Where("name = ?", clean(tool)).Count(ctx)
		h.Calls = int(calls)
		return err
	})
	return h, err
}
