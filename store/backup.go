package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"ash/agent"
)

// Backup copies the database, as it is at one instant, to dest, while others read
// and write. The copy is a complete database of mode 0600 without a log. CodeConflict
// when dest exists; a copy that fails leaves nothing behind.
func (s *Store) Backup(ctx context.Context, dest string) error {
	return s.translate(s.copyTo(ctx, dest))
}

// snapshot copies the database into backups/ before its schema goes from one version to another.
func (s *Store) snapshot(ctx context.Context, from, to int) (string, error) {
	folder := backupFolder(s.path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("make folder for snapshots: %w", err)
	}
	name := fmt.Sprintf("ash-%s-schema-%d-before-%d.db", time.Now().UTC().Format("20060102T150405.000Z"), from, to)
	dest := filepath.Join(folder, name)
	return dest, s.copyTo(ctx, dest)
}

func (s *Store) copyTo(ctx context.Context, dest string) (err error) {
	// Dest is taken at once, so that nobody else's file is ever overwritten, and
	// gets its contents by a rename, so that it is never half a copy.
	if err := reserve(dest); err != nil {
		return err
	}
	part := dest + ".part"
	defer func() {
		if err != nil {
			err = errors.Join(err, removeIfThere(part), removeIfThere(dest))
		}
	}()
	if err := reserve(part); err != nil {
		return err
	}
	db := openAside(s.path)
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", part)
	if err := closing(db, err); err != nil {
		return fmt.Errorf("copy database: %w", err)
	}
	if err := syncFile(part); err != nil {
		return err
	}
	if err := os.Rename(part, dest); err != nil {
		return fmt.Errorf("put copy in place: %w", err)
	}
	return syncFolder(filepath.Dir(dest))
}

// reserve makes an empty file of mode 0600 that did not exist.
func reserve(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return agent.Wrap(agent.CodeConflict, err, "%s exists already. Choose another name; nothing is overwritten.", path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return agent.Wrap(agent.CodeInvalid, err, "The folder %s does not exist.", filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("make file for the copy: %w", err)
	}
	return closing(f, nil)
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open copy: %w", err)
	}
	return closing(f, f.Sync())
}

// syncFolder makes a rename durable. Windows cannot, and does not need to.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open folder of the copy: %w", err)
	}
	return closing(d, d.Sync())
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
