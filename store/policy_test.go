package store

import (
	"slices"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/policy"
)

func TestRulesAreOnePerPlace(t *testing.T) {
	f := newFixture(t)
	other := f.newThread("")
	save := func(r policy.Rule) policy.Rule {
		t.Helper()
		r.ID = agent.NewID()
		saved, err := f.SaveRule(f.ctx, r)
		f.ok(err)
		return saved
	}
	a := save(policy.Rule{Tool: "*", Match: "web", Verdict: agent.Allow, Thread: f.thread, Sources: []string{"b", "a", "a"}})
	b := save(policy.Rule{Tool: "*", Match: "web", Verdict: agent.Deny, Thread: f.thread, Sources: []string{"c\x00"}})
	if a.ID != b.ID || b.Verdict != agent.Deny || !slices.Equal(b.Sources, []string{"a", "b", "c\uFFFD"}) {
		t.Errorf("saved again: %+v", b)
	}
	house := save(policy.Rule{Tool: "shell", Verdict: agent.Ask})
	far := save(policy.Rule{Tool: "*", Match: "web", Verdict: agent.Allow, Thread: other})
	at := time.Now().UTC().Truncate(time.Microsecond)
	f.ok(f.UseRule(f.ctx, b.ID, at))
	f.ok(f.UseRule(f.ctx, b.ID, at))
	ids := func(threads ...agent.ID) []agent.ID {
		t.Helper()
		rules, err := f.Rules(f.ctx, threads...)
		f.ok(err)
		var out []agent.ID
		for _, r := range rules {
			out = append(out, r.ID)
		}
		return out
	}
	if got := ids(); !slices.Equal(got, []agent.ID{house.ID}) {
		t.Errorf("of the house: %v", got)
	}
	if got := ids(f.thread); !slices.Equal(got, []agent.ID{b.ID, house.ID}) {
		t.Errorf("of a thread: %v", got)
	}
	if got := ids(f.thread, other); !slices.Equal(got, []agent.ID{b.ID, house.ID, far.ID}) {
		t.Errorf("of two: %v", got)
	}
	all, err := f.AllRules(f.ctx)
	f.ok(err)
	if len(all) != 3 || all[0].Uses != 2 || !all[0].Used.Equal(at) || all[0].Created.IsZero() {
		t.Errorf("all: %+v", all)
	}
	f.ok(f.DeleteRule(f.ctx, b.ID))
	f.fails(f.DeleteRule(f.ctx, b.ID), agent.CodeNotFound)
	f.ok(f.UseRule(f.ctx, b.ID, at))
	_, err = f.SaveRule(f.ctx, policy.Rule{ID: agent.NewID(), Tool: "x", Verdict: agent.Allow, Thread: agent.NewID()})
	f.fails(err, agent.CodeNotFound)

	deleted := true
	_, err = f.PatchThread(f.ctx, other, agent.ThreadPatch{Deleted: &deleted})
	f.ok(err)
	_, err = f.PurgeDeleted(f.ctx, time.Now().Add(time.Hour))
	f.ok(err)
	if got := ids(other); !slices.Equal(got, []agent.ID{house.ID}) {
		t.Errorf("rules outlive their thread: %v", got)
	}
}

func TestFileRecords(t *testing.T) {
	f := newFixture(t)
	labels := agent.Labels{{Source: "evil.example", Kind: agent.LabelUntrusted}}
	paths := []string{"/a/b", "/a/b/c", "/a/b/\xff", "/a/b/\U0010FFFF", "/a/b/\U0010FFFF\xff", "/a/b0", "/a/b-x", "/a/bb/c", "/a/b/"}
	var records []policy.Record
	for _, p := range paths {
		records = append(records, policy.Record{Path: p, Hash: p[:2], Labels: labels, Noted: time.Now()})
	}
	f.ok(f.SaveFileRecords(f.ctx, records, nil))
	below, err := f.FileRecordsBelow(f.ctx, "/a/b")
	f.ok(err)
	var got []string
	for _, r := range below {
		got = append(got, r.Path)
	}
	slices.Sort(got)
	want := []string{"/a/b/", "/a/b/c", "/a/b/\U0010FFFF", "/a/b/\U0010FFFF\xff", "/a/b/\xff"}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("below: %q, want %q", got, want)
	}
	for _, p := range paths {
		found, err := f.FileRecords(f.ctx, p)
		f.ok(err)
		if len(found) != 1 || found[0].Path != p || !slices.Equal(found[0].Labels, labels) {
			t.Errorf("%q: %+v", p, found)
		}
	}
	records[1].Hash, records[1].Labels = "new", nil
	f.ok(f.SaveFileRecords(f.ctx, records[1:2], paths[2:]))
	all, err := f.FileRecords(f.ctx, paths...)
	f.ok(err)
	if len(all) != 2 {
		t.Errorf("left: %+v", all)
	}
	found, err := f.FileRecords(f.ctx, "/a/b/c")
	f.ok(err)
	if len(found) != 1 || found[0].Hash != "new" || len(found[0].Labels) != 0 {
		t.Errorf("replaced: %+v", found)
	}
}

func TestSecurityLogInPages(t *testing.T) {
	f := newFixture(t)
	for range 5 {
		f.ok(f.LogSecurity(f.ctx, policy.SecurityEvent{Kind: policy.EventFlow, Thread: f.thread, Call: agent.NewID(), Tool: "shell", Source: "evil\x00.example"}))
	}
	f.ok(f.LogSecurity(f.ctx))
	seen, before := 0, int64(0)
	for page := 0; page < 3; page++ {
		events, next, err := f.SecurityEvents(f.ctx, before, 2)
		f.ok(err)
		for _, e := range events {
			seen++
			if e.Kind != policy.EventFlow || e.Thread != f.thread || e.Time.IsZero() || e.Source != "evil\uFFFD.example" {
				t.Errorf("event %+v", e)
			}
		}
		if before = next; (next == 0) != (page == 2) {
			t.Errorf("page %d: next %d", page, next)
		}
	}
	if seen != 5 {
		t.Errorf("seen %d", seen)
	}
}
