package policy

import (
	"context"
	"slices"

	"ash/agent"
)

// known is what is recorded about a root.
type known struct {
	files map[string]Record // by absolute path
	whole []Record          // of folders and files whose contents do not matter
	left  bool              // the end of some command there was not seen
}

// covers reports whether a mark lies over a file, and adds its labels.
func (k known) covers(path string, to map[string]agent.Labels) bool {
	found := false
	for _, r := range k.whole {
		if _, in := within(r.Path, path); in || r.Path == path {
			to[key(r.Labels)] = r.Labels
			found = found || r.Labels.Untrusted()
		}
	}
	return found
}

// known reads what is recorded about a root.
func (f *Files) known(ctx context.Context, root string) (known, error) {
	below, err := f.o.Records.FileRecordsBelow(ctx, root)
	if err != nil {
		return known{}, err
	}
	above, err := f.o.Records.FileRecords(ctx, withMarks(ancestry(root))...)
	if err != nil {
		return known{}, err
	}
	k := known{files: make(map[string]Record, len(below))}
	for _, r := range slices.Concat(below, above) {
		switch r.Hash {
		case markAll:
			k.whole = append(k.whole, r)
		case markRun:
			k.left = k.left || !slices.ContainsFunc(f.active, func(o *watch) bool { return markOf(o.root) == r.Path }) && r.Path != markOf(root)
		default:
			k.files[r.Path] = r
		}
	}
	return k, nil
}

// record stores what commands left. A file that bears a fitting record already, because Ash wrote it meanwhile, bears both labels.
func (f *Files) record(ctx context.Context, l leavings) error {
	labels := bounded(l.labels)
	now := f.o.Now().UTC()
	var save []Record
	gone := append(slices.Clone(l.gone), l.roots...)
	had, err := f.had(ctx, l.changed)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	h := f.hasher()
	for _, c := range l.changed {
		if seen[c.path] {
			continue
		}
		seen[c.path] = true
		sum, ok, there := h.now(c.path)
		was := had[c.path]
		switch {
		case !there:
			gone = append(gone, c.path)
		case !ok && c.own && labels.Untrusted():
			save = append(save, Record{Path: c.path, Hash: markAll, Labels: labels, Noted: now})
		case !ok:
			gone = append(gone, c.path)
		case was.Hash == sum:
			save = append(save, Record{Path: c.path, Hash: sum, Labels: bounded(labels.Union(was.Labels)), Noted: now})
		case c.own && !labels.Untrusted():
			gone = append(gone, c.path)
		default:
			save = append(save, Record{Path: c.path, Hash: sum, Labels: labels, Noted: now})
		}
	}
	for _, c := range l.whole {
		if c.own && labels.Untrusted() {
			save = append(save, Record{Path: c.path, Hash: markAll, Labels: labels, Noted: now})
		}
	}
	saved := make(map[string]bool, len(save))
	for _, r := range save {
		saved[r.Path] = true
	}
	gone = slices.DeleteFunc(gone, func(path string) bool { return saved[path] })
	return f.o.Records.SaveFileRecords(ctx, save, gone)
}

// had returns the records of changed files.
func (f *Files) had(ctx context.Context, changed []change) (map[string]Record, error) {
	out := make(map[string]Record, len(changed))
	for chunk := range slices.Chunk(paths(changed), maxAsked) {
		found, err := f.o.Records.FileRecords(ctx, chunk...)
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			out[r.Path] = r
		}
	}
	return out, nil
}

// maxAsked is how many records are asked for at once.
const maxAsked = 500
