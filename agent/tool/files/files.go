package files

import (
	"context"
	_ "embed"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"ash/agent"
	"ash/agent/tool"
)

// Bounds, in bytes.
const (
	MaxQuiet   = 1 << 20   // reading more asks first
	MaxText    = 16 << 20  // of a file that is changed; larger ones are read line by line, UTF-8 only
	MaxHashed  = 256 << 20 // of a file that is read to its end; of a larger one the contents count as unknown
	MaxVersion = 5 << 20   // kept of a file before a change
)

// Folder is a folder of the person's beside the thread's own.
type Folder struct {
	Path  string // absolute
	Write bool   // may be changed as well
}

// Version is what a file held before one change.
type Version struct {
	ID      agent.ID
	Thread  agent.ID
	Call    agent.ID // which made the change; undoing it is a change by the same call
	Root    string   // absolute folder
	Path    string   // relative to Root, forward slashes, no links
	Before  string   // SHA-256 of the contents, lower-case hex; "" when there was no file
	After   string   // the same of what the change left
	Mode    fs.FileMode
	Kept    bool // Before can be brought back
	Undone  bool // by a later version
	Created time.Time
	Labels  agent.Labels // of Before
}

// Versions keeps versions. Its place is package store.
type Versions interface {
	// AddFileVersion stores v, with the bytes it held before (nil when they are not kept), and marks the version undoes ("" for
	// none) as undone, in one step. CodeConflict when that was undone already.
	AddFileVersion(ctx context.Context, v Version, before []byte, undoes agent.ID) error
	// DropFileVersion takes an AddFileVersion back.
	DropFileVersion(ctx context.Context, id, undoes agent.ID) error
	// FileVersions returns the versions of a call, newest first.
	FileVersions(ctx context.Context, call agent.ID) ([]Version, error)
	// FileVersionBytes returns the bytes of a version that was Kept. CodeNotFound otherwise.
	FileVersionBytes(ctx context.Context, id agent.ID) ([]byte, error)
}

// Attachments turns a file into what a model can see. Its place is package attachment.
type Attachments interface {
	// Put returns an agent.Image, or an agent.File with the text of a document. CodeInvalid for what is neither.
	Put(ctx context.Context, name string, r io.Reader) (agent.Part, error)
}

// Options wires a Files. Provenance and Versions are required.
type Options struct {
	Provenance  tool.Provenance
	Versions    Versions
	Folders     func() []Folder          // nil: none beside the root
	Attachments Attachments              // nil: pictures and PDFs are refused
	Redact      func(text string) string // takes secrets out of the diffs that are stored; nil: nothing is one
	Home        string                   // of Ash, absolute: out of reach. "" in tests
	Own         func() string            // the folder in Home that is not: nil is <Home>/workspace/files
	Mount       string                   // where commands see the root, such as "/work": understood as the root
	Log         *slog.Logger
}

// Files makes the tools. It is safe for concurrent use.
type Files struct {
	o    Options
	turn chan struct{} // held while a file changes, so that two changes of one file come one after the other
}

// New returns the file tools.
func New(o Options) *Files {
	if o.Folders == nil {
		o.Folders = func() []Folder { return nil }
	}
	if o.Own == nil {
		own := filepath.Join(o.Home, "workspace", "files")
		o.Own = func() string { return own }
	}
	if o.Redact == nil {
		o.Redact = func(text string) string { return text }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Files{o: o, turn: make(chan struct{}, 1)}
}

// What the model reads about the tools.
var (
	//go:embed list.md
	aboutList string
	//go:embed read.md
	aboutRead string
	//go:embed search.md
	aboutSearch string
	//go:embed write.md
	aboutWrite string
	//go:embed edit.md
	aboutEdit string
)

// Tools returns file_list, file_read, file_search, file_write and file_edit.
func (f *Files) Tools() []tool.Tool {
	return []tool.Tool{
		tool.Define(tool.Definition{
			Name: "file_list", Title: "List a folder", About: "Shows what is in a folder.",
			Description: aboutList, Effect: agent.EffectRead, Family: tool.FamilyFiles,
		}, lister{f}),
		tool.Define(tool.Definition{
			Name: "file_read", Title: "Read a file", About: "Reads text, pictures and PDFs; asks above 1 MB.",
			Description: aboutRead, Effect: agent.EffectRead, Family: tool.FamilyFiles,
		}, reader{f}),
		tool.Define(tool.Definition{
			Name: "file_search", Title: "Search files", About: "Finds files by name and by what stands in them.",
			Description: aboutSearch, Effect: agent.EffectRead, Family: tool.FamilyFiles,
		}, searcher{f}),
		tool.Define(tool.Definition{
			Name: "file_write", Title: "Write a file", About: "Makes a file or replaces one; can be undone.",
			Description: aboutWrite, Effect: agent.EffectWrite, Family: tool.FamilyFiles,
		}, writer{f}),
		tool.Define(tool.Definition{
			Name: "file_edit", Title: "Edit a file", About: "Replaces passages of a file; can be undone.",
			Description: aboutEdit, Effect: agent.EffectWrite, Family: tool.FamilyFiles,
		}, editor{f}),
	}
}

// begin waits until no other change is being made. The error is the context's.
func (f *Files) begin(ctx context.Context) (end func(), err error) {
	select {
	case f.turn <- struct{}{}:
		return func() { <-f.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// close lets go of something that was only read through.
func (f *Files) close(c io.Closer) {
	if err := c.Close(); err != nil {
		f.o.Log.Warn("a file or folder could not be closed", slog.Any("error", err))
	}
}
