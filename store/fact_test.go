package store

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/memory"
)

func (f *fixture) newFact(text string, entities ...string) agent.Fact {
	fact := agent.Fact{
		ID: agent.NewID(), Kind: agent.FactPlain, Status: agent.FactCurrent, Owner: f.owner, Text: text, Confidence: 0.5, Importance: 0.25,
		Said: now(), Source: agent.Provenance{Kind: agent.SourcePerson},
	}
	for _, name := range entities {
		fact.Entities = append(fact.Entities, agent.Entity{Name: name, Kind: agent.EntityPerson})
	}
	return fact
}

func (f *fixture) apply(changes ...agent.MemoryChange) []agent.MemoryChange {
	f.t.Helper()
	done, err := f.ApplyMemory(f.ctx, memory.Step{Changes: changes})
	f.ok(err)
	return done
}

func (f *fixture) keep(text string, entities ...string) agent.Fact {
	f.t.Helper()
	fact := f.newFact(text, entities...)
	return *f.apply(agent.MemoryChange{Fact: fact.ID, After: &fact})[0].After
}

func TestFactRoundTrip(t *testing.T) {
	f := newFixture(t)
	want := f.newFact("Ärger \"in\" Wien\x00", "Bo", "Wien")
	want.Kind, want.Status, want.Subject, want.Pinned = agent.FactCore, agent.FactRetired, "Bo", true
	want.From, want.Until, want.Expires = now().Add(-time.Hour), now(), now().Add(time.Hour)
	want.Source = agent.Provenance{Kind: agent.SourceMessage, Thread: f.thread, Message: agent.NewID(), Note: "a/b.md", Quote: "q", Run: agent.NewID()}
	want.Labels = agent.Labels{{Source: "x", Kind: agent.LabelUntrusted, Private: true}}
	done := f.apply(agent.MemoryChange{Fact: want.ID, After: &want})
	got, err := f.Fact(f.ctx, want.ID)
	f.ok(err)
	want.Text = "Ärger \"in\" Wien\uFFFD"
	want.Created, want.Updated = got.Created, got.Updated
	for i := range want.Entities {
		if want.Entities[i].ID = got.Entities[i].ID; want.Entities[i].ID == "" {
			t.Error("an entity without an id")
		}
	}
	equal(t, got, want)
	if !done[0].After.Updated.Equal(got.Updated) || got.Created.IsZero() {
		t.Errorf("applied as %+v", done[0].After)
	}
	text, err := encodeFact(got)
	f.ok(err)
	again, err := decodeFact(text)
	f.ok(err)
	equal(t, again, got)
}

func TestApplyIsWhole(t *testing.T) {
	f := newFixture(t)
	a, b := f.keep("one"), f.keep("two")
	stale := a
	stale.Updated = stale.Updated.Add(-time.Second)
	changed := b
	changed.Text = "two changed"
	fresh := f.newFact("three", "Nobody")
	run := agent.MemoryRun{ID: agent.NewID(), Kind: agent.RunLearn}
	changes := []agent.MemoryChange{{Fact: b.ID, Before: &b, After: &changed}, {Fact: fresh.ID, After: &fresh}}
	for name, step := range map[string]memory.Step{
		"changed since": {Run: &run, Changes: append(changes[:2:2], agent.MemoryChange{Fact: a.ID, Before: &stale})},
		"known id":      {Run: &run, Changes: append(changes[:2:2], agent.MemoryChange{Fact: a.ID, After: &a})},
		"gone":          {Run: &run, Changes: append(changes[:2:2], agent.MemoryChange{Fact: fresh.ID, Before: &agent.Fact{ID: agent.NewID()}})},
		"decided":       {Run: &run, Changes: changes, Decides: agent.NewID()},
		"undone":        {Run: &run, Changes: changes, Undoes: agent.NewID()},
	} {
		_, err := f.ApplyMemory(f.ctx, step)
		if agent.CodeOf(err) != agent.CodeConflict {
			t.Errorf("%s: %v", name, err)
		}
	}
	got, err := f.Fact(f.ctx, b.ID)
	f.ok(err)
	equal(t, got, b)
	_, err = f.Fact(f.ctx, fresh.ID)
	f.fails(err, agent.CodeNotFound)
	_, err = f.MemoryRun(f.ctx, run.ID)
	f.fails(err, agent.CodeNotFound)
	_, err = f.EntityNamed(f.ctx, f.owner, "nobody")
	f.fails(err, agent.CodeNotFound)
	done, err := f.ApplyMemory(f.ctx, memory.Step{Run: &run, Changes: changes})
	f.ok(err)
	stored, err := f.MemoryRun(f.ctx, run.ID)
	f.ok(err)
	equal(t, stored.Changes, done)
}

func TestFactPages(t *testing.T) {
	f := newFixture(t)
	at := now()
	var changes []agent.MemoryChange
	for i := range 450 {
		fact := f.newFact(fmt.Sprintf("fact %d", i))
		fact.Said = at.Add(time.Duration(i/3) * time.Second) // three of an age
		if i%2 == 0 {
			fact.Status = agent.FactRetired
		}
		if i%10 == 1 {
			fact.Entities = []agent.Entity{{Name: "Bo"}}
		}
		changes = append(changes, agent.MemoryChange{Fact: fact.ID, After: &fact})
	}
	f.apply(changes...)
	bo, err := f.EntityNamed(f.ctx, f.owner, " BO ")
	f.ok(err)
	if bo.Facts != 45 {
		t.Errorf("%d current facts are about Bo", bo.Facts)
	}
	for name, c := range map[string]struct {
		filter agent.FactFilter
		want   int
	}{
		"all":     {agent.FactFilter{}, 450},
		"current": {agent.FactFilter{Statuses: []agent.FactStatus{agent.FactCurrent}}, 225},
		"two":     {agent.FactFilter{Statuses: []agent.FactStatus{agent.FactCurrent, agent.FactRetired}, Kinds: []agent.FactKind{agent.FactPlain}, Owner: f.owner}, 450},
		"entity":  {agent.FactFilter{Entity: bo.ID}, 45},
		"source":  {agent.FactFilter{Source: agent.SourceImport}, 0},
		"time":    {agent.FactFilter{From: at.Add(10 * time.Second), To: at.Add(20 * time.Second)}, 30},
		"pinned":  {agent.FactFilter{Pinned: true}, 0},
	} {
		c.filter.Limit = 70
		seen := map[agent.ID]bool{}
		var last time.Time
		for {
			page, next, err := f.Facts(f.ctx, c.filter)
			f.ok(err)
			for _, x := range page {
				if seen[x.ID] || !last.IsZero() && x.Said.After(last) {
					t.Fatalf("%s: twice or out of order", name)
				}
				seen[x.ID], last = true, x.Said
			}
			if next == "" {
				break
			}
			c.filter.After = next
		}
		if len(seen) != c.want {
			t.Errorf("%s: %d facts, want %d", name, len(seen), c.want)
		}
	}
	_, _, err = f.Facts(f.ctx, agent.FactFilter{After: "?", Limit: 1})
	f.fails(err, agent.CodeInvalid)
	totals, err := f.MemoryTotals(f.ctx, f.owner)
	f.ok(err)
	if totals.Current != 225 || totals.Retired != 225 || totals.Entities != 1 || totals.Plain != 225 || totals.Bytes == 0 {
		t.Errorf("totals: %+v", totals)
	}
	days, err := f.MemoryDays(f.ctx, f.owner, at.Add(-48*time.Hour))
	f.ok(err)
	learned, ended := 0, 0
	for _, d := range days {
		learned, ended = learned+d.Learned, ended+d.Ended
	}
	if learned != 450 || ended != 225 {
		t.Errorf("days: %+v", days)
	}
}

func TestEntities(t *testing.T) {
	f := newFixture(t)
	a := f.keep("Anna and Bo play", "Anna", "Bo")
	f.keep("Ann is in Rome", "Ann", "Rome")
	f.keep("Bo is in Rome", "bo", "ROME")
	anna, err := f.EntityNamed(f.ctx, f.owner, "ANNA")
	f.ok(err)
	ann, err := f.EntityNamed(f.ctx, f.owner, "ann")
	f.ok(err)
	anna.Name = "Ann"
	f.fails(f.SaveEntity(f.ctx, anna), agent.CodeConflict)
	indexed := len(caughtUp(t, f.Store))
	f.ok(f.MergeEntities(f.ctx, anna.ID, ann.ID))
	merged, err := f.EntityNamed(f.ctx, f.owner, "Ann")
	f.ok(err)
	if merged.ID != anna.ID || merged.Facts != 2 || strings.Join(merged.Aliases, ",") != "Ann" {
		t.Errorf("merged: %+v", merged)
	}
	var left int
	f.ok(fixed(f.reader, `SELECT count(*) FROM recall_items WHERE kind = ?1`, agent.MemoryFact).Scan(f.ctx, &left))
	if left != indexed-2 {
		t.Errorf("%d of %d facts stay in the index after the merge, want those made anew that are about either", left, indexed)
	}
	merged.Name, merged.Aliases = "Anna Berg", []string{"Anna", "Ann", "Bo"} // Bo is somebody else's
	f.ok(f.SaveEntity(f.ctx, merged))
	again := f.keep("Ann sings", "ann")
	if again.Entities[0].ID != anna.ID || again.Entities[0].Name != "Anna Berg" {
		t.Errorf("by alias: %+v", again.Entities)
	}
	neighbours, links, err := f.EntityLinks(f.ctx, anna.ID, 10)
	f.ok(err)
	if len(neighbours) != 2 || len(links) != 3 {
		t.Errorf("graph: %+v %+v", neighbours, links)
	}
	list, next, err := f.Entities(f.ctx, agent.EntityFilter{Owner: f.owner, Limit: 2})
	f.ok(err)
	rest, _, err := f.Entities(f.ctx, agent.EntityFilter{Owner: f.owner, Limit: 2, After: next})
	f.ok(err)
	if len(list) != 2 || len(rest) != 1 || list[0].ID != anna.ID || list[0].Facts != 3 {
		t.Errorf("pages: %+v %+v", list, rest)
	}
	found, _, err := f.Entities(f.ctx, agent.EntityFilter{Name: "ANN", Limit: 5})
	f.ok(err)
	if len(found) != 1 {
		t.Errorf("by beginning: %+v", found)
	}
	f.fails(f.MergeEntities(f.ctx, anna.ID, anna.ID), agent.CodeInvalid)
	f.fails(f.MergeEntities(f.ctx, anna.ID, agent.NewID()), agent.CodeNotFound)
	got, err := f.Fact(f.ctx, a.ID)
	f.ok(err)
	if len(got.Entities) != 2 {
		t.Errorf("a fact lost an entity: %+v", got.Entities)
	}
}

func TestReceiptsAndEpisodes(t *testing.T) {
	f := newFixture(t)
	_, reply := f.exchange("q", "a")
	want := []agent.Recollection{{Kind: agent.MemoryFact, Ref: "f1", Score: 1.5, Why: []string{"a", "b"}}, {Kind: agent.MemoryNote, Ref: "n.md"}}
	f.ok(f.SaveReceipt(f.ctx, reply.ID, want))
	f.ok(f.SaveReceipt(f.ctx, reply.ID, want))
	got, err := f.Receipt(f.ctx, reply.ID)
	f.ok(err)
	equal(t, got, want)
	used, err := f.UsedIn(f.ctx, agent.MemoryFact, "f1", 5)
	f.ok(err)
	equal(t, used, []agent.ID{reply.ID})
	f.fails(f.SaveReceipt(f.ctx, agent.NewID(), want), agent.CodeNotFound)
	other := f.newThread("b")
	for i, thread := range []agent.ID{f.thread, other, f.thread} {
		f.ok(f.SaveEpisode(f.ctx, agent.Episode{
			Thread: thread, Text: fmt.Sprint("e", i), Ended: now().Add(time.Duration(i) * time.Hour), Entities: []agent.Entity{{Name: "Bo", Kind: agent.EntityPerson}},
			Labels: agent.Labels{{Source: "x", Kind: agent.LabelUntrusted}},
		}))
	}
	list, err := f.LatestEpisodes(f.ctx, 5, "")
	f.ok(err)
	if len(list) != 2 || list[0].Text != "e2" || list[1].Text != "e1" || !list[0].Labels.Untrusted() || list[0].Entities[0].Name != "Bo" {
		t.Errorf("episodes: %+v", list)
	}
	f.fails(f.SaveEpisode(f.ctx, agent.Episode{Thread: agent.NewID()}), agent.CodeNotFound)
}

// A database in which rows have moved between pages keeps nothing of what is forgotten either.
func TestFinishLeavesNothing(t *testing.T) {
	f := newFixture(t)
	seed(t, f.Store, 3, 200)
	var changes []agent.MemoryChange
	var secret agent.Fact
	for i := range 600 {
		fact := f.newFact(fmt.Sprintf("plain statement number %d %s", i, strings.Repeat("filler ", i%40)))
		if i == 300 {
			fact.Text = "the Quetzalcoatl combination is 73519 and nobody may know"
			secret = fact
		}
		changes = append(changes, agent.MemoryChange{Fact: fact.ID, After: &fact})
	}
	done := f.apply(changes...)
	for i := 0; i < len(done); i += 2 { // rows grow and move
		grown := *done[i].After
		grown.Source.Quote = strings.Repeat("moved ", 60)
		f.apply(agent.MemoryChange{Fact: grown.ID, Before: done[i].After, After: &grown})
	}
	act := memory.Act{ID: agent.NewID(), Facts: []agent.ID{secret.ID}}
	_, err := f.Hide(f.ctx, act)
	f.ok(err)
	if f.onDisk("Quetzalcoatl") == 0 {
		t.Fatal("it could not be taken back")
	}
	_, err = f.Finish(f.ctx, act.ID)
	f.ok(err)
	if n := f.onDisk("Quetzalcoatl") + f.onDisk("73519"); n != 0 {
		t.Errorf("%d copies are left", n)
	}
	f.ok(f.CheckIntegrity(f.ctx))
	_, err = f.Finish(f.ctx, act.ID)
	f.fails(err, agent.CodeNotFound)
}

// What a crash left between the decision and the end is ended by the next call.
func TestFinishAfterCrash(t *testing.T) {
	f := newFixture(t)
	fact := f.keep("the Quetzalcoatl combination is 73519")
	act := memory.Act{ID: agent.NewID(), Facts: []agent.ID{fact.ID}, Snapshots: []string{"copy.db"}}
	f.ok(os.MkdirAll(backupFolder(f.path), 0o700))
	copied := filepath.Join(backupFolder(f.path), "copy.db")
	f.ok(f.Backup(f.ctx, copied))
	_, err := f.Hide(f.ctx, act)
	f.ok(err)
	_, err = f.writer.ExecContext(f.ctx, `UPDATE forgettings SET final = 1, act = json_object('ID', id, 'Snapshots', json_array('copy.db')), kept = '{}'`)
	f.ok(err)
	_, err = f.Unhide(f.ctx, act.ID)
	f.fails(err, agent.CodeNotFound)
	ids, err := f.Unfinished(f.ctx)
	f.ok(err)
	equal(t, ids, []agent.ID{act.ID})
	_, err = f.Finish(f.ctx, act.ID)
	f.ok(err)
	if f.onDisk("Quetzalcoatl") != 0 || exists(copied) {
		t.Error("something is left")
	}
	if ids, err := f.Unfinished(f.ctx); err != nil || ids != nil {
		t.Errorf("still unfinished: %v %v", ids, err)
	}
}

// onDisk counts a word in the database and its log.
func (f *fixture) onDisk(word string) int {
	f.t.Helper()
	n := 0
	for _, name := range []string{f.path, f.path + "-wal"} {
		raw, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) {
			f.t.Fatal(err)
		}
		n += bytes.Count(raw, []byte(word))
	}
	return n
}

// A copy in unused space, as SQLite leaves one when it moves rows, is found and goes.
func TestFinishSweepsLeftovers(t *testing.T) {
	f := newFixture(t)
	const secret = "the Quetzalcoatl combination is 73519 and nobody may know"
	for _, statement := range []string{
		"PRAGMA secure_delete = 0", "CREATE TABLE spare (t TEXT)", "INSERT INTO spare VALUES ('" + secret + "')", "DROP TABLE spare",
		"PRAGMA secure_delete = 1", "PRAGMA wal_checkpoint(TRUNCATE)",
	} {
		_, err := f.writer.ExecContext(f.ctx, statement)
		f.ok(err)
	}
	if f.onDisk("Quetzalcoatl") == 0 {
		t.Fatal("there is no leftover")
	}
	fact := f.keep(secret)
	act := memory.Act{ID: agent.NewID(), Facts: []agent.ID{fact.ID}}
	_, err := f.Hide(f.ctx, act)
	f.ok(err)
	_, err = f.Finish(f.ctx, act.ID)
	f.ok(err)
	if n := f.onDisk("Quetzalcoatl"); n != 0 {
		t.Errorf("%d copies are left", n)
	}
}
