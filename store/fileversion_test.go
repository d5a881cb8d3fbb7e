package store

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/tool/files"
)

func aVersion(f *fixture, call agent.ID, path string) files.Version {
	return files.Version{
		ID: agent.NewID(), Thread: f.thread, Call: call, Root: "/srv/files", Path: path, Before: "aa", After: "bb",
		Mode: 0o640, Kept: true, Created: now(), Labels: agent.Labels{{Source: "example.org", Kind: agent.LabelUntrusted}},
	}
}

func TestFileVersions(t *testing.T) {
	f := newFixture(t)
	call := agent.NewID()
	first := aVersion(f, call, "a.txt")
	f.ok(f.AddFileVersion(f.ctx, first, []byte("old\x00\xff"), ""))
	created := aVersion(f, call, "new.txt")
	created.Before, created.Labels = "", nil
	f.ok(f.AddFileVersion(f.ctx, created, nil, ""))
	empty := aVersion(f, call, "empty.txt")
	f.ok(f.AddFileVersion(f.ctx, empty, []byte{}, ""))
	large := aVersion(f, call, "large.bin")
	large.Kept = false
	f.ok(f.AddFileVersion(f.ctx, large, nil, ""))
	f.ok(f.AddFileVersion(f.ctx, aVersion(f, agent.NewID(), "other.txt"), []byte("x"), ""))

	list, err := f.FileVersions(f.ctx, call)
	f.ok(err)
	want := []files.Version{large, empty, created, first}
	if len(list) != len(want) {
		t.Fatalf("%d versions, want %d", len(list), len(want))
	}
	for i := range want {
		if !slices.Equal(list[i].Labels, want[i].Labels) {
			t.Errorf("labels of %s are %v", want[i].Path, list[i].Labels)
		}
		got := list[i]
		got.Labels, want[i].Labels = nil, nil
		if got.ID != want[i].ID || got.Before != want[i].Before || got.After != want[i].After || got.Mode != want[i].Mode ||
			got.Kept != want[i].Kept || got.Path != want[i].Path || got.Root != want[i].Root || !got.Created.Equal(want[i].Created) || got.Undone {
			t.Errorf("read back\n %+v, want\n %+v", got, want[i])
		}
	}
	for _, c := range []struct {
		v    files.Version
		want []byte
	}{{first, []byte("old\x00\xff")}, {empty, nil}} {
		got, err := f.FileVersionBytes(f.ctx, c.v.ID)
		f.ok(err)
		if !bytes.Equal(got, c.want) {
			t.Errorf("%s held %q", c.v.Path, got)
		}
	}
	for _, v := range []files.Version{created, large, {ID: agent.NewID()}} {
		_, err := f.FileVersionBytes(f.ctx, v.ID)
		f.fails(err, agent.CodeNotFound)
	}
}

func TestFileVersionIsUndoneOnce(t *testing.T) {
	f := newFixture(t)
	call := agent.NewID()
	v, undo, again := aVersion(f, call, "a"), aVersion(f, call, "a"), aVersion(f, call, "a")
	f.ok(f.AddFileVersion(f.ctx, v, []byte("x"), ""))
	f.ok(f.AddFileVersion(f.ctx, undo, []byte("y"), v.ID))
	f.fails(f.AddFileVersion(f.ctx, again, []byte("z"), v.ID), agent.CodeConflict)
	f.fails(f.AddFileVersion(f.ctx, again, []byte("z"), agent.NewID()), agent.CodeConflict)
	list, err := f.FileVersions(f.ctx, call)
	f.ok(err)
	if len(list) != 2 || list[0].ID != undo.ID || list[0].Undone || !list[1].Undone {
		t.Fatalf("after undo: %+v", list)
	}
	f.ok(f.DropFileVersion(f.ctx, undo.ID, v.ID))
	list, err = f.FileVersions(f.ctx, call)
	f.ok(err)
	if len(list) != 1 || list[0].Undone {
		t.Errorf("after taking the undo back: %+v", list)
	}
}

func TestPruneFileVersions(t *testing.T) {
	f := newFixture(t)
	call := agent.NewID()
	add := func(path string, age time.Duration, size int) agent.ID {
		v := aVersion(f, call, path)
		v.Created = now().Add(-age)
		f.ok(f.AddFileVersion(f.ctx, v, make([]byte, size), ""))
		return v.ID
	}
	day := 24 * time.Hour
	add("a", 40*day, 10)
	second, third := add("a", 35*day, 20), add("a", 31*day, 30)
	only := add("b", 50*day, 40)
	young := add("c", day, 50)
	add("c", 60*day, 60) // written later with an old date: the newest of c by order
	removed, size, err := f.PruneFileVersions(f.ctx, now().Add(-30*day), 2)
	f.ok(err)
	if removed != 1 || size != 10 {
		t.Errorf("removed %d versions of %d bytes, want the oldest of a", removed, size)
	}
	removed, size, err = f.PruneFileVersions(f.ctx, now().Add(-30*day), 0)
	f.ok(err)
	if removed != 4 || size != 20+30+40+60 {
		t.Errorf("removed %d versions of %d bytes, want all old ones", removed, size)
	}
	for _, id := range []agent.ID{second, third, only} {
		_, err := f.FileVersionBytes(f.ctx, id)
		f.fails(err, agent.CodeNotFound)
	}
	if _, err := f.FileVersionBytes(f.ctx, young); err != nil {
		t.Error("a young version went", err)
	}
	if removed, _, err := f.PruneFileVersions(f.ctx, now().Add(-30*day), 0); err != nil || removed != 0 {
		t.Errorf("a second time: %d, %v", removed, err)
	}
}

func TestPurgedThreadTakesItsFileVersionsAlong(t *testing.T) {
	f := newFixture(t)
	v := aVersion(f, agent.NewID(), "a")
	f.ok(f.AddFileVersion(f.ctx, v, []byte("secret plans"), ""))
	deleted := true
	_, err := f.PatchThread(f.ctx, f.thread, agent.ThreadPatch{Deleted: &deleted})
	f.ok(err)
	_, err = f.PurgeDeleted(f.ctx, now().Add(time.Hour))
	f.ok(err)
	_, err = f.FileVersionBytes(f.ctx, v.ID)
	f.fails(err, agent.CodeNotFound)
}
