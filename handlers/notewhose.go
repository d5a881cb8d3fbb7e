package handlers

import (
	"context"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/views/pages"
)

// whose is what was declared of a folder, for the page.
func (h *Notes) whose(ctx context.Context, folder string) (pages.NoteWhose, error) {
	w, err := h.Beside.Whose(ctx, folder)
	out := pages.NoteWhose{Unknown: w.Unknown, Source: visible(w.Source)}
	if w.Folder != folder {
		out.Above = "Notes"
		if w.Folder != "" {
			out.Above = visible(w.Folder)
		}
	}
	return out, err
}

// Declare answers POST /memory/notes/whose: the person says whose words a folder's notes are.
func (h *Notes) Declare(c echo.Context) error {
	folder, err := text(c, "folder")
	if err != nil {
		return err
	}
	switch whose, err := line(c, "whose", 20); {
	case err != nil:
		return err
	case whose == "own":
		err = h.Beside.Own(c.Request().Context(), folder)
		if err != nil {
			return err
		}
	case whose == "elsewhere":
		source, err := line(c, "source", 120)
		if err != nil {
			return err
		}
		if err := h.Beside.Import(c.Request().Context(), folder, source); err != nil {
			return err
		}
	default:
		return agent.Errorf(agent.CodeInvalid, "Say whose words these notes are.")
	}
	return see(c, pages.NotesURL(folder))
}

// Vouch answers POST /memory/notes/vouch: the person says that a note is their own.
func (h *Notes) Vouch(c echo.Context) error {
	f, err := noteForm(c)
	if err != nil {
		return err
	}
	if err := h.Beside.Vouch(c.Request().Context(), f.path, f.base); err != nil {
		return err
	}
	return see(c, pages.NoteURL(f.path))
}
