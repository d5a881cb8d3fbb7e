package pages

import (
	"time"

	"ash/agent"
	"ash/views/components"
	"ash/views/layouts"
)

// Identity is the editor of SOUL.md, USER.md or TOOLS.md.
type Identity struct {
	layouts.Page
	Files     []IdentityFile // all three, for the tabs
	File      IdentityFile   // this one
	Text      string
	Base      string // version the text started from; sent back on saving
	Preview   string // safe HTML
	Tokens    int
	Budget    int // tokens the three files may have together; 0: no bound
	History   []Version
	Diff      *Diff     // a version compared with the current text
	Conflict  *Conflict // saving met a newer version
	Saved     bool      // just saved
	MaxLength int       // bytes
}

// Version is one state the file has had.
type Version struct {
	ID      agent.ID
	Created time.Time
	Source  string // "saved here", "changed in another editor", "restored", "as delivered"
	Size    int    // bytes
	Current bool
	Added   int // lines, against the version before
	Removed int
}

// Diff compares an older version with the current text.
type Diff struct {
	Version Version
	Lines   []components.DiffLine
}

// Conflict is two texts that grew from the same version.
type Conflict struct {
	Mine   string // what was being saved
	Theirs string // what is stored now
	Source string // how the stored one came: "another tab", "another editor"
	At     time.Time
	Base   string // the stored version; saving with it as base wins
	Lines  []components.DiffLine
}
