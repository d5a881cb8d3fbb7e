package pages

import (
	"net/url"
	"time"

	"ash/agent"
	"ash/views/components"
	"ash/views/layouts"
)

// SettingsFrame is what every section of Settings has.
type SettingsFrame struct {
	layouts.Page
	Section string // slug of the section: see SettingsSections
	Listed  bool   // a phone shows the list of sections, not this one
}

// Models is Settings → Models.
type Models struct {
	SettingsFrame
	Providers []Provider // in the order of fallback
	Kinds     []Choice   // for Add: what a provider may speak ("openai", "anthropic", "ollama")
	Default   string     // "provider/name" a new conversation uses; "" is the offline model
	Defaults  []components.ModelChoice
	Wrong     string     // why the order stays as it was
	Adding    AddedModel // as it was typed, when it was refused
}

// AddedModel is what was typed of a model to be added.
type AddedModel struct {
	Kind, Name, BaseURL, Model string
	Problem                    string // why it was refused; "" before it was sent
}

// Provider is one model server or vendor.
type Provider struct {
	Name     string // as in the config: "anthropic", "home"
	Title    string // for people; "" falls back to Name
	Kind     string // for people: "OpenAI-compatible", "Anthropic", "Ollama", "Built in"
	BaseURL  string
	Model    string // the model it is asked for
	Local    bool   // runs on this machine or network: needs no key
	Key      KeyState
	First    bool   // cannot move up
	Last     bool   // cannot move down
	Fixed    bool   // cannot be moved or removed (the offline model)
	Origin   string // where it is configured: "config.toml", "environment", "command line"
	ReadOnly bool   // set by environment or command line: shown, not edited
	Test     *TestResult
	Place    components.KeyPlace // what the vault asks of somebody who pastes a key
	Wrong    string              // why a pasted key was not kept
}

// KeyState says whether there is a key and where it comes from; never the key.
type KeyState struct {
	Present bool
	Source  string // "environment variable ANTHROPIC_API_KEY", "file ~/keys/openai", "pasted, in memory only"
	Pasted  bool   // held in memory only, forgotten when Ash ends
	Secret  string // name of the secret of the vault it is; "" when it is none
	Problem string // "", or why the source does not give a key
}

// TestResult is the outcome of a real call.
type TestResult struct {
	OK       bool
	Text     string // what happened: the model's words, or the error and what to do
	Duration time.Duration
	Models   []string // what the server offers, if it says so
}

// Choice is an entry of a select.
type Choice struct{ Value, Title string }

// IdentityLinks is Settings → Identity.
type IdentityLinks struct {
	SettingsFrame
	Files []IdentityFile
}

// IdentityFile is one of the three files.
type IdentityFile struct {
	Slug     string // "soul", "user", "tools"
	Name     string // "SOUL.md"
	Purpose  string
	Tokens   int
	Versions int
	Changed  time.Time // zero: never
}

// Appearance is Settings → Appearance.
type Appearance struct {
	SettingsFrame
	Problem string // why the theme that was chosen is none
}

// About is Settings → About.
type About struct {
	SettingsFrame
	Version   string
	Commit    string
	Go        string
	Home      string // ASH_HOME
	Database  int64  // bytes
	Threads   int
	Messages  int
	Started   time.Time
	Running   time.Duration      // since then
	Spent     agent.MicroDollars // this month
	SpentNote string
}

func (p Provider) title() string {
	if p.Title != "" {
		return p.Title
	}
	return p.Name
}

func (p Provider) path(action string) string {
	return "/settings/models/" + url.PathEscape(p.Name) + "/" + action
}

// uptime says how long something runs, in its two largest units.
func uptime(d time.Duration) string {
	day := 24 * time.Hour
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < time.Hour:
		return components.Plural(int(d/time.Minute), "minute", "minutes")
	case d < day:
		return components.Plural(int(d/time.Hour), "hour", "hours")
	}
	return components.Plural(int(d/day), "day", "days") + ", " + components.Plural(int(d%day/time.Hour), "hour", "hours")
}

func (a Appearance) chosen() layouts.Theme {
	if a.Theme == "" {
		return layouts.ThemeSystem
	}
	return a.Theme
}
