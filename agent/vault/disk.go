package vault

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"ash/agent"
)

// Sizes of files, in bytes; more is damage.
const (
	maxSmall  = 16 << 10            // sentinel, root, copies of the identity
	maxSecret = 2*MaxValue + 64<<10 // a value with its label, perhaps encrypted twice
	maxIndex  = 64 << 20
)

// disk is the folder of a vault. Names are relative to it, with slashes.
type disk struct {
	dir  string
	uid  int                // whose the files have to be
	step func(string) error // tests stop or fail here; nil otherwise
	lone bool               // one file in a folder that holds other things too
}

// amiss is what a command that sets owners or permissions right is to be run on: the folder as a whole.
func (d *disk) amiss(name string) string {
	if d.lone {
		return quote(d.path(name))
	}
	return quote(d.dir)
}

func (d *disk) path(name string) string { return filepath.Join(d.dir, filepath.FromSlash(name)) }

// at tells tests that a step is next.
func (d *disk) at(format string, args ...any) error {
	if d.step == nil {
		return nil
	}
	return d.step(fmt.Sprintf(format, args...))
}

// read reads an ordinary file of this user's that nobody else may read, at most limit bytes.
func (d *disk) read(name string, limit int64) (data []byte, err error) {
	f, err := openFile(d.path(name))
	if err != nil {
		if info, lerr := os.Lstat(d.path(name)); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, d.checkInfo(name, info, false)
		}
		return nil, fileError(err, "read", d.path(name))
	}
	defer func() { _ = f.Close() }() // nothing was written through it
	info, err := f.Stat()
	if err != nil {
		return nil, fileError(err, "read", d.path(name))
	}
	if err := d.checkInfo(name, info, false); err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, damaged(d.path(name), errors.New("it is too large"))
	}
	data = make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fileError(err, "read", d.path(name))
	}
	return data, nil
}

// write puts a file in place so that after a crash it is there whole or as it was before. placed says
// whether it may be in place although there was an error.
func (d *disk) write(name string, data []byte) (placed bool, err error) {
	dir, base := path.Split(name)
	temp := dir + tempPrefix + token(8)
	defer func() {
		if err != nil && !placed {
			err = errors.Join(err, ignoreMissing(os.Remove(d.path(temp))))
		}
	}()
	if err := d.writeTemp(temp, base, data); err != nil {
		return false, fileError(err, "write", d.path(name))
	}
	if err := d.at("put %s in place", base); err != nil {
		return false, fileError(err, "write", d.path(name))
	}
	if err := os.Rename(d.path(temp), d.path(name)); err != nil {
		return false, fileError(err, "write", d.path(name))
	}
	if err := d.at("sync the folder of %s", base); err != nil {
		return true, fileError(err, "write", d.path(name))
	}
	if err := syncDir(d.path(dir)); err != nil {
		return true, fileError(err, "write", d.path(name))
	}
	return true, nil
}

func (d *disk) writeTemp(temp, base string, data []byte) error {
	if err := d.at("make %s", base); err != nil {
		return err
	}
	f, err := os.OpenFile(d.path(temp), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	half := len(data) / 2
	_, err = f.Write(data[:half])
	if err == nil {
		err = d.at("write the rest of %s", base)
	}
	if err == nil {
		_, err = f.Write(data[half:])
	}
	if err == nil {
		err = d.at("sync %s", base)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// folders makes the folder of a vault and those in it, and makes sure that it is still there after a crash: what is in it syncs itself.
func (d *disk) folders() error {
	for _, name := range []string{"", secretsDir, newDir} {
		if err := d.at("make the folder %q", name); err != nil {
			return fileError(err, "make", d.path(name))
		}
		if err := os.Mkdir(d.path(name), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return fileError(err, "make", d.path(name))
		}
	}
	if err := d.at("sync the folder of the vault"); err != nil {
		return fileError(err, "make", d.dir)
	}
	if err := syncDir(filepath.Dir(d.dir)); err != nil {
		return fileError(err, "make", d.dir)
	}
	return nil
}

// remove deletes files that nothing refers to any more.
func (d *disk) remove(names ...string) error {
	var failed []error
	for _, name := range names {
		if err := d.at("remove %s", path.Base(name)); err != nil {
			return err
		}
		if err := ignoreMissing(os.Remove(d.path(name))); err != nil {
			failed = append(failed, fileError(err, "remove", d.path(name)))
		}
	}
	return errors.Join(failed...)
}

// list returns the names of all files, of the two folders too, at most a bounded number of them.
func (d *disk) list() ([]string, error) {
	var all []string
	for _, dir := range []string{"", secretsDir, newDir} {
		entries, err := readDir(d.path(dir), 4*MaxNames)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fileError(err, "read", d.path(dir))
		}
		for _, e := range entries {
			all = append(all, path.Join(dir, e))
		}
	}
	return all, nil
}

func readDir(dir string, limit int) (names []string, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written through it
	names, err = f.Readdirnames(limit)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}

// sweep removes what a crash left behind: files that are being written, and files of the vault that keep does not name.
func (d *disk) sweep(keep map[string]bool) error {
	all, err := d.list()
	if err != nil {
		return err
	}
	var gone []string
	for _, name := range all {
		leftover := strings.HasPrefix(path.Base(name), tempPrefix) && isToken(strings.TrimPrefix(path.Base(name), tempPrefix), 8)
		if leftover || serialOf(name) > 0 && !keep[name] {
			gone = append(gone, name)
		}
	}
	return d.remove(gone...)
}

// syncDir makes a rename durable. Windows has no such call and needs none.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// token returns n random bytes as text.
func token(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return hex.EncodeToString(b)
}

func isToken(s string, n int) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == n && hex.EncodeToString(b) == s
}

// fileError gives a failure of the file system its code and a sentence for the person; what is one already stays.
func fileError(err error, verb, path string) error {
	var known *agent.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return agent.Wrap(agent.CodeNotFound, err, "Ash cannot %s %s: it is not there.", verb, path)
	case errors.Is(err, fs.ErrPermission):
		return agent.Wrap(agent.CodeDenied, err, "Ash cannot %s %s: the system does not permit it. Check who owns it: ls -l %s", verb, path, quote(path))
	case errors.Is(err, syscall.ENOSPC):
		return agent.Wrap(agent.CodeExhausted, err, "Ash cannot %s %s: the disk is full. The vault is as it was.", verb, path)
	}
	return agent.Wrap(agent.CodeUnavailable, err, "Ash cannot %s %s. The log says why.", verb, path)
}

// damaged is the refusal of a file that is not what the vault wrote.
func damaged(path string, err error) error {
	return agent.Wrap(agent.CodeDenied, err, "%s is damaged, or not the file that the vault wrote there. Nothing was changed. Put the folder of the vault back from a backup, as a whole.", path)
}
