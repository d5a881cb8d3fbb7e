package files

import (
	"os"
	"path/filepath"
	"strings"
)

// GitRoot returns the folder of the git repository that dir is in: the nearest at or above it that has a .git folder, or the .git file
// of a worktree or submodule. ok is false when there is none; root is dir then.
func GitRoot(dir string) (root string, ok bool) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir, false
	}
	for at := abs; ; {
		if isGit(filepath.Join(at, ".git")) {
			return at, true
		}
		above := filepath.Dir(at)
		if above == at {
			return abs, false
		}
		at = above
	}
}

// isGit reports whether p is the store of a repository, or a file that names one.
func isGit(p string) bool {
	info, err := os.Stat(p)
	if err != nil {
		return false
	}
	if info.IsDir() {
		_, err := os.Stat(filepath.Join(p, "HEAD"))
		return err == nil
	}
	if !info.Mode().IsRegular() || info.Size() > maxPath {
		return false
	}
	text, err := os.ReadFile(p)
	return err == nil && strings.HasPrefix(string(text), "gitdir: ")
}
