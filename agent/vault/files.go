package vault

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"ash/agent"
)

// FileMark keeps the mark in a file beside the folder of the vault. It notices an earlier copy of that folder, not of both; a database
// that other things depend on is the better place.
type FileMark struct{ Path string }

// Mark implements Anchor.
func (f FileMark) Mark(context.Context) (m Mark, err error) {
	text, err := f.disk().read(filepath.Base(f.Path), maxSmall)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	if err := strictJSON(text, &m); err != nil || (m == Mark{}) {
		return m, agent.Wrap(agent.CodeDenied, errPayload, "%s is damaged. Ash cannot tell whether the vault is as it was left. If nobody put an older copy there, remove the file: rm %s", f.Path, quote(f.Path))
	}
	return m, nil
}

// SetMark implements Anchor.
func (f FileMark) SetMark(_ context.Context, m Mark) error {
	if (m == Mark{}) {
		return f.disk().remove(filepath.Base(f.Path))
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = f.disk().write(filepath.Base(f.Path), append(text, '\n'))
	return err
}

func (f FileMark) disk() *disk {
	return &disk{dir: filepath.Dir(f.Path), uid: os.Geteuid(), lone: true}
}

// maxLog is when a FileLog begins a new file; one earlier one is kept.
const maxLog = 4 << 20

// FileLog keeps the access log as lines of JSON, at most twice 4 MB. It is not synced line by line. Use one for a path.
type FileLog struct {
	Path string
	mu   sync.Mutex
}

// Record implements Log.
func (l *FileLog) Record(_ context.Context, a Access) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(l.Path), 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(l.Path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return agent.Errorf(agent.CodeDenied, "%s is not an ordinary file. Remove it; Ash makes its own.", l.Path)
	case err == nil && info.Size() > maxLog:
		if err := os.Rename(l.Path, l.Path+".1"); err != nil {
			return err
		}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	f, err := os.OpenFile(l.Path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}
