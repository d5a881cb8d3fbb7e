package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"ash/views/layouts"
	"ash/views/pages"
)

// Later answers for the parts of Ash that are not built yet.
type Later struct {
	*Frame
}

// Memory answers GET /memory.
func (h *Later) Memory(c echo.Context) error {
	return h.show(c, "Memory", layouts.Memory, pages.MemoryLater)
}

func (h *Later) show(c echo.Context, title string, section layouts.Section, of func(layouts.Page) pages.Later) error {
	page, err := h.plain(c, title, section)
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, of(page).Show())
}
