package config

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"ash/agent"
)

func TestSplice(t *testing.T) {
	set := func(key, value string) Change { return Change{Key: key, Value: value} }
	remove := func(key string) Change { return Change{Key: key, Remove: true} }
	tests := map[string]struct {
		before string
		change Change
		after  string
	}{
		"value in place": {
			"# top\n[server]  # the server\n  listen   =   'a:1'  # office\n\n[log]\nlevel=\"warn\"\n", set("server.listen", "b:2"),
			"# top\n[server]  # the server\n  listen   =   \"b:2\"  # office\n\n[log]\nlevel=\"warn\"\n"},
		"same value":      {"[server]\nlisten = 'a:1'\n[turn]\ncost = 5\n", set("server.listen", "a:1"), "[server]\nlisten = 'a:1'\n[turn]\ncost = 5\n"},
		"same amount":     {"[turn]\ncost = 5\n", set("turn.cost", "$5.00"), "[turn]\ncost = 5\n"},
		"CRLF":            {"[server]\r\nlisten = 'a:1'\r\n", set("log.level", "warn"), "[server]\r\nlisten = 'a:1'\r\n\r\n[log]\r\nlevel = \"warn\"\r\n"},
		"byte order mark": {"\xef\xbb\xbf[server]\nlisten = 'a:1'", set("server.listen", "b:2"), "\xef\xbb\xbf[server]\nlisten = \"b:2\""},
		"empty file":      {"", set("server.listen", "b:2"), "[server]\nlisten = \"b:2\"\n"},
		"no last newline": {"[server]\nlisten = 'a:1' # x", set("log.level", "warn"), "[server]\nlisten = 'a:1' # x\n\n[log]\nlevel = \"warn\"\n"},
		"below its commented default": {
			"[models]\n# Doc.\n  # max_tokens = 0\n\n# order = []\n# [providers.x]\n# temperature = 1\n[log]\n", set("models.max_tokens", "5"),
			"[models]\n# Doc.\n  # max_tokens = 0\n  max_tokens = 5\n\n# order = []\n# [providers.x]\n# temperature = 1\n[log]\n"},
		"not below another section's": {
			"[models]\n# order = []\n# [providers.x]\n# temperature = 1\n", set("models.temperature", ".5"),
			"[models]\ntemperature = 0.5\n# order = []\n# [providers.x]\n# temperature = 1\n"},
		"after the last key": {
			"[log]\n\tlevel = 'warn' # loud\n\n# about models\n[models]\n", set("log.format", "json"),
			"[log]\n\tlevel = 'warn' # loud\n\tformat = \"json\"\n\n# about models\n[models]\n"},
		"dotted at the top": {"server.listen = 'a:1'\nlog.level = 'warn'\n", set("log.format", "json"), "server.listen = 'a:1'\nlog.level = 'warn'\nlog.format = \"json\"\n"},
		"dotted provider":   {"[providers]\ngroq.kind = 'groq'\n", set("providers.groq.stall_timeout", "3s"), "[providers]\ngroq.kind = 'groq'\ngroq.stall_timeout = \"3s\"\n"},
		"inline":            {"log = { level = 'warn' } # x\n", set("log.format", "json"), "log = { level = 'warn', format = \"json\" } # x\n"},
		"inline in place":   {"log = { level = 'warn' } # x\n", set("log.level", "debug"), "log = { level = \"debug\" } # x\n"},
		"inline, empty":     {"log = {}\n", set("log.format", "json"), "log = { format = \"json\" }\n"},
		"new provider": {"[providers.a]\nstall_timeout = '1s'\n# stall_timeout = '2s'\n\n[log]\n", set("providers.lm-studio.base_url", "http://x/v1"),
			"[providers.a]\nstall_timeout = '1s'\n# stall_timeout = '2s'\n\n[providers.lm-studio]\nbase_url = \"http://x/v1\"\n\n[log]\n"},
		"provider's key": {"[providers.a]\nstall_timeout = '1s'\n[providers.b]\nstall_timeout = '1s'\n", set("providers.b.stall_timeout", "5s"), "[providers.a]\nstall_timeout = '1s'\n[providers.b]\nstall_timeout = \"5s\"\n"},
		"new entry": {"[[catalog]]\nref = 'a/b'\n[log]\n", set("catalog.ollama/qwen3:8b.context_window", "40960"),
			"[[catalog]]\nref = 'a/b'\n\n[[catalog]]\nref = \"ollama/qwen3:8b\"\ncontext_window = 40960\n[log]\n"},
		"entry's key":  {"[[catalog]]\nref = 'a/b'\n[[catalog]]\nref = 'c/d.e'\n", set(`catalog."c/d.e".title`, "D \"E\"\\"), "[[catalog]]\nref = 'a/b'\n[[catalog]]\nref = 'c/d.e'\ntitle = \"D \\\"E\\\"\\\\\"\n"},
		"entry inline": {"catalog = [{ref = 'a/b'}, {ref = 'c/d', local = true}]\n", set("catalog.c/d.local", "false"), "catalog = [{ref = 'a/b'}, {ref = 'c/d', local = false}]\n"},
		"list":         {"[models]\norder = ['a/b', \"c/d\"] # x\n", set("models.order", "c/d, e/f"), "[models]\norder = [\"c/d\", \"e/f\"] # x\n"},
		"list emptied": {"[models]\norder = ['a/b']\n", set("models.order", ""), "[models]\norder = []\n"},
		"list over lines": {
			"[models]\norder = [ # mine\n    # cheap\n    # and fast\n    'a/b', # one\n    \"c/d\" # two\n    # last\n  ]\n", set("models.order", "e/f, a/b"),
			"[models]\norder = [\n    \"e/f\",\n    # mine\n    # cheap\n    # and fast\n    'a/b', # one\n    # two\n    # last\n]\n"},
		"removed":                    {"[server]\nlisten = 'a:1'\n[log]\nlevel = 'warn'\n", remove("server.listen"), "[server]\n[log]\nlevel = 'warn'\n"},
		"removed, comment kept":      {"[server]\n  listen = 'a:1' # office", remove("server.listen"), "[server]\n  # office"},
		"removed, not there":         {"[server]\n", remove("server.listen"), "[server]\n"},
		"removed list":               {"[models]\norder = [\n 'a/b', # one\n] # all\n", remove("models.order"), "[models]\n# one\n# all\n"},
		"removed inline":             {"log = { level = 'warn', format = 'json' }\n", remove("log.level"), "log = { format = 'json' }\n"},
		"removed inline, last":       {"log = { level = 'warn', format = 'json' }\n", remove("log.format"), "log = { level = 'warn' }\n"},
		"removed inline, only":       {"log = { level = 'warn' }\n", remove("log.level"), "log = {  }\n"},
		"removed provider":           {"[log]\nlevel = 'warn'\n\n# mine\n[providers.a]\nstall_timeout = '1s'\n# note\nkind = 'openai'\n\n[providers.b]\nstall_timeout = '2s'\n", remove("providers.a"), "[log]\nlevel = 'warn'\n\n# mine\n\n[providers.b]\nstall_timeout = '2s'\n"},
		"removed provider, blanks":   {"[log]\n\n[providers.a]\nstall_timeout = '1s'\n\n[models]\n", remove("providers.a"), "[log]\n\n[models]\n"},
		"removed provider, dotted":   {"[providers]\na.kind = 'groq' # x\nb.kind = 'groq'\na.stall_timeout = '1s'\n", remove("providers.a"), "[providers]\n# x\nb.kind = 'groq'\n"},
		"removed provider, inline":   {"providers = { a = { kind = 'groq' }, b = {} }\n", remove("providers.a"), "providers = { b = {} }\n"},
		"removed entry":              {"[[catalog]]\nref = 'a/b'\n[[catalog]]\nref = 'c/d'\nlocal = true\n[log]\n", remove("catalog.a/b"), "[[catalog]]\nref = 'c/d'\nlocal = true\n[log]\n"},
		"removed entry's key":        {"[[catalog]]\nref = 'a/b'\nlocal = true\n[[catalog]]\nref = 'c/d'\nlocal = true\n", remove("catalog.c/d.local"), "[[catalog]]\nref = 'a/b'\nlocal = true\n[[catalog]]\nref = 'c/d'\n"},
		"removed, no such entry":     {"[[catalog]]\nref = 'a/b'\n", remove("catalog.c/d"), "[[catalog]]\nref = 'a/b'\n"},
		"text that looks like a key": {"[workspace]\npath = '''\nlisten = 1\n[server]\n'''\n[server]\n", set("server.listen", "a:1"), "[workspace]\npath = '''\nlisten = 1\n[server]\n'''\n[server]\nlisten = \"a:1\"\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			todo, err := judge(Options{}, []Change{test.change})
			if err != nil {
				t.Fatal(err)
			}
			got, err := splice([]byte(test.before), todo[0])
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.after {
				t.Errorf("got\n%s\nwant\n%s", got, test.after)
			}
		})
	}
}

// Every key can be set in the annotated example and taken out again, and nothing else changes.
func TestSpliceExample(t *testing.T) {
	for _, k := range Keys() {
		t.Run(k.Name, func(t *testing.T) {
			key := strings.NewReplacer("NAME", "groq", "REF", `"x/y.z"`).Replace(k.Name)
			value := k.Sample
			if value == "" {
				value = k.Default
			}
			if k.Name == "catalog.REF.ref" {
				value = "x/y.z"
			}
			todo, err := judge(Options{}, []Change{{Key: key, Value: value}, {Key: key, Remove: true}})
			if err != nil {
				t.Fatal(err)
			}
			set, err := splice(Example(), todo[0])
			if err != nil {
				t.Fatal(err)
			}
			if len(set) <= len(Example()) {
				t.Error("nothing was set")
			}
			back, err := splice(set, todo[1])
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(back), string(Example())) {
				t.Error("setting and removing changed something else")
			}
		})
	}
}

func TestEdit(t *testing.T) {
	ctx := context.Background()
	o := home(t, "")
	first, err := Edit(ctx, o, "none", []Change{{Key: "server.listen", Value: "127.0.0.1:9"}, {Key: "providers.groq.stall_timeout", Value: "4s"}})
	if err != nil {
		t.Fatal(err)
	}
	const want = "[server]\nlisten = \"127.0.0.1:9\"\n\n[providers.groq]\nstall_timeout = \"4s\"\n"
	if got := content(t, o); got != want {
		t.Errorf("file: %q", got)
	}
	info, err := os.Stat(o.Path())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if c := first.Config(); c.Server.Listen != "127.0.0.1:9" || c.Providers["groq"].StallTimeout != 4*time.Second {
		t.Errorf("config: %+v", c)
	}
	second, err := Edit(ctx, o, first.Version(), []Change{{Key: "providers.groq", Remove: true}})
	if err != nil {
		t.Fatal(err)
	}
	if len(second.Config().Providers) != 0 {
		t.Error("the provider is still there")
	}
	_, err = Edit(ctx, o, first.Version(), []Change{{Key: "log.level", Value: "debug"}})
	if agent.CodeOf(err) != agent.CodeConflict {
		t.Errorf("an old version: %v", err)
	}
	entries, err := os.ReadDir(o.Home)
	if err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func content(t *testing.T, o Options) string {
	t.Helper()
	data, err := os.ReadFile(o.Path())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestEditRefused(t *testing.T) {
	many := make([]Change, maxChanges+1)
	tests := map[string]struct {
		file   string
		change []Change
		code   agent.Code
		text   string
	}{
		"unknown key":             {"", []Change{{Key: "server.listn", Value: "x"}}, agent.CodeNotFound, "did you mean server.listen?"},
		"unknown section":         {"", []Change{{Key: "x.y", Value: "x"}}, agent.CodeNotFound, "no setting"},
		"bad name":                {"", []Change{{Key: "providers.A B.kind", Value: "x"}}, agent.CodeInvalid, "a provider's name"},
		"bad ref":                 {"", []Change{{Key: "catalog.x.title", Value: "x"}}, agent.CodeInvalid, "does not name a model"},
		"bad quotes":              {"", []Change{{Key: `catalog."x/y.title`, Value: "x"}}, agent.CodeNotFound, "quotes do not close"},
		"after quotes":            {"", []Change{{Key: `catalog."x/y"title`, Value: "x"}}, agent.CodeNotFound, "a dot must follow"},
		"section as a key":        {"", []Change{{Key: "providers.groq", Value: "x"}}, agent.CodeInvalid, "whole section"},
		"plain section":           {"", []Change{{Key: "server", Remove: true}}, agent.CodeNotFound, "no setting"},
		"wrong value":             {"", []Change{{Key: "server.listen", Value: "x"}}, agent.CodeInvalid, "Allowed: host:port"},
		"another ref":             {"", []Change{{Key: "catalog.a/b.ref", Value: "c/d"}}, agent.CodeInvalid, "is its name"},
		"set by environment":      {"", []Change{{Key: "log.level", Value: "info"}}, agent.CodeConflict, "log.level is set by ASH_LOG_LEVEL"},
		"provider in environment": {"", []Change{{Key: "providers.env", Remove: true}}, agent.CodeConflict, "providers.env.kind is set by ASH_PROVIDERS_ENV_KIND"},
		"set by flag":             {"", []Change{{Key: "server.listen", Value: "a:1"}}, agent.CodeConflict, "--listen"},
		"too many":                {"", many, agent.CodeInvalid, "too many"},
		"file has problems":       {"[log]\nlevl = 1\n", []Change{{Key: "turn.rounds", Value: "3"}}, agent.CodeInvalid, "did you mean log.level?"},
		"no TOML":                 {"[log\n", []Change{{Key: "turn.rounds", Value: "3"}}, agent.CodeInvalid, "not valid TOML"},
		"no place for it":         {"providers = {}\n", []Change{{Key: "providers.a.stall_timeout", Value: "3s"}}, agent.CodeInvalid, "cannot be edited in place"},
		"entry of one line":       {"catalog = [{ ref = 'a/b' }]\n", []Change{{Key: "catalog.a/b", Remove: true}}, agent.CodeInvalid, "cannot be edited in place"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := home(t, test.file)
			o.Environ = []string{"ASH_LOG_LEVEL=warn", "ASH_PROVIDERS_ENV_KIND=openai"}
			if name == "set by flag" {
				o.Overrides = []Override{{Key: "server.listen", Value: "127.0.0.1:1", Flag: "--listen"}}
			}
			_, err := Edit(context.Background(), o, "", test.change)
			if agent.CodeOf(err) != test.code || !strings.Contains(agent.PublicOf(err), test.text) {
				t.Errorf("got %v", err)
			}
			if test.file != "" && content(t, o) != test.file {
				t.Errorf("the file changed to %q", content(t, o))
			}
		})
	}
}

func TestInit(t *testing.T) {
	ctx := context.Background()
	o := home(t, "")
	if err := Init(ctx, o, false); err != nil {
		t.Fatal(err)
	}
	if content(t, o) != string(Example()) {
		t.Error("that is not the example")
	}
	write(t, o.Path(), "broken")
	if err := Init(ctx, o, false); agent.CodeOf(err) != agent.CodeConflict || content(t, o) != "broken" {
		t.Errorf("overwriting: %v", err)
	}
	if err := Init(ctx, o, true); err != nil || content(t, o) != string(Example()) {
		t.Errorf("forced: %v", err)
	}
}
