package archive

import (
	"archive/zip"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"ash/agent"
)

// Bounds of an archive of memory, in bytes but for the number of files.
const (
	maxFiles    = 300_000
	maxTotal    = 4 << 30
	maxNote     = 128 << 20
	maxData     = 1 << 30
	maxManifest = 64 << 20
	maxPath     = 1024
)

// source is a folder or a zip whose names are safe.
type source struct {
	files map[string]*sourceFile
	close func() error
}

type sourceFile struct {
	size int64 // as claimed
	open func() (io.ReadCloser, error)
}

// openSource opens a folder or a zip and looks at every name in it. Errors: CodeNotFound, CodeInvalid.
func openSource(name string) (*source, error) {
	info, err := os.Stat(name) // the person may name a link to their archive; links inside are refused
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, agent.Wrap(agent.CodeNotFound, err, "There is no %s.", name)
	case err != nil:
		return nil, agent.Wrap(agent.CodeUnavailable, err, "%s cannot be looked at: %v.", name, errors.Unwrap(err))
	case info.IsDir():
		return openFolder(name)
	case !info.Mode().IsRegular():
		return nil, agent.Errorf(agent.CodeInvalid, "%s is neither a folder nor an ordinary file.", name)
	}
	return openZip(name)
}

func openFolder(name string) (*source, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, agent.Wrap(agent.CodeUnavailable, err, "The folder %s cannot be opened: %v.", name, errors.Unwrap(err))
	}
	s := &source{files: map[string]*sourceFile{}, close: root.Close}
	err = fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return agent.Wrap(agent.CodeUnavailable, err, "%s in the archive cannot be read.", path)
		case path == ".":
			return nil
		case hidden(path) && e.IsDir():
			return fs.SkipDir
		case e.IsDir():
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return agent.Wrap(agent.CodeUnavailable, err, "%s in the archive cannot be read.", path)
		}
		return s.put(path, info.Mode(), info.Size(), func() (io.ReadCloser, error) { return root.Open(path) })
	})
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return s, nil
}

func openZip(name string) (*source, error) {
	z, err := zip.OpenReader(name)
	if err != nil {
		if errors.Is(err, zip.ErrInsecurePath) && z != nil {
			err = errors.Join(err, z.Close())
		}
		return nil, agent.Wrap(agent.CodeInvalid, err, "%s is no zip, or only part of one.", name)
	}
	s := &source{files: map[string]*sourceFile{}, close: z.Close}
	if err := s.putZip(&z.Reader); err != nil {
		return nil, errors.Join(err, z.Close())
	}
	return s, nil
}

func (s *source) putZip(z *zip.Reader) error {
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") && safe(strings.TrimSuffix(f.Name, "/")) {
			continue
		}
		if f.Flags&1 != 0 {
			return agent.Errorf(agent.CodeInvalid, "The zip is locked with a password. Unpack it first.")
		}
		if f.UncompressedSize64 > maxTotal {
			return errTooMuch()
		}
		if err := s.put(f.Name, f.Mode(), int64(f.UncompressedSize64), f.Open); err != nil {
			return err
		}
	}
	return nil
}

func errTooMuch() error {
	return agent.Errorf(agent.CodeInvalid, "The archive holds more than can be taken in: at most %d GB in %d files.", maxTotal>>30, maxFiles)
}

// put takes up a file, or refuses the archive for its sake.
func (s *source) put(name string, mode fs.FileMode, size int64, open func() (io.ReadCloser, error)) error {
	switch {
	case !safe(name):
		return agent.Errorf(agent.CodeInvalid, "The archive has a file named %q, which leads out of it or cannot be kept. Nothing was taken in.", agent.Clip(strings.ToValidUTF8(name, "\uFFFD"), 120))
	case hidden(name):
		return nil
	case !mode.IsRegular():
		return agent.Errorf(agent.CodeInvalid, "%s in the archive is a link or the like, not an ordinary file. Nothing was taken in.", name)
	case s.files[name] != nil:
		return agent.Errorf(agent.CodeInvalid, "The archive has %s twice. Nothing was taken in.", name)
	case len(s.files) == maxFiles:
		return errTooMuch()
	}
	s.files[name] = &sourceFile{size, open}
	return nil
}

// safe reports whether a name stays inside the archive, on any system.
func safe(name string) bool {
	return fs.ValidPath(name) && name != "." && len(name) <= maxPath && utf8.ValidString(name) && !strings.ContainsAny(name, "\\\x00") &&
		(len(name) < 2 || name[1] != ':')
}

// hidden reports whether a file is one that systems and editors leave lying about.
func hidden(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") || part == "__MACOSX" || part == "Thumbs.db" || part == "desktop.ini" {
			return true
		}
	}
	return false
}

// within returns the source without a folder that everything lies in, as when a folder was packed by hand.
func (s *source) within(name string) *source {
	if s.files[name] != nil || len(s.files) == 0 {
		return s
	}
	first := ""
	for path := range s.files {
		folder, _, deep := strings.Cut(path, "/")
		if !deep || first != "" && folder != first {
			return s
		}
		first = folder
	}
	if s.files[first+"/"+name] == nil {
		return s
	}
	inner := &source{files: make(map[string]*sourceFile, len(s.files)), close: s.close}
	for path, f := range s.files {
		inner.files[path[len(first)+1:]] = f
	}
	return inner
}
