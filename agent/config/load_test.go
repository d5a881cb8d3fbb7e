package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"ash/agent"
)

// home makes a home with a settings file; "" makes none.
func home(t *testing.T, file string) Options {
	t.Helper()
	o := Options{Home: t.TempDir()}
	if file != "" {
		write(t, o.Path(), file)
	}
	return o
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, o Options) *Snapshot {
	t.Helper()
	s, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDefaults(t *testing.T) {
	o := home(t, "")
	c := load(t, o).Config()
	want := Config{
		Server:    Server{Listen: "127.0.0.1:8080"},
		Doors:     Doors{LAN: LANOff, SessionDays: 90},
		Workspace: Workspace{Path: filepath.Join(o.Home, "workspace")},
		Models:    Models{Retries: 2},
		History:   History{MaxContextMessages: 500, Summarise: true},
		Turn:      Turn{Rounds: 50, WallTime: 30 * time.Minute, Tokens: 2_000_000, Cost: 5_000_000},
		Spend: Spend{
			Daily: 10_000_000, Monthly: 100_000_000, Background: 1_000_000, UnknownInput: 3_000_000, UnknownOutput: 15_000_000,
		},
		Tools:  Tools{Parallel: 4},
		Search: Search{Backend: "auto", KeyEnv: "BRAVE_API_KEY"},
		Sandbox: Sandbox{
			Engine: "auto", Memory: 1024, CPUs: 2, Processes: 256, Disk: 512, Output: 8,
			Timeout: 5 * time.Minute, Idle: 15 * time.Minute, MinFree: 1024,
		},
		Memory: Memory{
			Learn: "automatic", Rest: 2 * time.Minute, LearnTokens: 12_000, LearnDaily: 500_000, LearnCalls: 300, Tidy: 24 * time.Hour, RecallTokens: 1000,
			Notes: filepath.Join(o.Home, "notes"), Undo: time.Hour,
		},
		Appearance: Appearance{Theme: "system"},
		Vault:      Vault{Idle: 12 * time.Hour},
		Log:        Log{Level: "info", Format: "text"},
		Providers:  map[string]Provider{},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v\nwant %+v", c, want)
	}
	if got, want := c.Turn.Bounds(), (agent.Bounds{Rounds: 50, Wall: 30 * time.Minute, Tokens: 2_000_000, Cost: 5_000_000}); got != want {
		t.Errorf("bounds: got %+v, want %+v", got, want)
	}
	p := c.Provider("nobody")
	if p.ConnectTimeout != 10*time.Second || p.StallTimeout != time.Minute {
		t.Errorf("defaults of a provider: %+v", p)
	}
}

func TestFile(t *testing.T) {
	o := home(t, "\xef\xbb\xbf"+`
turn.cost = 0.25 # dotted keys, too
history = { max_context_messages = 20, summarise = false }

[server]
listen = "127.0.0.1:9000"
[workspace]
path = "elsewhere"
[models]
order = ["anthropic/claude", 'ollama/qwen3:8b']
temperature = 1
title_model = "openrouter/meta/llama-4"
[providers.lm-studio]
kind = "openai"
base_url = "http://127.0.0.1:1234/v1"
key_file = "keys/lm"
first_token_timeout = "90s"
[providers]
groq.key_env = "GROQ_API_KEY"
[[catalog]]
title = "Claude"
ref = "anthropic/claude"
input_price = 3
cache_read_price = 0.3
abilities = ["tools", "vision"]
[[catalog]]
ref = "ollama/qwen3:8b"
context_window = 40_960
local = true
`)
	c := load(t, o).Config()
	temperature, window, local := 1.0, 40_960, true
	input, cached := agent.MicroDollars(3_000_000), agent.MicroDollars(300_000)
	if c.Server.Listen != "127.0.0.1:9000" || c.Turn.Cost != 250_000 || c.History != (History{MaxContextMessages: 20}) {
		t.Errorf("sections: %+v", c)
	}
	if want := filepath.Join(o.Home, "elsewhere"); c.Workspace.Path != want {
		t.Errorf("workspace: got %s, want %s", c.Workspace.Path, want)
	}
	wantModels := Models{
		Order:       []agent.ModelRef{{Provider: "anthropic", Name: "claude"}, {Provider: "ollama", Name: "qwen3:8b"}},
		Temperature: &temperature, TitleModel: agent.ModelRef{Provider: "openrouter", Name: "meta/llama-4"}, Retries: 2,
	}
	if !reflect.DeepEqual(c.Models, wantModels) {
		t.Errorf("models: %+v", c.Models)
	}
	p := c.Provider("lm-studio")
	if p.Kind != "openai" || p.KeyFile != filepath.Join(o.Home, "keys/lm") || p.FirstTokenTimeout != 90*time.Second || p.ConnectTimeout != 10*time.Second {
		t.Errorf("provider: %+v", p)
	}
	if got := c.Provider("groq").KeyEnv; got != "GROQ_API_KEY" {
		t.Errorf("dotted provider: %q", got)
	}
	wantCatalog := []CatalogEntry{
		{Ref: wantModels.Order[0], Title: "Claude", InputPrice: &input, CacheReadPrice: &cached, Abilities: []string{"tools", "vision"}},
		{Ref: wantModels.Order[1], ContextWindow: &window, Local: &local},
	}
	if !reflect.DeepEqual(c.Catalog, wantCatalog) {
		t.Errorf("catalog: %+v", c.Catalog)
	}
}

func TestCatalogApply(t *testing.T) {
	window, free := 1000, agent.MicroDollars(0)
	known := agent.ModelInfo{Title: "Known", ContextWindow: 500, MaxOutput: 100, Thinking: true, Price: agent.Price{Input: 3, Output: 4}}
	ref := agent.ModelRef{Provider: "a", Name: "b"}
	tests := map[string]struct {
		entry CatalogEntry
		want  agent.ModelInfo
	}{
		"says nothing": {CatalogEntry{Ref: ref},
			agent.ModelInfo{Ref: ref, Title: "Known", ContextWindow: 500, MaxOutput: 100, Thinking: true, Price: agent.Price{Input: 3, Output: 4}}},
		"replaces": {CatalogEntry{Ref: ref, Title: "Mine", ContextWindow: &window, InputPrice: &free, Abilities: []string{"tools", "documents", "vision"}},
			agent.ModelInfo{Ref: ref, Title: "Mine", ContextWindow: 1000, MaxOutput: 100, Tools: true, Documents: true, Vision: true, Price: agent.Price{Output: 4}}},
		"no abilities": {CatalogEntry{Ref: ref, Abilities: []string{}},
			agent.ModelInfo{Ref: ref, Title: "Known", ContextWindow: 500, MaxOutput: 100, Price: agent.Price{Input: 3, Output: 4}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.entry.Apply(known); got != test.want {
				t.Errorf("got %+v\nwant %+v", got, test.want)
			}
		})
	}
}

func TestLayers(t *testing.T) {
	o := home(t, "[server]\nlisten = \"127.0.0.1:1\"\n[log]\nlevel = \"warn\"\nformat = \"json\"\n[models]\nmax_tokens = 5\n")
	o.Environ = []string{
		"PATH=/bin", "ASH_HOME=/x", "ASH_THEIRS=1",
		"ASH_LOG_LEVEL=debug", "ASH_LOG_FORMAT=", "ASH_MODELS_MAX_TOKENS=6", "ASH_MODELS_ORDER= a/b , c/d",
		"ASH_PROVIDERS_LM_STUDIO_BASE_URL=http://10.0.0.1/v1",
	}
	o.Overrides = []Override{{Key: "models.max_tokens", Value: "7", Flag: "--max-tokens"}}
	s := load(t, o)
	tests := map[string]struct{ value, origin string }{
		"server.listen":                     {"127.0.0.1:1", o.Path() + ":2"},
		"log.level":                         {"debug", "ASH_LOG_LEVEL"},
		"log.format":                        {"json", o.Path() + ":5"},
		"models.max_tokens":                 {"7", "--max-tokens"},
		"models.order":                      {"a/b, c/d", "ASH_MODELS_ORDER"},
		"appearance.theme":                  {"system", "default"},
		"providers.lm-studio.base_url":      {"http://10.0.0.1/v1", "ASH_PROVIDERS_LM_STUDIO_BASE_URL"},
		"models.temperature":                {"", "default"},
		`providers."lm-studio".keep_alive`:  {"0s", "default"},
		"providers.lm-studio.key_file":      {"", "default"},
		"providers.lm-studio.keep_alive":    {"0s", "default"},
		"history.max_context_messages":      {"500", "default"},
		"workspace.path":                    {"workspace", "default"},
		"turn.cost":                         {"5.00", "default"},
		"providers.lm-studio.key_env":       {"", "default"},
		"providers.lm-studio.thinking":      {"", "default"},
		"providers.lm-studio.kind":          {"", "default"},
		"providers.lm-studio.stall_timeout": {"1m", "default"},
	}
	for key, want := range tests {
		t.Run(key, func(t *testing.T) {
			got, err := s.Setting(key)
			if err != nil {
				t.Fatal(err)
			}
			if got.Value != want.value || got.Origin.String() != want.origin {
				t.Errorf("got %q from %s, want %q from %s", got.Value, got.Origin, want.value, want.origin)
			}
			if s.Origin(key) != got.Origin {
				t.Errorf("Origin says %s", s.Origin(key))
			}
		})
	}
	if got := len(s.Settings()); got != len(Keys())-10 { // one provider, no catalog entry
		t.Errorf("%d settings for %d keys", got, len(Keys()))
	}
	for _, key := range []string{"server", "server.listn", "providers.groq.kind", "providers.lm-studio", "catalog.a/b.title", "x.y", ""} {
		if _, err := s.Setting(key); agent.CodeOf(err) != agent.CodeNotFound {
			t.Errorf("%q: %v", key, err)
		}
	}
}

func TestProblems(t *testing.T) {
	tests := map[string]struct {
		file string
		want []string // parts of the message, each on one line: "LINE text"
	}{
		"unknown key":         {"[server]\nlistn = 1\n", []string{":2: server.listn: unknown key; did you mean server.listen?"}},
		"key at the top":      {"theme = 1\n", []string{":1: theme: unknown key; did you mean appearance.theme?"}},
		"wrong section":       {"[server]\ntheme = \"dark\"\n", []string{":2: server.theme: unknown key; did you mean appearance.theme?"}},
		"unknown section":     {"\n[sevrer]\nlisten = 1\na = 2\n", []string{":2: sevrer: unknown section"}},
		"nothing like it":     {"[zzzzzzzz]\n", []string{":1: zzzzzzzz: unknown section"}},
		"provider's key":      {"[providers.x]\nkeep_alife = \"5m\"\n", []string{":2: providers.x.keep_alife: unknown key; did you mean providers.x.keep_alive?"}},
		"pasted key":          {"[providers.x]\napi_key = \"sk-verysecret\"\n", []string{":2: providers.x.api_key: unknown key; keys do not stand in this file: name the secret of the vault in key_secret"}},
		"provider's name":     {"[providers.My_Host]\nkind = \"openai\"\n", []string{":1: providers.My_Host: a provider's name is 1 to 32 of a-z"}},
		"below a provider":    {"[providers.x.y]\na = 1\n", []string{":1: providers.x.y: unknown section"}},
		"value for a section": {"server = 5\nproviders = 1\ncatalog = 2\nproviders2 = 3", []string{":1: server: a value where a section belongs", ":2: providers: a value", ":3: catalog: a value", ":4: providers2: unknown key"}},
		"list of sections":    {"[[server]]\nlisten = 1\n", []string{":1: server: a list of sections where there is one; allowed: [server]"}},
		"one catalog":         {"[catalog]\nref = \"a/b\"\n", []string{":1: catalog: one section where there is a list of them; allowed: [[catalog]]"}},
		"list of providers":   {"[[providers.x]]\n", []string{":1: providers.x: a list of sections where there is one"}},
		"inline strangers":    {"server = { listen = \"a:1\", x = { y = 1 } }\n", []string{":1: server.x: unknown key"}},
		"wrong types": {"[server]\nlisten = 8080\n[models]\norder = \"a/b\"\ntemperature = \"hot\"\nmax_tokens = 1.5\n[history]\nsummarise = 1\n[turn]\nwall_time = 30\ncost = true\n[log]\nlevel = 1979-05-27\n[appearance]\ntheme = { a = 1 }\n", []string{
			":2: server.listen: it is a whole number; allowed: host:port such as \"127.0.0.1:8080\"",
			":4: models.order: it is a text in quotes; allowed: a list of \"provider/model\"",
			":5: models.temperature: it is a text in quotes; allowed: a number from 0 to 2",
			":6: models.max_tokens: it is a number with a decimal point; allowed: a whole number from 0 to 10000000",
			":8: history.summarise: it is a whole number; allowed: true or false",
			":10: turn.wall_time: it is a whole number; allowed: a duration such as",
			":11: turn.cost: it is true or false; allowed: an amount in dollars",
			":13: log.level: it is a date or time; allowed: \"debug\", \"info\", \"warn\" or \"error\"",
			":15: appearance.theme: it is a section; allowed:",
		}},
		"wrong values": {"[server]\nlisten = \"here\"\n[models]\norder = [\"a/b\", \"c\", 1]\ntemperature = nan\nmax_tokens = -1\n[turn]\nrounds = 0\nwall_time = \"9000h\"\ncost = 1e99\n[appearance]\ntheme = \"drak\"\n", []string{
			":2: server.listen: “here” is not host:port",
			":4: models.order: item 3 is a whole number",
			":5: models.temperature: NaN is outside these bounds",
			":6: models.max_tokens: -1 is outside these bounds",
			":8: turn.rounds: 0 is outside",
			":9: turn.wall_time: 9000h0m0s is outside",
			":10: turn.cost:",
			":12: appearance.theme: “drak” is none of them; did you mean dark?; allowed: \"system\", \"light\" or \"dark\"",
		}},
		"refs": {"[models]\norder = [\"a/b\", \"a/b\"]\ntitle_model = \"gpt\"\n", []string{
			":2: models.order: “a/b” stands in the list twice", ":3: models.title_model: “gpt” does not name a model"}},
		"addresses": {"[server]\nlisten = \"127.0.0.1:99999\"\n[providers.a]\nbase_url = \"ftp://x\"\n[providers.b]\nbase_url = \"https://me:pw@x\"\n[providers.c]\nbase_url = \"https://x/?key=pw\"\n[providers.d]\nbase_url = \"https://\"\n[providers.e]\nbase_url = \"::\"\nkey_env = \"AIzaSyNotAName\"\nkey_file = \" \"\n[workspace]\npath = \"\"\n", []string{
			":2: server.listen: “99999” is not a port", ":4: providers.a.base_url: the URL does not begin", ":6: providers.b.base_url: the URL holds a user",
			":8: providers.c.base_url: the URL holds a part after ?", ":10: providers.d.base_url: the URL names no host", ":12: providers.e.base_url: that is not a URL",
			":13: providers.e.key_env: that is not the name of a variable", ":14: providers.e.key_file: the path is empty", ":16: workspace.path: the path is empty"}},
		"characters": {"[workspace]\npath = \"a\\u0000b\"\n[[catalog]]\nref = \"a/b\"\ntitle = \"\\u001b[31m\"\n", []string{
			":2: workspace.path: the text holds control characters", ":5: catalog.\"a/b\".title: the text holds control characters"}},
		"catalog": {"[[catalog]]\ntitle = \"no ref\"\n[[catalog]]\nref = \"a/b\"\n[[catalog]]\nref = \"a/b\"\nabilities = [\"fly\"]\n[[catalog]]\n[catalog.deep]\n", []string{
			":1: catalog: an entry needs a ref", ":5: catalog: a second entry for “a/b”", ":8: catalog: an entry needs a ref", ":9: catalog.deep: unknown section"}},
		"inline catalog": {"catalog = [ { ref = \"a/b\", local = 1 } ]\n", []string{":1: catalog.\"a/b\".local: it is a whole number"}},
		"odd catalog":    {"catalog = [ { ref = \"a/b\" }, 5 ]\n", []string{":1: catalog: a value where a section belongs; allowed: [[catalog]]"}},
		"no TOML":        {"[server]\nlisten = \n", []string{":2: this is not valid TOML: "}},
		"twice":          {"[server]\nlisten = \"a:1\"\nlisten = \"a:2\"\n", []string{":3: this is not valid TOML: "}},
		"NUL":            {"[server]\n\x00", []string{":2: the file holds a NUL byte"}},
		"not UTF-8":      {"[server]\n# caf\xe9\n", []string{":2: the file is not valid UTF-8"}},
		"deep":           {"a = " + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), []string{"this is not valid TOML"}},
		"long value":     {"[workspace]\npath = \"" + strings.Repeat("x", 3000) + "\"\n", []string{":2: workspace.path: a text of 3000 bytes is too long"}},
		"long list":      {"[models]\norder = [" + strings.Repeat("\"a/b\",", 101) + "]\n", []string{":2: models.order: a list of 101 is too long"}},
		"odd key":        {"\"\\u001b[31m\" = 1\n\"sk-verysecret\" = 1\n", []string{":1: “·[31m”: unknown key", ":2: “…” (hidden"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := home(t, test.file)
			_, err := Load(o)
			checkProblems(t, err, o.Path(), test.want)
		})
	}
}

func checkProblems(t *testing.T, err error, source string, want []string) {
	t.Helper()
	if agent.CodeOf(err) != agent.CodeInvalid {
		t.Fatalf("got %v", err)
	}
	var problems Problems
	if !errors.As(err, &problems) || len(problems) != len(want) {
		t.Fatalf("want %d problems:\n%v", len(want), err)
	}
	public := agent.PublicOf(err)
	for _, part := range want {
		if part[0] == ':' {
			part = source + part
		}
		if !strings.Contains(public, part) {
			t.Errorf("%q is not in\n%s", part, public)
		}
	}
	if strings.Contains(err.Error(), "verysecret") || strings.Contains(err.Error(), ":pw@") {
		t.Errorf("a secret shows in %v", err)
	}
}

func TestManyProblems(t *testing.T) {
	var b strings.Builder
	for i := range 50 {
		fmt.Fprintf(&b, "k%d = 1\n", i)
	}
	_, err := Load(home(t, b.String()))
	if public := agent.PublicOf(err); strings.Count(public, "\n") != 21 || !strings.Contains(public, "50 problems") || !strings.HasSuffix(public, "and 30 more") {
		t.Error(public)
	}
}

func TestOtherLayersProblems(t *testing.T) {
	o := home(t, "")
	o.Environ = []string{"ASH_SERVER_LISTN=x", "ASH_LOG_LEVEL=loud", "ASH_PROVIDERS_KIND=openai", "ASH_TURN_COST=$0.10"}
	o.Overrides = []Override{{Key: "server.listen", Value: "x", Flag: "--listen"}}
	_, err := Load(o)
	checkProblems(t, err, "", []string{
		"ASH_SERVER_LISTN: no setting has this variable; did you mean ASH_SERVER_LISTEN?",
		"ASH_LOG_LEVEL: log.level: “loud” is none of them",
		"ASH_PROVIDERS_KIND: no setting",
		"--listen: server.listen: “x” is not host:port",
	})
	o.Environ, o.Overrides = nil, []Override{{Key: "server", Value: "x", Flag: "--listen"}}
	if _, err := Load(o); agent.CodeOf(err) != agent.CodeInternal {
		t.Errorf("a flag for a section: %v", err)
	}
}

// A file made to be slow is refused all the same; BenchmarkHostile says how quickly.
func hostileFiles() map[string]string {
	lines := func(line func(i int) string) string {
		var b strings.Builder
		for i := 0; b.Len() < MaxFile-100; i++ {
			b.WriteString(line(i) + "\n")
		}
		return b.String()
	}
	half := MaxFile / 2
	return map[string]string{
		"unknown keys":     lines(func(i int) string { return fmt.Sprintf("k%x=1", i) }),
		"unknown sections": lines(func(i int) string { return fmt.Sprintf("[k%x]", i) }),
		"entries":          lines(func(i int) string { return "[[catalog]]" }),
		"same entries":     lines(func(i int) string { return "[[catalog]]\nref='a/b'" }),
		"long path":        "[a" + strings.Repeat(".a", half/2) + "]\n" + lines(func(i int) string { return fmt.Sprintf("k%x=1", i) })[:half-200] + "=1",
		"deep tables":      "a=" + strings.Repeat("{a=", 9000) + "1" + strings.Repeat("}", 9000),
		"deep lists":       "a=" + strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"long name":        "[\"" + strings.Repeat("x", MaxFile-100) + "\"]",
		"wrong values":     "[models]\norder = [" + strings.Repeat("'x',", MaxFile/4-100) + "]",
	}
}

func TestHostileFile(t *testing.T) {
	for name, file := range hostileFiles() {
		t.Run(name, func(t *testing.T) {
			_, err := Load(home(t, file))
			if agent.CodeOf(err) != agent.CodeInvalid {
				t.Errorf("got %v", err)
			}
			if len(agent.PublicOf(err)) > 20_000 {
				t.Errorf("a message of %d bytes", len(agent.PublicOf(err)))
			}
		})
	}
}

// The largest right file there can be is read.
func TestLargestFile(t *testing.T) {
	const entries = maxKeys/2 - 1
	var b strings.Builder
	for i := range entries {
		fmt.Fprintf(&b, "[[catalog]]\nref='a/m%d'\n", i)
	}
	if got := len(load(t, home(t, b.String())).Config().Catalog); got != entries {
		t.Errorf("%d of %d entries", got, entries)
	}
}

func BenchmarkHostile(b *testing.B) {
	for name, file := range hostileFiles() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := assemble(Options{Home: "/h"}, []byte(file)); err == nil {
					b.Fatal("not refused")
				}
			}
		})
	}
}
