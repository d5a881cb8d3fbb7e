package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Two ways to see all that a step left behind, or that it left nothing.

// rows returns everything that the tables of conversations hold.
func (f *fixture) rows() map[string][]map[string]any {
	f.t.Helper()
	all := map[string][]map[string]any{}
	for _, table := range []string{"threads", "messages", "turns", "tool_calls", "reply_progress", "message_attachments", "receipts"} {
		var rows []map[string]any
		f.ok(f.reader.NewSelect().Table(table).OrderExpr("1, 2").Scan(f.ctx, &rows))
		all[table] = rows
	}
	return all
}

// killed opens what a kill at this moment would leave on the disk: the files as they are, without the merge that closing does.
func (f *fixture) killed() *fixture {
	f.t.Helper()
	path := filepath.Join(f.t.TempDir(), "ash.db")
	for _, end := range []string{"", "-wal"} {
		data, err := os.ReadFile(f.path + end)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		f.ok(err)
		f.ok(os.WriteFile(path+end, data, 0o600))
	}
	left := *f
	left.Store = openAt(f.t, path)
	return &left
}
