package handlers

import (
	"path"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/views/pages"
)

// Delete answers POST /memory/notes/delete.
func (h *Notes) Delete(c echo.Context) error {
	f, err := noteForm(c)
	if err != nil {
		return err
	}
	gone, err := h.Folder.Delete(c.Request().Context(), f.path, f.base)
	if err != nil {
		return err
	}
	to := pages.NotesURL("")
	if dir := path.Dir(f.path); dir != "." {
		if _, _, err := h.Folder.List(c.Request().Context(), dir, "", 1); err == nil { // else it went with its last note
			to = pages.NotesURL(dir)
		}
	}
	mark := "?"
	if strings.Contains(to, "?") {
		mark = "&"
	}
	return see(c, to+mark+"deleted="+string(gone.ID))
}

// Restore answers POST /memory/notes/restore.
func (h *Notes) Restore(c echo.Context) error {
	word, err := line(c, "note", 64)
	if err != nil {
		return err
	}
	id, err := agent.ParseID(word)
	if err != nil {
		return err
	}
	n, err := h.Folder.Restore(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return see(c, pages.NoteURL(n.Path))
}

// Purge answers POST /memory/notes/purge: a deleted note goes for good.
func (h *Notes) Purge(c echo.Context) error {
	word, err := line(c, "note", 64)
	if err != nil {
		return err
	}
	id, err := agent.ParseID(word)
	if err != nil {
		return err
	}
	if yes, err := h.sure(c, pages.Sure{Question: "Delete this note for good?", Means: "It cannot be brought back.", Yes: "Delete", Back: pages.NotesURL("")}); err != nil || !yes {
		return err
	}
	if err := h.Beside.Purge(c.Request().Context(), id); err != nil {
		return err
	}
	return see(c, pages.NotesURL(""))
}
