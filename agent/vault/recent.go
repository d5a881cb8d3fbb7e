package vault

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"

	"ash/agent"
)

// Recent returns the last lines of the log, the newest last, at most limit. Lines that cannot be read are left out: a crash may have torn one.
func (l *FileLog) Recent(limit int) ([]Access, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []Access // the newest first
	for _, path := range []string{l.Path, l.Path + ".1"} {
		text, err := readLog(path)
		if err != nil {
			return nil, err
		}
		lines := bytes.Split(text, []byte("\n"))
		for i := len(lines) - 1; i >= 0 && len(all) < limit; i-- {
			var a Access
			if json.Unmarshal(lines[i], &a) == nil && a.Action != "" {
				all = append(all, a)
			}
		}
		if len(all) >= limit {
			break
		}
	}
	slices.Reverse(all)
	return all, nil
}

// readLog reads a file of the log, nothing where there is none.
func readLog(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && (!info.Mode().IsRegular() || info.Size() > 2*maxLog) {
		return nil, agent.Errorf(agent.CodeDenied, "%s is not the access log that the vault wrote. Move it away; Ash makes its own.", path)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fileError(err, "read", path)
	}
	return text, nil
}
