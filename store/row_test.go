package store

import (
	"context"
	"errors"
	"testing"

	"github.com/uptrace/bun"

	"ash/agent"
)

// Whatever bun would have stored of a row, insertRow and updateRow store, NULLs included.
func TestRowsAreStoredAsBunStoresThem(t *testing.T) {
	f := newFixture(t)
	message := f.post("q").Message.ID
	const id = "x"
	exit, usage := 7, usageColumns{1, 2, 3, 4, 5, 6, 7}
	for name, c := range map[string]struct {
		row   any
		table string
	}{
		"bare message": {row: &messageRow{ID: id, Thread: f.thread, Role: agent.RoleUser, State: agent.MessageComplete}, table: "messages"},
		"full message": {row: &messageRow{
			ID: id, Thread: f.thread, Parent: message, Turn: "t", Role: agent.RoleAssistant, State: agent.MessageFailed, Author: f.owner,
			Form: "f", Provider: "p", Model: "m", usageColumns: usage, Stop: "s", FailureCode: "c", FailurePublic: `?1 'x' \ ?`,
			CoveredBoot: "b", CoveredSeq: 8, Created: 9, Finished: 10, Preview: "p", Labels: "[]", Parts: "[]", SearchText: "北京",
		}, table: "messages"},
		"turn": {row: &turnRow{
			ID: id, Thread: f.thread, Trigger: "m", State: agent.TurnDone, Rounds: 2, usageColumns: usage, Started: 3, Ended: 4,
		}, table: "turns"},
		"bare call": {row: &callRow{ID: id, Thread: f.thread, Message: message, State: agent.CallDenied}, table: "tool_calls"},
		"full call": {row: &callRow{
			ID: id, Thread: f.thread, Turn: "t", Message: message, Position: 3, ProviderID: "p", Name: "n", State: agent.CallFinished,
			Question: true, Why: "w", Binding: "b", ExitCode: &exit, Created: 1, Started: 2, Finished: 3, Labels: "[]",
			Decision: "{}", Extra: "{}", Arguments: "{}", Result: "[]",
		}, table: "tool_calls"},
		"event": {row: &eventRow{Boot: "b", Number: 1, Subject: id, Size: 3}, table: "events"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fixture{Store: f.Store, t: t, ctx: f.ctx}
			want := f.storedBy(c.table, func(ctx context.Context, tx bun.IDB) error {
				_, err := tx.NewInsert().Model(c.row).Returning("NULL").Exec(ctx)
				return err
			})
			got := f.storedBy(c.table, func(ctx context.Context, tx bun.IDB) error { return insertRow(ctx, tx, c.row) })
			equal(t, got, want)
		})
	}
	change := &callRow{ID: id, State: agent.CallFinished, Question: true, Why: "w", ExitCode: &exit, Result: "[]"}
	columns := []string{"state", "question", "why", "exit_code", "decision", "result"}
	before := callRow{ID: id, Thread: f.thread, Message: message, State: agent.CallStarted, Decision: "{}", Binding: "b"}
	want := f.storedBy("tool_calls", func(ctx context.Context, tx bun.IDB) error {
		_, err := tx.NewUpdate().Model(change).Where("id = ?", id).Column(columns...).Exec(ctx)
		return err
	}, before)
	got := f.storedBy("tool_calls", func(ctx context.Context, tx bun.IDB) error {
		return updateRow(ctx, tx, change, columns...)
	}, before)
	equal(t, got, want)
}

// storedBy returns the newest row of a table after fn, and takes everything back.
func (f *fixture) storedBy(table string, fn func(context.Context, bun.IDB) error, before ...callRow) map[string]any {
	f.t.Helper()
	row, undo := map[string]any{}, errors.New("undo")
	err := f.writer.RunInTx(f.ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		for i := range before {
			if _, err := tx.NewInsert().Model(&before[i]).Returning("NULL").Exec(ctx); err != nil {
				return err
			}
		}
		if err := fn(ctx, tx); err != nil {
			return err
		}
		if err := tx.NewSelect().Table(table).Order("seq DESC").Limit(1).Scan(ctx, &row); err != nil {
			return err
		}
		return undo
	})
	if !errors.Is(err, undo) {
		f.t.Fatal(err)
	}
	return row
}

func TestUpdateRowOfNoSuchColumn(t *testing.T) {
	f := newFixture(t)
	err := f.writer.RunInTx(f.ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		return updateRow(ctx, tx, &turnRow{ID: "x"}, "colour")
	})
	if err == nil {
		t.Error("an unknown column was set")
	}
}
