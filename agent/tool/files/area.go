package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ash/agent"
	"ash/agent/tool"
)

// area is a folder the tools may use.
type area struct {
	base  string // absolute and clean, as it is configured: what records and versions name
	write bool
	own   bool // the thread's own root, whose files are named by relative paths
}

// areas returns the thread's root and the further folders, the root first.
func (f *Files) areas(env tool.Env) []area {
	all := []area{{base: filepath.Clean(env.Root), write: true, own: true}}
	for _, folder := range f.o.Folders() {
		if filepath.IsAbs(folder.Path) && filepath.Clean(folder.Path) != all[0].base {
			all = append(all, area{base: filepath.Clean(folder.Path), write: folder.Write})
		}
	}
	return all
}

// shown is how a file of a is named to the model and to the person.
func (a area) shown(rel string) string {
	if a.own {
		return rel
	}
	return filepath.ToSlash(filepath.Join(a.base, filepath.FromSlash(rel)))
}

// choose finds the area that a path is in, and the path relative to it.
func (f *Files) choose(env tool.Env, p string) (area, string, error) {
	if err := checkPath(p); err != nil {
		return area{}, "", err
	}
	p = slashed(p)
	all := f.areas(env)
	if p == "~" || strings.HasPrefix(p, "~/") {
		return area{}, "", agent.Errorf(agent.CodeInvalid, "~ means nothing here. Name files by paths relative to the root, or by the absolute path of a further folder.")
	}
	if !filepath.IsAbs(filepath.FromSlash(p)) && !strings.HasPrefix(p, "/") {
		rel, err := local(p)
		return all[0], rel, err
	}
	clean := filepath.Clean(filepath.FromSlash(p))
	if rel, ok := below(all[0].base, clean); ok {
		return all[0], rel, nil
	}
	best, rel := -1, ""
	for i, a := range all { // the innermost folder
		if in, ok := below(a.base, clean); ok && (best < 0 || len(a.base) > len(all[best].base)) {
			best, rel = i, in
		}
	}
	if best >= 0 {
		return all[best], rel, nil
	}
	if f.o.Mount != "" { // where commands see the root
		if in, ok := below(filepath.FromSlash(f.o.Mount), clean); ok {
			return all[0], in, nil
		}
	}
	return area{}, "", errOutside()
}

// below returns p relative to dir with forward slashes, when it is dir or in it. Both are clean.
func below(dir, p string) (string, bool) {
	rel, err := filepath.Rel(dir, p)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// room is an area that is open.
type room struct {
	area
	root *os.Root
	real string      // base without links
	home fs.FileInfo // Ash's home, when it is inside: not to be entered
}

// enter opens an area. CodeNotFound when its folder is not there; CodeDenied for folders that belong to Ash or to the system.
func (f *Files) enter(a area) (*room, error) {
	if !filepath.IsAbs(a.base) {
		return nil, agent.Errorf(agent.CodeUnavailable, "This conversation has no folder for files.")
	}
	real, err := filepath.EvalSymlinks(a.base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, agent.Wrap(agent.CodeNotFound, err, "The folder %s does not exist (any more).", quote(a.base))
	}
	if err != nil {
		return nil, fileError(err, "The folder cannot be opened")
	}
	if systems(real) {
		return nil, agent.Errorf(agent.CodeDenied, "The folder %s belongs to the system; files in it cannot be used.", quote(a.base))
	}
	r := &room{area: a, real: real}
	if f.o.Home != "" {
		if err := r.keepFrom(f.o.Home, f.o.Own()); err != nil {
			return nil, err
		}
	}
	if r.root, err = os.OpenRoot(real); err != nil {
		if info, gone := os.Stat(real); gone == nil && !info.IsDir() {
			return nil, agent.Errorf(agent.CodeInvalid, "%s is not a folder.", quote(a.base))
		}
		return nil, fileError(err, "The folder cannot be opened")
	}
	return r, nil
}

// keepFrom sees to it that nothing of Ash's home is reached but own, the files in its workspace.
func (r *room) keepFrom(home, own string) error {
	realHome, err := filepath.EvalSymlinks(home)
	if err != nil {
		return nil //nolint:nilerr // without a home there is nothing to keep from
	}
	if in, ok := below(realHome, r.real); ok {
		if real, err := filepath.EvalSymlinks(own); err == nil {
			own = real
		}
		if _, ok := below(own, r.real); ok && own != realHome && in != "." {
			return nil
		}
		return errHome()
	}
	if _, ok := below(r.real, realHome); ok {
		if r.home, err = os.Stat(realHome); err != nil {
			return fileError(err, "The folder cannot be opened")
		}
	}
	return nil
}

func errHome() error {
	return agent.Errorf(agent.CodeDenied, "Ash keeps its own data there, which the file tools do not touch.")
}

// systems reports whether a path without links belongs to the system rather than to a person.
func systems(real string) bool {
	for _, dir := range []string{"/proc", "/sys", "/dev"} {
		if _, ok := below(dir, real); ok {
			return true
		}
	}
	return false
}

func (r *room) Close() error { return r.root.Close() }
