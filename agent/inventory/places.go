package inventory

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Kind is what a part of the home holds, as a person thinks of it.
type Kind string

// The kinds, in the order they are shown.
const (
	Database    Kind = "database"    // conversations, memory, the record of what tools did
	Attachments Kind = "attachments" // files given to Ash
	Notes       Kind = "notes"
	Workspace   Kind = "workspace" // identity, and the files that Ash works on
	Vault       Kind = "vault"
	Settings    Kind = "settings"
	Logs        Kind = "logs"
	Snapshots   Kind = "snapshots" // older copies of the database
	Inner       Kind = "inner"     // locks, sockets, keys of this one Ash, leftovers
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{Database, Attachments, Notes, Workspace, Vault, Settings, Logs, Snapshots, Inner}
}

// Names of what the package makes itself, and of what is treated apart.
const (
	databaseName = "ash.db"
	lockName     = "ash.lock"   // held while deleting, so it goes last
	markerName   = "deleting"   // what was decided to go
	exportPrefix = ".ash-copy-" // the copy of the database on its way into an archive
	backupFolder = "backups"    // of the database
	vaultFolder  = "vault"
	vaultMark    = "vault.mark"
)

// place is something of Ash's in its home.
type place struct {
	pattern string // of its name, as path.Match has it
	kind    Kind
	export  bool
	// mine reports whether a file below a folder is Ash's; nil: all are.
	mine func(rel string) bool
}

// table names all that Ash keeps in its home, what is most private first: that is the order it is deleted in.
func table() []place {
	return []place{
		{pattern: databaseName, kind: Database}, // into an archive goes a copy
		{pattern: databaseName + "-wal", kind: Database},
		{pattern: databaseName + "-shm", kind: Database},
		{pattern: databaseName + "-journal", kind: Database},
		{pattern: exportPrefix + "*", kind: Inner},
		{pattern: ".memory-archive-*", kind: Inner},
		{pattern: vaultFolder, kind: Vault, export: true},
		{pattern: vaultMark, kind: Vault, export: true},
		{pattern: "vault.lock", kind: Inner},
		{pattern: ".ash-????????????????", kind: Inner}, // vault.mark on its way
		{pattern: "session.key", kind: Inner},
		{pattern: "attachments", kind: Attachments, export: true, mine: attached},
		{pattern: "notes", kind: Notes, export: true},
		{pattern: "workspace", kind: Workspace, export: true},
		{pattern: backupFolder, kind: Snapshots, mine: isSnapshot},
		{pattern: "logs", kind: Logs, export: true, mine: logged},
		{pattern: "sandbox", kind: Inner},
		{pattern: "config.toml", kind: Settings, export: true},
		{pattern: ".config.toml.*", kind: Inner},
		{pattern: "config.lock", kind: Inner},
		{pattern: "folders-not-own.json", kind: Settings, export: true},
		{pattern: ".folders-not-own.json.*", kind: Inner},
		{pattern: "setup-skipped", kind: Settings, export: true},
		{pattern: "ash.sock", kind: Inner},
	}
}

// own are the entries that the package handles apart from the table.
func own(name string) bool { return name == lockName || name == markerName }

// find returns the place an entry of the home belongs to.
func find(places []place, name string) (place, bool) {
	for _, p := range places {
		if ok, err := path.Match(p.pattern, name); err == nil && ok {
			return p, true
		}
	}
	return place{}, false
}

// attached reports whether a file below attachments/ was made by Ash: in a folder of two digits, or on its way there.
func attached(rel string) bool {
	first, _, nested := strings.Cut(rel, "/")
	return nested && len(first) == 2 && strings.Trim(first, "0123456789abcdef") == "" || !nested && strings.HasPrefix(first, ".")
}

// isSnapshot reports whether a file below backups/ is a copy of the database that Ash made.
func isSnapshot(rel string) bool {
	name := strings.TrimSuffix(rel, ".part")
	return strings.HasPrefix(name, "ash-") && strings.HasSuffix(name, ".db") && !strings.Contains(rel, "/")
}

func logged(rel string) bool {
	name := strings.TrimSuffix(rel, ".1")
	return !strings.Contains(rel, "/") && (strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".log"))
}

// Home is where Ash keeps everything. The folders may lie elsewhere by the settings; they are absolute.
type Home struct {
	Path      string
	Workspace string
	Notes     string
}

// Elsewhere is a folder of Ash's outside of its home. It is exported, and never deleted.
type Elsewhere struct {
	Kind Kind
	Path string
}

// Elsewhere returns the folders outside of the home.
func (h Home) Elsewhere() []Elsewhere {
	var out []Elsewhere
	for _, e := range []Elsewhere{{Workspace, h.Workspace}, {Notes, h.Notes}} {
		if _, inside := h.within(e.Path); !inside && e.Path != "" {
			out = append(out, e)
		}
	}
	return out
}

// within returns the path of a folder relative to the home, with slashes; false when it is the home itself or lies outside.
func (h Home) within(folder string) (string, bool) {
	rel, err := filepath.Rel(h.Path, folder)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// places is the table with the folders that the settings name in the home.
func (h Home) places() []place { return withFolders(h.folders()) }

// folder is one that the settings put into the home under a name of its own.
type folder struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
}

// folders returns those that the table does not name anyway.
func (h Home) folders() []folder {
	var out []folder
	for _, e := range []Elsewhere{{Workspace, h.Workspace}, {Notes, h.Notes}} {
		rel, inside := h.within(e.Path)
		if !inside {
			continue
		}
		first, _, _ := strings.Cut(rel, "/")
		if _, known := find(table(), first); !known && !own(first) {
			out = append(out, folder{rel, e.Kind})
		}
	}
	return out
}

func withFolders(extra []folder) []place {
	all := table()
	for _, f := range extra {
		all = slices.Insert(all, 0, place{pattern: escape(f.Name), kind: f.Kind, export: true})
	}
	return all
}

// escape makes a pattern that matches name alone.
func escape(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}
