package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ash/agent"
)

func TestCreateThreadIsRefused(t *testing.T) {
	f := newFixture(t)
	origin := agent.Origin{Channel: "mail", ExternalID: "x"}
	f.ok(f.CreateThread(f.ctx, agent.Thread{ID: agent.NewID(), Origin: origin}))
	f.fails(f.CreateThread(f.ctx, agent.Thread{ID: agent.NewID(), Origin: origin}), agent.CodeConflict)
	f.fails(f.CreateThread(f.ctx, agent.Thread{ID: f.thread}), agent.CodeConflict)
	f.fails(f.CreateThread(f.ctx, agent.Thread{ID: agent.NewID(), Title: strings.Repeat("ä", 201)}), agent.CodeInvalid)
	f.fails(f.CreateThread(f.ctx, agent.Thread{ID: agent.NewID(), Origin: agent.Origin{Person: agent.NewID()}}), agent.CodeNotFound)
	_, err := f.Thread(f.ctx, agent.NewID())
	f.fails(err, agent.CodeNotFound)
}

func TestPatchThread(t *testing.T) {
	f := newFixture(t)
	patch := func(p agent.ThreadPatch) agent.Thread {
		t.Helper()
		got, err := f.PatchThread(f.ctx, f.thread, p)
		f.ok(err)
		stored, err := f.Thread(f.ctx, f.thread)
		f.ok(err)
		equal(t, got, stored)
		return got
	}
	title := func(s string, by agent.TitleSource) agent.Thread {
		t.Helper()
		return patch(agent.ThreadPatch{Title: &s, TitleSource: &by})
	}
	equal(t, title("first words", agent.TitleWords).Title, "first words")
	equal(t, title("made", agent.TitleModel).Title, "made")
	equal(t, title("first words", agent.TitleWords).Title, "made")
	equal(t, title("mine", agent.TitlePerson).Title, "mine")
	got := title("made again", agent.TitleModel)
	if got.Title != "mine" || got.TitleSource != agent.TitlePerson {
		t.Errorf("a person's title became %q of %q", got.Title, got.TitleSource)
	}
	equal(t, title("mine, better", agent.TitlePerson).Title, "mine, better")

	yes, no, model := true, false, "p/m"
	before := got.Updated
	got = patch(agent.ThreadPatch{Pinned: &yes, Archived: &yes, Deleted: &yes, Model: &model})
	if !got.Pinned || got.Archived.IsZero() || got.Deleted.IsZero() || got.Model != model || got.Updated.Before(before) {
		t.Errorf("thread is %+v", got)
	}
	since := got.Deleted
	if got = patch(agent.ThreadPatch{Deleted: &yes}); !got.Deleted.Equal(since) {
		t.Error("deleting twice moved the moment")
	}
	got = patch(agent.ThreadPatch{Pinned: &no, Archived: &no, Deleted: &no})
	if got.Pinned || !got.Archived.IsZero() || !got.Deleted.IsZero() {
		t.Errorf("thread is %+v", got)
	}
	long := strings.Repeat("x", 201)
	_, err := f.PatchThread(f.ctx, f.thread, agent.ThreadPatch{Title: &long})
	f.fails(err, agent.CodeInvalid)
	_, err = f.PatchThread(f.ctx, agent.NewID(), agent.ThreadPatch{})
	f.fails(err, agent.CodeNotFound)
}

func TestThreadsByPages(t *testing.T) {
	f := newFixture(t)
	f.ok(f.CreateThread(f.ctx, agent.Thread{ID: agent.NewID(), ParentCall: agent.NewID(), Origin: agent.Origin{Channel: "web"}}))
	want := []agent.ID{f.thread}
	at := now()
	for i := range 10 { // three of each moment, so that pages end between equals
		id := agent.NewID()
		f.ok(f.CreateThread(f.ctx, agent.Thread{
			ID: id, Title: fmt.Sprint(i), Pinned: i >= 8, Origin: agent.Origin{Channel: "web"}, Created: at, Updated: at.Add(time.Duration(i/3+1) * time.Hour),
		}))
		want = append([]agent.ID{id}, want...)
	}
	var got []agent.ID
	after := ""
	for pages := 0; pages < 20; pages++ {
		page, next, err := f.Threads(f.ctx, agent.ThreadFilter{Limit: 2, After: after})
		f.ok(err)
		for _, s := range page {
			got = append(got, s.ID)
		}
		if after = next; after == "" {
			break
		}
	}
	equal(t, got, want)

	yes := true
	_, err := f.PatchThread(f.ctx, want[3], agent.ThreadPatch{Archived: &yes})
	f.ok(err)
	_, err = f.PatchThread(f.ctx, want[4], agent.ThreadPatch{Deleted: &yes})
	f.ok(err)
	page, _, err := f.Threads(f.ctx, agent.ThreadFilter{Limit: 200})
	f.ok(err)
	equal(t, len(page), len(want)-2)
	page, _, err = f.Threads(f.ctx, agent.ThreadFilter{Limit: 200, Archived: true})
	f.ok(err)
	if len(page) != 1 || page[0].ID != want[3] {
		t.Errorf("archived are %+v", page)
	}
	for _, bad := range []string{"x", "!", "MS4y", "////"} {
		_, _, err = f.Threads(f.ctx, agent.ThreadFilter{Limit: 2, After: bad})
		f.fails(err, agent.CodeInvalid)
	}
}

func TestSummaryOfAThread(t *testing.T) {
	f := newFixture(t)
	sum := func() agent.ThreadSummary {
		t.Helper()
		one, err := f.Summary(f.ctx, f.thread)
		f.ok(err)
		page, _, err := f.Threads(f.ctx, agent.ThreadFilter{Limit: 1})
		f.ok(err)
		equal(t, page[0], one)
		return one
	}
	if s := sum(); s.Snippet != "" || s.Running || s.Waiting != 0 {
		t.Errorf("empty thread is %+v", s)
	}
	f.post("Wie geht\n es dir? 北京")
	if s := sum(); s.Snippet != "Wie geht es dir? 北京" || !s.Running {
		t.Errorf("summary is %+v", s)
	}
	m := f.openReply()
	equal(t, sum().Snippet, "Wie geht es dir? 北京")
	m.State, m.Parts = agent.MessageComplete, text("Gut.")
	f.ok(f.CloseReply(f.ctx, m))
	f.end(agent.TurnDone)
	if s := sum(); s.Snippet != "Gut." || s.Running {
		t.Errorf("summary is %+v", s)
	}
	f.waiting()
	if s := sum(); s.Running || s.Waiting != 1 {
		t.Errorf("summary is %+v", s)
	}
	_, err := f.Summary(f.ctx, agent.NewID())
	f.fails(err, agent.CodeNotFound)
}
