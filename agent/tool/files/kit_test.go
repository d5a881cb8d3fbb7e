package files_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ash/agent"
	"ash/agent/tool"
	"ash/agent/tool/files"
	"ash/store"
	"ash/store/storetest"
)

// records stands in for package policy: it remembers where contents came from, exactly.
type records struct {
	mu     sync.Mutex
	known  map[string]agent.Labels // by root, path and hash
	own    []string                // roots that were declared the person's own
	broken error
	// wrote is called at the last moment before a file is replaced.
	wrote func(root, path string)
}

func (r *records) Labels(_ context.Context, root, path, hash string) (agent.Labels, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if labels, ok := r.known[root+"|"+path+"|"+hash]; ok {
		return labels, nil
	}
	for _, own := range r.own {
		if own == root {
			return tool.Private("file:" + path), nil
		}
	}
	return tool.Untrusted("file:" + path), nil
}

func (r *records) Wrote(_ context.Context, root, path, hash string, labels agent.Labels) error {
	if r.wrote != nil {
		r.wrote(root, path)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil {
		return r.broken
	}
	if r.known == nil {
		r.known = map[string]agent.Labels{}
	}
	for key := range r.known {
		if strings.HasPrefix(key, root+"|"+path+"|") {
			delete(r.known, key)
		}
	}
	r.known[root+"|"+path+"|"+hash] = labels
	return nil
}

func (r *records) Watch(context.Context, string) (agent.Labels, func(context.Context, agent.Labels) error, error) {
	return nil, nil, errors.New("no commands here")
}

// desk is a root with files, and the tools over it.
type desk struct {
	t       testing.TB
	root    string
	env     tool.Env
	records *records
	store   *store.Store
	folders []files.Folder
	files   *files.Files
}

func newDesk(t testing.TB, adjust ...func(*files.Options)) *desk {
	t.Helper()
	dir := t.TempDir()
	d := &desk{t: t, root: filepath.Join(dir, "root"), records: &records{}}
	d.ok(os.Mkdir(d.root, 0o755))
	database := filepath.Join(dir, "db", "ash.db")
	storetest.Put(t, database)
	s, err := store.Open(t.Context(), store.Options{Path: database})
	d.ok(err)
	t.Cleanup(func() { d.ok(s.Close()) })
	d.store = s
	d.records.own = []string{d.root}
	d.env = tool.Env{Root: d.root, Thread: agent.Thread{ID: agent.NewID()}}
	o := files.Options{Provenance: d.records, Versions: d.store, Folders: func() []files.Folder { return d.folders }}
	for _, f := range adjust {
		f(&o)
	}
	d.files = files.New(o)
	return d
}

func (d *desk) ok(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) at(path string) string { return filepath.Join(d.root, filepath.FromSlash(path)) }

func (d *desk) put(path, text string) {
	d.t.Helper()
	d.ok(os.MkdirAll(filepath.Dir(d.at(path)), 0o755))
	d.ok(os.WriteFile(d.at(path), []byte(text), 0o644))
}

func (d *desk) holds(path, want string) {
	d.t.Helper()
	got, err := os.ReadFile(d.at(path))
	if err != nil || string(got) != want {
		d.t.Errorf("%s holds %q (%v), want %q", path, clip(string(got)), err, clip(want))
	}
}

func (d *desk) absent(path string) {
	d.t.Helper()
	if _, err := os.Lstat(d.at(path)); !errors.Is(err, fs.ErrNotExist) {
		d.t.Errorf("%s is there (%v)", path, err)
	}
}

// clean checks that nothing half-written is left.
func (d *desk) clean() {
	d.t.Helper()
	d.ok(filepath.WalkDir(d.root, func(p string, _ fs.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(p), ".ash-") {
			d.t.Errorf("left behind: %s", p)
		}
		return err
	}))
}

type arguments map[string]any

func (d *desk) tool(name string) tool.Tool {
	for _, t := range d.files.Tools() {
		if t.Definition().Name == name {
			return t
		}
	}
	d.t.Fatalf("no tool %s", name)
	return nil
}

func raw(t testing.TB, a arguments) json.RawMessage {
	out, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (d *desk) plan(name string, a arguments) (tool.Plan, error) {
	return d.tool(name).Plan(d.t.Context(), d.env, raw(d.t, a))
}

// call plans and runs, as a call that policy allows does, and returns the text of the result.
func (d *desk) call(name string, a arguments) (string, agent.ToolOutcome, error) {
	d.t.Helper()
	d.env.Call = agent.ToolCall{ID: agent.NewID(), Thread: d.env.Thread.ID, Name: name, Arguments: raw(d.t, a)}
	if _, err := d.plan(name, a); err != nil {
		return "", agent.ToolOutcome{}, err
	}
	out, err := d.tool(name).Run(d.t.Context(), d.env, raw(d.t, a), func(string) {})
	return textOf(out), out, err
}

// does is call for what must succeed.
func (d *desk) does(name string, a arguments) string {
	d.t.Helper()
	text, out, err := d.call(name, a)
	if err != nil || out.Failed {
		d.t.Fatalf("%s %v: %v %s", name, a, err, text)
	}
	return text
}

// refuses is call for what must fail with a code, in words that hold some.
func (d *desk) refuses(code agent.Code, words, name string, a arguments) {
	d.t.Helper()
	text, _, err := d.call(name, a)
	if agent.CodeOf(err) != code || !strings.Contains(agent.PublicOf(err), words) {
		d.t.Errorf("%s %s: got %v %q, want %s with %q", name, clip(string(raw(d.t, a))), err, clip(text), code, words)
	}
}

// lastCall is the id of the call that call made.
func (d *desk) lastCall() agent.ID { return d.env.Call.ID }

func textOf(o agent.ToolOutcome) string {
	var b strings.Builder
	for _, p := range o.Content {
		if t, ok := p.(agent.Text); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

func clip(s string) string {
	if len(s) > 300 {
		return s[:300] + "…"
	}
	return s
}

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// contains checks that a text holds all of some words.
func contains(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in:\n%s", w, clip(text))
		}
	}
}

// lacks is the opposite of contains.
func lacks(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if strings.Contains(text, w) {
			t.Errorf("%q is in:\n%s", w, clip(text))
		}
	}
}
