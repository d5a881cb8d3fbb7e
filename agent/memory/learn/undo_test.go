package learn_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/memory"
	"ash/agent/memory/learn"
)

// dump returns every row of what is remembered, byte for byte, and the size of each table.
func dump(t *testing.T, path string) string {
	t.Helper()
	db, err := sql.Open("sqliteshim", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var b strings.Builder
	for _, table := range []string{"facts", "entities", "entity_aliases", "fact_entities", "proposals", "episodes", "tombstones", "fact_counts", "fact_days", "entity_links"} {
		dumpTable(t, db, table, &b)
	}
	return b.String()
}

func dumpTable(t *testing.T, db *sql.DB, table string, b *strings.Builder) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT * FROM "+table+" ORDER BY 1, 2")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values := make([]any, len(names))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		line, empty := table, false
		for i, v := range values {
			x := *v.(*any)
			empty = empty || (table == "fact_counts" && names[i] == "n" && x == int64(0))
			line += fmt.Sprintf(" %s=%#v", names[i], x)
		}
		if !empty { // a count that fell to nothing may stay as a row
			b.WriteString(line + "\n")
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// TestUndoRestoresEveryByte merges, retires, proposes and adds, and takes it back: every row of what is remembered is as it was.
func TestUndoRestoresEveryByte(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ash.db")
	r := openReal(t, path)
	keep := func(text string, change func(*agent.Fact)) agent.Fact {
		f := agent.Fact{ID: agent.NewID(), Kind: agent.FactPlain, Status: agent.FactCurrent, Text: text, Owner: r.owner, Confidence: 0.5, Importance: 0.25, Said: time.Now().Add(-time.Hour)}
		if change != nil {
			change(&f)
		}
		done, err := r.book.Apply(t.Context(), memory.Step{Changes: []agent.MemoryChange{{Fact: f.ID, After: &f}}})
		if err != nil {
			t.Fatal(err)
		}
		return *done[0].After
	}
	anna := []agent.Entity{{Name: "Anna", Kind: agent.EntityPerson}, {Name: "Graz", Kind: agent.EntityPlace}}
	keep("Anna lives in Graz", func(f *agent.Fact) { f.Entities, f.Confidence = anna, 0.9 })
	keep("Anna lives in Graz!", func(f *agent.Fact) {
		f.Entities = []agent.Entity{anna[0], {Name: "Styria", Kind: agent.EntityPlace}}
	})
	keep("The Anna lives in Graz, too.", func(f *agent.Fact) { f.Pinned = true })
	keep("The ticket is valid", func(f *agent.Fact) { f.Expires = time.Now().Add(-time.Minute) })
	keep("I live in Linz", nil)
	keep("I live in Wels", func(f *agent.Fact) { f.Said = time.Now() })
	before := dump(t, path)

	out, err := r.learner().Consolidate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Run.Changes) < 3 || len(out.Propose) == 0 {
		t.Fatalf("it changed too little to test: %d changes, %d proposals", len(out.Run.Changes), len(out.Propose))
	}
	if dump(t, path) == before {
		t.Fatal("nothing changed")
	}
	if _, err := r.book.Undo(t.Context(), out.Run.ID); err != nil {
		t.Fatal(err)
	}
	if after := dump(t, path); after != before {
		t.Errorf("undone, it is not as it was:\n%s\nwas\n%s", after, before)
	}
	if _, err := r.book.Undo(t.Context(), out.Run.ID); agent.CodeOf(err) != agent.CodeConflict {
		t.Errorf("undone twice: %v", err)
	}
}

// TestUndoAfterAnotherChange leaves everything as it is when a fact has changed since the run.
func TestUndoAfterAnotherChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ash.db")
	r := openReal(t, path)
	for _, text := range []string{"Anna lives in Graz", "Anna lives in Graz!"} {
		f := agent.Fact{ID: agent.NewID(), Kind: agent.FactPlain, Status: agent.FactCurrent, Text: text, Owner: r.owner, Confidence: 0.5}
		if _, err := r.book.Apply(t.Context(), memory.Step{Changes: []agent.MemoryChange{{Fact: f.ID, After: &f}}}); err != nil {
			t.Fatal(err)
		}
	}
	out, err := r.learner().Consolidate(t.Context())
	if err != nil || len(out.Run.Changes) != 2 {
		t.Fatalf("%+v %v", out, err)
	}
	for _, c := range out.Run.Changes {
		if c.After.Status == agent.FactCurrent {
			stored, err := r.Fact(t.Context(), c.Fact)
			if err != nil {
				t.Fatal(err)
			}
			changed := stored
			changed.Pinned = true
			if _, err := r.book.Apply(t.Context(), memory.Step{Changes: []agent.MemoryChange{{Fact: c.Fact, Before: &stored, After: &changed}}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	before := dump(t, path)
	if _, err := r.book.Undo(t.Context(), out.Run.ID); agent.CodeOf(err) != agent.CodeConflict {
		t.Errorf("%v", err)
	}
	if dump(t, path) != before {
		t.Error("half of it was undone")
	}
}

// TestDeclinedStaysDeclined says no to what learning and tidying offer, and is not asked again: not in other words, not after a restart.
func TestDeclinedStaysDeclined(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ash.db")
	r := openReal(t, path)
	asking := func() *learn.Learner {
		return learn.New(learn.Options{Owner: r.owner, Conversations: r, Book: r, Episodes: r, Shelf: r, Mode: func() learn.Mode { return learn.Ask }})
	}
	waiting := func() []agent.Proposal {
		list, _, err := r.Proposals(t.Context(), "", 200)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	say := func(text string) {
		thread := agent.NewID()
		if err := r.CreateThread(t.Context(), agent.Thread{ID: thread, Origin: agent.Origin{Channel: "web", Person: r.owner}, Created: time.Now(), Updated: time.Now()}); err != nil {
			t.Fatal(err)
		}
		r.say(t, thread, text)
		run(t, asking(), thread)
	}
	say("Remember that my neighbour Holger collects old typewriters.")
	if n := len(waiting()); n != 1 {
		t.Fatalf("%d offers", n)
	}
	for _, p := range waiting() {
		if _, err := r.book.Decide(t.Context(), p.ID, memory.Verdict{}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		say("Remember that my neighbour Holger collects old typewriters.")
		say("Remember that old typewriters are what my neighbour Holger collects.")
		if left := waiting(); len(left) != 0 {
			t.Errorf("offered again: %q", left[0].Fact.Text)
		}
		kept, err := r.book.Propose(t.Context(), []agent.Proposal{{Action: agent.ActionKeep, Fact: agent.Fact{Text: "My neighbour Holger collects old typewriters", Owner: r.owner}}})
		if err != nil || len(kept) != 0 {
			t.Errorf("proposed again: %+v %v", kept, err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		r = openReal(t, path)
	}
	say("Remember that my neighbour Holger has a boat.")
	if left := waiting(); len(left) != 1 {
		t.Errorf("another thing about him is not offered: %d", len(left))
	}
}
