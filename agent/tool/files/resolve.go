package files

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"ash/agent"
	"ash/agent/tool"
)

// maxLinks is how many links one path may lead through, as on Linux.
const maxLinks = 40

// spot is a place in an open room: a file, a folder, or where one could be.
type spot struct {
	*room
	path string      // canonical: no links, forward slashes; "." is the room's own folder
	info fs.FileInfo // nil when nothing is there
}

// shown is how the spot is named.
func (s *spot) shown() string { return s.area.shown(s.path) }

// find opens the room a path is in and resolves the path. The caller closes the spot.
func (f *Files) find(env tool.Env, p string) (*spot, error) {
	a, rel, err := f.choose(env, p)
	if err != nil {
		return nil, err
	}
	r, err := f.enter(a)
	if err != nil {
		return nil, err
	}
	s, err := r.resolve(rel)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return s, nil
}

// resolve follows rel, which is local, to its canonical path. What does not exist is no error: its parents are canonical
// as far as they do. Links that lead out of the room, in circles, or into Ash's home are.
func (r *room) resolve(rel string) (*spot, error) {
	var at []string // canonical so far
	todo := strings.Split(rel, "/")
	links := 0
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..": // of a link
			if len(at) == 0 {
				return nil, errLinkOut()
			}
			at = at[:len(at)-1]
			continue
		}
		here := path.Join(path.Join(at...), name)
		info, err := r.root.Lstat(here)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return r.absent(here, todo)
		case err != nil:
			return nil, fileError(err, "The path cannot be followed")
		case info.Mode()&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return nil, agent.Errorf(agent.CodeInvalid, "The path goes in circles: links in it lead to each other. A file or folder behind it cannot be reached.")
			}
			next, absolute, err := r.follow(here)
			if err != nil {
				return nil, err
			}
			if absolute {
				at = nil
			}
			todo = append(next, todo...)
		case !info.IsDir() && len(todo) > 0:
			return nil, agent.Errorf(agent.CodeInvalid, "A part of the path is %s, not a folder, so nothing can be inside it.", kindOf(info.Mode()))
		case info.IsDir() && r.isHome(info):
			return nil, errHome()
		default:
			at = append(at, name)
		}
	}
	s := &spot{room: r, path: path.Join(".", path.Join(at...))}
	if r.ofSystem(s.path) {
		return nil, errSystem()
	}
	var err error
	if s.info, err = r.root.Lstat(s.path); err != nil {
		return nil, fileError(err, "The path cannot be followed")
	}
	return s, nil
}

// absent is the spot of something that does not exist, todo below here.
func (r *room) absent(here string, todo []string) (*spot, error) {
	p, err := local(path.Join(append([]string{here}, todo...)...))
	if err != nil {
		return nil, errLinkOut()
	}
	if r.ofSystem(p) {
		return nil, errSystem()
	}
	return &spot{room: r, path: p}, nil
}

// ofSystem reports whether a canonical path belongs to the system.
func (r *room) ofSystem(p string) bool { return systems(filepath.Join(r.real, filepath.FromSlash(p))) }

func errSystem() error {
	return agent.Errorf(agent.CodeDenied, "This belongs to the system and cannot be used as a file.")
}

// follow returns where a link leads, as names to go on with, and whether they start at the top of the room.
func (r *room) follow(link string) (names []string, absolute bool, err error) {
	target, err := r.root.Readlink(link)
	if err != nil {
		return nil, false, fileError(err, "A link in the path cannot be followed")
	}
	if filepath.IsAbs(target) {
		clean := filepath.Clean(target)
		in, ok := below(r.real, clean)
		if !ok {
			in, ok = below(r.base, clean)
		}
		if !ok {
			return nil, false, errLinkOut()
		}
		return strings.Split(in, "/"), true, nil
	}
	return strings.Split(filepath.ToSlash(target), "/"), false, nil
}

func (r *room) isHome(info fs.FileInfo) bool { return r.home != nil && sameFile(info, r.home) }

func errLinkOut() error {
	return agent.Errorf(agent.CodeDenied, "The path goes through a link that leads out of the folder. What is outside cannot be used; the person can add the folder it leads to.")
}

// kindOf says what something that is no ordinary file is.
func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeSymlink != 0:
		return "a link"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	case m&fs.ModeIrregular != 0:
		return "a special file"
	}
	return "a file"
}
