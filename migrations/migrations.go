// Package migrations holds the database schema as numbered SQL, embedded in the
// binary: NNNN_name.up.sql takes a database from version NNNN-1 to NNNN,
// NNNN_name.down.sql takes it back. The store runs them, one transaction each.
//
// A migration that has been released is never edited: its checksum is kept in
// every database it was applied to, and a difference is refused. The package
// knows nothing of databases and imports only the standard library.
package migrations

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
)

//go:embed *.sql
var files embed.FS

// Migration is one step of the schema. Up and Down are SQL scripts that run
// inside a transaction of the caller.
type Migration struct {
	Version  int    // from 1, without gaps
	Name     string // lower-case words joined by underscores
	Up       string
	Down     string
	Checksum string // SHA-256 of Up, lower-case hex
}

// All returns the embedded migrations, oldest first. The error names a file
// that is out of place; with the files of a release it is always nil.
func All() ([]Migration, error) { return Read(files) }

// fileName takes a migration's file name apart.
var fileName = regexp.MustCompile(`^(\d{4})_([a-z][a-z0-9_]*)\.(up|down)\.sql$`)

// Read returns the migrations in the root of fsys, oldest first. It refuses
// names of another form, gaps in the numbering, and a missing or empty half.
func Read(fsys fs.FS) ([]Migration, error) {
	names, err := fs.Glob(fsys, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	byVersion := map[int]*Migration{}
	for _, name := range names {
		if err := readFile(fsys, name, byVersion); err != nil {
			return nil, err
		}
	}
	all := make([]Migration, 0, len(byVersion))
	for _, version := range slices.Sorted(maps.Keys(byVersion)) {
		all = append(all, *byVersion[version])
	}
	for i, m := range all {
		if m.Version != i+1 {
			return nil, fmt.Errorf("migration %04d is missing: found %04d_%s in its place", i+1, m.Version, m.Name)
		}
		if m.Up == "" || m.Down == "" {
			return nil, fmt.Errorf("migration %04d_%s needs both an up and a down file", m.Version, m.Name)
		}
	}
	return all, nil
}

func readFile(fsys fs.FS, name string, into map[int]*Migration) error {
	part := fileName.FindStringSubmatch(name)
	if part == nil {
		return fmt.Errorf("migration file %q is not named NNNN_name.up.sql or NNNN_name.down.sql", name)
	}
	version, err := strconv.Atoi(part[1])
	if err != nil {
		return fmt.Errorf("migration file %q: %w", name, err)
	}
	script, err := fs.ReadFile(fsys, name)
	if err != nil {
		return fmt.Errorf("read migration: %w", err)
	}
	m := into[version]
	if m == nil {
		m = &Migration{Version: version, Name: part[2]}
		into[version] = m
	}
	if m.Name != part[2] {
		return fmt.Errorf("migration %04d has two names, %q and %q", version, m.Name, part[2])
	}
	if part[3] == "down" {
		m.Down = string(script)
		return nil
	}
	sum := sha256.Sum256(script)
	m.Up, m.Checksum = string(script), hex.EncodeToString(sum[:])
	return nil
}
