package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"ash/agent"
)

// HomeVariable names the home of Ash in the environment.
const HomeVariable = "ASH_HOME"

// Home returns the absolute path of the home of Ash and sees to it that the folder exists and is the
// owner's alone (0700): flag (--home) if it is not "", else ASH_HOME, else ~/.ash. lookup reads the environment, like os.LookupEnv.
//
// A folder that others may enter is closed to them if it is empty or was Ash's before.
// Errors: CodeDenied for any other such folder, or one that cannot be made; CodeInvalid for something that is no folder.
func Home(flag string, lookup func(string) (string, bool)) (string, error) {
	path, err := HomePath(flag, lookup)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(path, dirMode); err != nil {
			return "", fileError(err, "make the folder", path)
		}
		return path, nil
	case err != nil:
		return "", fileError(err, "use the folder", path)
	case !info.IsDir():
		return "", agent.Errorf(agent.CodeInvalid, "%s is not a folder, so it cannot be the home of Ash.", path)
	}
	if perm := info.Mode().Perm(); permissionsTell && perm&othersAny != 0 {
		return path, closeHome(path, perm)
	}
	return path, nil
}

// HomePath is where Home would find the home of Ash, without a look at it: for commands that tell what is wrong with it. CodeInvalid
// when there is nowhere.
func HomePath(flag string, lookup func(string) (string, bool)) (string, error) {
	path := flag
	if path == "" {
		path, _ = lookup(HomeVariable)
	}
	if path == "" {
		dir, err := userHome()
		if err != nil {
			return "", agent.Wrap(agent.CodeInvalid, err, "Ash does not know where to live, because %v. Give --home or set %s.", err, HomeVariable)
		}
		return filepath.Join(dir, ".ash"), nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fileError(err, "use the folder", path)
	}
	return abs, nil
}

// closeHome takes the folder at path, open with perm, away from others. A folder with foreign things in it stays
// as it is: somebody may need it to be open.
func closeHome(path string, perm fs.FileMode) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return fileError(err, "use the folder", path)
	}
	ours := len(entries) == 0
	for _, e := range entries {
		ours = ours || e.Name() == FileName || e.Name() == "ash.db"
	}
	if !ours {
		return agent.Errorf(agent.CodeDenied,
			"The folder %s holds other things and is open to others (mode %04o), so Ash will not keep your conversations in it. Choose another, or run: chmod 700 %s", path, perm, path)
	}
	if err := os.Chmod(path, dirMode); err != nil {
		return fileError(err, "close to others", path)
	}
	return nil
}
