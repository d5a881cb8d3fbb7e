package handlers

import (
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/views/pages"
)

// About answers GET /settings/about.
func (h *Settings) About(c echo.Context) error {
	frame, err := h.settings(c, "about", "About")
	if err != nil {
		return err
	}
	facts, err := h.Facts(c.Request().Context())
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, pages.About{
		SettingsFrame: frame, Version: facts.Version, Commit: facts.Commit, Go: builtWith(), Home: facts.Home,
		Database: facts.Database, Threads: facts.Threads, Messages: facts.Messages,
		Started: facts.Started.In(h.Zone), Running: h.Now().Sub(facts.Started), Spent: facts.Spent,
	}.Show())
}

// builtWith names the Go release, the platform, and the modules that matter most.
func builtWith() string {
	words := []string{runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return strings.Join(words, " · ")
	}
	for _, m := range info.Deps {
		switch m.Path {
		case "github.com/labstack/echo/v4", "github.com/a-h/templ", "github.com/uptrace/bun", "modernc.org/sqlite", "github.com/yuin/goldmark":
			words = append(words, strings.TrimPrefix(m.Path, "github.com/")+" "+m.Version)
		}
	}
	return strings.Join(words, " · ")
}
