package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"ash/agent"
)

// StandIn is the user and group that commands run as when Ash runs as root and the folder belongs to root too.
const StandIn = 10001

// adoptMost is how many files of workspace/files are looked at before a command when Ash runs as root.
const adoptMost = 200_000

// checkRoot resolves the root of a command and refuses folders that would give it Ash or the machine.
func (s *Sandbox) checkRoot(root string) (string, error) {
	if !filepath.IsAbs(root) || strings.ContainsRune(root, 0) {
		return "", agent.Errorf(agent.CodeInvalid, "The folder for commands must be an absolute path.")
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", agent.Wrap(agent.CodeNotFound, err, "The folder %s is not there.", root)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", agent.Wrap(agent.CodeInvalid, err, "%s is not a folder.", root)
	}
	if real == filepath.VolumeName(real)+string(filepath.Separator) {
		return "", agent.Errorf(agent.CodeDenied, "Commands cannot work in the top folder of the machine.")
	}
	for _, dir := range []string{"/proc", "/sys", "/dev", "/run", "/boot"} { // sockets, devices, the system itself
		if within(dir, real) {
			return "", agent.Errorf(agent.CodeDenied, "Commands cannot work in %s: it belongs to the system.", root)
		}
	}
	home, err := filepath.EvalSymlinks(s.o.Home)
	if err != nil {
		home = s.o.Home
	}
	if within(real, home) || (within(home, real) && !within(s.files(), real)) {
		return "", agent.Errorf(agent.CodeDenied, "Commands cannot work in %s: Ash keeps its own files there.", root)
	}
	return real, nil
}

// files is Ash's own files folder, resolved.
func (s *Sandbox) files() string {
	dir := s.o.Files
	if dir == "" {
		dir = filepath.Join(s.o.Home, "workspace", "files")
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// within reports whether path is dir or below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && (rel == "." || filepath.IsLocal(rel))
}

// user is who a command runs as on the host.
type user struct{ uid, gid int }

func (u user) String() string { return strconv.Itoa(u.uid) + ":" + strconv.Itoa(u.gid) }

// userOf says as whom commands in root run: as Ash itself; when that is root, as the owner of the folder; when that is root too,
// as StandIn. On Windows, where there are no such ids, it is StandIn inside the virtual machine of Docker.
func userOf(root string) (user, error) {
	if runtime.GOOS == "windows" {
		return user{StandIn, StandIn}, nil
	}
	if os.Geteuid() != 0 {
		return user{os.Geteuid(), os.Getegid()}, nil
	}
	info, err := os.Stat(root)
	if err != nil {
		return user{}, agent.Wrap(agent.CodeNotFound, err, "The folder %s is not there.", root)
	}
	uid, gid, ok := owner(info)
	if !ok || uid == 0 {
		return user{StandIn, StandIn}, nil
	}
	if gid == 0 {
		gid = uid
	}
	return user{uid, gid}, nil
}

// adopt gives what root owns in Ash's own files folder to the user commands run as. It
// only does so there: a folder the person added stays as it is, and what others may not read in it a command may not either.
// The walk cannot leave the folder (os.Root), whatever runs in it at the same time.
func (s *Sandbox) adopt(root string, u user) error {
	if os.Geteuid() != 0 || runtime.GOOS == "windows" || u.uid != StandIn {
		return nil
	}
	if !within(s.files(), root) {
		return nil
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	seen := 0
	return fs.WalkDir(dir.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return passOver(err)
		}
		if seen++; seen > adoptMost {
			return fs.SkipAll
		}
		info, err := e.Info()
		if err != nil {
			return passOver(err)
		}
		if uid, _, ok := owner(info); !ok || uid != 0 {
			return nil
		}
		return passOver(dir.Lchown(path, u.uid, u.gid))
	})
}

// passOver forgives what happens to files that go away meanwhile.
func passOver(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
