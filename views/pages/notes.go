package pages

import (
	"net/url"
	"strconv"

	"ash/agent"
	"ash/views/components"
	"ash/views/layouts"
)

// Notes is one folder of the notes.
type Notes struct {
	layouts.Page
	Counts  map[MemoryTab]int
	Folder  string   // below notes/; "" is the top
	Crumbs  []Choice // the folders above, the top first; Value is the folder
	Items   []NoteRow
	Next    string // URL of the next page; "" on the last
	Later   bool
	Deleted *NoteGone // just deleted
	Trash   []NoteGone
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
	Sources []string // strangers that may have written it
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
	Backlinks []string
	Conflict  *Conflict
	Gone      bool // the conflict is that the file was deleted meanwhile
	Saved     bool
}

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
	return p.Folder
}

func noteIcon(r NoteRow) components.Icon {
	if r.Folder {
		return components.IconFolder
	}
	return components.IconFileText
}
