package notes

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"ash/agent"
)

// racy is the age below which equal time and size do not prove equal content, since
// file systems keep times as coarsely as two seconds (FAT).
const racy = 2500 * time.Millisecond

// A file that changes while it is read is read again, a few times.
const (
	tries = 4
	pause = 40 * time.Millisecond
)

// stamp is what Lstat tells of a file without reading it.
type stamp struct {
	mode    fs.FileMode
	size    int64
	mod     time.Time
	missing bool
}

func stampOf(info fs.FileInfo) stamp {
	return stamp{mode: info.Mode(), size: info.Size(), mod: info.ModTime()}
}

func (s stamp) same(now stamp) bool {
	return s.missing == now.missing && s.mode == now.mode && s.size == now.size && s.mod.Equal(now.mod)
}

// proves reports whether what a row says, held against the file's stamp, means that nothing changed since.
func (s Stamp) proves(now stamp) bool {
	return !now.missing && s.Size == now.size && s.Modified.Equal(now.mod.Truncate(time.Microsecond)) && s.Seen.Sub(s.Modified) > racy
}

func (r Row) stamp() Stamp {
	return Stamp{Path: r.Path, Size: r.Size, Modified: r.Modified, Seen: r.Seen}
}

// look takes the stamp of a file. CodeInvalid for one below a link.
func look(root *os.Root, name string) (stamp, error) {
	if err := straight(root, name); err != nil {
		return stamp{}, err
	}
	info, err := root.Lstat(name)
	if missing(err) {
		return stamp{missing: true}, nil
	}
	if err != nil {
		return stamp{}, fileError(err, name+" cannot be read")
	}
	return stampOf(info), nil
}

// content is a file as it was read.
type content struct {
	stamp
	text    string // valid UTF-8, at most MaxText bytes
	hash    string
	problem string // for the person
	cut     bool
	lossy   bool // text is not what is in the file
}

// errBusy says that a file changed each time it was read.
var errBusy = errors.New("it changes while it is read")

// readContent reads a regular file as it stood at one moment. Anything else is CodeInvalid; errBusy is
// inside the CodeUnavailable of a file that something is writing all the time.
func readContent(root *os.Root, name string) (content, error) {
	for i := range tries {
		c, err := readOnce(root, name)
		if !errors.Is(err, errBusy) || i == tries-1 {
			return c, err
		}
		time.Sleep(pause << i)
	}
	return content{}, nil
}

func readOnce(root *os.Root, name string) (content, error) {
	before, err := look(root, name)
	if err != nil || before.missing {
		return content{stamp: before}, err
	}
	if !before.mode.IsRegular() {
		return content{stamp: before}, agent.Errorf(agent.CodeInvalid, "%s is not an ordinary file (links and folders are not followed).", name)
	}
	f, err := root.OpenFile(name, os.O_RDONLY|patient, 0)
	if missing(err) {
		return content{stamp: stamp{missing: true}}, nil
	}
	if err != nil {
		return content{}, fileError(err, name+" cannot be read")
	}
	defer func() { _ = f.Close() }() // nothing was written through it
	info, err := f.Stat()
	if err != nil {
		return content{}, fileError(err, name+" cannot be read")
	}
	if !stampOf(info).same(before) { // what was opened is not what was looked at
		return content{}, busy(name)
	}
	c := content{stamp: before}
	n, err := c.take(f, before.size)
	if err != nil {
		return content{}, fileError(err, name+" cannot be read")
	}
	if n != before.size && before.size <= maxHashed { // it shrank or grew, whatever its times say
		return content{}, busy(name)
	}
	after, err := f.Stat()
	if err != nil {
		return content{}, fileError(err, name+" cannot be read")
	}
	if now, err := look(root, name); err != nil || !now.same(before) || !stampOf(after).same(before) {
		return content{}, errors.Join(busy(name), err)
	}
	return c, nil
}

func busy(name string) error {
	return agent.Wrap(agent.CodeUnavailable, errBusy, "%s is being written by another program. Try again in a moment.", name)
}

// take reads the text, bounded, and the hash of the whole; n is how many bytes there were.
func (c *content) take(f io.Reader, size int64) (n int64, err error) {
	h := sha256.New()
	var b bytes.Buffer
	b.Grow(int(min(size, MaxText+utf8.UTFMax)) + bytes.MinRead)
	if n, err = b.ReadFrom(io.TeeReader(io.LimitReader(f, MaxText+utf8.UTFMax), h)); err != nil {
		return n, err
	}
	text := b.Bytes()
	behind, err := c.rest(f, h, size)
	if n += behind; err != nil {
		return n, err
	}
	c.hash = hex.EncodeToString(h.Sum(nil))
	var problems []string
	if len(text) > MaxText {
		c.cut = true
		n := MaxText
		for n > MaxText-utf8.UTFMax && !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n]
		problems = append(problems, fmt.Sprintf("It is %s long: only the first %s are shown and found.", inMB(size), inMB(MaxText)))
	}
	c.text = string(text)
	if !utf8.ValidString(c.text) || strings.ContainsRune(c.text, 0) {
		c.lossy = true
		c.text = strings.ReplaceAll(strings.ToValidUTF8(c.text, "\uFFFD"), "\x00", "\uFFFD")
		problems = append(problems, "It is not UTF-8 text: save it as UTF-8 in another editor to change it here.")
	}
	c.problem = strings.Join(problems, " ")
	return n, nil
}

// rest takes what is behind the text into the hash. Of files beyond all measure, their size stands for it.
func (c *content) rest(f io.Reader, h hash.Hash, size int64) (int64, error) {
	if size > maxHashed {
		_, err := fmt.Fprintf(h, "%d %d", size, c.mod.UnixNano())
		return 0, err
	}
	return io.Copy(h, io.LimitReader(f, maxHashed))
}

func inMB(n int64) string {
	if n < 10<<20 {
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d MB", n>>20)
}

// hashOf is the hash of a text as a note carries it.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// tempPrefix begins the names of files that are being written; names with a dot in front are no notes.
const tempPrefix = ".ash-"

// errOvertaken says that another program changed a file while its new text was made ready.
var errOvertaken = errors.New("another program was faster")

// errKept says that what another program wrote stands under a temporary name, because its own could not be given back to it.
var errKept = errors.New("what the other program wrote is kept beside it")

// is reports whether a file is still the one a note was read from.
func (n Note) is(now stamp) bool {
	return n.Missing == now.missing && (now.missing || now.mode.IsRegular() && n.Size == now.size && n.Modified.Equal(now.mod))
}

// write replaces a file so that after a crash either the old or the new text is there, whole. Its mode stays. errOvertaken when
// it is not what was read any more; nothing is written then. Linux exchanges the two files in one step, so that what another program
// wrote in the last moment comes out and goes back; elsewhere some microseconds between the last look and the renaming stay open.
func write(root *os.Root, name, text string, read Note) (err error) {
	now, err := look(root, name)
	if err != nil {
		return err
	}
	if !read.is(now) {
		return errOvertaken
	}
	dir := path.Dir(name)
	if err := makeFolder(root, dir); err != nil {
		return err
	}
	mode := fs.FileMode(0o600)
	if !now.missing {
		mode = now.mode.Perm()
	}
	temp := path.Join(dir, tempPrefix+string(agent.NewID()))
	f, err := root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return fileError(err, name+" cannot be written")
	}
	defer func() {
		if err != nil && !errors.Is(err, errKept) {
			err = errors.Join(err, ignoreMissing(root.Remove(temp)))
		}
	}()
	_, err = io.WriteString(f, text)
	if err == nil && !now.missing && runtime.GOOS != "windows" {
		err = f.Chmod(mode) // opening took away what the umask does
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fileError(err, name+" cannot be written")
	}
	if err = replace(root, temp, name, now); err != nil {
		return err
	}
	return syncDir(root, dir)
}

// replace puts a file that was written in the place of the one that was looked at.
func replace(root *os.Root, temp, name string, before stamp) error {
	if before.missing {
		err := renameNew(root, temp, name)
		if agent.CodeOf(err) == agent.CodeConflict {
			err = errors.Join(errOvertaken, err)
		}
		return err
	}
	now, err := look(root, name)
	switch {
	case err != nil:
		return err
	case !now.same(before):
		return errOvertaken
	}
	switch err := exchange(root, temp, name); {
	case errors.Is(err, errors.ErrUnsupported):
		if err := root.Rename(temp, name); err != nil {
			return fileError(err, name+" cannot be replaced")
		}
		return nil
	case err != nil:
		return fileError(err, name+" cannot be replaced")
	}
	return settle(root, temp, name, before)
}

// settle removes the file that an exchange took out, if it is the one that was looked at. Anything else was written by another program
// meanwhile, and goes back to its place.
func settle(root *os.Root, temp, name string, before stamp) error {
	out, err := look(root, temp)
	if err == nil && out.same(before) {
		if err := root.Remove(temp); err != nil {
			return fileError(err, name+" was replaced, but what it held before cannot be removed")
		}
		return nil
	}
	if back := exchange(root, temp, name); back != nil {
		return fileError(errors.Join(errKept, err, back), name+" was written by another program, too; what it wrote is kept as "+temp)
	}
	if err != nil {
		return err
	}
	return errOvertaken
}

// renameNew moves a file to a name that must be free, without a moment in which another program's file
// of that name could be replaced where the file system knows hard links. CodeConflict when it is taken.
func renameNew(root *os.Root, from, to string) error {
	err := root.Link(from, to)
	if err == nil {
		if err = root.Remove(from); err != nil {
			return fileError(err, from+" cannot be moved")
		}
		return nil
	}
	taken := errors.Is(err, fs.ErrExist)
	if !taken {
		now, err := look(root, to)
		if err != nil {
			return err
		}
		taken = !now.missing
	}
	if taken {
		return errTaken(err, to)
	}
	if err := root.Rename(from, to); err != nil {
		return fileError(err, from+" cannot be moved")
	}
	return nil
}

func errTaken(err error, name string) error {
	return agent.Wrap(agent.CodeConflict, err, "There is already something named %s. Choose another name.", name)
}

// syncDir makes a rename durable. Windows has no such call and needs none.
func syncDir(root *os.Root, dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := root.Open(dir)
	if err != nil {
		return fileError(err, "The notes folder cannot be opened")
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fileError(err, "The notes folder cannot be written")
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
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
		return agent.Wrap(agent.CodeUnavailable, err, "%s: the system does not permit it. Check the owner and mode of the file.", what)
	case errors.Is(err, syscall.ENAMETOOLONG):
		return agent.Wrap(agent.CodeInvalid, err, "%s: the name is too long for this disk.", what)
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		return agent.Wrap(agent.CodeConflict, err, "%s: a file stands where a folder should be. Choose another name.", what)
	}
	return agent.Wrap(agent.CodeUnavailable, err, "%s. The log says why.", what)
}
