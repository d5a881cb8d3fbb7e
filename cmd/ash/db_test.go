package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ash/store"
)

// TestDatabaseCommands runs one command line after the other on one home.
func TestDatabaseCommands(t *testing.T) {
	home := t.TempDir()
	ash := func(want int, args ...string) string {
		t.Helper()
		var out, complaints bytes.Buffer
		if code := run(t.Context(), append([]string{"--home", home, "db"}, args...), strings.NewReader(""), &out, &complaints); code != want {
			t.Fatalf("db %v: exit %d, want %d: %s", args, code, want, complaints.String())
		}
		return out.String() + complaints.String()
	}
	contains := func(got, want string) {
		t.Helper()
		if !strings.Contains(got, want) {
			t.Fatalf("%q is not in %q", want, got)
		}
	}
	for _, command := range []string{"status", "migrate", "rollback", "backup"} {
		contains(ash(exitFailed, command), "no database")
	}
	if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
		t.Fatalf("asking left %v, %v", left, err)
	}
	s, err := store.Open(t.Context(), store.Options{Path: databasePath(home)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	contains(ash(exitOK, "status", "--check"), "sound")
	contains(ash(exitOK, "migrate"), "Nothing to do")
	dest := filepath.Join(home, "copy.db")
	contains(ash(exitOK, "backup", dest), dest)
	contains(ash(exitFailed, "backup", dest), "exists already")
	contains(ash(exitOK, "backup"), filepath.Join(home, "backups"))
	contains(ash(exitUsage, "backup", "a", "b"), "ash:")
	contains(ash(exitFailed, "rollback", "--steps", "99"), "cannot be taken back")

	schema, err := store.Status(t.Context(), store.Options{Path: databasePath(home)})
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"rollback", "--steps", strconv.Itoa(schema.Version)}
	contains(ash(exitUsage, all...), "--yes")
	contains(ash(exitOK, append(all, "--yes")...), "to 0")
	contains(ash(exitOK, "status"), "not applied")
	contains(ash(exitOK, "migrate"), "from version 0")

	lock, err := lockHome(home)
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"status", "migrate", "rollback", "backup"} {
		contains(ash(exitFailed, command), "already running")
	}
	if err := lock.release(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(databasePath(home), []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	contains(ash(exitUnavailable, "status"), "damaged")
}
