package doctor

import (
	"context"
	"fmt"
	"strings"

	"ash/agent"
)

// Settings are what the check of config.toml sees.
type Settings struct {
	Path      string   // of config.toml
	There     bool     // it exists
	Problems  []string // one line each: where, what, and what is allowed
	Elsewhere []string // keys that the environment or a flag decides: "log.level, set by ASH_LOG_LEVEL"
}

// Config checks that the settings can be read, and tells which are decided elsewhere.
type Config struct {
	Look func(ctx context.Context) (Settings, error)
}

// Name implements Check.
func (Config) Name() string { return "Settings" }

// Run implements Check.
func (c Config) Run(ctx context.Context) Finding {
	s, err := c.Look(ctx)
	switch {
	case err != nil:
		return unseen(err, "Set the file right, or move it away: the defaults hold then.")
	case len(s.Problems) > 0:
		return Finding{Severity: Problem, Text: s.Path + " cannot be used as it stands.", Details: s.Problems,
			Fix: "Correct the lines. Every key with what it takes: ash config keys", Command: "ash config keys"}
	case len(s.Elsewhere) > 0:
		return Finding{Severity: Note, Text: "The settings are well. Some are decided outside of the file, where the Settings page cannot change them.", Details: s.Elsewhere}
	case !s.There:
		return Finding{Severity: OK, Text: "There is no config.toml; the defaults hold."}
	}
	return Finding{Severity: OK, Text: s.Path + " is well."}
}

// Loose is something in the home that others may touch, or that is not what it should be.
type Loose struct {
	Path string
	What string // in a few words: "open to others (mode 0644)"
	Fix  string // a command
	Bad  bool   // others can read secrets or conversations, or write
}

// Permissions checks that the home is the person's alone.
type Permissions struct {
	Look func(ctx context.Context) ([]Loose, error)
}

// Name implements Check.
func (Permissions) Name() string { return "Permissions" }

// Run implements Check.
func (p Permissions) Run(ctx context.Context) Finding {
	list, err := p.Look(ctx)
	if agent.CodeOf(err) == agent.CodeNotFound {
		return Finding{Severity: Note, Text: agent.PublicOf(err)}
	}
	if err != nil {
		return unseen(err, "Check that the home of Ash belongs to you and can be read.")
	}
	if len(list) == 0 {
		return Finding{Severity: OK, Text: "The home and everything in it is yours alone."}
	}
	f := Finding{Severity: Warning, Text: fmt.Sprintf("%s in the home %s not yours alone, or not what Ash makes.", count(len(list), "thing"), isAre(len(list))),
		Fix: "Take the rights of others away, by this command or under Settings → Safety.", Command: list[0].Fix, Link: PageSafety}
	for _, l := range list {
		f.Details = append(f.Details, l.Path+": "+l.What)
		if l.Bad {
			f.Severity = Problem
		}
		if l.Fix != f.Command {
			f.Command = "ash audit --fix"
		}
	}
	return f
}

// Room is the space of one disk, in bytes.
type Room struct {
	Path  string
	Free  int64 // for this person
	Total int64
	Need  int64 // what lies there may soon take: a copy of the database before an upgrade
}

// Free space below which Ash is said to be in danger, in bytes.
const (
	noRoom     = 256 << 20 // the database may stop to take messages soon
	littleRoom = 1 << 30   // commands stop (threats.md 8)
)

// Disk checks for free space.
type Disk struct {
	Look func(ctx context.Context) ([]Room, error)
	Low  int64 // bytes below which commands stop; 0 is 1 GiB
}

// Name implements Check.
func (Disk) Name() string { return "Disk space" }

// Run implements Check.
func (d Disk) Run(ctx context.Context) Finding {
	rooms, err := d.Look(ctx)
	if err != nil {
		return unseen(err, "")
	}
	low := d.Low
	if low <= 0 {
		low = littleRoom
	}
	out := Finding{Severity: OK}
	var free []string
	for _, r := range rooms {
		free = append(free, fmt.Sprintf("%s free at %s", size(r.Free), r.Path))
		f := Finding{}
		switch {
		case r.Free < noRoom:
			f = Finding{Severity: Problem, Text: fmt.Sprintf("Only %s are free at %s. Soon nothing can be stored any more.", size(r.Free), r.Path)}
		case r.Free < low:
			f = Finding{Severity: Warning, Text: fmt.Sprintf("Only %s are free at %s. Below %s commands are stopped and refused.", size(r.Free), r.Path, size(low))}
		case r.Free < r.Need:
			f = Finding{Severity: Warning, Text: fmt.Sprintf("%s are free at %s, but the copy made before an upgrade needs %s.", size(r.Free), r.Path, size(r.Need))}
		}
		if f.Severity.Rank() > out.Severity.Rank() && f.Severity != "" {
			out = f
			out.Fix = "Make room: delete what is not needed. Old copies of the database are in the folder backups of the home."
		}
	}
	if out.Severity == OK {
		out.Text = strings.Join(free, ", ") + "."
	}
	return out
}

// Leftover is a file that nobody will use any more.
type Leftover struct {
	Path  string
	Bytes int64
}

// Leftovers checks for files that a crash left behind.
type Leftovers struct {
	Look func(ctx context.Context) ([]Leftover, error)
}

// Name implements Check.
func (Leftovers) Name() string { return "Leftover files" }

// Run implements Check.
func (l Leftovers) Run(ctx context.Context) Finding {
	list, err := l.Look(ctx)
	if err != nil {
		return unseen(err, "")
	}
	if len(list) == 0 {
		return Finding{Severity: OK, Text: "Nothing is left behind."}
	}
	var sum int64
	f := Finding{Severity: Note, Fix: "They can be removed, by this command or under Settings → Safety.", Command: "ash audit --fix", Link: PageSafety}
	for _, x := range list {
		sum += x.Bytes
		f.Details = append(f.Details, x.Path)
	}
	f.Text = fmt.Sprintf("%s (%s) %s left over from something that was broken off.", count(len(list), "temporary file"), size(sum), isAre(len(list)))
	return f
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// count is "1 thing", "2 things".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// size writes bytes for people.
func size(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%d GB", n>>30)
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%d KB", max(n, 0)>>10)
}
