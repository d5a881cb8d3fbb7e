package pages

import "net/url"

// Licences lists everything of others that is in the binary.
type Licences struct {
	SettingsFrame
	Modules []Work // of Go
	Others  []Work // the toolchain, and what the pages are made of
}

// LicenceText is the licence of one work.
type LicenceText struct {
	SettingsFrame
	Work  Work
	Texts []string
}

// Work is something of others.
type Work struct {
	Name    string
	Version string
	Kind    string // "MIT"; "" when only the text says
}

func (w Work) path() string { return "/settings/about/licences?of=" + url.QueryEscape(w.Name) }
