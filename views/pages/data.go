package pages

import (
	"time"

	"ash/views/layouts"
)

// Data is Settings → Data.
type Data struct {
	SettingsFrame
	Home      string
	Inventory Inventory
	Snapshots []Snapshot // the newest first
	Problem   string     // why no snapshot was deleted
}

// Inventory is what lies where.
type Inventory struct {
	Parts     []Part
	Bytes     int64
	Partial   bool     // counting took too long: there is more
	Foreign   []string // in the home, and not Ash's
	Elsewhere []string // Ash's folders outside of the home
}

// Part is one kind of what lies in the home.
type Part struct {
	Title string
	Note  string
	Bytes int64
	Files int
	Share int // of all, in hundredths
	Where []Entry
}

// Entry is one place of a part.
type Entry struct {
	Name  string // below the home, or a whole path
	Bytes int64
}

// Snapshot is an older copy of the database.
type Snapshot struct {
	Name   string
	Bytes  int64
	Made   time.Time
	Newest bool
}

// DeleteEverything asks for the word.
type DeleteEverything struct {
	SettingsFrame
	Home      string
	Inventory Inventory
	Word      string // what is to be typed
	Typed     string // what was
	Problem   string
}

// Deleted is the last page of an Ash.
type Deleted struct {
	layouts.Page
	Home  string
	Stays []string // what was not deleted
}
