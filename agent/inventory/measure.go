package inventory

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"ash/agent"
)

// Part is what the home holds of one kind.
type Part struct {
	Kind  Kind
	Bytes int64
	Files int
	Where []Entry
}

// Entry is one place that holds some of a part.
type Entry struct {
	Name  string // in the home, or an absolute path elsewhere
	Bytes int64
}

// Report is what lies in a home.
type Report struct {
	Parts   []Part   // in the order of Kinds, without those that are empty
	Bytes   int64    // of all parts
	Foreign []string // entries of the home that are not Ash's, by name
	Partial bool     // counting took too long: the sizes are of what was seen
}

// Measure counts what lies in the home, until ctx ends: what was seen by then is the report. CodeUnavailable when the home cannot be read.
func (h Home) Measure(ctx context.Context) (Report, error) {
	var r Report
	entries, err := os.ReadDir(h.Path)
	if err != nil {
		return r, agent.Wrap(agent.CodeUnavailable, err, "The home %s cannot be read: %v.", h.Path, reason(err))
	}
	parts := map[Kind]*Part{}
	add := func(kind Kind, where string, bytes int64, files int) {
		p := parts[kind]
		if p == nil {
			p = &Part{Kind: kind}
			parts[kind] = p
		}
		p.Bytes, p.Files, p.Where = p.Bytes+bytes, p.Files+files, append(p.Where, Entry{where, bytes})
		r.Bytes += bytes
	}
	places := h.places()
	for _, e := range entries {
		if own(e.Name()) {
			continue
		}
		p, ok := find(places, e.Name())
		if !ok && !h.holdsPlace(e) {
			r.Foreign = append(r.Foreign, e.Name())
			continue
		}
		if !ok {
			continue // counted below, by its whole path
		}
		bytes, files := size(ctx, filepath.Join(h.Path, e.Name()), p.mine)
		add(p.kind, e.Name(), bytes, files)
	}
	for _, f := range h.folders() {
		if strings.Contains(f.Name, "/") {
			bytes, files := size(ctx, filepath.Join(h.Path, filepath.FromSlash(f.Name)), nil)
			add(f.Kind, f.Name, bytes, files)
		}
	}
	for _, e := range h.Elsewhere() {
		bytes, files := size(ctx, e.Path, nil)
		add(e.Kind, e.Path, bytes, files)
	}
	for _, k := range Kinds() {
		if p := parts[k]; p != nil {
			r.Parts = append(r.Parts, *p)
		}
	}
	r.Partial = ctx.Err() != nil
	slices.Sort(r.Foreign)
	return r, nil
}

// holdsPlace reports whether an entry of the home is only there to hold a folder that the settings name.
func (h Home) holdsPlace(e fs.DirEntry) bool {
	return slices.ContainsFunc(h.folders(), func(f folder) bool { return strings.HasPrefix(f.Name, e.Name()+"/") })
}

// size counts the ordinary files at or below a path. What cannot be looked at counts nothing.
func size(ctx context.Context, at string, mine func(string) bool) (bytes int64, files int) {
	_ = filepath.WalkDir(at, func(name string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return fs.SkipAll
		}
		if err != nil || !e.Type().IsRegular() {
			return nil //nolint:nilerr // another user's folder, or gone since
		}
		if rel, err := filepath.Rel(at, name); mine != nil && (err != nil || !mine(filepath.ToSlash(rel))) {
			return nil //nolint:nilerr // not Ash's
		}
		if info, err := e.Info(); err == nil {
			bytes += info.Size()
			files++
		}
		return nil
	})
	return bytes, files
}

// Snapshot is an older copy of the database in backups/.
type Snapshot struct {
	Name  string
	Bytes int64
	Made  time.Time
}

// Snapshots returns the older copies of the database, the newest first.
func (h Home) Snapshots() ([]Snapshot, error) {
	entries, err := os.ReadDir(filepath.Join(h.Path, backupFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, agent.Wrap(agent.CodeUnavailable, err, "The snapshots cannot be listed: %v.", reason(err))
	}
	var out []Snapshot
	for _, e := range entries {
		if !isSnapshot(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, agent.Wrap(agent.CodeUnavailable, err, "The snapshot %s cannot be looked at: %v.", e.Name(), reason(err))
		}
		out = append(out, Snapshot{Name: e.Name(), Bytes: info.Size(), Made: made(e.Name(), info.ModTime())})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Made.After(out[j].Made) })
	return out, nil
}

// made reads from the name of a snapshot when it was made, since copying a home changes the times of files.
func made(name string, otherwise time.Time) time.Time {
	stamp, _, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(name, "ash-"), ".db"), "-")
	if at, err := time.Parse("20060102T150405.000Z", stamp); err == nil {
		return at
	}
	return otherwise
}

// DeleteSnapshots removes snapshots by name. CodeNotFound for a name that is none of them; those before it are gone then.
func (h Home) DeleteSnapshots(names []string) (err error) {
	root, err := os.OpenRoot(filepath.Join(h.Path, backupFolder))
	if err != nil {
		return agent.Wrap(agent.CodeNotFound, err, "There are no snapshots.")
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for _, name := range names {
		if name != filepath.Base(name) || !isSnapshot(name) {
			return agent.Errorf(agent.CodeNotFound, "There is no snapshot of the name %q.", agent.Clip(name, 80))
		}
		if err := root.Remove(name); errors.Is(err, fs.ErrNotExist) {
			return agent.Wrap(agent.CodeNotFound, err, "There is no snapshot %s any more.", name)
		} else if err != nil {
			return agent.Wrap(agent.CodeUnavailable, err, "The snapshot %s cannot be deleted: %v.", name, reason(err))
		}
	}
	return nil
}

// reason returns the operating system's own words without operation and path.
func reason(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
