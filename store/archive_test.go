package store

import (
	"context"
	"strings"
	"testing"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/memory/archive"
)

func archived() []archive.Message {
	return []archive.Message{
		{Thread: "c1", ID: "D1:1", Speaker: "Ann", Time: "1:56 pm on 8 May, 2023", Text: "I adopted a greyhound"},
		{Thread: "c1", ID: "D1:2", Speaker: "Ben", Time: "1:56 pm on 8 May, 2023", Text: "What is the dog's name? My code is swordfish."},
		{Thread: "c2", ID: "D1:1", Speaker: "Ann", Time: "once upon a time", Text: "The same id elsewhere"},
	}
}

func caughtUp(t *testing.T, s *Store) []recallRow {
	t.Helper()
	for {
		more, err := s.CatchUp(context.Background(), 2)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			break
		}
	}
	var rows []recallRow
	if err := fixed(s.reader, `SELECT * FROM recall_items WHERE ?1 ORDER BY place`, true).Scan(context.Background(), &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestImportedMessagesAreThreadsAndItems(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	for i, want := range []int{3, 0} {
		if n, err := f.Store.ImportMessages(ctx, archived()); err != nil || n != want {
			t.Fatalf("import %d: %d added, %v", i, n, err)
		}
	}
	rows := caughtUp(t, f.Store)
	if len(rows) != 3 {
		t.Fatalf("%d items", len(rows))
	}
	if rows[0].Section != rows[1].Section || rows[0].Speaker != "Ann" || rows[0].Time == 0 || rows[2].Time != 0 {
		t.Errorf("%+v", rows)
	}
	if l, err := decodeLabels(rows[0].Labels); err != nil || !l.Untrusted() || l[0].Source != "import:c1" {
		t.Errorf("labels %v, %v", l, err)
	}
	path, err := f.Store.Path(ctx, agent.ID(rows[1].Ref), 10)
	if err != nil || len(path) != 2 {
		t.Errorf("%d messages on the path, %v", len(path), err)
	}
}

// A passage that was forgotten leaves the index at once, and does not come back with it.
func TestMaskedPassagesLeaveTheIndex(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	if _, err := f.Store.ImportMessages(ctx, archived()); err != nil {
		t.Fatal(err)
	}
	before := caughtUp(t, f.Store)
	err := f.Store.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		_, err := fixed(tx, `INSERT INTO message_masks (message, passage, created, forgetting) VALUES (?1, ?2, 1, ?3)`, before[1].Ref, "swordfish", agent.NewID()).Exec(ctx)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if list, err := f.Store.Postings(ctx, []string{"swordfish"}, []int{10}); err != nil || len(list[0]) != 0 {
		t.Fatalf("still found: %v, %v", list, err)
	}
	after := caughtUp(t, f.Store)
	if len(after) != len(before) || strings.Contains(after[1].Text+after[1].Body, "swordfish") || after[1].Section != before[1].Section {
		t.Errorf("%+v", after[1])
	}
}

// Whoever an import says spoke keeps the name it had there, unless that is the owner's own.
func TestVoicesOfImportedMessages(t *testing.T) {
	f := newFixture(t)
	owner, err := f.Owner(f.ctx)
	f.ok(err)
	owner.DisplayName = "Robin"
	f.ok(f.SavePerson(f.ctx, owner))
	_, err = f.ImportMessages(f.ctx, append(archived(),
		archive.Message{Thread: "c3", ID: "1", Speaker: "Robin", Text: "By my name"},
		archive.Message{Thread: "c3", ID: "2", Speaker: "user", Owner: true, Time: "2024-05-01T10:00:00Z", Text: "By my place"},
		archive.Message{Thread: "c3", ID: "3", Speaker: "ChatGPT", Assistant: true, Time: "2024-05-01T10:01:00Z", Text: "An answer"}))
	f.ok(err)
	var ids []agent.ID
	f.ok(fixed(f.reader, `SELECT message FROM message_origins WHERE ?1 ORDER BY (SELECT seq FROM messages WHERE id = message)`, true).Scan(f.ctx, &ids))
	here := agent.NewID()
	got, err := f.Voices(f.ctx, append(ids, here, ""))
	f.ok(err)
	want := []archive.Voice{
		{Name: "Ann", Said: "1:56 pm on 8 May, 2023"}, {Name: "Ben", Said: "1:56 pm on 8 May, 2023"}, {Name: "Ann", Said: "once upon a time", Undated: true},
		{Undated: true}, {Said: "2024-05-01T10:00:00Z"}, {Name: "ChatGPT", Said: "2024-05-01T10:01:00Z"},
	}
	for i, id := range ids {
		if got[id] != want[i] {
			t.Errorf("voice %d is %+v, want %+v", i, got[id], want[i])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d voices, want %d", len(got), len(want))
	}
}
