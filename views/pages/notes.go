package pages

import (
	"net/url"
	"path"
	"strconv"
	"strings"

	"ash/agent"
	"ash/views/components"
	"ash/views/layouts"
)

// Notes is one folder of the notes.
type Notes struct {
	layouts.Page
	Counts  map[MemoryTab]int
	Folder  string   // below notes/; "" is the top
	Title   string   // of the folder
	Crumbs  []Choice // the folders above, the top first; Value is the folder
	Items   []NoteRow
	Next    string // URL of the next page; "" on the last
	Later   bool
	Deleted *NoteGone // just deleted
	Trash   []NoteGone
	Whose   NoteWhose
}

// NoteWhose is what the person said of a folder's notes.
type NoteWhose struct {
	Unknown bool   // nothing
	Source  string // where they come from; "" when they are the person's own
	Above   string // the folder above, of which it was said; "" for this one
	Asks    bool   // some of the notes shown are nobody knows whose
}

// NoteRow is a folder or a note in a list.
type NoteRow struct {
	Path    string
	Name    string
	Title   string // of a note, when it is not its name
	Folder  bool
	When    string
	Size    string
	Problem string
	Outside bool // a stranger may have written it
	// Unvouched says that nothing else is known of it than that another program wrote it.
	Unvouched bool
}

func (r NoteRow) url() string {
	if r.Folder {
		return NotesURL(r.Path)
	}
	return NoteURL(r.Path)
}

// NoteGone is a deleted note that can be brought back.
type NoteGone struct {
	ID   agent.ID
	Path string
	When string
	CSRF string
}

// NoteURL is the page of a note, NotesURL that of a folder.
func NoteURL(path string) string {
	return "/memory/notes/file?" + url.Values{"path": {path}}.Encode()
}

// NotesURL is the page of a folder of notes.
func NotesURL(folder string) string {
	if folder == "" {
		return "/memory/notes"
	}
	return "/memory/notes?" + url.Values{"folder": {folder}}.Encode()
}

// Note is the editor of a note.
type Note struct {
	layouts.Page
	Path      string
	Name      string // the last part of Path
	Title     string
	Crumbs    []Choice
	Text      string
	Base      string // version the text started from; sent back on saving
	Preview   string // safe HTML
	Size      string
	Changed   string
	MaxLength int
	Fixed     string // why it cannot be saved here; "" when it can
	Problem   string
	Missing   bool
	Sources   []string
	Unvouched bool // another program wrote it, and nobody has said whose words it holds
	Backlinks []string
	MoreLinks int // beyond Backlinks
	Unlinked  int // notes whose links could not follow when it was moved
	Conflict  *Conflict
	Gone      bool // the conflict is that the file was deleted meanwhile
	Saved     bool
	Unsaved   bool   // Text is not in the file
	Again     bool   // it was there, and would be made anew
	Refused   string // why it could not be saved
}

// stateURL is where the page asks what became of the note.
func (p Note) stateURL() string {
	return "/memory/notes/state?" + url.Values{"path": {p.Path}, "base": {p.Base}}.Encode()
}

// linkName is what another note calls this one in a link.
func (p Note) linkName() string { return strings.TrimSuffix(path.Base(p.Path), path.Ext(p.Path)) }

// source is the text as it goes into a textarea: the reader of HTML drops a line feed at its very beginning.
func source(text string) string { return "\n" + text }

func (p Note) back() string {
	if n := len(p.Crumbs); n > 0 {
		return NotesURL(p.Crumbs[n-1].Value)
	}
	return NotesURL("")
}

func (p Note) maximum() string { return strconv.Itoa(p.MaxLength) }

func (p Notes) title() string {
	if p.Folder == "" {
		return "Notes"
	}
	return p.Title
}

func (w NoteWhose) says() string {
	switch {
	case w.Unknown:
		return "Nobody has said so yet"
	case w.Source != "":
		return "They come from " + w.Source
	}
	return "They are yours"
}

func noteIcon(r NoteRow) components.Icon {
	if r.Folder {
		return components.IconFolder
	}
	return components.IconFileText
}
