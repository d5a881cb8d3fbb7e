package config

import (
	"slices"
	"strings"
)

// SecretKept returns what makes the settings refer to a secret of the vault that was added: the key of the provider that it is named
// after, or of the web search. Nothing for other names, for a provider that there is not (known says which there are without a section), and where another
// secret is named already.
func (c Config) SecretKept(name string, known func(provider string) bool) []Change {
	switch provider, ok := strings.CutPrefix(name, "provider/"); {
	case name == "tool/brave" && c.Search.KeySecret == "":
		return []Change{{Key: "search.brave_key_secret", Value: name}}
	case ok:
		p, there := c.Providers[provider]
		if p.KeySecret == "" && (there || known(provider)) {
			return []Change{{Key: "providers." + provider + ".key_secret", Value: name}}
		}
	}
	return nil
}

// SecretGone returns what takes the name of a secret that was deleted out of the settings.
func (c Config) SecretGone(name string) []Change {
	var out []Change
	if c.Search.KeySecret == name {
		out = append(out, Change{Key: "search.brave_key_secret", Remove: true})
	}
	for provider, p := range c.Providers {
		if p.KeySecret == name {
			out = append(out, Change{Key: "providers." + provider + ".key_secret", Remove: true})
		}
	}
	slices.SortFunc(out, func(a, b Change) int { return strings.Compare(a.Key, b.Key) })
	return out
}
