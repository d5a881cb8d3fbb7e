package licences_test

import (
	"os/exec"
	"strings"
	"testing"

	"ash/static/licences"
)

func TestEverythingInTheBinaryHasItsLicence(t *testing.T) {
	list, err := licences.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range list.Works {
		texts := list.TextsOf(w)
		if len(texts) == 0 || len(texts) != len(w.Texts) {
			t.Errorf("%s: %d texts of %d", w.Name, len(texts), len(w.Texts))
		}
		if len(strings.Join(texts, "")) < 100 { // a notice alone may be shorter
			t.Errorf("%s: %q is no licence", w.Name, texts)
		}
	}
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}", "ash/cmd/ash").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		name, version, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		if w, known := list.Find(name); !known || w.Version != version {
			t.Errorf("%s %s is in the binary, and the list has %q: run go generate ./static/licences", name, version, w.Version)
		}
	}
	for _, name := range []string{"Go standard library", "htmx.org", "temml", "lucide-static", "tailwindcss", "@fontsource-variable/geist", "github.com/zricethezav/gitleaks/v8"} {
		if w, ok := list.Find(name); !ok || w.Kind == "" {
			t.Errorf("%s: %+v", name, w)
		}
	}
}

// TestAFileOfSeveralLicencesNamesThemAll holds the list to works that hold parts under another licence, within one file.
func TestAFileOfSeveralLicencesNamesThemAll(t *testing.T) {
	list, err := licences.All()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"github.com/alecthomas/chroma/v2": "MIT and OFL-1.1",    // a font
		"lucide-static":                   "ISC and MIT",        // icons of Feather
		"go.yaml.in/yaml/v3":              "Apache-2.0 and MIT", // a port of libyaml
		"@fontsource-variable/geist":      "OFL-1.1",            // in words of MIT
		"htmx.org":                        "0BSD",               // in words of ISC
	} {
		if w, _ := list.Find(name); w.Kind != want {
			t.Errorf("%s is under %q, want %q", name, w.Kind, want)
		}
	}
}
