package attachment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"ash/agent"
)

// Bounds, in bytes.
const (
	MaxSize    = 25 << 20  // of one attachment
	MaxExtract = 200 << 10 // of the text kept of it
)

// Options adjust a Store. The zero value is ready for use.
type Options struct {
	PDF PDFReader // nil: InProcess
	// Documents reports whether the model in use reads PDFs itself. A PDF that holds no text, such as a
	// scan, is then kept for it instead of refused. nil is no.
	Documents func() bool
	Log       *slog.Logger // nil discards
}

// Store keeps attachments in a folder. It is safe for concurrent use, by one process.
type Store struct {
	root      *os.Root
	pdf       PDFReader
	documents func() bool
	log       *slog.Logger

	// sweeping is held for reading while an attachment is named, for writing while one is removed,
	// so that Purge never takes away what was just put or asked for.
	sweeping sync.RWMutex
}

// Open returns the Store in dir, which is made when missing. Uploads that a crash
// left unfinished are removed. Errors: CodeUnavailable, CodeExhausted.
func Open(dir string, o Options) (*Store, error) {
	if o.PDF == nil {
		o.PDF = InProcess{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, diskError(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, diskError(err)
	}
	if o.Documents == nil {
		o.Documents = func() bool { return false }
	}
	s := &Store{root: root, pdf: o.PDF, documents: o.Documents, log: o.Log}
	if err := s.sweepTemps(); err != nil {
		return nil, errors.Join(diskError(err), root.Close())
	}
	return s, nil
}

// Close releases the folder.
func (s *Store) Close() error { return s.root.Close() }

// Put stores what r holds under its hash and returns it as a part of a message, an agent.Image or an
// agent.File. The same bytes are stored once. Errors: CodeInvalid with the reason for what is empty, too large or
// of a kind that cannot be used, also when r itself fails; CodeExhausted for a full disk.
func (s *Store) Put(ctx context.Context, name string, r io.Reader) (agent.Part, error) {
	name = CleanName(name)
	f, temp, err := s.temp()
	if err != nil {
		return nil, err
	}
	defer s.discard(ctx, f, temp)
	hash, size, err := receive(ctx, f, r)
	if err != nil {
		return nil, err
	}
	if notes, err := s.touch(hash); err == nil {
		return notes.part(hash, name), nil
	}
	notes, err := s.inspect(ctx, name, f, size)
	if err != nil {
		return nil, err
	}
	s.sweeping.RLock()
	defer s.sweeping.RUnlock()
	if err := s.keep(hash, f, temp, notes); err != nil {
		return nil, err
	}
	return notes.part(hash, name), nil
}

// receive copies r to f, bounded, and returns hash and size.
func receive(ctx context.Context, f *os.File, r io.Reader) (string, int64, error) {
	sum := sha256.New()
	from := &reader{ctx: ctx, r: io.LimitReader(r, MaxSize+1)}
	n, err := io.Copy(io.MultiWriter(f, sum), from)
	switch {
	case from.err != nil:
		if ctx.Err() != nil {
			return "", 0, ctx.Err()
		}
		return "", 0, agent.Wrap(agent.CodeInvalid, from.err, "The file did not arrive whole. Try again.")
	case err != nil:
		return "", 0, diskError(err)
	case n == 0:
		return "", 0, agent.Errorf(agent.CodeInvalid, "The file is empty.")
	case n > MaxSize:
		return "", 0, agent.Errorf(agent.CodeInvalid, "The file is too large: at most %d MB can be attached.", MaxSize>>20)
	}
	return hex.EncodeToString(sum.Sum(nil)), n, nil
}

// reader ends with its context and remembers its own failure, to tell it from the disk's.
type reader struct {
	ctx context.Context
	r   io.Reader
	err error
}

func (r *reader) Read(p []byte) (int, error) {
	if r.err = r.ctx.Err(); r.err != nil {
		return 0, r.err
	}
	n, err := r.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// temp opens a new file for an upload.
func (s *Store) temp() (*os.File, string, error) {
	name := tempPrefix + string(agent.NewID())
	f, err := s.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, "", diskError(err)
	}
	return f, name, nil
}

// discard closes what temp opened, and removes it when it was not moved to its place.
func (s *Store) discard(ctx context.Context, f *os.File, temp string) {
	if err := errors.Join(f.Close(), gone(s.root.Remove(temp))); err != nil {
		s.log.WarnContext(ctx, "temporary upload not removed", slog.Any("error", err))
	}
}

// keep moves an upload to its place, notes first, so that bytes in place always have them.
func (s *Store) keep(hash string, f *os.File, temp string, n notes) error {
	if err := s.root.Mkdir(hash[:2], 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return diskError(err)
	}
	if err := s.writeNotes(hash, n); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return diskError(err)
	}
	if err := s.root.Rename(temp, place(hash)); err != nil {
		return diskError(err)
	}
	return errors.Join(s.syncDir(hash[:2]), s.syncDir("."))
}

// syncDir makes renames in a folder durable. Windows has no such call and needs none.
func (s *Store) syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := s.root.Open(dir)
	if err != nil {
		return diskError(err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return diskError(err)
	}
	return nil
}

// Object is a stored attachment, open for reading. The caller closes it.
type Object struct {
	io.ReadSeekCloser
	Hash     string
	Media    string
	Size     int64
	Modified time.Time // when it was last put or named, UTC
	Width    int       // pixels, for pictures
	Height   int
}

// Get opens an attachment. CodeNotFound for what is not a hash or not stored.
func (s *Store) Get(ctx context.Context, hash string) (*Object, error) {
	if err := checkHash(hash); err != nil {
		return nil, err
	}
	n, err := s.notes(ctx, hash)
	if err != nil {
		return nil, err
	}
	f, err := s.open(hash)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(diskError(err), f.Close())
	}
	return &Object{
		ReadSeekCloser: f, Hash: hash, Media: n.Media, Size: info.Size(), Modified: info.ModTime().UTC(),
		Width: n.Width, Height: n.Height,
	}, nil
}

// Part returns a stored attachment as a part of a message: what a form that
// names an uploaded hash stands for. CodeNotFound when it is not stored (any more).
func (s *Store) Part(ctx context.Context, hash, name string) (agent.Part, error) {
	if err := checkHash(hash); err != nil {
		return nil, err
	}
	n, err := s.touch(hash)
	if agent.CodeOf(err) == agent.CodeInternal {
		n, err = s.notes(ctx, hash)
	}
	if err != nil {
		return nil, err
	}
	return n.part(hash, CleanName(name)), nil
}

// Load returns the bytes of an attachment, checked against the hash. CodeNotFound, or
// CodeUnavailable when the file was damaged on disk.
func (s *Store) Load(hash string) ([]byte, error) {
	if err := checkHash(hash); err != nil {
		return nil, err
	}
	f, err := s.open(hash)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written through it
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, diskError(err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != hash {
		return nil, agent.Errorf(agent.CodeUnavailable, "This attachment was damaged on disk. Attach the file again.")
	}
	return data, nil
}

// open opens the bytes of a hash that was checked.
func (s *Store) open(hash string) (*os.File, error) {
	info, err := s.root.Lstat(place(hash))
	if err == nil && !info.Mode().IsRegular() {
		err = os.ErrNotExist
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, agent.Wrap(agent.CodeNotFound, err, "This attachment does not exist, or no longer does.")
	}
	if err != nil {
		return nil, diskError(err)
	}
	f, err := s.root.Open(place(hash))
	if err != nil {
		return nil, diskError(err)
	}
	return f, nil
}

func place(hash string) string { return hash[:2] + "/" + hash }

// checkHash refuses everything but 64 lower-case hex digits, as if it did not exist.
func checkHash(hash string) error {
	ok := len(hash) == 64
	for _, c := range []byte(hash) {
		ok = ok && (c >= '0' && c <= '9' || c >= 'a' && c <= 'f')
	}
	if !ok {
		return agent.Errorf(agent.CodeNotFound, "This attachment does not exist, or no longer does.")
	}
	return nil
}

func gone(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// diskError gives a failure of the file system its code and a sentence for the person.
func diskError(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return agent.Wrap(agent.CodeExhausted, err, "The disk is full, so the file cannot be kept. Free some space and try again.")
	}
	return agent.Wrap(agent.CodeUnavailable, fmt.Errorf("attachments: %w", err), "The file cannot be read or kept. The log says why.")
}
