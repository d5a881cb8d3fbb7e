package audit

import (
	"context"
	"fmt"
	"path/filepath"
	"sort"
	"time"
)

// Loose is a file that others may touch, or that is not what Ash makes.
type Loose struct {
	Path string
	What string // in a few words
	Mode uint32 // it should have; 0: no change of mode sets it right
	Bad  bool   // others reach it
	Help string // a command
}

// Drift checks owners and modes of what is in the home.
type Drift struct {
	Look func(ctx context.Context) ([]Loose, error)
}

// Name implements Check.
func (Drift) Name() string { return "Permissions" }

// Run implements Check.
func (d Drift) Run(ctx context.Context, report func(Finding)) (string, error) {
	list, err := d.Look(ctx)
	for _, l := range list {
		f := Finding{Severity: Low, Text: filepath.Base(l.Path) + ": " + l.What + ".", Place: l.Path, Remedy: "Nobody else needs it."}
		switch {
		case l.Bad:
			f.Severity = High
		case l.Mode == 0:
			f.Severity = Medium
		}
		if l.Mode != 0 {
			f.Fix = &Fix{Act: ActClose, Target: l.Path, Mode: l.Mode, Words: fmt.Sprintf("Close %s to others (mode %04o)", filepath.Base(l.Path), l.Mode)}
		} else if l.Help != "" {
			f.Remedy = "If you did not do that yourself, look what it is. Then: " + l.Help
		} else {
			f.Remedy = "If you did not do that yourself, look what it is, and put an ordinary file in its place."
		}
		report(f)
	}
	return "", err
}

// Stray is a file that nobody will use any more.
type Stray struct {
	Path  string
	Bytes int64
	Made  time.Time
	Copy  bool // of the database; else a temporary file
}

// How long copies of the database are kept without a word, and how many of the newest anyway.
const (
	copyRests  = 30 * 24 * time.Hour
	copiesKept = 2
)

// Strays checks for files that hold what was deleted elsewhere: temporary ones and old copies of the database.
type Strays struct {
	Look func(ctx context.Context) ([]Stray, error)
	Now  func() time.Time
}

// Name implements Check.
func (Strays) Name() string { return "Leftovers" }

// Run implements Check.
func (s Strays) Run(ctx context.Context, report func(Finding)) (string, error) {
	list, err := s.Look(ctx)
	var copies []Stray
	for _, x := range list {
		if x.Copy {
			copies = append(copies, x)
			continue
		}
		name := filepath.Base(x.Path)
		report(Finding{Severity: Low, Text: "A temporary file was left behind: " + name + ".", Place: x.Path, Remedy: "It may hold what was deleted elsewhere.",
			Fix: &Fix{Act: ActRemove, Target: x.Path, Words: "Remove " + name}})
	}
	sort.Slice(copies, func(i, j int) bool { return copies[i].Made.After(copies[j].Made) })
	for i, x := range copies {
		if i < copiesKept || s.Now().Sub(x.Made) < copyRests {
			continue
		}
		name := filepath.Base(x.Path)
		report(Finding{Severity: Low, Text: fmt.Sprintf("An old copy of the database still holds what was there on %s: also what was forgotten since.", x.Made.Format("2 January 2006")), Place: x.Path,
			Remedy: "Remove it when you are sure that you do not need it.", Fix: &Fix{Act: ActDropCopy, Target: x.Path, Words: "Remove the copy " + name + " for good", Ask: true}})
	}
	return "", err
}
