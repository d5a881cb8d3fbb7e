package vault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"ash/agent"
)

// Read returns the accesses that keep lets pass, the newest first: those after the first skip of them, at most limit. more says that there are
// further ones. Lines that cannot be read, such as one that a crash cut off, are left out. Errors: CodeDenied for a log that is no ordinary file, CodeUnavailable.
func (l *FileLog) Read(ctx context.Context, keep func(Access) bool, skip, limit int) (found []Access, more bool, err error) {
	for _, path := range []string{l.Path, l.Path + ".1"} {
		data, err := l.whole(path)
		if err != nil {
			return nil, false, err
		}
		for len(data) > 0 {
			if ctx.Err() != nil {
				return nil, false, ctx.Err()
			}
			data = bytes.TrimSuffix(data, []byte("\n"))
			i := bytes.LastIndexByte(data, '\n')
			line := data[i+1:]
			data = data[:i+1]
			var a Access
			if json.Unmarshal(line, &a) != nil || !keep(a) {
				continue
			}
			if skip > 0 {
				skip--
				continue
			}
			if len(found) == limit {
				return found, true, nil
			}
			found = append(found, a)
		}
	}
	return found, false, nil
}

// whole reads one file of the log, nil when it is not there.
func (l *FileLog) whole(path string) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fileError(err, "look at", path)
	}
	if !info.Mode().IsRegular() {
		return nil, agent.Errorf(agent.CodeDenied, "%s is not an ordinary file. Remove it; Ash makes its own.", path)
	}
	f, err := openFile(path)
	if err != nil {
		return nil, fileError(err, "read", path)
	}
	defer func() { _ = f.Close() }() // read only: nothing can be lost
	data, err := io.ReadAll(io.LimitReader(f, 2*maxLog))
	if err != nil {
		return nil, fileError(err, "read", path)
	}
	return data, nil
}
