package notes

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"ash/agent"
)

// Bounds of a scan.
const (
	maxNotes   = 200_000
	scanBatch  = 200     // rows stored in one transaction
	scanBytes  = 8 << 20 // or fewer, once so much text was read
	rowsAtOnce = 5000
)

// Report says what a scan found.
type Report struct {
	Notes   int      // there are
	Changed []string // were read, since their files differ from their rows
	Gone    int
	Skipped []string // files ending in .md that are not looked at (links, odd names) or cannot be read; at most 100
	Busy    bool     // a file was being written: look again
}

// Scan brings all rows up to date: files whose time and size are those of their row are not read.
func (f *Folder) Scan(ctx context.Context) (Report, error) { return f.scan(ctx, false) }

// scan does the work of Scan; all says to read every file.
func (f *Folder) scan(ctx context.Context, all bool) (Report, error) {
	root, err := f.root()
	if err != nil {
		return Report{}, err
	}
	defer func() { _ = root.Close() }() // a handle of the folder holds no data
	s := &scanner{folder: f, root: root, all: all}
	if s.known, err = f.known(ctx); err != nil {
		return Report{}, err
	}
	if err := s.walk(ctx); err != nil {
		return s.report, err
	}
	if err := s.flush(ctx); err != nil {
		return s.report, err
	}
	err = s.sweep(ctx)
	f.tell(s.report.Changed...)
	return s.report, err
}

// known reads all rows.
func (f *Folder) known(ctx context.Context) (map[string]Row, error) {
	out := map[string]Row{}
	after := ""
	for {
		page, err := f.rows.NoteRows(ctx, after, rowsAtOnce)
		if err != nil {
			return nil, err
		}
		for _, r := range page {
			out[r.Path] = r
		}
		if len(page) < rowsAtOnce {
			return out, nil
		}
		after = page[len(page)-1].Path
	}
}

// scanner is one scan.
type scanner struct {
	folder *Folder
	root   *os.Root
	all    bool
	known  map[string]Row // those not seen yet
	report Report

	pending []toRead
	bytes   int64
	unread  []string // folders that could not be read, ending in a slash: nothing below them is gone
}

// toRead is a file that is to be read, and whether it had a row when the scan began.
type toRead struct {
	name  string
	known bool
}

// walk looks at every file. Links are not followed, so no loop is possible.
func (s *scanner) walk(ctx context.Context) error {
	return fs.WalkDir(s.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return s.unreadable(ctx, name, err)
		}
		if name == "." {
			return nil
		}
		if e.IsDir() {
			if !readable(name) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(strings.ToLower(name), extension) || strings.HasPrefix(e.Name(), ".") {
			return nil
		}
		if !e.Type().IsRegular() || !isNote(name) {
			s.skip(name)
			return nil
		}
		return s.file(ctx, name, e)
	})
}

func (s *scanner) unreadable(ctx context.Context, name string, err error) error {
	if name == "." {
		return fileError(err, "The notes folder cannot be read")
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	s.folder.log.WarnContext(ctx, "folder of notes not read", slog.String("folder", name), slog.Any("error", err))
	s.unread = append(s.unread, name+"/")
	s.skip(name)
	return fs.SkipDir
}

func (s *scanner) skip(name string) {
	if len(s.report.Skipped) < 100 {
		s.report.Skipped = append(s.report.Skipped, agent.Clip(strings.ToValidUTF8(name, "\uFFFD"), maxPath))
	}
}

func (s *scanner) file(ctx context.Context, name string, e fs.DirEntry) error {
	if s.report.Notes == maxNotes {
		s.skip(name)
		return nil
	}
	info, err := e.Info()
	if err != nil {
		return ignoreMissing(err)
	}
	s.report.Notes++
	row, had := s.known[name]
	delete(s.known, name)
	if had && !s.all && row.proves(stampOf(info)) {
		return nil
	}
	s.pending = append(s.pending, toRead{name, had})
	if s.bytes += info.Size(); len(s.pending) >= scanBatch || s.bytes >= scanBytes {
		return s.flush(ctx)
	}
	return nil
}

// flush reads the pending files and stores their rows. Other readers and writers have their turn between two of these.
func (s *scanner) flush(ctx context.Context) error {
	s.folder.mu.Lock()
	defer s.folder.mu.Unlock()
	rows := make([]Row, 0, len(s.pending))
	for _, p := range s.pending {
		name := p.name
		row, changed, err := s.row(ctx, p)
		switch {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			if isBusy(err) {
				s.report.Busy = true
			} else {
				s.folder.log.WarnContext(ctx, "note not read", slog.String("note", name), slog.Any("error", err))
				s.skip(name)
			}
			continue
		case row.Path == "":
			continue
		case changed:
			s.report.Changed = append(s.report.Changed, name)
		}
		rows = append(rows, row)
	}
	s.pending, s.bytes = s.pending[:0], 0
	if len(rows) == 0 {
		return nil
	}
	return s.folder.rows.SaveNotes(ctx, rows, nil)
}

// row reads a file; changed says that it differs from its row. A file that is gone by now has no path.
func (s *scanner) row(ctx context.Context, p toRead) (row Row, changed bool, err error) {
	c, err := readContent(s.root, p.name)
	if err != nil || c.missing {
		return Row{}, false, err
	}
	note := noteOf(p.name, c)
	if note.Labels, err = s.folder.labels(ctx, p.name, c.hash); err != nil {
		return Row{}, false, err
	}
	row = rowOf(note)
	if !p.known {
		return row, true, nil
	}
	had, err := s.folder.rows.NoteRow(ctx, p.name) // as it is by now: recall may have taken it up since the scan began
	if err != nil && agent.CodeOf(err) != agent.CodeNotFound {
		return Row{}, false, err
	}
	if err == nil && sameRow(had, row) {
		row.Stale = had.Stale
		return row, false, nil
	}
	return row, true, nil
}

// sweep removes the rows of files that are gone.
func (s *scanner) sweep(ctx context.Context) error {
	s.folder.mu.Lock()
	defer s.folder.mu.Unlock()
	var gone []string
	for name := range s.known {
		below := func(dir string) bool { return strings.HasPrefix(name, dir) }
		if anyOf(s.unread, below) {
			continue
		}
		// It may have been made, or could be looked at, since the walk.
		if now, err := look(s.root, name); err == nil && (now.missing || !now.mode.IsRegular()) {
			gone = append(gone, name)
		}
	}
	if s.report.Gone = len(gone); len(gone) == 0 {
		return nil
	}
	if err := s.folder.rows.SaveNotes(ctx, nil, gone); err != nil {
		return err
	}
	s.report.Changed = append(s.report.Changed, gone...)
	return nil
}

func anyOf(list []string, is func(string) bool) bool {
	for _, s := range list {
		if is(s) {
			return true
		}
	}
	return false
}
