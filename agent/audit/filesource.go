package audit

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Tree is a file or a folder to be read.
type Tree struct {
	Path string
	Name string // what places begin with, in the place of Path; "" is Path
	Kind Kind
	Link func(rel string) string // of the page that shows a file; nil: none
}

// FileSource reads files in pieces. It follows no link and opens nothing but ordinary files; what is no text is passed over.
type FileSource struct {
	Trees    []Tree
	Skip     []string // paths that are not read, with all below
	MaxFile  int64    // bytes read of one file, from its begin; 0 is 16 MB
	MaxAll   int64    // of all; 0 is 1 GB
	MaxFiles int      // 0 is 50,000
	// Beyond hears how many files were not read, or not to their end. nil: nobody.
	Beyond func(files int)
}

// A piece, and how much of the one before it repeats, so that nothing is lost that stands across the border.
const (
	piece   = 256 << 10
	overlap = 8 << 10
)

var _ Source = FileSource{}

// reading is a run of a FileSource.
type reading struct {
	FileSource
	yield  func(Text) error
	files  int
	left   int64
	beyond int
	buf    []byte
}

// Texts implements Source.
func (s FileSource) Texts(ctx context.Context, yield func(Text) error) error {
	r := &reading{FileSource: s, yield: yield, buf: make([]byte, piece)}
	if r.MaxFile <= 0 {
		r.MaxFile = 16 << 20
	}
	if r.MaxAll <= 0 {
		r.MaxAll = 1 << 30
	}
	if r.MaxFiles <= 0 {
		r.MaxFiles = 50_000
	}
	r.left = r.MaxAll
	for _, tree := range s.Trees {
		if err := r.tree(ctx, tree); err != nil {
			return err
		}
	}
	if s.Beyond != nil && r.beyond > 0 {
		s.Beyond(r.beyond)
	}
	return nil
}

func (r *reading) tree(ctx context.Context, t Tree) error {
	return filepath.WalkDir(t.Path, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && path == t.Path && errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			r.beyond++
			return nil //nolint:nilerr // counted
		case slices.Contains(r.Skip, path) && path != t.Path:
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		if r.files++; r.files > r.MaxFiles || r.left <= 0 {
			r.beyond++
			return nil
		}
		return r.file(ctx, t, path)
	})
}

// file reads one file in pieces.
func (r *reading) file(ctx context.Context, t Tree, path string) error {
	f, err := openPlain(path)
	if err != nil {
		r.beyond++
		return nil // counted: one file that cannot be read must not hide the others
	}
	defer func() { _ = f.Close() }() // read only: nothing can be lost
	text := Text{Place: path, Line: 1, Kind: t.Kind}
	rel, err := filepath.Rel(t.Path, path)
	if err != nil {
		rel = path
	}
	if t.Name != "" {
		if text.Place = t.Name; rel != "." {
			text.Place = t.Name + "/" + filepath.ToSlash(rel)
		}
	}
	if t.Link != nil {
		text.Link = t.Link(filepath.ToSlash(rel))
	}
	kept := 0 // bytes at the begin of the buffer that the piece before had
	for done := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.ReadFull(f, r.buf[kept:])
		done += int64(n)
		r.left -= int64(n)
		have := r.buf[:kept+n]
		if n > 0 {
			if bytes.IndexByte(have[:min(len(have), 8<<10)], 0) >= 0 { // no text
				return nil
			}
			text.Text, text.Fresh = strings.ToValidUTF8(string(have), "\uFFFD"), kept
			if !utf8.Valid(have) {
				text.Fresh = 0 // the bytes moved: rather twice than never
			}
			if err := r.yield(text); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil, done >= r.MaxFile, r.left <= 0:
			r.beyond++
			return nil
		}
		from := len(have) - overlap
		text.Line += bytes.Count(have[:from], []byte("\n"))
		kept = copy(r.buf, have[from:])
	}
}

// openPlain opens a file without following a link and without waiting for anything.
func openPlain(path string) (*os.File, error) {
	before, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, fs.ErrInvalid
	}
	f, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !os.SameFile(before, info) {
		return nil, errors.Join(fs.ErrInvalid, err, f.Close())
	}
	return f, nil
}

// Together is several sources as one.
type Together []Source

// Texts implements Source.
func (t Together) Texts(ctx context.Context, yield func(Text) error) error {
	for _, s := range t {
		if err := s.Texts(ctx, yield); err != nil {
			return err
		}
	}
	return nil
}

// SourceFunc is a function as a source.
type SourceFunc func(ctx context.Context, yield func(Text) error) error

// Texts implements Source.
func (f SourceFunc) Texts(ctx context.Context, yield func(Text) error) error { return f(ctx, yield) }
