// Package storetest gives tests real databases cheaply. Migrating an empty file takes a second under the race detector, and nearly
// every test begins with one: here the first of a process is made by the store itself, and the others are copies of its file.
//
// The copies have one owner and one set of keys. A test of two homes that must not know each other opens its own with store.Open.
package storetest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"ash/store"
)

// Open returns a new database in a folder of its own, closed when the test ends.
func Open(t testing.TB) *store.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ash.db")
	Put(t, path)
	s, err := store.Open(context.Background(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// Put lays a new database at path, for a test that opens it itself. One that is there stays.
func Put(t testing.TB, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	data, err := migrated()
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// migrated is the file that a first start leaves; made once in a process.
var migrated = sync.OnceValues(func() (data []byte, err error) {
	dir, err := os.MkdirTemp("", "ash-storetest-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "ash.db")
	s, err := store.Open(context.Background(), store.Options{Path: path})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})
