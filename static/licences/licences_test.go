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
