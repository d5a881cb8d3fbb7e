package handlers

import (
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/static/licences"
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

// Licences answers GET /settings/about/licences; ?of= shows the texts of one work.
func (h *Settings) Licences(c echo.Context) error {
	frame, err := h.settings(c, "about", "Licences")
	if err != nil {
		return err
	}
	list, err := licences.All()
	if err != nil {
		return err
	}
	if name := c.QueryParam("of"); name != "" {
		w, ok := list.Find(name)
		if !ok {
			return agent.Errorf(agent.CodeNotFound, "Nothing of that name is in this Ash.")
		}
		return render(c, http.StatusOK, pages.LicenceText{SettingsFrame: frame, Work: presentWork(w), Texts: list.TextsOf(w)}.Show())
	}
	page := pages.Licences{SettingsFrame: frame}
	for _, w := range list.Works {
		shown := presentWork(w)
		if w.Use == "module" {
			page.Modules = append(page.Modules, shown)
		} else {
			page.Others = append(page.Others, shown)
		}
	}
	return render(c, http.StatusOK, page.Show())
}

func presentWork(w licences.Work) pages.Work {
	out := pages.Work{Name: w.Name, Version: w.Version, Kind: w.Kind}
	if w.Use == "toolchain" {
		out.Version = runtime.Version()
	}
	return out
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
