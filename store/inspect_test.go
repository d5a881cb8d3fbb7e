package store

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ash/agent"
)

// filesBeside returns what lies in the folder of a database, with sizes and times.
func filesBeside(t *testing.T, path string) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() || strings.HasSuffix(e.Name(), "-shm") { // which is memory shared between readers, not content
			continue
		}
		b, err := os.ReadFile(filepath.Join(filepath.Dir(path), e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(b)
	}
	return out
}

func same(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || w != v {
			return false
		}
	}
	return true
}

func TestInspectFindsAllWellAndChangesNothing(t *testing.T) {
	o, _ := closed(t)
	before := filesBeside(t, o.Path)
	for _, full := range []bool{false, true} {
		h, err := Inspect(t.Context(), o.Path, full)
		if err != nil {
			t.Fatal(err)
		}
		if !h.There || len(h.Damage) > 0 || h.Marked || h.Off || h.Foreign || h.Log || h.Version != h.Known || h.Version == 0 || h.Bytes == 0 {
			t.Errorf("full %v: %+v", full, h)
		}
		if age := time.Since(h.Newest); h.Newest.IsZero() || age < 0 || age > time.Hour {
			t.Errorf("the newest thing is of %v", h.Newest)
		}
	}
	if after := filesBeside(t, o.Path); !same(before, after) {
		t.Errorf("the look changed files: %v, then %v", len(before), len(after))
	}
}

func TestInspectKeepsTheTracesOfACrash(t *testing.T) {
	o := crashed(t)
	before := filesBeside(t, o.Path)
	h, err := Inspect(t.Context(), o.Path, true)
	if err != nil {
		t.Fatal(err)
	}
	if !h.Log || len(h.Damage) > 0 || h.Version == 0 {
		t.Errorf("%+v", h)
	}
	if after := filesBeside(t, o.Path); !same(before, after) {
		t.Error("the look changed what a crash left")
	}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !s.Unclean() {
		t.Error("the look hid that the last stop was not clean")
	}
	if h, err := Inspect(t.Context(), o.Path, false); err != nil || !h.Marked { // while it is open
		t.Errorf("beside an open database: %+v, %v", h, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestInspectBesideAWriter(t *testing.T) {
	f := newFixture(t)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				if err := f.CreateThread(context.Background(), agent.Thread{ID: agent.NewID(), Origin: agent.Origin{Channel: "web"}}); err != nil {
					t.Errorf("writing beside a look: %v", err)
					return
				}
			}
		}
	}()
	for range 20 {
		h, err := Inspect(t.Context(), f.path, false)
		if err != nil || len(h.Damage) > 0 || h.Version == 0 {
			t.Fatalf("%+v, %v", h, err)
		}
	}
	close(stop)
	<-done
}

func TestInspectFindsWhatIsBroken(t *testing.T) {
	damage := map[string]func(t *testing.T, path string){
		"header": func(t *testing.T, path string) { overwrite(t, path, 0, "not SQLite") },
		"pages": func(t *testing.T, path string) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for p := 4096 * 3; p+4096 < len(b); p += 4096 * 2 {
				copy(b[p:], bytes.Repeat([]byte{0xA5}, 64))
			}
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"cut short": func(t *testing.T, path string) {
			if err := os.Truncate(path, 4096*3); err != nil {
				t.Fatal(err)
			}
		},
		"lost beside its log": func(t *testing.T, path string) {
			if err := os.Rename(path, path+"-wal"); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, spoil := range damage {
		t.Run(name, func(t *testing.T) {
			o, _ := closed(t)
			spoil(t, o.Path)
			before := filesBeside(t, o.Path)
			h, err := Inspect(t.Context(), o.Path, false)
			if err != nil || len(h.Damage) == 0 {
				t.Errorf("%+v, %v", h, err)
			}
			if !same(before, filesBeside(t, o.Path)) {
				t.Error("the look changed files")
			}
		})
	}
}

func TestInspectTellsOtherSchemas(t *testing.T) {
	o, _ := closed(t)
	if _, err := Rollback(t.Context(), o, 2); err != nil {
		t.Fatal(err)
	}
	h, err := Inspect(t.Context(), o.Path, false)
	if err != nil || h.Version != h.Known-2 || h.Foreign {
		t.Errorf("an older schema: %+v, %v", h, err)
	}
	s, err := connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.writer.Exec(`UPDATE schema_migrations SET checksum = 'other' WHERE version = 2`); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if h, err := Inspect(t.Context(), o.Path, false); err != nil || !h.Foreign {
		t.Errorf("a step that was changed: %+v, %v", h, err)
	}
	if h, err := Inspect(t.Context(), filepath.Join(t.TempDir(), "none.db"), false); err != nil || h.There {
		t.Errorf("none: %+v, %v", h, err)
	}
}
