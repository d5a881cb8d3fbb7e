package archive_test

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/memory/archive"
)

var at = time.Date(2025, 5, 3, 10, 0, 0, 123000, time.UTC)

// remembered is a memory with something of everything.
func remembered() *archive.Memory {
	ids := make([]agent.ID, 12)
	for i := range ids {
		ids[i] = agent.ID("0196b000-0000-7000-8000-0000000000" + string(rune('a'+i/10)) + string(rune('0'+i%10)))
	}
	anna := agent.Entity{ID: ids[0], Name: "Anna", Kind: agent.EntityPerson, Aliases: []string{"Änni", "A."}}
	stranger := agent.Labels{{Source: "import:x", Kind: agent.LabelUntrusted}}
	old := agent.Fact{
		ID: ids[1], Kind: agent.FactPlain, Status: agent.FactSuperseded, Text: "Anna lives in Graz", Successor: ids[2], Confidence: 0.9, Importance: 0.5,
		Said: at, Until: at.Add(time.Hour), Source: agent.Provenance{Kind: agent.SourceMessage, Thread: ids[3], Message: ids[4], Quote: "she's in Graz"},
		Entities: []agent.Entity{{ID: anna.ID, Name: "Anna", Kind: agent.EntityPerson}}, Created: at, Updated: at.Add(time.Hour),
	}
	now := agent.Fact{
		ID: ids[2], Kind: agent.FactCore, Status: agent.FactCurrent, Text: "Anna lives in Wien ![x](http://evil.example/x.png) <b>", Pinned: true, Supersedes: []agent.ID{ids[1]},
		Said: at, Expires: at.Add(1e6 * time.Second), Labels: stranger, Source: agent.Provenance{Kind: agent.SourceImport}, Created: at.Add(time.Minute), Updated: at.Add(time.Hour),
	}
	k := archive.NewKey(bytes.Repeat([]byte{7}, archive.KeySize))
	return &archive.Memory{
		Facts: []agent.Fact{now, old}, Entities: []agent.Entity{anna},
		Conversations: []archive.Conversation{{ID: ids[3], Title: "About Anna", Created: at, Updated: at}},
		Episodes:      []agent.Episode{{Thread: ids[3], Through: ids[4], Text: "Anna moved.", Began: at, Ended: at, Created: at, Usage: agent.Usage{Input: 7, Duration: time.Second}}},
		Runs:          []agent.MemoryRun{{ID: ids[5], Kind: agent.RunLearn, Thread: ids[3], Changes: []agent.MemoryChange{{Fact: old.ID, After: &old}}, Created: at}},
		Proposals:     []agent.Proposal{{ID: ids[6], Action: agent.ActionRetire, Why: "old", Fact: now, Created: at}},
		Tombstones:    []archive.Tombstone{{Key: k.ID, Tombstone: agent.Tombstone{ID: ids[7], Hashes: [][]byte{bytes.Repeat([]byte{2}, 16), bytes.Repeat([]byte{1}, 16)}, Vector: []byte{1, 2}, Space: "m/2", Created: at}}},
		Keys:          []archive.Key{k},
		Records:       []archive.Record{{Path: "in/", Labels: stranger}, {Path: "a.md", Hash: "00", Own: true}},
		Notes:         []archive.Note{{Path: "garden/roses & more.md", Modified: at}, {Path: "a.md", Modified: at}},
	}
}

func noteText(path string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("# " + path + "\n\xff raw \x00 bytes\n")), nil
}

// packed writes an archive to a file.
func packed(t testing.TB, m *archive.Memory) string {
	t.Helper()
	var b bytes.Buffer
	if err := archive.Write(&b, m, noteText); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "memory.zip")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func opened(t testing.TB, name string) *archive.Archive {
	t.Helper()
	a, err := archive.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func content(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What is read is what was written: written again it gives the same bytes, from the zip and from the folder.
func TestArchiveIsLossless(t *testing.T) {
	name := packed(t, remembered())
	a := opened(t, name)
	dir := t.TempDir()
	if err := a.Unpack(dir); err != nil {
		t.Fatal(err)
	}
	for from, b := range map[string]*archive.Archive{"zip": a, "folder": opened(t, dir)} {
		var again bytes.Buffer
		if err := archive.Write(&again, &b.Memory, b.Note); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again.Bytes(), content(t, name)) {
			t.Errorf("written again from the %s it differs", from)
		}
	}
	f := a.Memory.Facts[1]
	if !f.Labels.Untrusted() || !f.Pinned || f.Expires.IsZero() || a.Memory.Facts[0].Successor != f.ID || !f.Said.Equal(at) {
		t.Errorf("%+v", f)
	}
	if text := string(content(t, filepath.Join(dir, "notes", "a.md"))); text != "# a.md\n\xff raw \x00 bytes\n" {
		t.Errorf("the note is %q", text)
	}
	page := string(content(t, filepath.Join(dir, "memory", "about-me.md")))
	if strings.Contains(page, "![") || strings.Contains(page, "<b>") || !strings.Contains(page, "Anna lives in Wien") {
		t.Errorf("the page is %s", page)
	}
	index := string(content(t, filepath.Join(dir, "index.md")))
	for _, link := range []string{"memory/about-me.md", "memory/history.md", "memory/about.md", "notes/garden/roses%20&%20more.md"} {
		if !strings.Contains(index, link) {
			t.Errorf("the index does not lead to %s:\n%s", link, index)
		}
	}
}

func TestForOthersHasNothingToGuessWith(t *testing.T) {
	m := remembered()
	m.ForOthers()
	a := opened(t, packed(t, m))
	if len(a.Memory.Keys) != 0 || a.Memory.Tombstones[0].Vector != nil || len(a.Memory.Tombstones) != 1 {
		t.Errorf("%+v %+v", a.Memory.Keys, a.Memory.Tombstones)
	}
}

// Bad archives are refused with a reason.
func TestBadArchivesAreRefused(t *testing.T) {
	sound := t.TempDir()
	if err := opened(t, packed(t, remembered())).Unpack(sound); err != nil {
		t.Fatal(err)
	}
	change := func(name string, from, to string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, name)
			text := strings.Replace(string(content(t, path)), from, to, 1)
			if text == string(content(t, path)) {
				t.Fatalf("%s has no %q", name, from)
			}
			write(t, path, text)
		}
	}
	for name, c := range map[string]struct {
		spoil func(t *testing.T, dir string)
		says  string
	}{
		"no manifest":   {func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "manifest.json")) }, "no archive of Ash's memory"},
		"newer":         {change("manifest.json", `"version": 1`, `"version": 2`), "newer Ash"},
		"other program": {change("manifest.json", `"ash-memory"`, `"other"`), "not that of an archive"},
		"half manifest": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "manifest.json"), `{"format":"ash-memory","ver`)
		}, "manifest.json"},
		"changed fact":   {change("data/facts.jsonl", "Graz", "Linz"), "not as it was"},
		"half file":      {func(t *testing.T, dir string) { cut(t, filepath.Join(dir, "data", "facts.jsonl")) }, "not as it was"},
		"missing file":   {func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "data", "runs.jsonl")) }, "missing"},
		"missing note":   {func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "notes", "a.md")) }, "missing"},
		"a note more":    {func(t *testing.T, dir string) { write(t, filepath.Join(dir, "notes", "b.md"), "x") }, "was not in the archive"},
		"changed note":   {func(t *testing.T, dir string) { write(t, filepath.Join(dir, "notes", "a.md"), "x") }, "not as it was"},
		"unlisted count": {change("manifest.json", `"facts": 2`, `"facts": 3`), "not whole"},
		"link": {func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, "notes", "a.md"))
			if err := os.Symlink("/etc/passwd", filepath.Join(dir, "notes", "a.md")); err != nil {
				t.Skip(err)
			}
		}, "is a link"},
		"leads out": {change("manifest.json", `"data/facts.jsonl"`, `"../facts.jsonl"`), "no file of such an archive"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(sound)); err != nil {
				t.Fatal(err)
			}
			c.spoil(t, dir)
			refused(t, dir, c.says)
		})
	}
	t.Run("nothing", func(t *testing.T) {
		if _, err := archive.Open(filepath.Join(t.TempDir(), "none.zip")); agent.CodeOf(err) != agent.CodeNotFound {
			t.Error(err)
		}
	})
	t.Run("half zip", func(t *testing.T) {
		name := packed(t, remembered())
		cut(t, name)
		refused(t, name, "no zip")
	})
	t.Run("pages may be changed", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(sound)); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "index.md"), "mine")
		write(t, filepath.Join(dir, ".DS_Store"), "x")
		opened(t, dir)
	})
}

func refused(t *testing.T, name, says string) {
	t.Helper()
	a, err := archive.Open(name)
	if err == nil {
		t.Fatal("taken in", a.Close())
	}
	if agent.CodeOf(err) != agent.CodeInvalid || !strings.Contains(agent.PublicOf(err), says) {
		t.Errorf("%v, want an error about %q", err, says)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
}

func cut(t *testing.T, name string) {
	t.Helper()
	b := content(t, name)
	write(t, name, string(b[:len(b)/2]))
}

// zipped makes a zip of headers and texts.
func zipped(t *testing.T, files ...zip.FileHeader) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "evil.zip")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for _, h := range files {
		w, err := z.CreateHeader(&h)
		if err == nil {
			_, err = w.Write([]byte(h.Comment))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestEvilZipsAreRefused(t *testing.T) {
	link := zip.FileHeader{Name: "notes/a.md", Comment: "/etc/passwd"}
	link.SetMode(os.ModeSymlink | 0o777)
	for name, c := range map[string]struct {
		file zip.FileHeader
		says string
	}{
		"out":       {zip.FileHeader{Name: "../../evil.md"}, "leads out"},
		"absolute":  {zip.FileHeader{Name: "/etc/evil.md"}, "leads out"},
		"backslash": {zip.FileHeader{Name: `notes\..\..\evil.md`}, "leads out"},
		"drive":     {zip.FileHeader{Name: "C:evil.md"}, "leads out"},
		"link":      {link, "is a link"},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, zipped(t, zip.FileHeader{Name: "manifest.json", Comment: "{}"}, c.file), c.says)
		})
	}
	t.Run("twice", func(t *testing.T) {
		refused(t, zipped(t, zip.FileHeader{Name: "a"}, zip.FileHeader{Name: "a"}), "twice")
	})
}

// A file that is larger than it says is read no further than that.
func TestBombsAreRefused(t *testing.T) {
	name := filepath.Join(t.TempDir(), "bomb.zip")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	big := bytes.Repeat([]byte("0"), 1<<20)
	w, err := z.CreateHeader(&zip.FileHeader{Name: "manifest.json", Method: zip.Deflate})
	for i := 0; i < 100 && err == nil; i++ {
		_, err = w.Write(big)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	refused(t, name, "manifest.json")
}
