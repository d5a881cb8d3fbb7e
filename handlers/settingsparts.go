package handlers

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"ash/views/pages"
)

// Memory answers GET /settings/memory: what is remembered and how it is found, with the keys of [memory].
func (h *Settings) Memory(c echo.Context) error { return h.memory(c, http.StatusOK, nil) }

func (h *Settings) memory(c echo.Context, status int, refused *pages.Setting) error {
	frame, err := h.settings(c, "memory", "Memory")
	if err != nil {
		return err
	}
	page := pages.MemorySettings{SettingsFrame: frame, Groups: h.rows("memory", refused), Learn: h.Settings().Memory.Learn, There: h.Meaning != nil}
	if h.Meaning != nil {
		page.Meaning = h.Meaning()
	}
	return render(c, status, page.Show())
}

// Tools answers GET /settings/tools: what tools may do and where commands run, with the keys of their sections.
func (h *Settings) Tools(c echo.Context) error { return h.tools(c, http.StatusOK, nil) }

func (h *Settings) tools(c echo.Context, status int, refused *pages.Setting) error {
	frame, err := h.settings(c, "tools", "Tools and sandbox")
	if err != nil {
		return err
	}
	page := pages.ToolSettings{SettingsFrame: frame, Groups: h.rows("tools", refused)}
	if h.Sandbox != nil {
		ctx, done := context.WithTimeout(c.Request().Context(), sandboxWait)
		defer done()
		st := h.Sandbox.Status(ctx)
		page.Sandbox = &pages.SandboxState{Ready: st.Ready, Engine: engineWords(st), Problem: st.Problem, Notes: st.Notes}
	}
	return render(c, status, page.Show())
}
