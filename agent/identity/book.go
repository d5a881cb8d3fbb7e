package identity

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"ash/agent"
)

// Options adjust a Book. The zero value is ready for use.
type Options struct {
	// OnChange is told of every new state of a file, however it came about, also when it went
	// missing or became unusable. It is called without any lock held, one call at a time per change,
	// and may call back into the Book.
	OnChange func(Document)
	// Tokens estimates the length of a text in tokens; nil takes a quarter of its bytes.
	Tokens func(string) int
	// Log receives what the person need not see; nil discards it.
	Log *slog.Logger
	// Debounce is how long the watcher waits for an editor to finish; 0 is 150 ms.
	Debounce time.Duration
}

// Book is the identity files of one workspace. It is safe for concurrent use.
type Book struct {
	dir      string
	versions Versions
	options  Options
	log      *slog.Logger

	mu    sync.Mutex // one reader or writer of the files at a time
	pages map[string]*page

	watcher *watcher // nil when the system grants none
}

// page is what the Book remembers of a file since it last looked.
type page struct {
	doc      Document
	stamp    stamp
	recorded string // hash of the newest version; "" when there is none
}

// Open reads the files under dir, writes the default of each that never existed,
// records what changed while Ash was away, and watches for changes until Close.
// dir is created with mode 0700 when missing. Errors: CodeUnavailable and CodeExhausted for a
// folder that cannot be used, and whatever versions returns.
func Open(ctx context.Context, dir string, versions Versions, options Options) (*Book, error) {
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if options.Debounce <= 0 {
		options.Debounce = 150 * time.Millisecond
	}
	if options.Tokens == nil {
		options.Tokens = func(s string) int { return (len(s) + 3) / 4 }
	}
	root, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(sweep(root), root.Close()); err != nil {
		return nil, fileError(err, "The workspace folder cannot be used")
	}
	b := &Book{dir: dir, versions: versions, options: options, log: options.Log, pages: make(map[string]*page)}
	for _, file := range Files() {
		if err := b.load(ctx, file); err != nil {
			return nil, err
		}
	}
	w, err := watch(dir, options.Debounce, b.noticed)
	if err != nil {
		b.log.WarnContext(ctx, "identity files are not watched; changes show on the next read", slog.Any("error", err))
	}
	b.watcher = w
	return b, nil
}

// openDir opens the workspace, made anew when it is missing.
func openDir(dir string) (*os.Root, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fileError(err, "The workspace folder cannot be created")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fileError(err, "The workspace folder cannot be opened")
	}
	return root, nil
}

// Close stops watching and waits until the watcher has ended.
func (b *Book) Close() error {
	if b.watcher == nil {
		return nil
	}
	return b.watcher.close()
}

// load makes the page of one file at start-up.
func (b *Book) load(ctx context.Context, file string) error {
	p := &page{}
	b.pages[file] = p
	latest, err := b.versions.LatestVersion(ctx, file)
	switch {
	case err == nil:
		p.recorded = latest.Hash
	case agent.CodeOf(err) == agent.CodeNotFound:
		if err := b.begin(ctx, file, p); err != nil {
			return err
		}
	default:
		return err
	}
	_, _, err = b.refresh(ctx, file)
	return err
}

// begin writes the default of a file that never existed. A file that is there
// already, whatever it is, belongs to the person and is left alone.
func (b *Book) begin(ctx context.Context, file string, p *page) error {
	text, err := Default(file)
	if err != nil {
		return err
	}
	root, err := openDir(b.dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // a handle of the folder holds no data
	if _, err := root.Lstat(file); !errors.Is(err, os.ErrNotExist) {
		return nil // refresh finds out what it is
	}
	if err := write(root, file, text); err != nil {
		return err
	}
	v := newVersion(file, text, SourceDefault)
	if err := b.versions.AddVersion(ctx, v); err != nil {
		return err
	}
	p.recorded = v.Hash
	return nil
}

// Read returns the current state of a file. A file that is missing or unusable
// is no error: the Document says so. CodeNotFound for names other than Files.
func (b *Book) Read(ctx context.Context, file string) (Document, error) {
	b.mu.Lock()
	doc, changed, err := b.refresh(ctx, file)
	b.mu.Unlock()
	if changed {
		b.tell(doc)
	}
	return doc, err
}

// System returns the identity as it stands at the head of every prompt: the files in order, comments
// left out. It changes only when a file does, so provider caches hold.
func (b *Book) System(ctx context.Context) (string, error) {
	var parts []string
	for _, file := range Files() {
		doc, err := b.Read(ctx, file)
		if err != nil {
			return "", err
		}
		if s := spoken(doc.Text); s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n\n"), nil
}

// Save writes text as the new state of file, provided its current hash is still base, and returns
// the version. Saving what is already there returns the newest version and writes nothing. Errors:
// CodeConflict with a *Conflict inside when somebody else changed the file; CodeInvalid for a text that is
// too long, not UTF-8 or holds NUL, or when the name is taken by a folder; CodeNotFound; CodeExhausted for a full disk.
func (b *Book) Save(ctx context.Context, file, base, text string) (Version, error) {
	return b.put(ctx, file, base, text, SourcePage)
}

// Restore brings an older version back as the new state, under the same conditions as Save.
func (b *Book) Restore(ctx context.Context, id agent.ID, base string) (Version, error) {
	old, err := b.versions.Version(ctx, id)
	if err != nil {
		return Version{}, err
	}
	return b.put(ctx, old.File, base, old.Text, SourceRestore)
}

func (b *Book) put(ctx context.Context, file, base, text string, source Source) (Version, error) {
	if err := check(file, []byte(text)); err != nil {
		return Version{}, err
	}
	b.mu.Lock()
	before, changed, err := b.refresh(ctx, file)
	var v Version
	var after Document
	if err == nil {
		v, after, err = b.replace(ctx, before, base, text, source)
	}
	b.mu.Unlock()
	if changed {
		b.tell(before)
	}
	if after.File != "" {
		b.tell(after)
	}
	return v, err
}

// replace does the work of put with the lock held; after is empty when nothing was written.
func (b *Book) replace(ctx context.Context, before Document, base, text string, source Source) (v Version, after Document, err error) {
	file, p := before.File, b.pages[before.File]
	if before.Hash != base {
		return Version{}, Document{}, agent.Wrap(agent.CodeConflict, &Conflict{Current: before},
			"%s has changed since you opened it. Compare both texts and save again.", file)
	}
	if text == before.Text && !before.Missing && before.Problem == "" && p.recorded == before.Hash {
		v, err := b.versions.LatestVersion(ctx, file)
		return v, Document{}, err
	}
	root, err := openDir(b.dir)
	if err != nil {
		return Version{}, Document{}, err
	}
	defer func() { _ = root.Close() }() // a handle of the folder holds no data
	if err := write(root, file, text); err != nil {
		return Version{}, Document{}, err
	}
	v = newVersion(file, text, source)
	if err := b.versions.AddVersion(ctx, v); err != nil {
		// The file is the truth and holds the text; the next look records it.
		return Version{}, Document{}, fmt.Errorf("recording a version of %s: %w", file, err)
	}
	p.recorded = v.Hash
	now, err := look(root, file)
	if err != nil {
		return v, Document{}, err
	}
	b.settleOn(p, b.document(file, text, now, ""), now)
	return v, p.doc, nil
}

// noticed is called by the watcher when files may have changed.
func (b *Book) noticed(ctx context.Context, files []string) {
	for _, file := range files {
		if _, err := b.Read(ctx, file); err != nil && ctx.Err() == nil {
			b.log.WarnContext(ctx, "identity file could not be read", slog.String("file", file), slog.Any("error", err))
		}
	}
}

func (b *Book) tell(doc Document) {
	if b.options.OnChange != nil {
		b.options.OnChange(doc)
	}
}

func known(file string) error {
	if !slices.Contains(Files(), file) {
		return agent.Errorf(agent.CodeNotFound, "There is no identity file of that name.")
	}
	return nil
}

func newVersion(file, text string, source Source) Version {
	return Version{ID: agent.NewID(), File: file, Hash: HashOf(text), Text: text, Size: len(text), Source: source, Created: time.Now().UTC()}
}
