package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/memory/notes"
)

func (s *shelf) at(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

func (s *shelf) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// A note is reached by one path only: a link within the folder makes no second one, of which the index would hold a copy.
func TestNoteBehindALinkedFolder(t *testing.T) {
	s := still(t)
	s.put("real/a.md", "one")
	for link, to := range map[string]string{"here": ".", "other": "real", "real/up": ".."} {
		if err := os.Symlink(to, s.at(link)); err != nil {
			t.Skip("the system makes no links:", err)
		}
	}
	s.scan()
	n := s.read("real/a.md")
	for _, name := range []string{"other/a.md", "here/real/a.md", "real/up/real/a.md"} {
		if n, err := s.Read(t.Context(), name); agent.CodeOf(err) != agent.CodeInvalid {
			t.Errorf("read %s: %+v %v", name, n, err)
		}
		if _, err := s.Save(t.Context(), notes.Draft{Path: name, Base: n.Hash, Text: "two"}); agent.CodeOf(err) != agent.CodeInvalid {
			t.Errorf("save %s: %v", name, err)
		}
		if _, err := s.Rename(t.Context(), "real/a.md", strings.Replace(name, "a.md", "b.md", 1), n.Hash); agent.CodeOf(err) != agent.CodeInvalid {
			t.Errorf("rename to %s: %v", name, err)
		}
		if _, ok := s.row(name); ok {
			t.Errorf("%s has a row", name)
		}
	}
	if _, _, err := s.List(t.Context(), "other", "", 10); agent.CodeOf(err) != agent.CodeNotFound {
		t.Error("the linked folder is listed:", err)
	}
	// A folder that becomes a link: what was below it is gone.
	s.must(errors.Join(os.Rename(s.at("real"), s.at("moved")), os.Symlink("moved", s.at("real"))))
	if r := s.scan(); r.Notes != 1 || r.Gone != 1 {
		t.Errorf("%+v", r)
	}
	if _, ok := s.row("real/a.md"); ok {
		t.Error("the note is there twice")
	}
	// The folder as a whole may be a link: to where another program keeps its vault.
	whole := &shelf{t: t, dir: filepath.Join(t.TempDir(), "vault"), store: vectorStore(t)}
	s.must(os.Symlink(s.dir, whole.dir))
	whole.open(notes.Options{Debounce: 10 * time.Millisecond, Rescan: time.Hour})
	whole.until("a note behind the link has a row", func() bool { _, ok := whole.row("moved/a.md"); return ok })
	s.put("moved/a.md", "# changed")
	whole.until("its change is seen", func() bool { r, _ := whole.row("moved/a.md"); return r.Title == "changed" })
}

// What is no file does not stop anything: nobody ever writes into this pipe.
func TestNoteIsAPipe(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such pipes")
	}
	s := still(t)
	s.must(syscall.Mkfifo(s.at("pipe.md"), 0o600))
	s.must(os.Mkdir(s.at("folder.md"), 0o700))
	s.put("folder.md/in.md", "in")
	s.put("a.md", "a")
	if r := s.scan(); r.Notes != 2 || !slices.Equal(r.Skipped, []string{"pipe.md"}) {
		t.Errorf("%+v", r)
	}
	for _, name := range []string{"pipe.md", "folder.md"} {
		if _, err := s.Read(t.Context(), name); agent.CodeOf(err) != agent.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := s.Save(t.Context(), notes.Draft{Path: name, Text: "x"}); agent.CodeOf(err) != agent.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Names that people use are read whatever alphabet they are in; names that some systems take for one another are not made side by side.
func TestNoteNamesOfTheWorld(t *testing.T) {
	s := still(t)
	const composed, apart = "Caf\u00e9.md", "Cafe\u0301.md"
	for _, name := range []string{"👩\u200d🌾 Garten.md", "می\u200cخواهم.md", strings.Repeat("長", 84) + ".md", "What?.md", "CON.md", apart, "ἀρχή/Ὀδυσσεύς.md"} {
		s.put(name, "# "+name)
	}
	if r := s.scan(); r.Notes != 7 || len(r.Skipped) > 0 {
		t.Errorf("%+v", r)
	}
	if got, err := s.Resolve(t.Context(), "café"); got != apart || err != nil {
		t.Errorf("the link leads to %q: %v", got, err)
	}
	for _, name := range []string{composed, "what？.md", "ΑΡΧΉ/new.md", "ἀρχή/ὈΔΥΣΣΕΎΣ.md"} {
		_, err := s.Save(t.Context(), notes.Draft{Path: name, Text: "new"})
		if want := name != "what？.md" && name != "ΑΡΧΉ/new.md"; (agent.CodeOf(err) == agent.CodeConflict) != want {
			t.Errorf("%s is made: %v", name, err)
		}
	}
	s.put("Roses.md", "roses")
	r := s.read("Roses.md")
	if _, err := s.Save(t.Context(), notes.Draft{Path: "ROSES.md", Text: "other"}); agent.CodeOf(err) != agent.CodeConflict || !strings.Contains(agent.PublicOf(err), "Roses.md") {
		t.Error(err)
	}
	s.put("b.md", "b")
	if _, err := s.Rename(t.Context(), "b.md", "roses.md", s.read("b.md").Hash); agent.CodeOf(err) != agent.CodeConflict {
		t.Error(err)
	}
	if done, err := s.Rename(t.Context(), "Roses.md", "roses.md", r.Hash); err != nil || done.Note.Text != "roses" {
		t.Errorf("only the case changes: %+v %v", done, err)
	}
	// A note with a name that would not be made here is kept when it is made anew after it was deleted under the editor.
	n := s.read("What?.md")
	s.must(os.Remove(s.at("What?.md")))
	if _, err := s.Save(t.Context(), notes.Draft{Path: "What?.md", Base: n.Hash, Text: "mine"}); !conflictOf(t, err).Missing {
		t.Error(err)
	}
	if got := s.save(notes.Draft{Path: "What?.md", Text: "mine", Again: true}); got.Text != "mine" {
		t.Errorf("%+v", got)
	}
}

// What another program writes while a new text is made ready is not overwritten.
func TestNoteOvertaken(t *testing.T) {
	s := still(t)
	base := s.save(notes.Draft{Path: "a.md", Text: strings.Repeat("old ", 1000)})
	lost := 0
	for i := range 150 {
		theirs := strings.Repeat("theirs ", 1000) + string(rune('a'+i%26))
		there := make(chan error)
		go func() {
			time.Sleep(time.Duration(i%20) * 100 * time.Microsecond)
			temp := s.at("theirs.tmp")
			there <- errors.Join(os.WriteFile(temp, []byte(theirs), 0o600), os.Rename(temp, s.at("a.md")))
		}()
		_, err := s.Save(t.Context(), notes.Draft{Path: "a.md", Base: base.Hash, Text: strings.Repeat("mine ", 1000)})
		s.must(<-there)
		switch now := s.file("a.md"); {
		case err == nil && now != theirs: // ours came after theirs without saying so
			lost++
		case err != nil && agent.CodeOf(err) == agent.CodeConflict && now != theirs:
			t.Fatalf("a conflict, and yet %.20q is there", now)
		case err != nil && agent.CodeOf(err) != agent.CodeConflict && agent.CodeOf(err) != agent.CodeUnavailable:
			t.Fatal(err)
		}
		base = s.save(notes.Draft{Path: "a.md", Base: s.read("a.md").Hash, Text: strings.Repeat("old ", 1000)})
	}
	if lost > 1 { // the moment between the last look and the renaming, which no system closes
		t.Errorf("another program's text was lost %d times of 150", lost)
	}
}

// A note keeps its line ends, its mode and its first empty line; what Ash left half-written in a crash goes.
func TestNoteIsKeptAsItWas(t *testing.T) {
	s := still(t)
	s.put("win.md", "---\r\ntitle: Windows\r\n---\r\n# A\r\ntext\r\n")
	n := s.read("win.md")
	if n.Title != "Windows" || n.Problem != "" {
		t.Errorf("%+v", n)
	}
	n = s.save(notes.Draft{Path: "win.md", Base: n.Hash, Text: "---\ntitle: Windows\n---\n# A\nmore\n"})
	if got := s.file("win.md"); got != "---\r\ntitle: Windows\r\n---\r\n# A\r\nmore\r\n" || n.Text != got {
		t.Errorf("%q", got)
	}
	s.put("bom.md", "\ufeff# Title\ntext")
	if n := s.read("bom.md"); n.Title != "Title" {
		t.Errorf("%+v", n)
	}
	s.put("bomfront.md", "\ufeff---\ntitle: T\n---\nbody")
	if n := s.read("bomfront.md"); n.Title != "T" || string(n.Front) != `{"title":"T"}` {
		t.Errorf("%+v", n)
	}
	if runtime.GOOS != "windows" {
		s.must(os.Chmod(s.at("bom.md"), 0o664))
		s.save(notes.Draft{Path: "bom.md", Base: s.read("bom.md").Hash, Text: "changed"})
		if info, err := os.Stat(s.at("bom.md")); err != nil || info.Mode().Perm() != 0o664 {
			t.Error(info.Mode(), err)
		}
	}
	old := time.Now().Add(-2 * time.Hour)
	left, fresh, other := "x/.ash-"+string(agent.NewID()), "x/.ash-"+string(agent.NewID()), "x/.ash-notes"
	for _, name := range []string{left, fresh, other} {
		s.put(name, "half")
		if name != fresh {
			s.must(os.Chtimes(s.at(name), old, old))
		}
	}
	s.scan()
	if _, err := os.Stat(s.at(left)); !errors.Is(err, fs.ErrNotExist) {
		t.Error("what a crash left is there still:", err)
	}
	for _, name := range []string{fresh, other} {
		if _, err := os.Stat(s.at(name)); err != nil {
			t.Error(err)
		}
	}
}

// A list that is paged goes on where it was, also when the note it went on from is gone.
func TestNoteListGoesOn(t *testing.T) {
	s := still(t)
	for _, name := range []string{"Ärger.md", "apfel.md", "Birne.md", "zebra.md", "Über/x.md", "alt/x.md"} {
		s.put(name, "x")
	}
	page, more, err := s.List(t.Context(), "", "", 4)
	var names []string
	for _, e := range page {
		names = append(names, e.Name)
	}
	if err != nil || !more || !slices.Equal(names, []string{"alt", "Über", "apfel", "Birne"}) {
		t.Fatalf("%v %v %v", names, more, err)
	}
	s.must(os.Remove(s.at("Birne.md")))
	if page, more, err = s.List(t.Context(), "", "Birne.md", 4); err != nil || more || len(page) != 2 || page[0].Name != "zebra" {
		t.Errorf("%+v %v %v", page, more, err)
	}
	s.must(os.RemoveAll(s.at("alt")))
	if page, _, err = s.List(t.Context(), "", "alt", 1); err != nil || len(page) != 1 || page[0].Name != "Über" {
		t.Errorf("%+v %v", page, err)
	}
	for _, folder := range []string{"apfel.md", "nowhere", "../x", "a//b"} {
		if _, _, err := s.List(t.Context(), folder, "", 4); agent.CodeOf(err) != agent.CodeNotFound {
			t.Errorf("%s: %v", folder, err)
		}
	}
}

// What goes with a note: its passages, their meanings and its links.
func TestNoteTakesAllAlong(t *testing.T) {
	s := still(t)
	ctx := t.Context()
	s.save(notes.Draft{Path: "a.md", Text: "# A\nSee [[b]].\n"})
	note, list, err := s.Passages(ctx, "a.md")
	s.must(err)
	s.index(note, list)
	count := func(what string) (n int) {
		s.must(s.store.reader.NewRaw("SELECT count(*) FROM "+what).Scan(ctx, &n))
		return n
	}
	for _, q := range []string{
		"INSERT INTO recall_codes (item, space, code) SELECT seq, 1, x'00' FROM recall_items",
		"INSERT INTO recall_vectors (item, space, bytes) SELECT seq, 1, x'00' FROM recall_items",
	} {
		_, err := s.store.writer.ExecContext(ctx, q)
		s.must(err)
	}
	tables := []string{"recall_items", "recall_codes", "recall_vectors", "note_links", "notes"}
	for _, what := range tables {
		if count(what) != 1 {
			t.Errorf("%d %s", count(what), what)
		}
	}
	s.must(os.Remove(s.at("a.md")))
	s.scan()
	for _, what := range append(tables, "recall_fts WHERE recall_fts MATCH 'see'") {
		if count(what) != 0 {
			t.Errorf("%d %s are left of a note that is gone", count(what), what)
		}
	}
	if links, err := s.Backlinks(ctx, "b.md"); err != nil || len(links) > 0 {
		t.Error(links, err)
	}
}
