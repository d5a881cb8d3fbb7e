package config

import (
	"bytes"
	"flag"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestExampleGolden(t *testing.T) {
	const golden = "testdata/config.example.toml"
	if *update {
		if err := os.WriteFile(golden, Example(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(Example(), want) {
		t.Errorf("the example differs from %s; run go test -update and look at what changed", golden)
	}
}

func TestExampleMeansNothing(t *testing.T) {
	empty := home(t, "")
	full := empty
	write(t, full.Path(), string(Example()))
	got := load(t, full).Config()
	if err := os.Remove(full.Path()); err != nil {
		t.Fatal(err)
	}
	if want := load(t, empty).Config(); !reflect.DeepEqual(got, want) {
		t.Errorf("the example changes something: %+v", got)
	}
}

// Every line of the example that is switched off must be right when switched on.
func TestExampleSwitchedOn(t *testing.T) {
	text := regexp.MustCompile(`(?m)^# (\[+[a-z.]+\]+|[a-z_]+ = .*)$`).ReplaceAllString(string(Example()), "$1")
	s := load(t, home(t, text))
	for _, setting := range s.Settings() {
		if setting.Origin.Layer != LayerFile {
			t.Errorf("%s is not in the example", setting.Name)
		}
	}
	if got := len(s.Settings()); got != len(Keys()) {
		t.Errorf("%d settings for %d keys", got, len(Keys()))
	}
}

func TestKeysAreDocumented(t *testing.T) {
	seen := make(map[string]bool)
	for _, k := range Keys() {
		t.Run(k.Name, func(t *testing.T) {
			if !strings.HasSuffix(k.Doc, ".") || k.Allowed == "" {
				t.Errorf("doc %q, allowed %q", k.Doc, k.Allowed)
			}
			if needsUnset := !strings.HasPrefix(k.Name, "catalog.REF.ref"); (k.Default == "") != (k.Unset != "") && needsUnset {
				t.Errorf("default %q and unset %q: exactly one is needed", k.Default, k.Unset)
			}
			if k.Default == "" && k.Sample == "" {
				t.Error("neither default nor sample")
			}
			if k.Env == "" != strings.HasPrefix(k.Name, "catalog.") {
				t.Errorf("environment variable %q", k.Env)
			}
			if seen[k.Name] || k.Env != "" && seen[k.Env] {
				t.Error("declared twice")
			}
			seen[k.Name], seen[k.Env] = true, true
		})
	}
	for _, s := range newSchema().sections {
		if !strings.HasSuffix(s.doc, ".") {
			t.Errorf("section %s: doc %q", s.name, s.doc)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	o := Options{Home: b.TempDir()}
	text := strings.ReplaceAll(string(Example()), "\n# listen", "\nlisten") + "\n[providers.openai]\nkind = \"openai\"\n"
	if err := os.WriteFile(o.Path(), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Load(o); err != nil {
			b.Fatal(err)
		}
	}
}
