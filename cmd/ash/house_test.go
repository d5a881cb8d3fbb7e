package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// listed is what go list says of a package.
type listed struct {
	ImportPath string
	Name       string
	Imports    []string
	GoFiles    []string
	Dir        string
}

// packages lists every package of the module as it is built, without tests.
func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Name,Imports,GoFiles,Dir", "ash/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// within reports whether importPath is one of the trees or below it.
func within(importPath string, trees ...string) bool {
	return slices.ContainsFunc(trees, func(t string) bool {
		return importPath == t || strings.HasPrefix(importPath, t+"/")
	})
}

// rule is one rule of the house: only the packages of may get to import what.
type rule struct {
	what []string
	may  []string
}

// outside are the modules whose place is fixed.
var outside = []rule{
	{[]string{"github.com/uptrace/bun"}, []string{"ash/store"}},
	{[]string{"modernc.org/sqlite"}, []string{"ash/store"}},
	{[]string{"database/sql"}, []string{"ash/store"}},
	{[]string{"github.com/labstack/echo/v4"}, []string{"ash/web", "ash/handlers"}},
	{[]string{"github.com/gorilla/sessions"}, []string{"ash/web"}},
	{[]string{"github.com/a-h/templ"}, []string{"ash/views", "ash/handlers"}},
	{[]string{"github.com/docker/docker"}, []string{"ash/agent/sandbox"}},
	{[]string{"github.com/sashabaranov/go-openai"}, []string{"ash/agent/llm/openai"}},
	{[]string{"github.com/tmc/langchaingo", "github.com/aws"}, []string{"ash/agent/llm/longtail"}},
	{[]string{"github.com/yuin/goldmark", "github.com/alecthomas/chroma/v2", "github.com/microcosm-cc/bluemonday"}, []string{"ash/views/markdown"}},
	{[]string{"github.com/spf13/cobra"}, []string{"ash/cmd"}},
}

// floors say what each floor may import of the house; a floor that is not listed may import nothing of it.
var floors = []rule{
	{may: []string{"ash/cmd"}, what: []string{"ash"}},
	{may: []string{"ash/web"}, what: []string{"ash/web", "ash/handlers", "ash/agent"}},
	{may: []string{"ash/handlers"}, what: []string{"ash/handlers", "ash/views", "ash/static", "ash/agent"}},
	{may: []string{"ash/views"}, what: []string{"ash/views", "ash/static", "ash/agent"}},
	{may: []string{"ash/static"}, what: []string{"ash/static"}},
	{may: []string{"ash/store"}, what: []string{"ash/store", "ash/agent", "ash/migrations"}},
	{may: []string{"ash/migrations"}, what: nil},
	{may: []string{"ash/agent"}, what: []string{"ash/agent"}},
}

func TestImportsPointDown(t *testing.T) {
	for _, p := range packages(t) {
		i := slices.IndexFunc(floors, func(r rule) bool { return within(p.ImportPath, r.may...) })
		if i < 0 {
			t.Errorf("%s stands on no floor of the house", p.ImportPath)
			continue
		}
		for _, dep := range p.Imports {
			if within(dep, "ash") && !within(dep, floors[i].what...) {
				t.Errorf("%s imports %s, which is not below it", p.ImportPath, dep)
			}
			for _, r := range outside {
				if within(dep, r.what...) && !within(p.ImportPath, r.may...) {
					t.Errorf("%s imports %s, whose place is %s", p.ImportPath, dep, strings.Join(r.may, ", "))
				}
			}
		}
	}
}

// TestCoreStandsAlone holds the rules inside agent: the core knows only the standard
// library and ids, and its wings do not know each other.
func TestCoreStandsAlone(t *testing.T) {
	for _, p := range packages(t) {
		if !within(p.ImportPath, "ash/agent") {
			continue
		}
		for _, dep := range p.Imports {
			foreign := strings.Contains(strings.SplitN(dep, "/", 2)[0], ".")
			switch {
			case p.ImportPath == "ash/agent" && (within(dep, "ash") || (foreign && dep != "github.com/google/uuid")):
				t.Errorf("the core imports %s", dep)
			case within(dep, "ash") && dep != "ash/agent" && wing(dep) != wing(p.ImportPath):
				t.Errorf("%s imports its sibling %s: declare the interface it needs, and let cmd/ash pass it in", p.ImportPath, dep)
			case within(dep, "ash") && within(dep, p.ImportPath) && dep != p.ImportPath:
				t.Errorf("%s imports %s, which stands on it", p.ImportPath, dep)
			}
		}
	}
}

// wing returns the package directly below agent that importPath belongs to.
func wing(importPath string) string {
	return strings.SplitN(strings.TrimPrefix(importPath, "ash/agent/"), "/", 2)[0]
}

func TestPackageNamesSaySomething(t *testing.T) {
	nothing := []string{"util", "utils", "common", "helper", "helpers", "type", "types", "model", "models", "base", "shared", "core", "manager", "managers", "misc"}
	for _, p := range packages(t) {
		if slices.Contains(nothing, p.Name) || slices.Contains(nothing, path.Base(p.ImportPath)) {
			t.Errorf("%s: the name says nothing", p.ImportPath)
		}
	}
}
