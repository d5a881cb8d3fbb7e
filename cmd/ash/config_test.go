package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/llm"
)

// runConfig runs "ash config" with args on a home.
func runConfig(t *testing.T, home string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	root := &cobra.Command{Use: "ash", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(configCommand(func() (string, error) { return home, nil }))
	var out, errs bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&errs)
	root.SetArgs(append([]string{"config"}, args...))
	err = root.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}

func TestConfigCommand(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, config.FileName)
	ok := func(want string, args ...string) {
		t.Helper()
		out, _, err := runConfig(t, home, args...)
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		if want != "" && !strings.Contains(out, want) {
			t.Errorf("%v: %q is not in\n%s", args, want, out)
		}
	}
	refused := func(code agent.Code, args ...string) {
		t.Helper()
		if _, _, err := runConfig(t, home, args...); agent.CodeOf(err) != code {
			t.Errorf("%v: %v", args, err)
		}
	}
	ok(file+"\n", "path")
	ok(file, "init")
	refused(agent.CodeConflict, "init")
	ok("", "init", "--force")
	ok("info\n", "get", "log.level")
	ok("", "set", "log.level", "debug")
	ok("", "set", "models.order", "a/b", "c/d")
	ok("a/b, c/d\n", "get", "models.order")
	ok("", "set", "providers.lm-studio.base_url", "http://127.0.0.1:1234/v1")
	ok("", "set", "catalog.a/b.context_window", "1000")
	ok(file+":", "show", "--changed")
	ok("(the provider's own default)", "show")
	ok(`catalog."a/b".context_window`, "show")
	ok("ASH_SERVER_LISTEN", "keys")
	ok("", "unset", "providers.lm-studio")
	refused(agent.CodeNotFound, "get", "providers.lm-studio.base_url")
	refused(agent.CodeNotFound, "get", "log.levle")
	refused(agent.CodeInvalid, "set", "log.level", "loud")

	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), "# level = \"info\"\nlevel = \"debug\"\n") {
		t.Error("the value does not stand below its explanation")
	}

	t.Setenv("ASH_LOG_LEVEL", "warn")
	ok("ASH_LOG_LEVEL", "show", "--changed")
	refused(agent.CodeConflict, "set", "log.level", "error")
}

func TestConfigJSON(t *testing.T) {
	out, _, err := runConfig(t, t.TempDir(), "show", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]struct{ Value, Layer, From string }
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if e := got["server.listen"]; e.Value != "127.0.0.1:8080" || e.Layer != "default" || e.From != "default" {
		t.Errorf("server.listen: %+v", e)
	}
}

func TestConfigSaysRestart(t *testing.T) {
	home := t.TempDir()
	_, stderr, err := runConfig(t, home, "set", "server.listen", "127.0.0.1:9")
	if err != nil || !strings.Contains(stderr, "started anew") {
		t.Errorf("server.listen: %q, %v", stderr, err)
	}
	_, stderr, err = runConfig(t, home, "set", "appearance.theme", "dark")
	if err != nil || stderr != "" {
		t.Errorf("appearance.theme: %q, %v", stderr, err)
	}
}

func TestConfigUsage(t *testing.T) {
	for _, args := range [][]string{{"get"}, {"set", "log.level"}, {"path", "x"}, {"unset"}, {"nonsense"}} {
		_, _, err := runConfig(t, t.TempDir(), args...)
		var usage usageError
		if !errors.As(err, &usage) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

func TestConfigHomeFails(t *testing.T) {
	broken := agent.Errorf(agent.CodeDenied, "no")
	for _, args := range [][]string{{"init"}, {"show"}, {"get", "log.level"}, {"set", "log.level", "info"}, {"path"}} {
		cmd := configCommand(func() (string, error) { return "", broken })
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(args)
		if err := cmd.ExecuteContext(t.Context()); !errors.Is(err, broken) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// The kinds of provider the settings allow are those that can be spoken to.
func TestConfigKinds(t *testing.T) {
	var kinds []string
	for _, v := range llm.Vendors() {
		kinds = append(kinds, v.Kind)
	}
	keys := config.Keys()
	i := slices.IndexFunc(keys, func(k config.Key) bool { return k.Name == "providers.NAME.kind" })
	allowed := slices.Sorted(slices.Values(keys[i].Choices))
	if slices.Sort(kinds); !slices.Equal(kinds, allowed) {
		t.Errorf("vendors: %v\nsettings: %v", kinds, allowed)
	}
}
