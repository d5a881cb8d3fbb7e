package config

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"ash/agent"
)

const (
	fileMode = 0o600
	dirMode  = 0o700

	othersAny   = 0o077 // permission bits of group and others
	othersWrite = 0o022
)

// permissionsTell is false where the permission bits say nothing about who may read a file.
const permissionsTell = runtime.GOOS != "windows"

// readConfig returns the content of the settings file, nil when there is none.
func readConfig(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fileError(err, "read", path)
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return nil, agent.Errorf(agent.CodeInvalid, "%s is a folder; the settings belong in a file of that name.", path)
	case mode&fs.ModeSymlink != 0:
		return nil, agent.Errorf(agent.CodeInvalid, "%s is a link. Ash replaces the file when it saves, so put the file itself there.", path)
	case !mode.IsRegular():
		return nil, agent.Errorf(agent.CodeInvalid, "%s is not an ordinary file.", path)
	case permissionsTell && mode.Perm()&othersWrite != 0:
		return nil, agent.Errorf(agent.CodeDenied, "Others may change %s (mode %04o), and with it where your messages go. Run: chmod 600 %s", path, mode.Perm(), path)
	}
	return readBounded(path, MaxFile)
}

// readBounded reads a file of at most limit bytes. It never returns nil content without an error.
func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fileError(err, "read", path)
	}
	defer func() { _ = f.Close() }() // read only: nothing to lose
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fileError(err, "read", path)
	}
	if int64(len(data)) > limit {
		return nil, agent.Errorf(agent.CodeInvalid, "%s is larger than %d KiB, which is more than such a file can need.", path, limit>>10)
	}
	return data, nil
}

// fileError makes the error for a person of one from the operating system.
func fileError(err error, verb, path string) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return agent.Wrap(agent.CodeNotFound, err, "Ash cannot %s %s: it does not exist.", verb, path)
	case errors.Is(err, fs.ErrPermission):
		return agent.Wrap(agent.CodeDenied, err, "Ash cannot %s %s: the operating system does not permit it.", verb, path)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return agent.Wrap(agent.CodeExhausted, err, "Ash cannot %s %s: the disk is full. The file is as it was.", verb, path)
	case errors.Is(err, syscall.EROFS):
		return agent.Wrap(agent.CodeDenied, err, "Ash cannot %s %s: the disk is read-only.", verb, path)
	}
	return agent.Wrap(agent.CodeUnavailable, err, "Ash cannot %s %s: %v.", verb, path, reason(err))
}

// reason returns the operating system's own words without operation and path.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// writeFile replaces the file at path by data, durably: whoever looks, also after a
// crash at any instant, finds the old content or the new one.
func writeFile(path string, data []byte) (err error) {
	dir := filepath.Dir(path)
	tmp, err := os.CreateTemp(dir, "."+FileName+".*") // made with mode 0600
	if err != nil {
		return fileError(err, "write", path)
	}
	defer func() {
		if err != nil {
			_ = tmp.Close()           // closed already, unless writing failed
			_ = os.Remove(tmp.Name()) // the first error is the one to report
		}
	}()
	if _, err := tmp.Write(data); err != nil {
		return fileError(err, "write", path)
	}
	if err := tmp.Sync(); err != nil {
		return fileError(err, "write", path)
	}
	if err := tmp.Close(); err != nil {
		return fileError(err, "write", path)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return fileError(err, "write", path)
	}
	return syncDir(dir)
}

// syncDir makes a rename in dir durable.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // folders cannot be synced there; the file system journals the rename
	}
	d, err := os.Open(dir)
	if err != nil {
		return fileError(err, "write", dir)
	}
	defer func() { _ = d.Close() }() // nothing was written through it
	if err := d.Sync(); err != nil {
		return fileError(err, "write", dir)
	}
	return nil
}

const (
	lockName  = "config.lock"
	lockWait  = 5 * time.Second // an edit takes milliseconds: whoever holds it longer hangs
	lockRetry = 10 * time.Millisecond
)

// locked runs f while holding the lock that every writer of the settings in home
// takes, in whatever process. CodeConflict when it does not come free in time.
func locked(ctx context.Context, home string, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	path := filepath.Join(home, lockName)
	lock := flock.New(path, flock.SetPermissions(fileMode))
	ok, err := lock.TryLockContext(ctx, lockRetry)
	if errors.Is(err, context.DeadlineExceeded) || err == nil && !ok {
		return agent.Wrap(agent.CodeConflict, err, "The settings are being changed elsewhere at this moment. Try again.")
	}
	if err != nil {
		return fileError(err, "lock", path)
	}
	err = f()
	if unlockErr := lock.Unlock(); err == nil && unlockErr != nil {
		return fileError(unlockErr, "unlock", path)
	}
	return err
}
