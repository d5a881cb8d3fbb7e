// Package layouts holds the frame every page stands in: the document head, the
// rail and the tab bar, notices, the command palette and the event stream's anchor.
package layouts

import "ash/views/components"

// Theme is the person's choice of colours.
type Theme string

// The themes. System follows the device and is what an empty Theme means.
const (
	ThemeSystem Theme = "system"
	ThemeLight  Theme = "light"
	ThemeDark   Theme = "dark"
)

// Section is an entry of the main navigation.
type Section string

// The sections, in the order of the rail.
const (
	Chat     Section = "chat"
	Inbox    Section = "inbox"
	Memory   Section = "memory"
	Tools    Section = "tools"
	Vault    Section = "vault"
	Settings Section = "settings"
)

// Page is what the frame needs to know.
type Page struct {
	Title   string // of the document; " · Ash" is added
	Section Section
	Theme   Theme
	CSRF    string
	Waiting int // approvals waiting anywhere
	Lock    components.VaultMark
	Stream  string // URL of the event stream, with ?since=; "" opens none
	Notices []components.Notice
	Bare    bool // somebody who is not in sees it: no palette, no navigation
}

func (p Page) title() string {
	if p.Title == "" {
		return "Ash"
	}
	return p.Title + " · Ash"
}

// attr is the value of data-theme; "" leaves the attribute out.
func (t Theme) attr() string {
	if t == ThemeLight || t == ThemeDark {
		return string(t)
	}
	return ""
}
