package notes

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"ash/agent"
)

// Options adjust a Folder. The zero value is ready for use.
type Options struct {
	// OnChange is told of notes that changed, however that came about. No lock is held; it may call back into the Folder. Save waits for it,
	// and so does the watcher.
	OnChange func(paths []string)
	// Suspect reports whether a text speaks to the assistant. Such a note is a stranger's even in a folder that is the person's
	// own, until they vouch for it. It must be quick and safe for concurrent use; nil suspects nothing.
	Suspect func(ctx context.Context, text string) bool
	// Log receives what the person need not see; nil discards it.
	Log *slog.Logger
	// Debounce is how long the watcher waits for an editor to finish; 0 is 200 ms.
	Debounce time.Duration
	// Rescan is how often everything is looked at: rarely, since the watcher tells of changes, unless the system grants
	// none. 0 is 10 minutes with a watcher; without, 20 s, or fifty times as long as it takes where that is more.
	Rescan time.Duration
	// MaxWatched is how many folders are watched; with more, none is, and everything is looked at from time to time. 0 is 2,000.
	MaxWatched int
	// After holds back the first look, and the watching, until it is closed; nil: at once.
	After <-chan struct{}
	// Unwatched does without the watcher, as on a system that grants none.
	Unwatched bool
}

// Folder is the notes of one home. It is safe for concurrent use.
type Folder struct {
	dir     string
	rows    Rows
	records Records
	options Options
	log     *slog.Logger

	alike bool // the system takes names that differ only in case for the same

	mu      sync.Mutex // one reader or writer of a file with its row at a time
	skipped string     // the files that were left out when last told to the log
	watcher *watcher
}

// Open begins to keep the notes under dir, made with mode 0700 when missing: what changed while Ash was away is read, and the watching
// begun, in the background. Errors: CodeUnavailable and CodeExhausted for a folder that cannot be used.
func Open(ctx context.Context, dir string, rows Rows, records Records, o Options) (*Folder, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Debounce <= 0 {
		o.Debounce = 200 * time.Millisecond
	}
	f := &Folder{dir: dir, rows: rows, records: records, options: o, log: o.Log}
	root, err := f.root()
	if err != nil {
		return nil, err
	}
	if err := root.Close(); err != nil {
		return nil, fileError(err, "The notes folder cannot be used")
	}
	if o.MaxWatched <= 0 {
		f.options.MaxWatched = maxWatched
	}
	f.alike = indifferent(dir)
	f.watcher = f.watch(ctx)
	return f, nil
}

// Close stops watching and waits until the watcher has ended.
func (f *Folder) Close() error {
	f.watcher.close()
	return nil
}

// root opens the folder, made anew when it is missing.
func (f *Folder) root() (*os.Root, error) {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return nil, fileError(err, "The notes folder cannot be created")
	}
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return nil, fileError(err, "The notes folder cannot be opened")
	}
	return root, nil
}

// Read returns a note as it is now. One that is not there is no error: the Note is Missing, as after it was deleted
// under the editor. Errors: CodeInvalid for a path that can be none, a link or a folder; CodeUnavailable for a file that cannot
// be read or is being written.
func (f *Folder) Read(ctx context.Context, name string) (Note, error) {
	note, changed, err := f.read(ctx, name)
	if changed {
		f.tell(name)
	}
	return note, err
}

func (f *Folder) read(ctx context.Context, name string) (note Note, changed bool, err error) {
	if err := checkPath(name); err != nil {
		return Note{}, false, err
	}
	root, err := f.root()
	if err != nil {
		return Note{}, false, err
	}
	defer func() { _ = root.Close() }() // a handle of the folder holds no data
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.refresh(ctx, root, name)
}

// Passages returns a note with what recall indexes of it.
func (f *Folder) Passages(ctx context.Context, name string) (Note, []Passage, error) {
	note, _, err := f.read(ctx, name) // whoever asks for passages need not be told that there are new ones
	if err != nil || note.Missing {
		return note, nil, err
	}
	list, _ := Passages(note)
	return note, list, nil
}

// Draft is a text about to become a note's.
type Draft struct {
	Path string
	Base string // Hash of the note that the text was made from; "" for a new note
	Text string
	Ash  bool // Ash writes, not the person
	// Again says that a note of this name was there before, so that its name is no matter even where another system refuses it.
	Again bool
	// Labels are those of what Ash made the text from. Untrusted ones stay on the note.
	Labels agent.Labels
}

// Save writes a note, provided it is still what the text was made from, and returns it as it is now. Lines end as they did in
// the note, when the text has only plain ends, as forms send them. Errors: CodeConflict with
// a *Conflict inside when it changed, was deleted, or is there where a new one was wanted; CodeInvalid for a name or text that cannot be kept;
// CodeExhausted for a full disk.
func (f *Folder) Save(ctx context.Context, d Draft) (Note, error) {
	if err := checkDraft(d); err != nil {
		return Note{}, err
	}
	root, err := f.root()
	if err != nil {
		return Note{}, err
	}
	defer func() { _ = root.Close() }() // a handle of the folder holds no data
	f.mu.Lock()
	note, err := f.save(ctx, root, d)
	f.mu.Unlock()
	if err == nil {
		f.tell(d.Path)
	}
	return note, err
}

// save does the work of Save with the lock held.
func (f *Folder) save(ctx context.Context, root *os.Root, d Draft) (Note, error) {
	now, _, err := f.refresh(ctx, root, d.Path)
	if err == nil && now.Missing && !d.Again {
		err = free(root, d.Path)
	}
	d.Text = endings(now.Text, d.Text)
	switch {
	case err != nil:
		return Note{}, err
	case now.Hash != d.Base && now.Hash != hashOf(d.Text):
		return Note{}, errChanged(now)
	case now.Immutable:
		return Note{}, agent.Errorf(agent.CodeInvalid, "%s cannot be changed here without losing some of it. %s", d.Path, now.Problem)
	}
	// The record is durable first: a text is never there without what is known of it.
	if err := f.record(ctx, d, now); err != nil {
		return Note{}, err
	}
	if now.Missing || now.Hash != hashOf(d.Text) {
		if err := write(root, d.Path, d.Text, now); errors.Is(err, errOvertaken) {
			return Note{}, f.overtaken(ctx, root, d.Path, err)
		} else if err != nil {
			return Note{}, err
		}
	}
	note, _, err := f.refresh(ctx, root, d.Path)
	return note, err
}

// overtaken is the refusal of a change that another program was faster with.
func (f *Folder) overtaken(ctx context.Context, root *os.Root, name string, cause error) error {
	now, _, err := f.refresh(ctx, root, name)
	if err != nil {
		return errors.Join(err, cause)
	}
	return errChanged(now)
}

// endings gives a text the line ends that most lines of the old one have, when it has but plain ones.
func endings(old, text string) string {
	if windows := strings.Count(old, "\r\n"); 2*windows <= strings.Count(old, "\n") || strings.Contains(text, "\r") {
		return text
	}
	return strings.ReplaceAll(text, "\n", "\r\n")
}

func checkDraft(d Draft) error {
	check := checkNew
	if d.Base != "" || d.Again {
		check = checkPath // it has the name it has
	}
	if err := check(d.Path); err != nil {
		return err
	}
	switch {
	case len(d.Text) > MaxText:
		return agent.Errorf(agent.CodeInvalid, "The note is too long: at most %s can be edited here.", inMB(MaxText))
	case !utf8.ValidString(d.Text) || strings.ContainsRune(d.Text, 0):
		return agent.Errorf(agent.CodeInvalid, "The text is not UTF-8, or holds a NUL character.")
	}
	return nil
}

// refresh brings a note's row up to date with its file, with the lock held, and returns the note; changed says that
// the file was not as its row had it.
func (f *Folder) refresh(ctx context.Context, root *os.Root, name string) (note Note, changed bool, err error) {
	c, err := readContent(root, name)
	if err != nil {
		return Note{}, false, err
	}
	had, err := f.rows.NoteRow(ctx, name)
	known := err == nil
	if err != nil && agent.CodeOf(err) != agent.CodeNotFound {
		return Note{}, false, err
	}
	if c.missing {
		if err = nil; known {
			err = f.gone(ctx, had)
		}
		return Note{Path: name, Title: titleOf(name, nil, ""), Missing: true}, known, err
	}
	if !known && f.alike {
		if there, err := spelling(root, name); err != nil || there != name {
			return Note{}, false, errors.Join(err, agent.Errorf(agent.CodeInvalid, "There is no note of this very name. It is spelled %s.", there))
		}
	}
	note = noteOf(name, c)
	if note.Labels, err = f.labels(ctx, name, c); err != nil {
		return Note{}, false, err
	}
	row := rowOf(note)
	if known && sameRow(had, row) {
		if !had.stamp().proves(c.stamp) && row.stamp().proves(c.stamp) { // it is; say that it was looked at
			row.Stale = false // it stays what it is in the store by now
			err = f.rows.SaveNotes(ctx, []Row{row}, nil)
		}
		return note, false, err
	}
	return note, true, f.rows.SaveNotes(ctx, []Row{row}, nil)
}

// noteOf makes a note of a file, without its labels.
func noteOf(name string, c content) Note {
	n := Note{Path: name, Text: c.text, Hash: c.hash, Size: c.size, Modified: c.mod.UTC(), Cut: c.cut, Problem: c.problem, Immutable: c.cut || c.lossy}
	front, body, err := splitFront(n.Text)
	if err != nil {
		n.problem("Its front matter " + err.Error() + ".")
	}
	fields, raw, err := parseFront(front)
	if err != nil {
		n.problem("Its front matter cannot be read: " + agent.Clip(err.Error(), 200) + ".")
	}
	n.Front = raw
	n.Title = titleOf(name, fields, body)
	n.Links = targets(n.Text)
	if _, cut := Passages(n); cut && !n.Cut {
		n.problem("It has more passages than are indexed: its end is not found by recall.")
	}
	return n
}

func (n *Note) problem(text string) {
	if n.Problem != "" {
		n.Problem += " "
	}
	n.Problem += text
}

func rowOf(n Note) Row {
	r := Row{
		Path: n.Path, Hash: n.Hash, Size: n.Size, Modified: n.Modified.Truncate(time.Microsecond), Seen: time.Now().UTC().Truncate(time.Microsecond),
		Stale: true, Title: n.Title, Front: n.Front, Problem: n.Problem, Labels: n.Labels,
	}
	for _, t := range n.Links {
		r.Links = append(r.Links, foldTarget(t))
	}
	return r
}

// sameRow reports whether recall and the pages would see no difference.
func sameRow(a, b Row) bool {
	return a.Hash == b.Hash && a.Problem == b.Problem && sameLabels(a.Labels, b.Labels)
}

func (f *Folder) tell(paths ...string) {
	if f.options.OnChange != nil && len(paths) > 0 {
		f.options.OnChange(paths)
	}
}

// isBusy reports whether a file could not be read because it is being written.
func isBusy(err error) bool { return errors.Is(err, errBusy) }
