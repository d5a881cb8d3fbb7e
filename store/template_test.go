package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// lay puts a new database at path as storetest.Put does, which this package's own tests cannot import.
func lay(t testing.TB, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	data, err := migrated()
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// migrated is the file that a first start leaves; made once in a process.
var migrated = sync.OnceValues(func() (data []byte, err error) {
	dir, err := os.MkdirTemp("", "ash-store-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "ash.db")
	s, err := Open(context.Background(), Options{Path: path})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})
