package pages

import (
	"slices"
	"strings"
)

// General is Settings → All settings, made from the configuration's keys.
type General struct {
	SettingsFrame
	File    string // path of config.toml
	Query   string // what is searched for
	Changed bool   // only what differs from its default
	Groups  []SettingGroup
	Shown   int // settings in all groups
}

// MemorySettings is Settings → Memory.
type MemorySettings struct {
	SettingsFrame
	Groups  []SettingGroup
	Learn   string // "automatic", "ask" or "off"
	There   bool   // there is a memory
	Meaning string // how finding by meaning stands; "" when it is off
}

// ToolSettings is Settings → Tools and sandbox.
type ToolSettings struct {
	SettingsFrame
	Groups  []SettingGroup
	Sandbox *SandboxState // nil: there is none
}

// SandboxState is where commands run, in short.
type SandboxState struct {
	Ready   bool
	Engine  string
	Problem string // why no command runs, and how to get there
	Notes   []string
}

// SettingGroup is a section of config.toml.
type SettingGroup struct {
	Section  string // "turn"
	Title    string // "Turn"
	Settings []Setting
}

// SettingKind picks the control for a setting.
type SettingKind string

// The kinds of setting.
const (
	SettingText     SettingKind = "text"
	SettingNumber   SettingKind = "number"
	SettingBool     SettingKind = "bool"
	SettingChoice   SettingKind = "choice"
	SettingDuration SettingKind = "duration"
	SettingList     SettingKind = "list" // separated by commas
)

// Setting is one key.
type Setting struct {
	Key     string // "turn.rounds"
	Place   string // slug of the section of Settings the row stands in
	Doc     string
	Kind    SettingKind
	Value   string
	Default string   // "" when there is none
	Unset   string   // what holds without a value, when there is no default
	Allowed string   // what may be written, in words
	Choices []string // of SettingChoice
	Origin  string   // "default", "config.toml", "ASH_TURN_ROUNDS", "--listen"
	Changed bool     // the file says it: it can be set back
	Fixed   bool     // set by environment or flag: shown, cannot be edited here
	Restart bool     // takes effect at the next start
	Problem string   // why the value just sent was refused
	Saved   bool     // it was just saved
}

// ID is the element of the setting's row.
func (s Setting) ID() string { return "set-" + strings.ReplaceAll(s.Key, ".", "-") }

// SettingTitle names a key for people, from the last part of it: "turn.wall_time" is "Wall time".
func SettingTitle(key string) string {
	words := strings.Split(key[strings.LastIndexByte(key, '.')+1:], "_")
	units := []string{"mb"}
	for i, w := range words {
		switch {
		case i > 0 && slices.Contains(units, w):
			words[i] = "(" + strings.ToUpper(w) + ")"
		case slices.Contains([]string{"url", "cpus", "searxng", "env"}, w):
			words[i] = map[string]string{"url": "address", "cpus": "processors", "searxng": "SearXNG", "env": "variable"}[w]
		}
	}
	title := strings.Join(words, " ")
	if title == "" {
		return key
	}
	return strings.ToUpper(title[:1]) + title[1:]
}

// hasBounds reports whether it helps to say what may be written.
func (s Setting) hasBounds() bool {
	return s.Kind == SettingNumber || s.Kind == SettingDuration
}

// choices are the words to choose from, with the value itself where it is none of them: it was refused.
func (s Setting) choices() []string {
	if slices.Contains(s.Choices, s.Value) {
		return s.Choices
	}
	return append([]string{s.Value}, s.Choices...)
}

func (s Setting) placeholder() string {
	switch {
	case s.Default != "":
		return s.Default
	case s.Kind == SettingList:
		return "none"
	}
	return "not set"
}

// describedBy names what explains the field to a screen reader.
func (s Setting) describedBy() string {
	if s.Problem != "" {
		return s.ID() + "-p " + s.ID() + "-d"
	}
	return s.ID() + "-d"
}

// learnWords says what a mode of learning means.
func learnWords(mode string) string {
	switch mode {
	case "off":
		return "Off. Ash remembers what you tell it to, and nothing by itself."
	case "ask":
		return "Once a conversation rests, Ash proposes what it would keep. Nothing is kept without your word."
	}
	return "Once a conversation rests, Ash keeps facts in your own words, and asks about everything else."
}
