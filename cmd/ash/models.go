package main

import (
	"log/slog"
	"maps"
	"slices"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/llm"
	"ash/agent/llm/anthropic"
	"ash/agent/llm/longtail"
	"ash/agent/llm/offline"
	"ash/agent/llm/ollama"
	"ash/agent/llm/openai"
	"ash/agent/spend"
)

// newProviders makes the model providers of the settings, with every dialect Ash speaks.
// Keys that the settings place in the vault are taken from there. Every request goes through book; nil is for a look from beside, without the
// database, that asks no model anything.
func newProviders(c config.Config, vault llm.Vault, built offline.Options, book *spend.Book, log *slog.Logger) (*llm.Providers, error) {
	keys := llm.NewKeys(nil)
	keys.UseVault(vault)
	dialects := map[string]llm.Dialect{
		"openai":      openai.New,
		"anthropic":   anthropic.New,
		"ollama":      ollama.New,
		"bedrock-aws": longtail.New,
		"offline":     offline.New(built),
	}
	for name, d := range dialects {
		if book != nil {
			dialects[name] = metered(d, book)
		}
	}
	return llm.New(llm.Options{
		Providers: providerSettings(c), Order: c.Models.Order, Dialects: dialects, Keys: keys,
		Retry: retry(c), Logger: log,
	})
}

func retry(c config.Config) llm.Retry { return llm.Retry{Tries: c.Models.Retries + 1} }

// providerSettings returns the settings of every provider the configuration
// names: in a section of its own, in the order of fallback, or for titles.
func providerSettings(c config.Config) []llm.Settings {
	names := slices.Collect(maps.Keys(c.Providers))
	for _, ref := range append(slices.Clone(c.Models.Order), c.Models.TitleModel) {
		if ref.Provider != "" {
			names = append(names, ref.Provider)
		}
	}
	slices.Sort(names)
	var out []llm.Settings
	for _, name := range slices.Compact(names) {
		out = append(out, oneProvider(c, name))
	}
	return out
}

func oneProvider(c config.Config, name string) llm.Settings {
	p := c.Provider(name)
	s := llm.Settings{
		Name: name, Kind: p.Kind, BaseURL: p.BaseURL, KeySecret: p.KeySecret, KeyFile: p.KeyFile, KeyEnv: p.KeyEnv,
		Connect: p.ConnectTimeout, FirstToken: p.FirstTokenTimeout, Stall: p.StallTimeout,
		KeepAlive: p.KeepAlive, Thinking: p.Thinking,
	}
	if s.Kind == "" {
		s.Kind = "openai"
		if _, known := llm.VendorOf(name); known {
			s.Kind = name
		}
	}
	s.Amend = func(model string, known agent.ModelInfo) agent.ModelInfo {
		for _, entry := range c.Catalog {
			if entry.Ref == (agent.ModelRef{Provider: name, Name: model}) {
				known = entry.Apply(known)
			}
		}
		return known
	}
	return s
}
