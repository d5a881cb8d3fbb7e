package handlers

import (
	"context"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
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
	Config Config
	Book   IdentityBook
	Facts  func(ctx context.Context) (Facts, error)
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

// General answers GET /settings/general: every key of the file that has no page of its own.
func (h *Settings) General(c echo.Context) error {
	frame, err := h.settings(c, "general", "All settings")
	if err != nil {
		return err
	}
	now := h.Config.Current()
	page := pages.General{SettingsFrame: frame, File: now.Path()}
	for _, s := range now.Settings() {
		section, _, _ := strings.Cut(s.Name, ".")
		if section == "providers" || section == "catalog" {
			continue
		}
		if n := len(page.Groups); n == 0 || page.Groups[n-1].Title != groupTitle(section) {
			page.Groups = append(page.Groups, pages.SettingGroup{Title: groupTitle(section)})
		}
		last := &page.Groups[len(page.Groups)-1]
		last.Settings = append(last.Settings, presentSetting(s))
	}
	return render(c, http.StatusOK, page.Show())
}

// Change answers POST /settings/general: one key. An empty value lets the default hold again.
func (h *Settings) Change(c echo.Context) error {
	key, err := line(c, "key", 200)
	if err != nil {
		return err
	}
	section, _, _ := strings.Cut(key, ".")
	if section == "providers" || section == "catalog" {
		return agent.Errorf(agent.CodeInvalid, "%s is changed under Models, or in the file itself.", key)
	}
	value, err := lastValue(c)
	if err != nil {
		return err
	}
	now, err := h.Config.Edit(c.Request().Context(), "", []config.Change{{Key: key, Value: value, Remove: value == ""}})
	if err != nil {
		return h.refused(c, key, value, err)
	}
	if !ByHTMX(c) {
		return see(c, "/settings/general#set-"+strings.ReplaceAll(key, ".", "-"))
	}
	s, err := now.Setting(key)
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, pages.SettingRow(presentSetting(s), Token(c)))
}

// refused shows a wrong value in its place, with the reason.
func (h *Settings) refused(c echo.Context, key, value string, cause error) error {
	s, err := h.Config.Current().Setting(key)
	code := agent.CodeOf(cause)
	if err != nil || !ByHTMX(c) || code != agent.CodeInvalid && code != agent.CodeConflict {
		return cause
	}
	row := presentSetting(s)
	row.Value, row.Problem = value, agent.PublicOf(cause)
	return render(c, http.StatusUnprocessableEntity, pages.SettingRow(row, Token(c)))
}

// lastValue reads the field "value"; a switch sends "false" and then, when on, "true".
func lastValue(c echo.Context) (string, error) {
	if err := ParseForm(c.Request()); err != nil {
		return "", err
	}
	all := c.Request().PostForm["value"]
	if len(all) == 0 {
		return "", agent.Errorf(agent.CodeInvalid, "No value arrived.")
	}
	v, err := clean(all[len(all)-1])
	return strings.TrimSpace(v), err
}

// Appearance answers GET /settings/appearance.
func (h *Settings) Appearance(c echo.Context) error {
	frame, err := h.settings(c, "appearance", "Appearance")
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, pages.Appearance{SettingsFrame: frame}.Show())
}

// Theme answers POST /settings/theme.
func (h *Settings) Theme(c echo.Context) error {
	theme, err := line(c, "theme", 20)
	if err != nil {
		return err
	}
	if _, err := h.Config.Edit(c.Request().Context(), "", []config.Change{{Key: "appearance.theme", Value: theme}}); err != nil {
		return err
	}
	return done(c, "/settings/appearance")
}

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
		Started: facts.Started.In(h.Zone), Spent: facts.Spent,
	}.Show())
}

// builtWith names the Go release and the modules that matter most.
func builtWith() string {
	words := []string{runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return words[0]
	}
	for _, m := range info.Deps {
		switch m.Path {
		case "github.com/labstack/echo/v4", "github.com/a-h/templ", "github.com/uptrace/bun", "modernc.org/sqlite", "github.com/yuin/goldmark":
			words = append(words, strings.TrimPrefix(m.Path, "github.com/")+" "+m.Version)
		}
	}
	return strings.Join(words, " · ")
}

func presentSetting(s config.Setting) pages.Setting {
	out := pages.Setting{
		Key: s.Name, Doc: s.Key.Doc, Kind: pages.SettingText, Value: s.Value, Default: s.Key.Default,
		Choices: s.Key.Choices, Origin: originWords(s.Origin), Fixed: s.Origin.Fixed(), Restart: s.Key.Restart,
	}
	if out.Default == "" {
		out.Default = s.Key.Unset
	}
	switch {
	case s.Key.Type == config.TypeBoolean:
		out.Kind = pages.SettingBool
	case s.Key.Type == config.TypeDuration:
		out.Kind = pages.SettingDuration
	case s.Key.Type == config.TypeText && len(s.Key.Choices) > 0:
		out.Kind = pages.SettingChoice
	case s.Key.Type == config.TypeInteger, s.Key.Type == config.TypeNumber, s.Key.Type == config.TypeDollars:
		out.Kind = pages.SettingNumber
	}
	return out
}

// originWords names where a value comes from, as the person would.
func originWords(o config.Origin) string {
	if o.Layer == config.LayerFile {
		return config.FileName
	}
	return o.String()
}

func groupTitle(section string) string {
	if section == "" {
		return ""
	}
	return strings.ToUpper(section[:1]) + section[1:]
}
