package policy

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"ash/agent"
)

// watch is a command that runs over a root.
type watch struct {
	root   string // without links
	own    bool
	before *snapshot
	young  map[string]string // hashes of files too young for their stamp to tell of a change
	labels agent.Labels      // of what the command could read
	ended  bool
	left   leavings // of commands that ran at the same time and ended earlier
}

// leavings is what a command changed, to be recorded when no other runs over the same files: with several at once, nobody
// can say which of them wrote what.
type leavings struct {
	changed []change
	gone    []string
	whole   []change // roots that could not be looked at as a whole
	roots   []string // whose mark is to be taken away
	labels  agent.Labels
}

// change is a file, or a root, by its absolute path.
type change struct {
	path string
	own  bool
}

func (l leavings) and(o leavings) leavings {
	return leavings{
		changed: append(l.changed, o.changed...), gone: append(l.gone, o.gone...), whole: append(l.whole, o.whole...),
		roots: append(l.roots, o.roots...), labels: l.labels.Union(o.labels),
	}
}

// Watch is called before a command runs over root. labels are those of everything it could read there. settle records, after it, every file it made
// or changed with those labels and more; it is called once, also for a command that failed, and does not heed the end of its context.
//
// While commands run at the same time over the same files, what they change counts as a stranger's until the last has ended, and is
// then recorded with the labels of all. The same holds for a folder of the person's own in which a command was running when Ash died.
func (f *Files) Watch(ctx context.Context, root string) (labels agent.Labels, settle func(ctx context.Context, more agent.Labels) error, err error) {
	real, _, err := place(root, ".")
	if err != nil {
		return nil, nil, err
	}
	w := &watch{root: real, own: f.o.Own(root), young: map[string]string{}}
	f.mu.Lock()
	defer f.mu.Unlock()
	if w.own {
		if err := f.mark(ctx, w); err != nil {
			return nil, nil, err
		}
	}
	if err := f.look(ctx, w); err != nil {
		return nil, nil, agent.Wrap(agent.CodeUnavailable, err, "The folder cannot be looked through, so it would be unknown what the command changes in it. Nothing was run.")
	}
	f.active = append(f.active, w)
	return w.labels, func(ctx context.Context, more agent.Labels) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.settle(context.WithoutCancel(ctx), w, more)
	}, nil
}

// markOf is the path under which the mark of a running command is kept: that of the folder, as no record of a file is written.
func markOf(root string) string { return root + string(filepath.Separator) }

// mark stores that a command may be changing files below the root. A mark that a dead Ash left is first made good.
func (f *Files) mark(ctx context.Context, w *watch) error {
	if slices.ContainsFunc(f.active, func(o *watch) bool { return o.root == w.root && o.own }) {
		return nil
	}
	found, err := f.o.Records.FileRecords(ctx, markOf(w.root))
	if err != nil {
		return err
	}
	for _, r := range found {
		if err := f.makeGood(ctx, w, r); err != nil {
			return err
		}
	}
	return f.o.Records.SaveFileRecords(ctx, []Record{{Path: markOf(w.root), Hash: markRun, Noted: f.o.Now().UTC()}}, nil)
}

// makeGood records all that changed since a command began whose end nobody saw as a stranger's.
func (f *Files) makeGood(ctx context.Context, w *watch, r Record) error {
	now, err := f.take(ctx, w.root)
	if err != nil {
		return err
	}
	l := leavings{labels: r.Labels.Union(stranger("files in " + filepath.Base(w.root)))}
	for path, s := range now.files {
		if s.status == 0 || s.status >= r.Noted.Add(-clockSlack).UnixNano() {
			l.changed = append(l.changed, change{filepath.Join(w.root, path), true})
		}
	}
	if now.partial {
		l.whole = []change{{w.root, true}}
	}
	return f.record(ctx, l)
}

// look takes the snapshot before a command and gathers the labels of all that it could read.
func (f *Files) look(ctx context.Context, w *watch) error {
	var err error
	if w.before, err = f.take(ctx, w.root); err != nil {
		return err
	}
	known, err := f.known(ctx, w.root)
	if err != nil {
		return err
	}
	base := filepath.Base(w.root)
	h := f.hasher()
	unknown := 0
	all := map[string]agent.Labels{}
	for path, s := range w.before.files {
		abs := filepath.Join(w.root, path)
		r, recorded := known.files[abs]
		young := !s.settled(w.before.taken)
		fits := false
		if recorded || young {
			sum, read := h.hash(abs, s)
			if read && young {
				w.young[path] = sum
			}
			fits = recorded && (r.Hash == sum || (!read && w.own)) // what cannot be read may still be what it was
		}
		switch {
		case fits:
			all[key(r.Labels)] = r.Labels
		case known.covers(abs, all):
		case !w.own:
			if unknown++; unknown <= maxNamed {
				l := stranger("file:" + filepath.ToSlash(path))
				all[key(l)] = l
			}
		}
	}
	if unknown > maxNamed || (w.before.partial && !w.own) {
		l := stranger("files in " + base)
		all[key(l)] = l
	}
	if w.before.partial {
		for _, r := range known.files {
			all[key(r.Labels)] = r.Labels
		}
	}
	if w.own {
		all[""] = agent.Labels{{Source: agent.Clip("files in "+base, 256), Kind: agent.LabelPrivate, Private: true}}
		if known.left || f.busy(ctx, w.root) {
			l := stranger("files in " + base) // another command may be writing there
			all[key(l)] = l
		}
	}
	for _, l := range all {
		w.labels = w.labels.Union(l)
	}
	return nil
}

// key tells sets of labels apart.
func key(labels agent.Labels) string {
	var b strings.Builder
	for _, l := range labels {
		b.WriteString(l.Source)
		b.WriteByte(0)
		b.WriteString(string(l.Kind))
		if l.Private {
			b.WriteByte('p')
		}
		b.WriteByte(1)
	}
	return b.String()
}

// busy reports whether a command is running over the same files that has changed some since.
func (f *Files) busy(ctx context.Context, root string) bool {
	for _, o := range f.active {
		if !overlap(o.root, root) {
			continue
		}
		now, err := f.take(ctx, o.root)
		if err != nil || now.partial {
			return true
		}
		if changed, _ := f.compare(o, now); len(changed) > 0 {
			return true
		}
	}
	return false
}

// overlap reports whether one of two folders lies in the other.
func overlap(a, b string) bool {
	_, ab := within(a, b)
	_, ba := within(b, a)
	return a == b || ab || ba
}

// settle ends a watch.
func (f *Files) settle(ctx context.Context, w *watch, more agent.Labels) error {
	if w.ended {
		return agent.Errorf(agent.CodeConflict, "The end of this command was recorded already.")
	}
	w.ended = true
	f.active = slices.DeleteFunc(f.active, func(o *watch) bool { return o == w })
	after, err := f.take(ctx, w.root)
	if err != nil {
		return err // the mark of a folder of the person's own stays
	}
	l := w.left.and(leavings{labels: w.labels.Union(more)})
	changed, gone := f.compare(w, after)
	l.changed, l.gone = append(l.changed, changed...), append(l.gone, gone...)
	if w.before.partial || after.partial {
		l.whole = append(l.whole, change{w.root, w.own})
	}
	if w.own {
		l.roots = append(l.roots, markOf(w.root))
	}
	for _, o := range f.active {
		if overlap(o.root, w.root) {
			o.left = o.left.and(l)
			return f.o.Records.SaveFileRecords(ctx, nil, paths(l.changed))
		}
	}
	return f.record(ctx, l)
}

func paths(changed []change) []string {
	out := make([]string, len(changed))
	for i, c := range changed {
		out[i] = c.path
	}
	return out
}

// compare returns the files that were made or changed since a watch began, and those that are gone.
func (f *Files) compare(w *watch, after *snapshot) (changed []change, gone []string) {
	h := f.hasher()
	for path, s := range after.files {
		was, there := w.before.files[path]
		abs := filepath.Join(w.root, path)
		if there && was == s {
			if s.settled(w.before.taken) {
				continue
			}
			if sum, ok := h.hash(abs, s); ok && sum == w.young[path] {
				continue
			}
		}
		changed = append(changed, change{abs, w.own})
	}
	if !after.partial {
		for path := range w.before.files {
			if _, there := after.files[path]; !there {
				gone = append(gone, filepath.Join(w.root, path))
			}
		}
	}
	return changed, gone
}
