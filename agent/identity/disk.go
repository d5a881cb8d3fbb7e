package identity

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"ash/agent"
)

// settle is how old a change must be before it is believed: an editor that truncates and then
// writes would otherwise leave its half-written state behind as a version.
const settle = 60 * time.Millisecond

// racy is the age below which equal time and size do not prove equal content, since
// file systems keep times as coarsely as two seconds (FAT).
const racy = 2500 * time.Millisecond

// stamp is what Lstat tells of a file without reading it.
type stamp struct {
	mode    fs.FileMode
	size    int64
	mod     time.Time
	missing bool
	seen    time.Time // when it was taken
}

// proves reports whether s, seen again as now, means that nothing changed.
func (s stamp) proves(now stamp) bool {
	return s.same(now) && (s.missing || s.seen.Sub(s.mod) > racy)
}

// same reports whether both tell the same of a file.
func (s stamp) same(now stamp) bool {
	return !s.seen.IsZero() && s.missing == now.missing && s.mode == now.mode && s.size == now.size && s.mod.Equal(now.mod)
}

// refresh brings the page of file up to date, with the lock held, and reports whether its state changed. A
// state not yet recorded becomes a version. Unusable files are no error; a folder that cannot be opened is.
func (b *Book) refresh(ctx context.Context, file string) (doc Document, changed bool, err error) {
	if err := known(file); err != nil {
		return Document{}, false, err
	}
	p := b.pages[file]
	root, err := os.OpenRoot(b.dir)
	if errors.Is(err, os.ErrNotExist) {
		// The whole folder went away; to the files in it that is the same as being deleted.
		changed = b.settleOn(p, Document{File: file, Missing: true, Hash: HashOf("")}, stamp{missing: true, seen: time.Now()})
		return p.doc, changed, nil
	}
	if err != nil {
		return Document{}, false, fileError(err, "The workspace folder cannot be opened")
	}
	defer func() { _ = root.Close() }() // a handle of the folder holds no data
	now, err := look(root, file)
	if err != nil {
		return Document{}, false, err
	}
	if p.stamp.proves(now) {
		return p.doc, false, nil
	}
	doc = b.read(ctx, root, file, now)
	if unknown(doc, p) && !p.stamp.same(now) { // an editor is at it: let it finish
		if now, err = rest(ctx, root, file, now); err != nil {
			return Document{}, false, err
		}
		doc = b.read(ctx, root, file, now)
	}
	if unknown(doc, p) {
		v := newVersion(file, doc.Text, SourceOutside)
		if err := b.versions.AddVersion(ctx, v); err != nil {
			// The conversation goes on with what the person wrote; the next look tries again.
			b.log.ErrorContext(ctx, "version of an identity file not recorded", slog.String("file", file), slog.Any("error", err))
			now = stamp{}
		} else {
			p.recorded = v.Hash
		}
	}
	return doc, b.settleOn(p, doc, now), nil
}

// unknown reports whether doc is a state that no version holds.
func unknown(doc Document, p *page) bool {
	return !doc.Missing && doc.Problem == "" && doc.Hash != p.recorded
}

// settleOn makes doc the state of p and reports whether the person would see a difference.
func (b *Book) settleOn(p *page, doc Document, s stamp) bool {
	first := p.doc.File == ""
	same := p.doc.Hash == doc.Hash && p.doc.Missing == doc.Missing && p.doc.Problem == doc.Problem
	p.doc, p.stamp = doc, s
	return !first && !same
}

// look takes the stamp of a file.
func look(root *os.Root, file string) (stamp, error) {
	info, err := root.Lstat(file)
	if errors.Is(err, os.ErrNotExist) {
		return stamp{missing: true, seen: time.Now()}, nil
	}
	if err != nil {
		return stamp{}, fileError(err, file+" cannot be read")
	}
	return stamp{mode: info.Mode(), size: info.Size(), mod: info.ModTime(), seen: time.Now()}, nil
}

// rest waits until a file that changed just now has stood still for a moment, a few times at most.
func rest(ctx context.Context, root *os.Root, file string, s stamp) (stamp, error) {
	for range 5 {
		age := s.seen.Sub(s.mod)
		if s.missing || age < 0 || age >= settle {
			break
		}
		select {
		case <-ctx.Done():
			return stamp{}, ctx.Err()
		case <-time.After(settle - age):
		}
		var err error
		if s, err = look(root, file); err != nil {
			return stamp{}, err
		}
	}
	return s, nil
}

// read makes the Document of a file as it stands on disk.
func (b *Book) read(ctx context.Context, root *os.Root, file string, s stamp) Document {
	if s.missing {
		return Document{File: file, Missing: true, Hash: HashOf("")}
	}
	text, err := readText(root, file, s)
	if err == nil {
		return b.document(file, text, s, "")
	}
	b.log.WarnContext(ctx, "identity file cannot be used", slog.String("file", file), slog.Any("error", err))
	last := ""
	if v, err := b.versions.LatestVersion(ctx, file); err == nil {
		last = v.Text
	} else if agent.CodeOf(err) != agent.CodeNotFound {
		b.log.ErrorContext(ctx, "last version of an identity file not read", slog.String("file", file), slog.Any("error", err))
	}
	return b.document(file, last, s, agent.PublicOf(err))
}

func (b *Book) document(file, text string, s stamp, problem string) Document {
	return Document{
		File: file, Text: text, Hash: HashOf(text), Size: len(text), Tokens: b.options.Tokens(spoken(text)),
		Modified: s.mod.UTC(), Problem: problem,
	}
}

// readText reads a regular file of bounded size and refuses everything else.
func readText(root *os.Root, file string, s stamp) (string, error) {
	if !s.mode.IsRegular() {
		return "", agent.Errorf(agent.CodeInvalid, "%s is not an ordinary file (links and folders are not followed). Replace it with a text file.", file)
	}
	f, err := root.Open(file)
	if err != nil {
		return "", fileError(err, file+" cannot be read")
	}
	defer func() { _ = f.Close() }() // nothing was written through it
	// What was opened may no longer be what was looked at.
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", agent.Wrap(agent.CodeInvalid, err, "%s is not an ordinary file. Replace it with a text file.", file)
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return "", fileError(err, file+" cannot be read")
	}
	if err := check(file, text); err != nil {
		return "", err
	}
	return string(text), nil
}

// tempPrefix begins the names of files that are being written.
const tempPrefix = ".ash-"

// sweep removes what a crash in the middle of write left behind.
func sweep(root *os.Root) error {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	var failed []error
	for _, e := range entries {
		for _, file := range Files() {
			if strings.HasPrefix(e.Name(), tempPrefix+file+".") {
				failed = append(failed, ignoreMissing(root.Remove(e.Name())))
			}
		}
	}
	return errors.Join(failed...)
}

// write replaces a file so that after a crash either the old or the new text is there, whole.
func write(root *os.Root, file, text string) (err error) {
	if info, err := root.Lstat(file); err == nil && info.IsDir() {
		return agent.Errorf(agent.CodeInvalid, "A folder stands where %s should be. Move it away and save again.", file)
	}
	temp := tempPrefix + file + "." + string(agent.NewID())
	f, err := root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fileError(err, file+" cannot be written")
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreMissing(root.Remove(temp)))
		}
	}()
	_, err = io.WriteString(f, text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fileError(err, file+" cannot be written")
	}
	if err = root.Rename(temp, file); err != nil {
		return fileError(err, file+" cannot be replaced")
	}
	return syncDir(root)
}

// syncDir makes a rename durable. Windows has no such call and needs none.
func syncDir(root *os.Root) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := root.Open(".")
	if err != nil {
		return fileError(err, "The workspace folder cannot be opened")
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fileError(err, "The workspace folder cannot be written")
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// fileError gives a failure of the file system its code and a sentence for the person.
func fileError(err error, what string) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return agent.Wrap(agent.CodeExhausted, err, "%s: the disk is full. Free some space and try again.", what)
	case errors.Is(err, os.ErrPermission):
		return agent.Wrap(agent.CodeUnavailable, err, "%s: the system does not permit it. Check the owner and mode of the folder.", what)
	}
	return agent.Wrap(agent.CodeUnavailable, err, "%s. The log says why.", what)
}
