package handlers

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/config"
	"ash/views/pages"
)

// sectionsOf says which sections of config.toml a page of Settings has rows for. All settings has every one.
func sectionsOf(page string) []string {
	switch page {
	case "memory":
		return []string{"memory"}
	case "spending":
		return []string{"spend"}
	case "tools":
		return []string{"tools", "files", "search", "sandbox"}
	}
	return nil
}

// ownPage are the sections of config.toml whose keys are not changed one by one: they stand for many.
func ownPage(key string) bool {
	section, _, _ := strings.Cut(key, ".")
	return section == "providers" || section == "catalog"
}

// General answers GET /settings/general: every key of the file. ?q= and ?changed=1 show some of them.
func (h *Settings) General(c echo.Context) error { return h.general(c, http.StatusOK, nil) }

// general shows all settings, with a row in the place of its own: one that was refused.
func (h *Settings) general(c echo.Context, status int, refused *pages.Setting) error {
	frame, err := h.settings(c, "general", "All settings")
	if err != nil {
		return err
	}
	now := h.Config.Current()
	page := pages.General{SettingsFrame: frame, File: now.Path()}
	if c.Request().Method == http.MethodGet {
		page.Query, page.Changed = agent.Clip(strings.TrimSpace(visible(c.QueryParam("q"))), 100), c.QueryParam("changed") == "1"
	}
	page.Groups = h.groups(now, "general", refused, func(s config.Setting) bool {
		return (!page.Changed || s.Origin.Layer != config.LayerDefault) && found(s, page.Query)
	})
	for _, g := range page.Groups {
		page.Shown += len(g.Settings)
	}
	if ByHTMX(c) && status == http.StatusOK {
		return render(c, status, page.Found())
	}
	return render(c, status, page.Show())
}

// groups presents the settings that keep says, by section of the file.
func (h *Settings) groups(now *config.Snapshot, place string, refused *pages.Setting, keep func(config.Setting) bool) []pages.SettingGroup {
	var groups []pages.SettingGroup
	for _, s := range now.Settings() {
		if ownPage(s.Name) || !keep(s) {
			continue
		}
		section, _, _ := strings.Cut(s.Name, ".")
		if n := len(groups); n == 0 || groups[n-1].Section != section {
			groups = append(groups, pages.SettingGroup{Section: section, Title: groupTitle(section)})
		}
		row := presentSetting(s, place)
		if refused != nil && refused.Key == row.Key {
			row = *refused
		}
		last := &groups[len(groups)-1]
		last.Settings = append(last.Settings, row)
	}
	return groups
}

// found reports whether a setting has every word of a search, in its key, its title or what it means.
func found(s config.Setting, query string) bool {
	text := strings.ToLower(s.Name + " " + pages.SettingTitle(s.Name) + " " + s.Key.Doc + " " + s.Value)
	for _, word := range strings.Fields(strings.ToLower(query)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// rows are the settings of a page that has some sections of the file.
func (h *Settings) rows(place string, refused *pages.Setting) []pages.SettingGroup {
	sections := sectionsOf(place)
	return h.groups(h.Config.Current(), place, refused, func(s config.Setting) bool {
		section, _, _ := strings.Cut(s.Name, ".")
		return slices.Contains(sections, section)
	})
}

// Change answers POST /settings/general: one key. An empty value, or reset=1, lets the default hold again.
func (h *Settings) Change(c echo.Context) error {
	key, err := line(c, "key", 200)
	if err != nil {
		return err
	}
	if ownPage(key) {
		return agent.Errorf(agent.CodeInvalid, "%s is changed under Models, or in the file itself.", key)
	}
	switch key {
	case "doors.local_sign_in", "doors.certificate", "doors.certificate_key": // where it is asked whether anybody could come in then
		return agent.Errorf(agent.CodeInvalid, "%s is changed under Doors, or in the file itself.", key)
	}
	place, err := line(c, "place", 20)
	if err != nil {
		return err
	}
	if place == "" || sectionsOf(place) == nil {
		place = "general"
	}
	reset, err := line(c, "reset", 2)
	if err != nil {
		return err
	}
	var value string
	if reset == "" {
		if value, err = lastValue(c); err != nil {
			return err
		}
	}
	now, err := h.Config.Edit(c.Request().Context(), "", []config.Change{{Key: key, Value: value, Remove: value == ""}})
	if err != nil {
		return h.refused(c, place, key, value, err)
	}
	if !ByHTMX(c) {
		return see(c, "/settings/"+place+"?saved="+url.QueryEscape(key)+"#"+pages.Setting{Key: key}.ID())
	}
	s, err := now.Setting(key)
	if err != nil {
		return err
	}
	row := presentSetting(s, place)
	row.Saved = true
	return render(c, http.StatusOK, pages.SettingRow(row, Token(c)), pages.Announced(key+" is saved."))
}

// refused shows a wrong value in its place, as it was typed and with the reason.
func (h *Settings) refused(c echo.Context, place, key, value string, cause error) error {
	s, err := h.Config.Current().Setting(key)
	code := agent.CodeOf(cause)
	if err != nil || code != agent.CodeInvalid && code != agent.CodeConflict {
		return cause
	}
	row := presentSetting(s, place)
	row.Value, row.Problem = value, agent.PublicOf(cause)
	if ByHTMX(c) {
		return render(c, http.StatusUnprocessableEntity, pages.SettingRow(row, Token(c)), pages.Announced(row.Problem))
	}
	switch place {
	case "memory":
		return h.memory(c, http.StatusUnprocessableEntity, &row)
	case "tools":
		return h.tools(c, http.StatusUnprocessableEntity, &row)
	case "spending":
		if h.Spent != nil {
			return h.Spent(c, http.StatusUnprocessableEntity, &row)
		}
	}
	return h.general(c, http.StatusUnprocessableEntity, &row)
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

func presentSetting(s config.Setting, place string) pages.Setting {
	out := pages.Setting{
		Key: s.Name, Place: place, Doc: s.Key.Doc, Kind: pages.SettingText, Value: s.Value, Default: s.Key.Default, Unset: s.Key.Unset,
		Allowed: s.Key.Allowed, Choices: s.Key.Choices, Origin: originWords(s.Origin), Fixed: s.Origin.Fixed(), Restart: s.Key.Restart,
		Changed: s.Origin.Layer == config.LayerFile,
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
	case s.Key.Type == config.TypeList:
		out.Kind = pages.SettingList
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
