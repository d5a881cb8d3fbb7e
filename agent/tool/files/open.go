package files

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"ash/agent"
)

// openFile opens an ordinary file for reading, without waiting for one that is something else.
func openFile(root *os.Root, p string) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(p, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, nil, fileError(err, "The file cannot be opened")
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = fileError(err, "The file cannot be opened")
	case !info.Mode().IsRegular(): // it was when it was looked at
		err = errKind(info.Mode())
	case ofSystem(f):
		err = errSystem()
	default:
		return f, info, nil
	}
	return nil, nil, errors.Join(err, f.Close())
}

func errKind(m fs.FileMode) error {
	if m.IsDir() {
		return agent.Errorf(agent.CodeInvalid, "This is a folder, not a file. Use file_list to see what is in it.")
	}
	return agent.Errorf(agent.CodeInvalid, "This is %s, not an ordinary file, and cannot be used.", kindOf(m))
}

// ordinary refuses spots that hold no ordinary file.
func (s *spot) ordinary() error {
	if s.info == nil {
		return s.notFound()
	}
	if !s.info.Mode().IsRegular() {
		return errKind(s.info.Mode())
	}
	return nil
}

func sameFile(a, b fs.FileInfo) bool { return os.SameFile(a, b) }

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// fileError gives a failure of the file system its code and a sentence that says what happened and what to do.
func fileError(err error, what string) error {
	var known *agent.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return agent.Wrap(agent.CodeExhausted, err, "%s: the disk is full. Nothing was changed; space must be freed first.", what)
	case errors.Is(err, fs.ErrPermission):
		return agent.Wrap(agent.CodeDenied, err, "%s: the system does not permit it (owner or mode of the file or folder).", what)
	case errors.Is(err, syscall.EROFS):
		return agent.Wrap(agent.CodeDenied, err, "%s: it is on a read-only file system.", what)
	case errors.Is(err, syscall.ENOTDIR):
		return agent.Wrap(agent.CodeInvalid, err, "%s: a part of the path is a file, not a folder.", what)
	case errors.Is(err, syscall.EISDIR):
		return agent.Wrap(agent.CodeInvalid, err, "%s: there is a folder of that name.", what)
	case errors.Is(err, syscall.ENAMETOOLONG):
		return agent.Wrap(agent.CodeInvalid, err, "%s: a name in the path is too long for this file system.", what)
	case errors.Is(err, syscall.ELOOP):
		return agent.Wrap(agent.CodeInvalid, err, "%s: links in the path lead to each other.", what)
	case missing(err):
		return agent.Wrap(agent.CodeNotFound, err, "%s: it is not there (any more).", what)
	}
	var p *fs.PathError
	if errors.As(err, &p) && p.Err.Error() == "path escapes from parent" { // os.Root has no exported error for it
		return agent.Wrap(agent.CodeDenied, err, "%s: a link in the path leads out of the folder.", what)
	}
	return agent.Wrap(agent.CodeUnavailable, err, "%s. The log says why.", what)
}
