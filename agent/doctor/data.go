package doctor

import (
	"context"
	"fmt"
	"time"
)

// Database is what the checks of the database see of it.
type Database struct {
	Path    string
	There   bool
	Damage  []string // what a check of its pages found
	Unclean bool     // the last run did not end cleanly, and no check was passed since
	Off     bool     // writing is turned off because damage was found before
	Bytes   int64    // of the file
	Version int      // newest step of the schema that was applied
	Known   int      // newest step this Ash knows
	Foreign bool     // steps that this Ash does not know in that form
	Newest  time.Time
}

// Integrity checks the pages of the database; with Full also its indexes, which reads all of it.
type Integrity struct {
	Look func(ctx context.Context, full bool) (Database, error)
	Full bool
}

// Name implements Check.
func (Integrity) Name() string { return "Database" }

// Patience implements Patient: a large database takes a while to be read.
func (i Integrity) Patience() time.Duration {
	if i.Full {
		return 10 * time.Minute
	}
	return time.Minute
}

// Run implements Check.
func (i Integrity) Run(ctx context.Context) Finding {
	const back = "Stop Ash, keep a copy of the file, and put a copy from the folder backups in its place. Ash repairs nothing by itself, so that nothing is lost."
	d, err := i.Look(ctx, i.Full)
	switch {
	case err != nil:
		return unseen(err, back)
	case !d.There:
		return Finding{Severity: Note, Text: "There is no database yet. It is made when Ash first runs."}
	case len(d.Damage) > 0:
		return Finding{Severity: Problem, Text: "The database " + d.Path + " is damaged.", Details: d.Damage, Fix: back}
	case d.Off:
		return Finding{Severity: Problem, Text: "Damage was found earlier, so writing is turned off. This look found none.",
			Fix: "Have all of it checked while Ash does not run; writing is allowed again when nothing is found.", Command: "ash db status --check"}
	case d.Unclean:
		return Finding{Severity: Note, Text: "The database is sound. The last run did not end cleanly; Ash checks all of it by itself when it starts."}
	}
	how := "a quick look; all of it with --full"
	if i.Full {
		how = "all of it was read"
	}
	return Finding{Severity: OK, Text: fmt.Sprintf("The database is sound (%s, %s).", size(d.Bytes), how)}
}

// Schema checks that the database and this Ash are of one version.
type Schema struct {
	Look func(ctx context.Context) (Database, error)
}

// Name implements Check.
func (Schema) Name() string { return "Database version" }

// Run implements Check.
func (s Schema) Run(ctx context.Context) Finding {
	d, err := s.Look(ctx)
	switch {
	case err != nil:
		return unseen(err, "")
	case !d.There:
		return Finding{Severity: OK, Text: "It is made with the newest schema."}
	case d.Version > d.Known:
		return Finding{Severity: Problem, Text: fmt.Sprintf("The database was written by a newer Ash: its schema is version %d, this Ash knows up to %d.", d.Version, d.Known),
			Fix: "Install the newer Ash again, or put a copy from the folder backups in place of ash.db."}
	case d.Foreign:
		return Finding{Severity: Problem, Text: "The schema of the database has steps that this Ash does not know: it comes from a build that was never released.",
			Fix: "Use that build, or put a copy from the folder backups in place of ash.db."}
	case d.Version < d.Known:
		return Finding{Severity: Note, Text: fmt.Sprintf("The schema is version %d of %d. The rest is applied when Ash starts, after a copy of the database was made.", d.Version, d.Known),
			Command: "ash db migrate"}
	}
	return Finding{Severity: OK, Text: fmt.Sprintf("The schema is version %d, the newest.", d.Version)}
}

// Safe is what the check of the vault sees of it.
type Safe struct {
	There    bool
	Unlocked bool
	Problem  string   // why it cannot be unlocked, with what helps
	Notes    []string // what is wrong without being in the way
	Recovery bool     // there is a recovery phrase
	Incoming int      // added while locked
}

// Vault checks that the vault can be opened as it stands.
type Vault struct {
	Look func(ctx context.Context) (Safe, error)
}

// Name implements Check.
func (Vault) Name() string { return "Vault" }

// Run implements Check.
func (v Vault) Run(ctx context.Context) Finding {
	s, err := v.Look(ctx)
	switch {
	case err != nil:
		return unseen(err, "")
	case !s.There && s.Problem == "":
		return Finding{Severity: OK, Text: "There is no vault. It is made with the first secret."}
	case s.Problem != "":
		return Finding{Severity: Problem, Text: s.Problem, Details: s.Notes}
	}
	f := Finding{Severity: OK, Text: "The vault is as it was left, and locked.", Details: s.Notes}
	if s.Unlocked {
		f.Text = "The vault is as it was left, and unlocked."
	}
	if s.Incoming > 0 {
		f.Text += fmt.Sprintf(" %s added while it was locked: taken in at the next unlock.", count(s.Incoming, "secret"))
	}
	if len(s.Notes) > 0 {
		f.Severity = Warning
	}
	if !s.Recovery {
		f.Severity = worse(f.Severity, Note)
		f.Text += " There is no recovery phrase: without the passphrase nobody can open it."
		f.Fix, f.Command, f.Link = "Make a recovery phrase and keep it on paper.", "ash vault phrase", PageVault
	}
	return f
}

// worse returns the worse of two severities.
func worse(a, b Severity) Severity {
	if a.Rank() > b.Rank() {
		return a
	}
	return b
}
