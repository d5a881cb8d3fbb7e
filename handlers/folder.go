package handlers

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/config"
	"ash/views/pages"
)

// writable ends a folder in the settings that may be changed.
const writable = ":rw"

// folders presents what file tools may see.
func (h *Tools) folders(c echo.Context) []pages.Folder {
	s := h.Settings()
	home := filepath.Join(s.Workspace.Path, "files")
	out := []pages.Folder{{Path: home, Home: true, Writable: true}}
	for _, f := range s.Files.Folders {
		path, may := strings.CutSuffix(f, writable)
		out = append(out, pages.Folder{Path: path, Writable: may})
	}
	for i := range out {
		out[i].Own = slices.Contains(s.Files.Own, out[i].Path)
		out[i].CSRF = Token(c)
		info, err := os.Stat(out[i].Path)
		out[i].Missing = err != nil || !info.IsDir()
	}
	return out
}

// Folders answers POST /tools/folders: do=add|remove|writable|readonly|own|disown.
func (h *Tools) Folders(c echo.Context) error {
	if h.Config == nil {
		return agent.Errorf(agent.CodeUnavailable, "The settings cannot be changed here.")
	}
	path, err := text(c, "path")
	if err != nil {
		return err
	}
	do, err := line(c, "do", 20)
	if err != nil {
		return err
	}
	if path, err = folderPath(strings.TrimSpace(path)); err != nil {
		return err
	}
	s := h.Settings()
	folders, own := slices.Clone(s.Files.Folders), slices.Clone(s.Files.Own)
	at := slices.IndexFunc(folders, func(f string) bool { return strings.TrimSuffix(f, writable) == path })
	known := at >= 0 || path == filepath.Join(s.Workspace.Path, "files")
	if do != "add" && !known {
		return agent.Errorf(agent.CodeConflict, "That folder is not in the list any more. Reload the page.")
	}
	switch do {
	case "add":
		if known {
			return agent.Errorf(agent.CodeConflict, "That folder is in the list already.")
		}
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			return agent.Errorf(agent.CodeInvalid, "There is no folder at %s that Ash can look into.", path)
		}
		folders = append(folders, path)
	case "remove":
		if at < 0 {
			return agent.Errorf(agent.CodeInvalid, "Ash's own folder is always there.")
		}
		folders = slices.Delete(folders, at, at+1)
		own = slices.DeleteFunc(own, func(f string) bool { return f == path })
	case "writable", "readonly":
		if at < 0 {
			return agent.Errorf(agent.CodeInvalid, "Ash's own folder can always be changed.")
		}
		if folders[at] = path; do == "writable" {
			folders[at] += writable
		}
	case "own":
		if !slices.Contains(own, path) {
			own = append(own, path)
		}
	case "disown":
		own = slices.DeleteFunc(own, func(f string) bool { return f == path })
	default:
		return agent.Errorf(agent.CodeInvalid, "Say what is to become of the folder.")
	}
	_, err = h.Config.Edit(c.Request().Context(), "", []config.Change{listed("files.folders", folders), listed("files.own", own)})
	if err != nil {
		return err
	}
	return see(c, "/tools#folders")
}

// listed makes a setting say a list; an empty one needs no line in the file.
func listed(key string, list []string) config.Change {
	return config.Change{Key: key, Value: strings.Join(list, ", "), Remove: len(list) == 0}
}

// folderPath reads what the person typed: an absolute path, or one in their home folder.
func folderPath(path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/' || rest[0] == filepath.Separator) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", agent.Wrap(agent.CodeInvalid, err, "Your home folder is not known. Write the whole path.")
		}
		path = filepath.Join(home, rest)
	}
	switch {
	case path == "" || !filepath.IsAbs(path):
		return "", agent.Errorf(agent.CodeInvalid, "Write the whole path of the folder, from / or ~ on.")
	case strings.ContainsAny(path, ",\n") || strings.HasSuffix(path, writable):
		return "", agent.Errorf(agent.CodeInvalid, "A folder whose name has a comma, or ends in :rw, is written into config.toml itself.")
	}
	return filepath.Clean(path), nil
}
