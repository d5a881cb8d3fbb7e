package pages

import "ash/views/components"

// SettingsSection is an entry of the list of Settings.
type SettingsSection struct {
	Slug  string // last part of its address; what SettingsFrame.Section says
	Title string
	Icon  components.Icon
	Hint  string // what is found there; for the list and the palette
	// Begins is the heading of the group that begins with this entry; "" goes on with the one before.
	Begins string
}

// Path is where the section is.
func (s SettingsSection) Path() string { return "/settings/" + s.Slug }

// SettingsSections returns the sections of Settings in the order of their list. A new section adds its line here,
// together with its page: the list, the palette and the title of the page follow from it.
//
// The order is: Assistant (models, identity, memory, tools), Access (doors, tokens, spending), This Ash (appearance, data,
// general, health, safety, about).
func SettingsSections() []SettingsSection {
	return []SettingsSection{
		{Slug: "models", Title: "Models", Icon: components.IconCpu, Hint: "who answers, and who stands in", Begins: "Assistant"},
		{Slug: "identity", Title: "Identity", Icon: components.IconFingerprint, Hint: "who Ash is, who you are"},
		{Slug: "memory", Title: "Memory", Icon: components.IconBrain, Hint: "learning, recall, forgetting"},
		{Slug: "tools", Title: "Tools and sandbox", Icon: components.IconWrench, Hint: "limits, folders, search, commands"},
		{Slug: "doors", Title: "Doors", Icon: components.IconSmartphone, Hint: "your phone, who may come in", Begins: "Access"},
		{Slug: "tokens", Title: "Tokens", Icon: components.IconKeyRound, Hint: "programs that use the API"},
		{Slug: "spending", Title: "Spending", Icon: components.IconWallet, Hint: "caps, usage, forecast"},
		{Slug: "appearance", Title: "Appearance", Icon: components.IconPalette, Hint: "theme, notifications", Begins: "This Ash"},
		{Slug: "data", Title: "Data", Icon: components.IconHardDrive, Hint: "where it lies, export, delete"},
		{Slug: "general", Title: "All settings", Icon: components.IconSlidersHorizontal, Hint: "every key of config.toml"},
		{Slug: "health", Title: "Health", Icon: components.IconActivity, Hint: "whether everything works"},
		{Slug: "safety", Title: "Safety", Icon: components.IconShieldCheck, Hint: "what is open, and to whom"},
		{Slug: "about", Title: "About", Icon: components.IconInfo, Hint: "version, licences"},
	}
}

// section returns the entry that the page belongs to.
func (f SettingsFrame) section() SettingsSection {
	for _, s := range SettingsSections() {
		if s.Slug == f.Section {
			return s
		}
	}
	return SettingsSection{Slug: f.Section, Title: f.Title}
}

// screen is what a phone shows: the list or the content. A desk has both.
func (f SettingsFrame) screen() string {
	if f.Listed {
		return "list"
	}
	return "content"
}
