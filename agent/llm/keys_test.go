package llm

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func env(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func TestKeysFromEnvironment(t *testing.T) {
	all := env("OPENAI_API_KEY", "sk-o", "GROQ_API_KEY", "gsk-g", "GOOGLE_API_KEY", "AIza", "MINE", "my")
	for name, tc := range map[string]struct {
		settings Settings
		key      string
		origin   KeyOrigin
	}{
		"by kind":                 {Settings{Kind: "openai"}, "sk-o", KeyOrigin{Place: KeyEnvironment, Name: "OPENAI_API_KEY"}},
		"by kind, own address":    {Settings{Kind: "openai", BaseURL: "http://127.0.0.1:9/v1"}, "sk-o", KeyOrigin{Place: KeyEnvironment, Name: "OPENAI_API_KEY"}},
		"by host":                 {Settings{Kind: "openai", BaseURL: "https://api.groq.com/openai/v1"}, "gsk-g", KeyOrigin{Place: KeyEnvironment, Name: "GROQ_API_KEY"}},
		"second usual name":       {Settings{Kind: "gemini"}, "AIza", KeyOrigin{Place: KeyEnvironment, Name: "GOOGLE_API_KEY"}},
		"named":                   {Settings{Kind: "openai", KeyEnv: "MINE"}, "my", KeyOrigin{Place: KeyEnvironment, Name: "MINE"}},
		"named but not set":       {Settings{Kind: "openai", KeyEnv: "OTHER"}, "", KeyOrigin{}},
		"host without a key":      {Settings{Kind: "openai", BaseURL: "https://api.x.ai/v1"}, "", KeyOrigin{}},
		"local server needs none": {Settings{Kind: "lmstudio"}, "", KeyOrigin{}},
	} {
		t.Run(name, func(t *testing.T) {
			k := NewKeys(all)
			key, err := k.key(t.Context(), tc.settings)
			if key != tc.key || k.Origin(tc.settings) != tc.origin {
				t.Errorf("got %q from %+v (%v)", key, k.Origin(tc.settings), err)
			}
		})
	}
}

func TestMissingKeyIsAFault(t *testing.T) {
	_, err := NewKeys(noEnv).key(t.Context(), Settings{Name: "openai", Kind: "openai"})
	if f := FaultOf(err); f == nil || f.Kind != FaultNoKey || !strings.Contains(f.Public(), "OPENAI_API_KEY") {
		t.Errorf("got %v", err)
	}
}

func TestPastedKeyComesFirst(t *testing.T) {
	k := NewKeys(env("OPENAI_API_KEY", "sk-env"))
	s := Settings{Name: "openai", Kind: "openai"}
	if err := k.Paste("openai", "  sk-pasted\n"); err != nil {
		t.Fatal(err)
	}
	if key, _ := k.key(t.Context(), s); key != "sk-pasted" || k.Origin(s).Place != KeyPasted {
		t.Errorf("got %q", key)
	}
	if err := k.Paste("openai", "two words"); err == nil || strings.Contains(err.Error(), "two words") {
		t.Errorf("got %v", err)
	}
	if err := k.Paste("openai", ""); err != nil {
		t.Fatal(err)
	}
	if key, _ := k.key(t.Context(), s); key != "sk-env" {
		t.Errorf("after forgetting: %q", key)
	}
}

func TestKeyFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, tc := range map[string]struct{ path, key, problem string }{
		"good":        {write("good", "sk-file\n", 0o600), "sk-file", ""},
		"readable":    {write("open", "sk-file", 0o644), "", "chmod 600"},
		"empty":       {write("empty", "\n", 0o600), "", "it is empty"},
		"two lines":   {write("two", "sk-a\nsk-b\n", 0o600), "", "white space"},
		"huge":        {write("huge", strings.Repeat("k", 1<<20), 0o600), "", "longer than"},
		"binary":      {write("binary", "sk\x00a", 0o600), "", "characters"},
		"missing":     {filepath.Join(dir, "missing"), "", "no such file"},
		"a directory": {dir, "", "not a file"},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" && name == "readable" {
				t.Skip("files have no mode there")
			}
			k := NewKeys(env("OPENAI_API_KEY", "sk-env"))
			s := Settings{Name: "o", Kind: "openai", KeyFile: tc.path}
			key, err := k.key(t.Context(), s)
			o := k.Origin(s)
			if key != tc.key || o.Place != KeyFile || !strings.Contains(o.Problem, tc.problem) || (o.Problem == "") != (tc.problem == "") {
				t.Errorf("got %q, %+v", key, o)
			}
			if tc.problem != "" && (FaultOf(err) == nil || strings.Contains(err.Error(), "sk-")) {
				t.Errorf("got %v", err)
			}
		})
	}
}
