package archive

import (
	"context"

	"ash/agent"
)

// Intake says how an archive of memory is taken in.
type Intake struct {
	// Stranger names the archive when it is not the person's own: then all of it counts as a stranger's word, nothing of it
	// becomes core or pinned, and what is remembered already is not changed by it. "" leaves every label as it is.
	Stranger string
	Dry      bool // say what would be done, and change nothing
	// Buried returns the tombstones of this home that a text is under; nil: there are none.
	Buried func(ctx context.Context, text string) ([]agent.ID, error)
}

// Taken says what became of an archive.
type Taken struct {
	Facts      int `json:"facts"`      // that were not there
	Changed    int `json:"changed"`    // that the archive knew a newer state of
	Merged     int `json:"merged"`     // that said the same as one that was there: it stays, and they are its history
	Known      int `json:"known"`      // that were there already
	Entities   int `json:"entities"`   // new ones
	Episodes   int `json:"episodes"`   // new or newer
	Runs       int `json:"runs"`       // new
	Proposals  int `json:"proposals"`  // new
	Tombstones int `json:"tombstones"` // new
	Keyless    int `json:"keyless"`    // tombstones whose key nobody has: they keep nothing out
	Forgotten  int `json:"forgotten"`  // facts, episodes and proposals left out, since they were forgotten here
	ToldAgain  int `json:"told_again"` // tombstones left out, since the thing is remembered here

	Notes          int      `json:"notes"`                     // written
	NotesKnown     int      `json:"notes_known"`               // there already
	NotesBeside    []string `json:"notes_beside,omitempty"`    // written under another name, since a different one was there
	NotesForgotten []string `json:"notes_forgotten,omitempty"` // left out, since they hold what was forgotten here
	NotesRefused   []string `json:"notes_refused,omitempty"`   // that this home cannot hold, with the reason
}
