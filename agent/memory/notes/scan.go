package notes

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"ash/agent"
)

// Bounds of a scan.
const (
	maxNotes   = 200_000
	scanBatch  = 200     // rows stored in one transaction
	scanBytes  = 8 << 20 // or fewer, once so much text was read
	rowsAtOnce = 5000
	maxSkipped = 100
	leftAfter  = time.Hour // a file of ours that was being written so long ago is left over from a crash
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
func (f *Folder) Scan(ctx context.Context) (Report, error) { return f.scan(ctx, pass{}) }

// pass says what a scan does beside its work.
type pass struct {
	again string            // folder, ending in a slash, whose files are all read
	enter func(name string) // is told of each folder before it is read
}

func (f *Folder) scan(ctx context.Context, p pass) (Report, error) {
	root, err := f.root()
	if err != nil {
		return Report{}, err
	}
	defer func() { _ = root.Close() }() // a handle of the folder holds no data
	s := &scanner{folder: f, root: root, pass: p}
	if s.known, err = f.known(ctx); err != nil {
		return Report{}, err
	}
	if len(s.known) > 0 {
		s.fresh = map[string][]string{}
	}
	if err = s.walk(ctx); err == nil {
		err = s.flush(ctx)
	}
	if err == nil {
		err = s.sweep(ctx)
	}
	s.tellSkipped(ctx, err)
	f.tell(s.report.Changed...) // also of what was stored before something went wrong
	return s.report, err
}

// known reads what all rows say of their files.
func (f *Folder) known(ctx context.Context) (map[string]Stamp, error) {
	out := map[string]Stamp{}
	err := f.eachStamp(ctx, func(s Stamp) { out[s.Path] = s })
	return out, err
}

// paths returns those of all rows, in order.
func (f *Folder) paths(ctx context.Context) ([]string, error) {
	var out []string
	err := f.eachStamp(ctx, func(s Stamp) { out = append(out, s.Path) })
	return out, err
}

func (f *Folder) eachStamp(ctx context.Context, is func(Stamp)) error {
	after := ""
	for {
		page, err := f.rows.NoteStamps(ctx, after, rowsAtOnce)
		if err != nil {
			return err
		}
		for _, s := range page {
			is(s)
		}
		if len(page) < rowsAtOnce {
			return nil
		}
		after = page[len(page)-1].Path
	}
}

// scanner is one scan.
type scanner struct {
	pass
	folder *Folder
	root   *os.Root
	known  map[string]Stamp    // those not seen yet
	fresh  map[string][]string // notes without a row, by the hash of their content; nil where none had one
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
		if e.IsDir() {
			if name != "." && !readable(name) {
				return fs.SkipDir
			}
			if s.enter != nil {
				s.enter(name)
			}
			return nil
		}
		if strings.HasPrefix(e.Name(), ".") {
			return s.leftover(name, e)
		}
		if !strings.EqualFold(path.Ext(name), extension) {
			return nil
		}
		if !e.Type().IsRegular() || !isNote(name) {
			s.skip(name)
			return nil
		}
		return s.file(ctx, name, e)
	})
}

// leftover removes a file of ours that was never finished: the note it was for is as it was before.
func (s *scanner) leftover(name string, e fs.DirEntry) error {
	if !isTemp(e.Name()) || !e.Type().IsRegular() {
		return nil
	}
	if info, err := e.Info(); err != nil || time.Since(info.ModTime()) < leftAfter {
		return ignoreMissing(err)
	}
	return ignoreMissing(s.root.Remove(name))
}

// isTemp reports whether a name is one that write makes.
func isTemp(name string) bool {
	id, ours := strings.CutPrefix(name, tempPrefix)
	return ours && uuid.Validate(id) == nil
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

// tellSkipped tells the log which files are left out, when that has changed.
func (s *scanner) tellSkipped(ctx context.Context, err error) {
	if err != nil {
		return
	}
	f := s.folder
	f.mu.Lock()
	defer f.mu.Unlock()
	now := strings.Join(s.report.Skipped, "\n")
	if now != f.skipped && now != "" {
		f.log.WarnContext(ctx, "files in the notes folder are left out: links, names that cannot be shown, and what cannot be read",
			slog.Int("files", len(s.report.Skipped)), slog.Any("first", s.report.Skipped[:min(len(s.report.Skipped), 5)]))
	}
	f.skipped = now
}

func (s *scanner) skip(name string) {
	if len(s.report.Skipped) < maxSkipped {
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
	if had && !s.reads(name) && row.proves(stampOf(info)) {
		return nil
	}
	s.pending = append(s.pending, toRead{name, had})
	if s.bytes += info.Size(); len(s.pending) >= scanBatch || s.bytes >= scanBytes {
		return s.flush(ctx)
	}
	return nil
}

// reads reports whether a file is read whatever its row says.
func (s *scanner) reads(name string) bool {
	return s.again == "/" || s.again != "" && strings.HasPrefix(name, s.again)
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
	if note.Labels, err = s.folder.labels(ctx, p.name, c); err != nil {
		return Row{}, false, err
	}
	row = rowOf(note)
	if !p.known {
		if s.fresh != nil {
			s.fresh[row.Hash] = append(s.fresh[row.Hash], p.name)
		}
		return row, true, nil
	}
	had, err := s.folder.rows.NoteRow(ctx, p.name) // as it is by now: recall may have taken it up since the scan began
	if err != nil && agent.CodeOf(err) != agent.CodeNotFound {
		return Row{}, false, err
	}
	if err == nil && sameRow(had, row) {
		row.Stale = false // it stays what it is in the store by now
		return row, false, nil
	}
	return row, true, nil
}

// sweep removes the rows of files that are gone.
func (s *scanner) sweep(ctx context.Context) error {
	s.folder.mu.Lock()
	defer s.folder.mu.Unlock()
	var gone []Row
	for name := range s.known {
		is, err := s.gone(ctx, name)
		if err != nil {
			return err
		}
		if is.Path != "" {
			gone = append(gone, is)
		}
	}
	if s.report.Gone = len(gone); len(gone) == 0 {
		return nil
	}
	if err := s.folder.gone(ctx, gone...); err != nil {
		return err
	}
	for _, r := range gone {
		s.report.Changed = append(s.report.Changed, r.Path)
		if len(strange(r.Path, r.Labels)) == 0 {
			continue
		}
		for _, name := range s.fresh[r.Hash] { // it was moved, most likely
			if _, _, err := s.folder.refresh(ctx, s.root, name); err != nil && ctx.Err() != nil {
				return err
			}
		}
	}
	return nil
}

// gone returns the row of a note that the walk did not meet, if it is gone: it may have been made since, or stand where nothing could be read.
func (s *scanner) gone(ctx context.Context, name string) (Row, error) {
	if slices.ContainsFunc(s.unread, func(dir string) bool { return strings.HasPrefix(name, dir) }) {
		return Row{}, nil
	}
	now, err := look(s.root, name)
	if err == nil && !now.missing && now.mode.IsRegular() {
		there, err := spelling(s.root, name)
		if err != nil || there == name {
			return Row{}, err
		}
	} else if err != nil && agent.CodeOf(err) != agent.CodeInvalid { // invalid: it is reached through a link now
		return Row{}, nil // what cannot be looked at is not gone
	}
	row, err := s.folder.rows.NoteRow(ctx, name)
	if agent.CodeOf(err) == agent.CodeNotFound {
		return Row{}, nil
	}
	return row, err
}
