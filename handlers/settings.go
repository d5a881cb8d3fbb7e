package handlers

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/identity"
	"ash/views/layouts"
	"ash/views/pages"
)

// Config is the settings file.
type Config interface {
	Current() *config.Snapshot
	Edit(ctx context.Context, version string, changes []config.Change) (*config.Snapshot, error)
}

// Settings shows and changes the settings, but for models.
type Settings struct {
	*Frame
	Config  Config
	Book    IdentityBook
	Facts   func(ctx context.Context) (Facts, error)
	Meaning func() string // how finding by meaning stands, "" when it is off; nil: there is no memory
	Sandbox SandboxReader // nil: there is none
	// Spent shows Settings → Spending with a row that was refused; nil: All settings shows it.
	Spent func(c echo.Context, status int, refused *pages.Setting) error
}

// Facts is what About tells of this Ash.
type Facts struct {
	Version  string
	Commit   string
	Home     string
	Started  time.Time
	Database int64 // bytes
	Threads  int
	Messages int
	Spent    agent.MicroDollars // this calendar month
}

// settings is what every section of Settings has.
func (f *Frame) settings(c echo.Context, section, title string) (pages.SettingsFrame, error) {
	page, err := f.plain(c, title, layouts.Settings)
	return pages.SettingsFrame{Page: page, Section: section}, err
}

// Identity answers GET /settings/identity.
func (h *Settings) Identity(c echo.Context) error {
	frame, err := h.settings(c, "identity", "Identity")
	if err != nil {
		return err
	}
	page := pages.IdentityLinks{SettingsFrame: frame}
	for _, file := range identity.Files() {
		doc, err := h.Book.Read(c.Request().Context(), file)
		if err != nil {
			return err
		}
		history, err := h.Book.History(c.Request().Context(), file, 0)
		if err != nil {
			return err
		}
		card := identityCard(file)
		card.Tokens, card.Versions = doc.Tokens, len(history)
		if !doc.Modified.IsZero() {
			card.Changed = doc.Modified.In(h.Zone)
		}
		page.Files = append(page.Files, card)
	}
	return render(c, http.StatusOK, page.Show())
}

// Appearance answers GET /settings/appearance.
func (h *Settings) Appearance(c echo.Context) error { return h.appearance(c, http.StatusOK, "") }

func (h *Settings) appearance(c echo.Context, status int, problem string) error {
	frame, err := h.settings(c, "appearance", "Appearance")
	if err != nil {
		return err
	}
	return render(c, status, pages.Appearance{SettingsFrame: frame, Problem: problem}.Show())
}

// Theme answers POST /settings/theme.
func (h *Settings) Theme(c echo.Context) error {
	theme, err := line(c, "theme", 20)
	if err != nil {
		return err
	}
	if _, err := h.Config.Edit(c.Request().Context(), "", []config.Change{{Key: "appearance.theme", Value: theme}}); err != nil {
		if theirs(err) && !ByHTMX(c) {
			return h.appearance(c, http.StatusUnprocessableEntity, agent.PublicOf(err))
		}
		return err
	}
	return done(c, "/settings/appearance")
}
