package notes

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"ash/agent"
)

// Bounds of a note.
const (
	// MaxText is how many bytes of a note are shown, edited and searched.
	MaxText = 1 << 20
	// maxHashed is the largest file that is read at all; beyond it only the beginning is, and size and time stand for the rest.
	maxHashed = 128 << 20
)

// Note is the current state of a note.
type Note struct {
	Path      string // below the folder, with slashes: "garden/roses.md"
	Title     string // from the front matter, the first heading, or the name
	Text      string // the whole file, or its beginning when Cut
	Hash      string // SHA-256 of the file, lower-case hex; the base of a Save; "" when Missing
	Size      int64  // bytes of the file
	Modified  time.Time
	Front     json.RawMessage // front matter as JSON; nil for none
	Links     []string        // targets of wiki links as written, without heading and alias; sorted, no doubles
	Labels    agent.Labels    // private always; untrusted where a stranger may have written it
	Cut       bool            // longer than MaxText: Text is its beginning, and it cannot be saved here
	Missing   bool            // no such file (any more)
	Problem   string          // what is wrong with it, for the person; "" when nothing is
	Immutable bool            // cannot be saved here without loss: Cut, or not UTF-8
}

// Row is what the store keeps of a note: the file as it was when last read.
type Row struct {
	Path     string
	Hash     string
	Size     int64
	Modified time.Time // microseconds
	Seen     time.Time // when the file was looked at
	Stale    bool      // recall has not taken it up yet; saved without it, a row stays as stale as it was
	Title    string
	Front    json.RawMessage // nil for none
	Problem  string
	Labels   agent.Labels
	Links    []string // folded targets; only written, never read back
}

// Rows keeps what was read; the store implements it. Paths are unique.
type Rows interface {
	// NoteRow returns one row. CodeNotFound.
	NoteRow(ctx context.Context, path string) (Row, error)
	// NoteStamps returns up to limit stamps in the order of their paths, after path after ("" from the first).
	NoteStamps(ctx context.Context, after string, limit int) ([]Stamp, error)
	// SaveNotes stores rows with their links and removes those that are gone, in one transaction.
	SaveNotes(ctx context.Context, saved []Row, gone []string) error
	// NotesLinking returns the paths of notes with a link to one of the folded targets.
	NotesLinking(ctx context.Context, targets []string) ([]string, error)
}

// Stamp is what a row says of its file, to be held against the file without reading it.
type Stamp struct {
	Path     string
	Size     int64
	Modified time.Time
	Seen     time.Time
}

// Record says where a note's content came from. Path ends in a slash for a folder: then it counts for all below, unless a
// folder nearer to the note has one.
type Record struct {
	Path   string
	Hash   string // of the content it was made for; "" for a folder
	Labels agent.Labels
	Own    bool // the person wrote content with this hash or vouched for it; of a folder: its notes are theirs
}

// Records keeps them; the store implements it.
type Records interface {
	// NoteRecords returns the records of paths, and those of any path with the hash ("" for none).
	NoteRecords(ctx context.Context, paths []string, hash string) ([]Record, error)
	// SaveNoteRecords stores records in the place of those with their paths, in one transaction.
	SaveNoteRecords(ctx context.Context, list ...Record) error
	DropNoteRecord(ctx context.Context, path string) error
}

// Conflict is the cause inside the CodeConflict of Save, Rename and Delete: the note as it is instead of as it was expected.
type Conflict struct {
	Current Note
}

// Error implements error.
func (c *Conflict) Error() string {
	return fmt.Sprintf("%s is now %.12s", c.Current.Path, c.Current.Hash)
}

// errChanged is the refusal of a change to a note that is not what the caller saw.
func errChanged(now Note) error {
	if now.Missing {
		return agent.Wrap(agent.CodeConflict, &Conflict{Current: now}, "%s was deleted or moved meanwhile. Your text is still here: save it as a new note to keep it.", now.Path)
	}
	return agent.Wrap(agent.CodeConflict, &Conflict{Current: now}, "%s has changed since you opened it. Compare both texts and save again.", now.Path)
}
