package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"ash/agent"
	"ash/agent/memory"
	"ash/agent/memory/archive"
	"ash/handlers"
)

// newMemories makes what ash memory reaches.
func (a *app) newMemories() *handlers.ControlMemories {
	return &handlers.ControlMemories{
		Owner: a.owner.ID, Facts: a.store, IDs: a.store, Entities: a.store, Threads: a.store,
		Book: a.mind.book, Forgetter: a.mind.book, Archive: memoryFiles{a}, Index: memoryIndex{a.mind}, Redact: a.hands.guard.Redact,
	}
}

// archivePrefix begins the name of a file in the home that carries an archive between two processes; it is gone soon after.
const archivePrefix = ".memory-archive-"

// memoryFiles takes memory out and in: the database's part and the notes.
type memoryFiles struct{ *app }

var _ handlers.ControlArchive = memoryFiles{}

// notesRoot opens the folder of notes.
func (m memoryFiles) notesRoot() (*os.Root, error) {
	dir := m.mind.settings().Memory.Notes
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, agent.Wrap(agent.CodeUnavailable, err, "The notes in %s cannot be read: %v. Nothing was taken out or in.", dir, errors.Unwrap(err))
	}
	return root, nil
}

// leftover is how old a file between two processes must be to be one that a crash left.
const leftover = time.Hour

// sweep removes what a crash left: it holds all that is remembered.
func (m memoryFiles) sweep() error {
	names, err := filepath.Glob(filepath.Join(m.home, archivePrefix+"*"))
	for _, name := range names {
		if info, statErr := os.Lstat(name); statErr == nil && time.Since(info.ModTime()) > leftover {
			err = errors.Join(err, os.Remove(name))
		}
	}
	if err != nil {
		return agent.Wrap(agent.CodeUnavailable, err, "An old %s* in %s cannot be removed. Remove it: it holds what was remembered.", archivePrefix, m.home)
	}
	return nil
}

// Export implements handlers.ControlArchive. The zip is made in the home, in a file that has no name any more when it is read.
func (m memoryFiles) Export(ctx context.Context, forOthers bool) (_ io.ReadCloser, _ int64, err error) {
	if err := m.sweep(); err != nil {
		return nil, 0, err
	}
	root, err := m.notesRoot()
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	all, err := m.store.ExportMemory(ctx)
	if err != nil {
		return nil, 0, err
	}
	if all.Notes, err = noteFiles(ctx, root); err != nil {
		return nil, 0, err
	}
	if forOthers {
		all.ForOthers()
	}
	f, err := os.CreateTemp(m.home, archivePrefix+"*")
	if err != nil {
		return nil, 0, agent.Wrap(agent.CodeUnavailable, err, "The archive cannot be made in %s: %v.", m.home, err)
	}
	out := &vanishing{File: f}
	err = archive.Write(f, all, func(name string) (io.ReadCloser, error) { return openNote(root, name) })
	size := int64(0)
	if err == nil {
		size, err = f.Seek(0, io.SeekEnd)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, 0, errors.Join(unwritten(err), out.Close())
	}
	return out, size, nil
}

// unwritten says that an archive could not be made.
func unwritten(err error) error {
	var known *agent.Error
	if errors.As(err, &known) {
		return err
	}
	return agent.Wrap(agent.CodeUnavailable, err, "The archive could not be made: %v.", err)
}

// vanishing is a file that is gone when it is closed.
type vanishing struct{ *os.File }

func (v *vanishing) Close() error { return errors.Join(v.File.Close(), os.Remove(v.Name())) }

// noteFiles lists the notes as package notes looks at them: ordinary files that end in .md, none of whose names begins with a dot.
func noteFiles(ctx context.Context, root *os.Root) ([]archive.Note, error) {
	var list []archive.Note
	err := fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err == nil:
			err = ctx.Err()
		case errors.Is(err, fs.ErrNotExist):
			return nil // gone since
		}
		if err != nil {
			return agent.Wrap(agent.CodeUnavailable, err, "The notes cannot be read whole: %v.", err)
		}
		if strings.HasPrefix(path.Base(name), ".") && name != "." {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !e.Type().IsRegular() || !strings.EqualFold(path.Ext(name), ".md") {
			return nil
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone since
		}
		if err != nil {
			return agent.Wrap(agent.CodeUnavailable, err, "The note %s cannot be looked at: %v.", name, err)
		}
		list = append(list, archive.Note{Path: name, Modified: info.ModTime().UTC()})
		return nil
	})
	return list, err
}

func openNote(root *os.Root, name string) (io.ReadCloser, error) {
	f, err := root.Open(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, agent.Wrap(agent.CodeConflict, err, "The note %s went away while the archive was made. Try again.", name)
	}
	return f, err
}

// Import implements handlers.ControlArchive: the database's part as a whole, then the notes.
func (m memoryFiles) Import(ctx context.Context, in handlers.ControlIntake) (taken archive.Taken, err error) {
	if in.File != filepath.Base(in.File) || !strings.HasPrefix(in.File, archivePrefix) {
		return taken, agent.Errorf(agent.CodeInvalid, "%q is no archive in the home.", agent.Clip(in.File, 120))
	}
	if err := m.sweep(); err != nil {
		return taken, err
	}
	a, err := archive.Open(filepath.Join(m.home, in.File))
	if err != nil {
		return taken, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	notes, err := m.noteIntake(ctx, a, in.Dry)
	if err != nil {
		return taken, err
	}
	defer func() { err = errors.Join(err, notes.root.Close()) }()
	o := archive.Intake{Dry: in.Dry, Buried: notes.words.Graves}
	if in.Stranger {
		o.Stranger = "import:" + in.Name
	}
	if taken, err = m.store.ImportMemory(ctx, &a.Memory, o); err != nil {
		return taken, err
	}
	if err := notes.all(ctx, &taken); err != nil || in.Dry {
		return taken, err
	}
	m.mind.drop()
	if m.mind.notes != nil {
		if _, err := m.mind.notes.Scan(ctx); err != nil {
			return taken, err
		}
	}
	defer m.mind.meaning.Wake()
	return taken, m.mind.recall.CatchUp(ctx)
}

// noteIntake takes in the notes of an archive.
type noteIntake struct {
	archive *archive.Archive
	root    *os.Root
	words   *memory.Book // knows what was forgotten by its words alone: an embedder would be asked for every sentence
	check   bool
	theirs  map[agent.ID]bool
	valid   func(ctx context.Context, name string) error
	dry     bool
}

func (m memoryFiles) noteIntake(ctx context.Context, a *archive.Archive, dry bool) (*noteIntake, error) {
	n := &noteIntake{archive: a, words: memory.New(m.store, memory.Options{}), theirs: map[agent.ID]bool{}, dry: dry, valid: m.holdsNote}
	var err error
	if n.check, err = m.store.UnknownTombstones(ctx, &a.Memory); err != nil {
		return nil, err
	}
	for _, t := range a.Memory.Tombstones {
		n.theirs[t.ID] = true
	}
	n.root, err = m.notesRoot()
	return n, err
}

// holdsNote says why a note cannot be kept under a name; nil when it can.
func (m memoryFiles) holdsNote(ctx context.Context, name string) error {
	if m.mind.notes == nil {
		return agent.Errorf(agent.CodeUnavailable, "The folder of notes cannot be used.")
	}
	_, err := m.mind.notes.Read(ctx, name)
	return err
}

func (n *noteIntake) all(ctx context.Context, taken *archive.Taken) error {
	for _, note := range n.archive.Memory.Notes {
		if err := n.one(ctx, note, taken); err != nil {
			return err
		}
	}
	return nil
}

// maxBeside bounds the names that are tried for a note whose own is taken.
const maxBeside = 100

func (n *noteIntake) one(ctx context.Context, note archive.Note, taken *archive.Taken) error {
	stem, ext := note.Path[:len(note.Path)-3], note.Path[len(note.Path)-3:]
	name := note.Path
	for i := 1; i <= maxBeside; i++ {
		if err := n.valid(ctx, name); err != nil {
			taken.NotesRefused = append(taken.NotesRefused, name+": "+agent.PublicOf(err))
			return nil
		}
		hash, err := n.hash(name)
		if errors.Is(err, fs.ErrNotExist) {
			return n.write(ctx, note, name, taken)
		}
		if err != nil {
			return agent.Wrap(agent.CodeUnavailable, err, "The note %s cannot be read: %v.", name, err)
		}
		if hash == note.Hash {
			taken.NotesKnown++
			return nil
		}
		name = stem + " (imported)" + ext
		if i > 1 {
			name = stem + " (imported " + strconv.Itoa(i) + ")" + ext
		}
	}
	taken.NotesRefused = append(taken.NotesRefused, note.Path+": too many notes of that name are there")
	return nil
}

// hash is that of the note that is there.
func (n *noteIntake) hash(name string) (string, error) {
	f, err := n.root.Open(filepath.FromSlash(name))
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), errors.Join(err, f.Close())
}

// write keeps a note under a name that is free, unless it holds what was forgotten here.
func (n *noteIntake) write(ctx context.Context, note archive.Note, name string, taken *archive.Taken) error {
	gone, err := n.forgotten(ctx, note)
	if err != nil {
		return err
	}
	if gone {
		taken.NotesForgotten = append(taken.NotesForgotten, note.Path)
		return nil
	}
	if !n.dry {
		if err := n.put(note, name); err != nil {
			return agent.Wrap(agent.CodeUnavailable, err, "The note %s cannot be written: %v. What came before it is there; take the archive in again for the rest.", name, err)
		}
	}
	taken.Notes++
	if name != note.Path {
		taken.NotesBeside = append(taken.NotesBeside, name)
	}
	return nil
}

// put writes a file as a whole: written, fsynced, given its name.
func (n *noteIntake) put(note archive.Note, name string) (err error) {
	in, err := n.archive.Note(note.Path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	dir := path.Dir(name)
	if err := n.root.MkdirAll(filepath.FromSlash(dir), 0o700); err != nil {
		return err
	}
	temp := filepath.Join(filepath.FromSlash(dir), ".import-"+rand.Text())
	f, err := n.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, in)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil && !note.Modified.IsZero() {
		err = n.root.Chtimes(temp, time.Time{}, note.Modified)
	}
	if err == nil {
		err = n.root.Rename(temp, filepath.FromSlash(name))
	}
	if err != nil {
		err = errors.Join(err, n.root.Remove(temp))
	}
	return err
}

// maxSearched is how much of a note is looked through for what was forgotten, in bytes: as much as is ever recalled.
const maxSearched = 1 << 20

// forgotten reports whether a note says what was forgotten here after the archive was made.
func (n *noteIntake) forgotten(ctx context.Context, note archive.Note) (_ bool, err error) {
	if !n.check {
		return false, nil
	}
	f, err := n.archive.Note(note.Path)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	text, err := io.ReadAll(io.LimitReader(f, maxSearched))
	if err != nil {
		return false, err
	}
	for _, s := range memory.Sentences(strings.ToValidUTF8(string(text), " ")) {
		under, err := n.words.Graves(ctx, s)
		if err != nil {
			return false, err
		}
		for _, id := range under {
			if !n.theirs[id] {
				return true, nil
			}
		}
	}
	return false, nil
}
