package policy

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"ash/agent"
)

// Record says where the contents of a file came from.
type Record struct {
	Path   string // absolute, without links
	Hash   string // SHA-256 of the contents, lower-case hex; or one of the marks
	Labels agent.Labels
	Noted  time.Time
}

// Marks stand in Record.Hash where contents are not known.
const (
	markAll = "*" // whatever lies at the path and below it bears the labels, unless a record of its own fits
	markRun = "~" // since Noted a command may be changing what lies below: what is younger is anybody's
)

// RecordStore keeps records, one for a path.
type RecordStore interface {
	// FileRecords returns those of the paths named.
	FileRecords(ctx context.Context, paths ...string) ([]Record, error)
	// FileRecordsBelow returns those of all paths below a folder.
	FileRecordsBelow(ctx context.Context, folder string) ([]Record, error)
	// SaveFileRecords stores records and removes those of the paths in gone, in one step.
	SaveFileRecords(ctx context.Context, records []Record, gone []string) error
}

// FilesOptions wires a Files. Records is required.
type FilesOptions struct {
	Records  RecordStore
	Own      func(root string) bool // whether the person declared a folder their own; nil: none
	Logger   *slog.Logger           // nil discards
	Now      func() time.Time       // nil is time.Now
	MaxFiles int                    // in one root that are looked at around a command; 0 is 100,000
	MaxBytes int64                  // hashed before and after one command; 0 is 512 MB
}

// Files knows where the contents of files came from (threats.md 6). It is safe for concurrent use.
type Files struct {
	o      FilesOptions
	mu     sync.Mutex
	active []*watch
	hashes map[string]hashed // by absolute path
	older  map[string]hashed
}

// NewFiles returns a Files.
func NewFiles(o FilesOptions) *Files {
	if o.Own == nil {
		o.Own = func(string) bool { return false }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxFiles == 0 {
		o.MaxFiles = 100_000
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 512 << 20
	}
	return &Files{o: o, hashes: map[string]hashed{}}
}

// place is a file as records name it.
func place(root, path string) (realRoot, file string, err error) {
	if !filepath.IsAbs(root) || (path != "." && !filepath.IsLocal(filepath.FromSlash(path))) {
		return "", "", agent.Errorf(agent.CodeInvalid, "That is no file of this folder.")
	}
	realRoot, err = filepath.EvalSymlinks(root)
	if err != nil {
		return "", "", agent.Wrap(agent.CodeUnavailable, err, "The folder cannot be used.")
	}
	return realRoot, filepath.Join(realRoot, filepath.FromSlash(path)), nil
}

// Labels returns those of a file whose contents have this hash: what was recorded when they were written, and private where the person declared
// the folder their own. What has no record is untrusted, unless the folder is the person's own. hash "" stands for contents that nobody looked at.
func (f *Files) Labels(ctx context.Context, root, path, hash string) (agent.Labels, error) {
	_, file, err := place(root, path)
	if err != nil {
		return nil, err
	}
	found, err := f.o.Records.FileRecords(ctx, withMarks(ancestry(file))...)
	if err != nil {
		return nil, err
	}
	own := f.o.Own(root)
	labels, known := agent.Labels(nil), false
	for _, r := range found {
		if r.Path == file && r.Hash == hash && hash != "" {
			labels, known = r.Labels, true
			break
		}
	}
	for _, r := range found {
		switch {
		case r.Hash == markAll && !known:
			labels = labels.Union(r.Labels)
		case r.Hash == markRun && !known && r.Path != file && f.younger(file, r.Noted):
			labels = labels.Union(stranger("files in "+filepath.Base(r.Path)), r.Labels)
		}
	}
	if own {
		return labels.Union(agent.Labels{{Source: agent.Clip("file:"+path, 256), Kind: agent.LabelPrivate, Private: true}}), nil
	}
	if !known && !labels.Untrusted() {
		labels = labels.Union(stranger("file:" + path))
	}
	return labels, nil
}

// younger reports whether a file may have changed since a time.
func (f *Files) younger(file string, since time.Time) bool {
	changed, ok := changedAt(file)
	return !ok || !changed.Before(since.Add(-clockSlack))
}

// ancestry returns a path and every folder above it.
func ancestry(file string) []string {
	out := []string{file}
	for dir := filepath.Dir(file); dir != file; file, dir = dir, filepath.Dir(dir) {
		out = append(out, dir)
	}
	return out
}

// withMarks adds the paths under which running commands are noted.
func withMarks(paths []string) []string {
	for _, p := range slices.Clone(paths) {
		paths = append(paths, markOf(p))
	}
	return paths
}

func stranger(source string) agent.Labels {
	return agent.Labels{{Source: agent.Clip(source, 256), Kind: agent.LabelUntrusted}}
}

// Wrote records that Ash wrote these contents out of material that bears labels. In a folder of the person's own only what a stranger may have
// had a hand in needs a record.
func (f *Files) Wrote(ctx context.Context, root, path, hash string, labels agent.Labels) error {
	_, file, err := place(root, path)
	if err != nil {
		return err
	}
	if hash == "" {
		return f.o.Records.SaveFileRecords(ctx, nil, []string{file})
	}
	r := Record{Path: file, Hash: hash, Labels: bounded(labels), Noted: f.o.Now().UTC()}
	if f.o.Own(root) && !labels.Untrusted() {
		above, err := f.o.Records.FileRecords(ctx, ancestry(file)[1:]...)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(above, func(r Record) bool { return r.Hash == markAll }) {
			return f.o.Records.SaveFileRecords(ctx, nil, []string{file})
		}
	}
	return f.o.Records.SaveFileRecords(ctx, []Record{r}, nil)
}

// Forget drops what is known of the files below a folder: the person looked through them and calls them their own.
func (f *Files) Forget(ctx context.Context, root string) error {
	real, _, err := place(root, ".")
	if err != nil {
		return err
	}
	below, err := f.o.Records.FileRecordsBelow(ctx, real)
	if err != nil {
		return err
	}
	gone := []string{real, markOf(real)}
	for _, r := range below {
		gone = append(gone, r.Path)
	}
	return f.o.Records.SaveFileRecords(ctx, nil, gone)
}

// maxOfKind is how many sources of one kind a record names.
const maxOfKind = 8

// bounded keeps the labels of a record few: so many sources of each kind, and every kind.
func bounded(labels agent.Labels) agent.Labels {
	if len(labels) <= maxOfKind {
		return labels
	}
	type sort struct {
		kind   agent.LabelKind
		source SourceKind
	}
	count := map[sort]int{}
	var out agent.Labels
	for _, l := range labels {
		k := sort{l.Kind, KindOf(l.Source)}
		if strings.HasPrefix(string(k.source), "other:") {
			k.source = "other" // each is a kind of its own: together they are one that no grant names
			if count[k] == maxOfKind {
				out = append(out, agent.Label{Source: "other sources", Kind: l.Kind, Private: l.Private})
			}
		}
		if count[k]++; count[k] <= maxOfKind {
			out = append(out, l)
		}
	}
	return agent.Labels(nil).Union(out)
}
