package inventory

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"ash/agent"
)

// Copier writes a consistent copy of the database to dest, an absolute path that does not exist, without what opens doors.
type Copier interface {
	CopyForExport(ctx context.Context, dest string) error
}

// Copy is the copy of a database on its way into an archive. Close gives it back; after that nothing of it is left.
type Copy struct {
	file *os.File
	size int64
	gone bool // it has no name any more
}

// Snapshot copies the database into the home, where there is room for it as for the database itself, and takes its name away, so that a crash
// leaves nothing either. Where a file cannot lose its name while it is open, Close removes it, and Sweep what a crash left.
// Errors are those of the copier; CodeUnavailable from the operating system.
func (h Home) Snapshot(ctx context.Context, from Copier) (_ *Copy, err error) {
	if err := h.Sweep(); err != nil {
		return nil, err
	}
	name := filepath.Join(h.Path, exportPrefix+string(agent.NewID())+".db")
	if err := from.CopyForExport(ctx, name); err != nil {
		return nil, errors.Join(err, ignoreMissing(os.Remove(name)))
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, errors.Join(agent.Wrap(agent.CodeUnavailable, err, "The copy of the database cannot be read: %v.", reason(err)), os.Remove(name))
	}
	c := &Copy{file: f, gone: os.Remove(name) == nil}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	c.size = info.Size()
	return c, nil
}

// Close implements io.Closer.
func (c *Copy) Close() error {
	err := c.file.Close()
	if !c.gone {
		err = errors.Join(err, ignoreMissing(os.Remove(c.file.Name())))
	}
	return err
}

// sweepAfter is how old a copy must be to be one that a crash left, rather than that of another export.
const sweepAfter = 12 * time.Hour

// Sweep removes copies that a crash left in the home.
func (h Home) Sweep() error {
	names, err := filepath.Glob(filepath.Join(escape(h.Path), exportPrefix+"*"))
	for _, name := range names {
		if info, statErr := os.Lstat(name); statErr == nil && time.Since(info.ModTime()) > sweepAfter {
			err = errors.Join(err, os.Remove(name))
		}
	}
	if err != nil {
		return agent.Wrap(agent.CodeUnavailable, err, "An old %s* in %s cannot be removed. Remove it: it is a copy of the database.", exportPrefix, h.Path)
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// ArchiveName is what an archive made at a time is called, without its ending: also the folder in it.
func ArchiveName(at time.Time) string { return "ash-" + at.Format("2006-01-02-1504") }

// Export writes everything as a gzipped tar archive to w: a folder that is a home again when it is unpacked. What cannot be read,
// links and the like are named in its last file, left-out.txt. An error leaves an archive that is cut short, which every reader notices:
// errors are those of w and of ctx, and CodeUnavailable for a place that cannot be read at all.
func (h Home) Export(ctx context.Context, w io.Writer, db *Copy, at time.Time) error {
	zip, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	x := &exporter{ctx: ctx, tar: tar.NewWriter(zip), top: ArchiveName(at), at: at, buffer: make([]byte, 256<<10)}
	if err := x.all(h, db); err != nil {
		return err
	}
	return errors.Join(x.tar.Close(), zip.Close())
}

// exporter writes one archive.
type exporter struct {
	ctx    context.Context
	tar    *tar.Writer
	top    string // folder that holds everything
	at     time.Time
	buffer []byte
	left   []string // what is not in it, and why
}

func (x *exporter) all(h Home, db *Copy) error {
	if err := x.folder("", x.at); err != nil {
		return err
	}
	if err := x.text("README.txt", readme(h)); err != nil {
		return err
	}
	if err := x.stream(databaseName, io.NewSectionReader(db.file, 0, db.size), db.size, x.at); err != nil {
		return err
	}
	if err := x.vault(h); err != nil {
		return err
	}
	for _, p := range h.places() {
		if !p.export || p.kind == Vault {
			continue
		}
		name := unescape(p.pattern)
		if err := x.below(filepath.Join(h.Path, filepath.FromSlash(name)), name, p.mine); err != nil {
			return err
		}
	}
	for _, e := range h.Elsewhere() {
		if err := x.below(e.Path, "elsewhere/"+string(e.Kind), nil); err != nil {
			return err
		}
	}
	if len(x.left) == 0 {
		return nil
	}
	return x.text("left-out.txt", "Not in this archive:\n\n"+strings.Join(x.left, "\n")+"\n")
}

// unescape is the reverse of escape; what is exported has no patterns.
func unescape(pattern string) string { return strings.ReplaceAll(pattern, `\`, "") }

// omit notes what is not in the archive.
func (x *exporter) omit(name, why string) { x.left = append(x.left, name+": "+why) }

// below writes what is at a path under a name: a file, or a folder with all in it that is Ash's. What is not there is left out silently.
func (x *exporter) below(at, name string, mine func(string) bool) error {
	info, err := os.Lstat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return agent.Wrap(agent.CodeUnavailable, err, "%s cannot be read: %v.", at, reason(err))
	case !info.IsDir():
		at, name = filepath.Dir(at), path.Dir(name)
		mine = func(rel string) bool { return rel == info.Name() }
	}
	root, err := os.OpenRoot(at)
	if err != nil {
		return agent.Wrap(agent.CodeUnavailable, err, "%s cannot be read: %v.", at, reason(err))
	}
	defer func() { _ = root.Close() }() // nothing was written through it
	if !info.IsDir() {
		return x.file(root, info.Name(), path.Join(name, info.Name()))
	}
	return fs.WalkDir(root.FS(), ".", func(rel string, e fs.DirEntry, err error) error {
		if ctxErr := x.ctx.Err(); ctxErr != nil {
			return ctxErr
		}
		full := path.Join(name, rel)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // gone since
		case err != nil:
			x.omit(full, "it cannot be read")
			return nil //nolint:nilerr // it is named in the archive
		case e.IsDir():
			return x.folder(full, x.at)
		case mine != nil && !mine(rel):
			x.omit(full, "it is not Ash's")
			return nil
		}
		return x.file(root, rel, full)
	})
}

// file writes one ordinary file. It is checked to be the one that was looked at: commands in the sandbox may change the workspace at any moment.
func (x *exporter) file(root *os.Root, rel, name string) error {
	before, err := root.Lstat(filepath.FromSlash(rel))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		x.omit(name, "it cannot be read")
		return nil
	case before.Mode()&fs.ModeSymlink != 0:
		x.omit(name, "it is a link")
		return nil
	case !before.Mode().IsRegular():
		x.omit(name, "it is not an ordinary file")
		return nil
	}
	f, err := root.OpenFile(filepath.FromSlash(rel), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		x.omit(name, "it cannot be read")
		return nil // it is named in the archive
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil || !os.SameFile(before, info) || !info.Mode().IsRegular() {
		x.omit(name, "it changed while it was read")
		return nil // it is named in the archive
	}
	return x.stream(name, f, info.Size(), info.ModTime())
}

func (x *exporter) header(name string, mode int64, size int64, at time.Time) *tar.Header {
	return &tar.Header{Name: path.Join(x.top, name), Mode: mode, Size: size, ModTime: at.Truncate(time.Second), Format: tar.FormatPAX}
}

func (x *exporter) folder(name string, at time.Time) error {
	head := x.header(name, 0o700, 0, at)
	head.Name += "/"
	head.Typeflag = tar.TypeDir
	return x.tar.WriteHeader(head)
}

func (x *exporter) text(name, words string) error {
	return x.stream(name, strings.NewReader(words), int64(len(words)), x.at)
}

// stream writes size bytes of r. A file that became shorter meanwhile is filled up with zeros, and named.
func (x *exporter) stream(name string, r io.Reader, size int64, at time.Time) error {
	head := x.header(name, 0o600, size, at)
	head.Typeflag = tar.TypeReg
	if err := x.tar.WriteHeader(head); err != nil {
		return err
	}
	for size > 0 {
		if err := x.ctx.Err(); err != nil {
			return err
		}
		part := x.buffer[:min(size, int64(len(x.buffer)))]
		n, err := io.ReadFull(r, part)
		if err != nil {
			clear(part[n:])
			if n == 0 {
				x.omit(name, fmt.Sprintf("its last %d bytes: it became shorter while it was read, or cannot be read", size))
				r = zeros{}
			}
		}
		if err != nil && n == 0 {
			n = len(part)
		}
		if _, err := x.tar.Write(part[:n]); err != nil {
			return err
		}
		size -= int64(n)
	}
	return nil
}

// zeros reads as zeros without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// vaultTries is how often the vault is read until it has not changed in between.
const (
	vaultTries = 5
	maxVault   = 64 << 20 // bytes; a vault holds thousands of secrets in less
)

// errUnsteady says that the vault changed while it was read.
var errUnsteady = errors.New("it changed while it was read")

// vault writes the vault and its mark as they are at one moment: they are small, and read whole.
func (x *exporter) vault(h Home) error {
	var files map[string][]byte
	var err error
	for range vaultTries {
		if files, err = readSteady(h.Path); !errors.Is(err, errUnsteady) {
			break
		}
	}
	if err != nil {
		return agent.Wrap(agent.CodeUnavailable, err, "The vault cannot be read: %v. Nothing was left half done; try again.", reason(err))
	}
	for _, name := range slices.Sorted(maps.Keys(files)) { // a folder before what is in it
		if dir, ok := strings.CutSuffix(name, "/"); ok {
			if err := x.folder(dir, x.at); err != nil {
				return err
			}
			continue
		}
		if err := x.stream(name, bytes.NewReader(files[name]), int64(len(files[name])), x.at); err != nil {
			return err
		}
	}
	return nil
}

// readSteady reads the files of the vault twice; errUnsteady when they differ.
func readSteady(home string) (map[string][]byte, error) {
	once, err := readVault(home)
	if err != nil {
		return nil, err
	}
	again, err := readVault(home)
	if err != nil {
		return nil, err
	}
	if len(once) != len(again) {
		return nil, errUnsteady
	}
	for name, data := range once {
		if other, ok := again[name]; !ok || !bytes.Equal(data, other) {
			return nil, errUnsteady
		}
	}
	return once, nil
}

// readVault reads the files of the vault and its mark, by name. Folders end in a slash and hold nothing: an empty one belongs to a vault, too.
func readVault(home string) (_ map[string][]byte, err error) {
	root, err := os.OpenRoot(home)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	files, room := map[string][]byte{}, int64(maxVault)
	read := func(name string, info fs.FileInfo) error {
		if room -= info.Size(); room < 0 {
			return fmt.Errorf("it has more than %d MB", maxVault>>20)
		}
		data, err := root.ReadFile(filepath.FromSlash(name))
		if err == nil {
			files[name] = data
		}
		return err
	}
	if info, err := root.Lstat(vaultMark); err == nil && info.Mode().IsRegular() {
		if err := read(vaultMark, info); err != nil {
			return nil, err
		}
	}
	if info, err := root.Lstat(vaultFolder); err != nil || !info.IsDir() {
		return files, ignoreMissing(err)
	}
	err = fs.WalkDir(root.FS(), vaultFolder, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			files[name+"/"] = nil
		}
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		return read(name, info)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errUnsteady
	}
	return files, err
}

// readme says what the archive is, for whoever finds it in years.
func readme(h Home) string {
	words := `This folder is everything that Ash, a private assistant, kept in its home.

To use it, unpack it with the modes of its files, and start Ash on it:

    tar xzf THIS-ARCHIVE.tar.gz
    ash serve --home ./THIS-FOLDER

Or put what is in it into ~/.ash while Ash does not run.

ash.db        conversations, memory, and what tools did (SQLite)
notes/        your notes (Markdown)
workspace/    who Ash is and who you are (Markdown), and the files it worked on
attachments/  files given to it, by the SHA-256 of their content
vault/        secrets, encrypted: your passphrase or your recovery phrase opens them
config.toml   settings
logs/         who asked the vault for what

It opens no doors: the passphrase for signing in, signed-in devices and API tokens are not in it, and neither are
older copies of the database. It is not encrypted, except for the vault: keep it where only you can read it.
`
	for _, e := range h.Elsewhere() {
		words += fmt.Sprintf("\nelsewhere/%s came from %s. Put it back there, or change config.toml.\n", e.Kind, e.Path)
	}
	return words
}
