package store

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ash/agent"
)

func TestACleanStopLeavesNoTrace(t *testing.T) {
	o, _ := closed(t)
	for _, name := range []string{"-wal", "-shm", ".unclean"} {
		if exists(o.Path + name) {
			t.Errorf("%s is left", name)
		}
	}
	if s := openAt(t, o.Path); s.Unclean() || s.Damaged() {
		t.Error("a clean stop is taken for another")
	}
}

func TestAnUncleanStopIsRememberedUntilChecked(t *testing.T) {
	o := crashed(t)
	first, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !first.Unclean() || first.Damaged() {
		t.Errorf("unclean %v, damaged %v", first.Unclean(), first.Damaged())
	}
	if err := first.Close(); err != nil { // before the check came to its end
		t.Fatal(err)
	}
	second, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !second.Unclean() {
		t.Error("a clean stop in between hid the unclean one")
	}
	if err := second.CheckIntegrity(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if third := openAt(t, o.Path); third.Unclean() {
		t.Error("the check did not clear the mark")
	}
}

// crashed copies a database while it is open: what a power cut leaves.
func crashed(t *testing.T) Options {
	t.Helper()
	f := newFixture(t)
	f.post(strings.Repeat("words that lie in the log ", 1000))
	dir := t.TempDir()
	for _, name := range []string{"ash.db", "ash.db-wal"} {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(f.path), name))
		f.ok(err)
		f.ok(os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	return Options{Path: filepath.Join(dir, "ash.db")}
}

func TestDamageTurnsWritingOff(t *testing.T) {
	o, message := closed(t)
	spoilIndex(t, o.Path)
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{Store: s, t: t, ctx: t.Context()}
	f.fails(s.CheckIntegrity(f.ctx), agent.CodeUnavailable)
	m, err := s.Message(f.ctx, message)
	f.ok(err)
	f.fails(s.CreateThread(f.ctx, agent.Thread{ID: agent.NewID()}), agent.CodeUnavailable)
	_, err = s.Post(f.ctx, agent.NewMessage{Thread: m.Thread, Parts: text("x")})
	f.fails(err, agent.CodeUnavailable)
	f.ok(s.Close())

	s, err = Open(t.Context(), o) // it stays off over a restart
	f.ok(err)
	if !s.Damaged() {
		t.Error("damage was forgotten")
	}
	f.fails(s.CreateThread(f.ctx, agent.Thread{ID: agent.NewID()}), agent.CodeUnavailable)
	f.ok(s.Close())

	whole, _ := closed(t) // until another database is put in its place and checked
	data, err := os.ReadFile(whole.Path)
	f.ok(err)
	f.ok(os.WriteFile(o.Path, data, 0o600))
	s, err = Open(t.Context(), o)
	f.ok(err)
	f.ok(s.CheckIntegrity(f.ctx))
	f.ok(s.CreateThread(f.ctx, agent.Thread{ID: agent.NewID()}))
	f.ok(s.Close())
}

// spoilIndex changes one letter in the index of origins, as a dying disk would.
func spoilIndex(t *testing.T, path string) {
	t.Helper()
	s, err := connect(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{Store: s, t: t, ctx: t.Context()}
	f.ok(s.CreateThread(f.ctx, agent.Thread{ID: agent.NewID(), Origin: agent.Origin{Channel: "chan", ExternalID: "needle-in-index"}}))
	f.ok(s.Close())
	data, err := os.ReadFile(path)
	f.ok(err)
	at := bytes.LastIndex(data, []byte("channeedle-in-index"))
	if at < 0 {
		t.Fatal("no such entry")
	}
	overwrite(t, path, int64(at)+6, "X")
}

func TestBackup(t *testing.T) {
	f := newFixture(t)
	p := f.post("kept")
	dest := filepath.Join(t.TempDir(), "it's a copy.db")
	f.ok(f.Backup(f.ctx, dest))
	info, err := os.Stat(dest)
	f.ok(err)
	equal(t, info.Mode().Perm(), os.FileMode(0o600))
	f.post("later")
	f.fails(f.Backup(f.ctx, dest), agent.CodeConflict)
	f.fails(f.Backup(f.ctx, filepath.Join(t.TempDir(), "no", "folder")), agent.CodeInvalid)
	copied := openAt(t, dest)
	if m, err := copied.Message(f.ctx, p.Message.ID); err != nil || m.Text() != "kept" {
		t.Errorf("%q, %v", m.Text(), err)
	}
	f.ok(copied.CheckIntegrity(f.ctx))
	left, err := filepath.Glob(filepath.Join(filepath.Dir(dest), "*.part"))
	f.ok(err)
	equal(t, len(left), 0)
}

func TestAFullDisk(t *testing.T) {
	f := newFixture(t)
	before := f.post("before").Message
	var pages int
	f.ok(f.writer.NewRaw("PRAGMA page_count").Scan(f.ctx, &pages))
	_, err := f.writer.NewRaw("PRAGMA max_page_count = ?", pages).Exec(f.ctx)
	f.ok(err)
	big := agent.NewMessage{Thread: f.newThreadOf(""), Parts: text(strings.Repeat("full ", 50_000)), Form: "again"}
	_, err = f.Post(f.ctx, big)
	f.fails(err, agent.CodeExhausted)
	if f.Damaged() {
		t.Error("a full disk is no damage")
	}
	m, err := f.Message(f.ctx, before.ID)
	f.ok(err)
	equal(t, m, before)
	tail, err := f.Tail(f.ctx, big.Thread)
	f.ok(err)
	if tail.Head.ID != "" || tail.Turn.ID != "" {
		t.Errorf("half a message was stored: %+v", tail)
	}
	_, err = f.writer.NewRaw("PRAGMA max_page_count = 1073741823").Exec(f.ctx)
	f.ok(err)
	p, err := f.Post(f.ctx, big)
	f.ok(err)
	equal(t, p.Again, false)
	f.ok(f.CheckIntegrity(f.ctx))
}
